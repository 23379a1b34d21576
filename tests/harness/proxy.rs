//! A proxy that clients are sent to by the broker itself, and that counts what fetches bring.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::Kafka;

const FETCH: i16 = 1;

/// It listens as long as the test process lives.
pub(crate) struct Proxy {
    /// `host:port`, as the broker advertises it.
    pub(crate) address: String,
    fetched: Arc<AtomicU64>,
}

impl Proxy {
    /// In front of the first broker; none where it is not ours.
    pub(crate) fn before(kafka: &Kafka) -> Option<Proxy> {
        let (address, target) = kafka.proxied()?;
        let listener = TcpListener::bind(&address).expect("the port is kept free for it");
        let fetched = Arc::new(AtomicU64::new(0));
        let count = fetched.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&target) else { continue };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                pass(client, server, &count);
            }
        });
        Some(Proxy { address, fetched })
    }

    /// Bytes of answers to fetches since the last call.
    pub(crate) fn fetched(&self) -> u64 {
        self.fetched.swap(0, Relaxed)
    }
}

/// Both directions of a connection, frame by frame, to their ends.
fn pass(client: TcpStream, server: TcpStream, fetched: &Arc<AtomicU64>) {
    let asked: Arc<Mutex<HashMap<i32, i16>>> = Arc::default();
    let (noted, fetched) = (asked.clone(), fetched.clone());
    direction(&client, &server, move |frame| {
        let (api, correlation) = (i16::from_be_bytes([frame[0], frame[1]]), number(&frame[4..]));
        noted.lock().unwrap_or_else(PoisonError::into_inner).insert(correlation, api);
    });
    direction(&server, &client, move |frame| {
        let api = asked.lock().unwrap_or_else(PoisonError::into_inner).remove(&number(frame));
        if api == Some(FETCH) {
            fetched.fetch_add(frame.len() as u64 + 4, Relaxed);
        }
    });
}

fn number(bytes: &[u8]) -> i32 {
    i32::from_be_bytes(bytes[..4].try_into().expect("four bytes"))
}

fn direction(from: &TcpStream, to: &TcpStream, mut look: impl FnMut(&[u8]) + Send + 'static) {
    let (mut from, mut to) = (from.try_clone().expect("a descriptor"), to.try_clone().expect("a descriptor"));
    thread::spawn(move || {
        let mut forward = || -> io::Result<()> {
            let mut length = [0; 4];
            loop {
                from.read_exact(&mut length)?;
                let mut frame = vec![0; u32::from_be_bytes(length) as usize];
                from.read_exact(&mut frame)?;
                look(&frame);
                to.write_all(&length)?;
                to.write_all(&frame)?;
            }
        };
        // Either side may hang up when it likes.
        let _ = forward();
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}
