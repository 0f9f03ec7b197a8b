//! A listener whose clients appear to be on other machines, for tests where loopback addresses are treated specially.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};

/// Accepts connections from 127.0.0.N as if they came from 203.0.113.N.
#[derive(Debug)]
pub struct RemoteListener(pub TcpListener);

impl Listener for RemoteListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        let (stream, mut peer) = Listener::accept(&mut self.0).await;
        if let IpAddr::V4(address) = peer.ip() {
            let [.., number] = address.octets();
            peer.set_ip(IpAddr::V4(Ipv4Addr::new(203, 0, 113, number)));
        }
        (stream, peer)
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}
