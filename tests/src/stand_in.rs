//! A scripted server in place of the control plane, which sends any bytes and records its requests.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A received request.
#[derive(Clone, Debug)]
pub struct DayRange {
    /// For example `GET /path?query HTTP/1.1`.
    pub line: String,
    /// Lowercase header names with their values, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl DayRange {
    /// Every value of a header.
    pub fn header(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }
}

/// The server; it stops with the test's runtime.
#[derive(Clone, Debug)]
pub struct StandIn {
    /// Its URL, without a trailing slash.
    pub base: String,
    asked: Arc<Mutex<Vec<DayRange>>>,
}

impl StandIn {
    /// Starts a server that sends the bytes returned by `answer` for each request, and then closes the connection.
    pub async fn start(answer: impl Fn(&DayRange) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&asked), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&kept), Arc::clone(&answer)));
            }
        });
        Self { base, asked }
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<DayRange> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last request.
    pub fn last(&self) -> DayRange {
        self.asked().pop().expect("no request was made")
    }
}

async fn serve(mut stream: TcpStream, kept: Arc<Mutex<Vec<DayRange>>>, answer: Arc<impl Fn(&DayRange) -> Vec<u8>>) {
    let Some(asked) = read(&mut stream).await else { return };
    kept.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
    // It does not matter if the client is gone.
    let _gone = stream.write_all(&answer(&asked)).await;
    let _gone = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<DayRange> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).ok()?;
    let mut lines = text.split("\r\n").map(str::to_owned);
    let line = lines.next()?;
    let headers: Vec<_> =
        lines.filter_map(|line| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))).collect();
    let mut asked = DayRange { line, headers, body: bytes.split_off(head + 4) };
    if asked.header("transfer-encoding") == ["chunked"] {
        asked.body = loop {
            if let Some(body) = joined(&asked.body) {
                break body;
            }
            if stream.read_buf(&mut asked.body).await.ok()? == 0 {
                return None;
            }
        };
    } else if let Some(length) = asked.header("content-length").first().and_then(|length| length.parse::<usize>().ok()) {
        while asked.body.len() < length {
            if stream.read_buf(&mut asked.body).await.ok()? == 0 {
                return None;
            }
        }
    }
    Some(asked)
}

/// Joins the chunks of a chunked body.
fn joined(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
        rest = rest.get(end + 2 + size + 2..)?;
    }
}
