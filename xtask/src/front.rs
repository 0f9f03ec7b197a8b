//! The address of `cargo xtask dev`: forwards each connection to the control plane, and to the edge once that is ready.

use std::{
    io,
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    thread,
    time::Duration,
};

/// Between two attempts to accept a connection, after one failed for lack of descriptors, say.
const PAUSE: Duration = Duration::from_millis(100);

/// A loopback port that forwards to another one. It serves until the process ends.
#[derive(Debug)]
pub struct Front {
    target: Arc<AtomicU16>,
    port: u16,
}

impl Front {
    /// Listens on `port`, or on a free one for 0, and forwards to `target`.
    pub fn listen(port: u16, target: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let target = Arc::new(AtomicU16::new(target));
        let chosen = Arc::clone(&target);
        thread::spawn(move || {
            for client in listener.incoming() {
                let target = chosen.load(Ordering::SeqCst);
                match client {
                    // A connection that cannot be forwarded is closed.
                    Ok(client) => drop(thread::Builder::new().spawn(move || forward(&client, target))),
                    Err(_) => thread::park_timeout(PAUSE),
                }
            }
        });
        Ok(Self { target, port })
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Forwards new connections to `target` from now on. Open ones stay where they are, so that no request fails.
    pub fn forward_to(&self, target: u16) {
        self.target.store(target, Ordering::SeqCst);
    }
}

/// Copies bytes both ways until both sides are done.
fn forward(client: &TcpStream, target: u16) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, target))?;
    for stream in [client, &server] {
        stream.set_nodelay(true)?;
    }
    thread::scope(|scope| {
        scope.spawn(|| copy(client, &server));
        copy(&server, client);
    });
    Ok(())
}

/// Copies one direction to its end, and passes the end on.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    if io::copy(&mut from, &mut to).is_err() {
        // One side is gone: the other direction ends, too.
        drop(from.shutdown(Shutdown::Both));
    }
    drop(to.shutdown(Shutdown::Write));
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{Ipv4Addr, TcpListener, TcpStream},
        thread,
    };

    use super::Front;

    /// A server that answers each line with its name and the line.
    fn server(name: &'static str) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    let mut bytes = [0; 4];
                    while stream.read_exact(&mut bytes).is_ok() {
                        stream.write_all(name.as_bytes()).unwrap();
                        stream.write_all(&bytes).unwrap();
                    }
                    stream.write_all(b"end").unwrap();
                });
            }
        });
        port
    }

    fn ask(stream: &mut TcpStream) -> String {
        stream.write_all(b"ping").unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8(answer.to_vec()).unwrap()
    }

    #[test]
    fn open_connections_stay_and_new_ones_go_to_the_new_target() {
        let front = Front::listen(0, server("a")).unwrap();
        let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, front.port())).unwrap();
        let mut early = connect();
        assert_eq!(ask(&mut early), "aping");
        front.forward_to(server("b"));
        let mut late = connect();
        assert_eq!((ask(&mut late), ask(&mut early)), ("bping".to_owned(), "aping".to_owned()));
        // The end of what a client sends reaches the server, and the rest of the answer reaches the client.
        early.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = String::new();
        early.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "end");
    }

    #[test]
    fn a_target_that_is_gone_closes_the_connection() {
        let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let front = Front::listen(0, gone).unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, front.port())).unwrap();
        let mut rest = Vec::new();
        assert!(stream.read_to_end(&mut rest).is_err() || rest.is_empty());
    }
}
