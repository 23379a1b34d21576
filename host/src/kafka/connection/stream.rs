//! The bytes of one connection: TCP, or TLS over it, with one deadline for whatever is being waited for. A peer that sends
//! a byte now and then gets no more time than a silent one.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use openssl::ssl::{ErrorCode, SslStream};

use crate::kafka::security::TlsError;

/// A TCP connection on which nothing takes longer than until its deadline.
pub(in crate::kafka) struct Timed {
    tcp: TcpStream,
    until: Instant,
}

impl Timed {
    pub(super) fn new(tcp: TcpStream, limit: Duration) -> Self {
        Timed { tcp, until: Instant::now() + limit }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.tcp.set_read_timeout(Some(self.left()?))?;
        self.tcp.read(into)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tcp.set_write_timeout(Some(self.left()?))?;
        self.tcp.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}

/// One of both.
pub(super) enum Stream {
    Plain(Timed),
    Tls(Box<SslStream<Timed>>),
}

/// Why bytes did not come or go.
pub(super) enum Broken {
    /// The other side is gone.
    Closed,
    /// The deadline is over.
    Late,
    /// By TLS.
    Tls(TlsError),
}

impl Stream {
    /// From now on everything has to be done within this time.
    pub(super) fn set_limit(&mut self, limit: Duration) {
        let timed = match self {
            Stream::Plain(timed) => timed,
            Stream::Tls(stream) => stream.get_mut(),
        };
        timed.until = Instant::now() + limit;
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        match self {
            Stream::Plain(stream) => stream.write_all(bytes).map_err(|error| of_io(&error)),
            Stream::Tls(stream) => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let count = stream.ssl_write(rest).map_err(|error| Broken::of_tls(&error))?;
                    rest = &rest[count..];
                }
                Ok(())
            }
        }
    }

    /// Fills all of `into`.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<(), Broken> {
        let mut done = 0;
        while done < into.len() {
            let read = match self {
                Stream::Plain(stream) => stream.read(&mut into[done..]).map_err(|error| of_io(&error))?,
                Stream::Tls(stream) => match stream.ssl_read(&mut into[done..]) {
                    Ok(count) => count,
                    Err(error) if error.code() == ErrorCode::ZERO_RETURN => 0,
                    Err(error) => return Err(Broken::of_tls(&error)),
                },
            };
            if read == 0 {
                return Err(Broken::Closed);
            }
            done += read;
        }
        Ok(())
    }
}

impl Broken {
    fn of_tls(error: &openssl::ssl::Error) -> Self {
        match TlsError::of(error) {
            TlsError::Silent => Broken::Late,
            TlsError::NoTls => Broken::Closed,
            error => Broken::Tls(error),
        }
    }
}

fn of_io(error: &io::Error) -> Broken {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Broken::Late,
        _ => Broken::Closed,
    }
}
