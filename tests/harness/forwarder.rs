//! A port that hands on what comes to another one, and counts who came.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// It listens as long as the test process lives.
pub(crate) struct Forwarder {
    /// `host:port`.
    pub(crate) address: String,
    accepted: Arc<AtomicUsize>,
}

impl Forwarder {
    pub(crate) fn to(target: &str) -> Forwarder {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let accepted = Arc::new(AtomicUsize::new(0));
        let (count, target) = (Arc::clone(&accepted), target.to_owned());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                count.fetch_add(1, Ordering::Relaxed);
                let Ok(server) = TcpStream::connect(&target) else { continue };
                copy(&client, &server);
                copy(&server, &client);
            }
        });
        Forwarder { address, accepted }
    }

    /// Connections since the last call.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.swap(0, Ordering::Relaxed)
    }
}

/// One direction, to its end.
fn copy(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().expect("a descriptor"), to.try_clone().expect("a descriptor"));
    thread::spawn(move || {
        // Either side may hang up when it likes.
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
        let _ = from.shutdown(Shutdown::Read);
    });
}
