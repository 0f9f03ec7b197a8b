//! A proxy that counts occurrences of a text, since the number of calls between two programs is not visible otherwise.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A proxy; it stops with the test's runtime.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Its URL, without a trailing slash.
    pub base: String,
    counted: Arc<AtomicU64>,
}

impl Relay {
    /// Forwards every connection to `target`, and counts how often `text` (not empty) is sent there.
    pub async fn start(target: SocketAddr, text: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let counted = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&counted);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass(stream, target, text, Arc::clone(&seen)));
            }
        });
        Self { base, counted }
    }

    /// The number of occurrences so far.
    pub fn counted(&self) -> u64 {
        self.counted.load(Ordering::SeqCst)
    }
}

/// When either side ends, both are dropped.
async fn pass(client: TcpStream, target: SocketAddr, text: &str, counted: Arc<AtomicU64>) -> std::io::Result<()> {
    let server = TcpStream::connect(target).await?;
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (client.into_split(), server.into_split());
    let back = tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
    let mut window = Vec::new();
    loop {
        let seen = window.len();
        if from_client.read_buf(&mut window).await? == 0 {
            break;
        }
        to_server.write_all(&window[seen..]).await?;
        let found = window.windows(text.len()).filter(|part| *part == text.as_bytes()).count();
        counted.fetch_add(found as u64, Ordering::SeqCst);
        // Keep a possible beginning of the text; it is too short to be counted twice.
        window.drain(..window.len().saturating_sub(text.len() - 1));
    }
    to_server.shutdown().await?;
    back.await.map_err(std::io::Error::other)?.map(drop)
}
