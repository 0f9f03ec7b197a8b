//! Probes of loopback ports: which are free, and whether a server answers.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::atomic::{AtomicU16, Ordering},
    time::Duration,
};

/// The range to search for a free port: below the ephemeral range, from which an outgoing connection could take a port between its choice and its
/// use.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 10_000;

const TIMEOUT: Duration = Duration::from_secs(2);

/// Whether this loopback port is free.
pub fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Finds a free loopback port, a different one on each call in a process.
///
/// Fails if there is none. For programs that cannot choose a port themselves.
pub fn free_port() -> io::Result<u16> {
    static CALLS: AtomicU16 = AtomicU16::new(0);
    // Concurrent processes start their search far apart.
    let start = std::process::id().wrapping_mul(97) % u32::from(PORTS);
    let start = u16::try_from(start).unwrap_or(0);
    (0..PORTS)
        .map(|_| FIRST_PORT + start.wrapping_add(CALLS.fetch_add(1, Ordering::Relaxed)) % PORTS)
        .find(|port| is_free(*port))
        .ok_or_else(|| io::Error::other(format!("no free port from {FIRST_PORT} on")))
}

/// Whether a GET of `path` on this loopback port returns 200 within two seconds.
pub fn answers(port: u16, path: &str) -> bool {
    status(port, path).is_ok_and(|line| line.split(' ').nth(1) == Some("200"))
}

/// Whether a GET of `path` on this loopback port returns any status within two seconds.
pub fn responds(port: u16, path: &str) -> bool {
    status(port, path).is_ok_and(|line| line.starts_with("HTTP/"))
}

fn status(port: u16, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}
