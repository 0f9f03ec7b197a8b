//! Raw HTTP, for what a client library would not do: stop in the middle, or send less than promised.

use std::fmt::Write;
use std::net::SocketAddr;

use axum::body::{Body, to_bytes};
use reqwest::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::wait::patience;

/// Connects to the server at `base`, an `http://` address.
pub async fn connect(base: &str) -> TcpStream {
    TcpStream::connect(base.strip_prefix("http://").unwrap()).await.unwrap()
}

/// Connects from another loopback address, 127.0.0.N.
pub async fn connect_from(base: &str, number: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, number], 0))).unwrap();
    socket.connect(base.strip_prefix("http://").unwrap().parse().unwrap()).await.unwrap()
}

/// Waits until the server closes the connection, and returns the data received before.
pub async fn until_closed(stream: &mut TcpStream) -> String {
    let mut received = Vec::new();
    loop {
        match timeout(patience(), stream.read_buf(&mut received)).await.expect("the server closes the connection") {
            // Closing a connection with unread bytes resets it.
            Ok(0) | Err(_) => return String::from_utf8_lossy(&received).into_owned(),
            Ok(_) => {}
        }
    }
}

/// The bytes of a request, head and body, with `Connection: close`.
pub async fn parts(mut request: Request) -> (Vec<u8>, Vec<u8>) {
    let body = request.body_mut().take().map(Body::new).unwrap_or_default();
    let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
    let url = request.url();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut head = format!("{} {}{query} HTTP/1.1\r\nhost: {}\r\n", request.method(), url.path(), url.authority());
    for (name, value) in request.headers().iter().filter(|(name, _)| *name != "content-length") {
        write!(head, "{name}: {}\r\n", value.to_str().unwrap()).unwrap();
    }
    write!(head, "content-length: {}\r\nconnection: close\r\n\r\n", body.len()).unwrap();
    (head.into_bytes(), body)
}

/// Sends these bytes and returns everything until the server closes; request that with `Connection: close`.
pub async fn exchange(base: &str, request: &[u8]) -> String {
    let mut stream = connect(base).await;
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends these bytes and returns the response, head and body, once it is complete; it needs a Content-Length.
pub async fn answer(base: &str, request: &[u8]) -> String {
    let mut stream = connect(base).await;
    stream.write_all(request).await.unwrap();
    read_answer(&mut stream).await
}

/// Returns the next response of a connection once it is complete; it needs a Content-Length.
pub async fn read_answer(stream: &mut TcpStream) -> String {
    let mut received = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&received).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lengths =
                head.lines().filter_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::trim).map(str::to_owned));
            if lengths.map(|length| length.parse::<usize>().unwrap()).next() == Some(body.len()) {
                return text;
            }
        }
        assert_ne!(stream.read_buf(&mut received).await.unwrap(), 0, "the server closed after {text:?}");
    }
}
