//! Sends requests over many keep-alive connections, one request at a time on each.

use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::Failure;
use crate::figures::number;

/// The responses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Responses with status 200; any other status aborts the run.
    pub(crate) answers: u64,
    /// Responses whose body was noted.
    pub(crate) noted: u64,
    /// From the first request to the last response.
    pub(crate) seconds: f64,
    /// The duration of each.
    times: Vec<Duration>,
}

impl Tally {
    /// Responses per second.
    pub(crate) fn rate(&self) -> f64 {
        number(self.answers) / self.seconds
    }

    /// This percentile of the response times, in milliseconds.
    pub(crate) fn milliseconds(&self, percent: usize) -> f64 {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        let place = sorted.len().saturating_sub(1) * percent / 100;
        sorted.get(place).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
    }
}

/// Sends the requests that `next` returns, over this many connections, until it returns `None`. `note` decides for each body whether it is noted.
pub(crate) async fn send<'q>(
    port: u16,
    connections: usize,
    next: impl Fn() -> Option<&'q [u8]>,
    note: impl Fn(&[u8]) -> bool,
) -> Result<Tally, Failure> {
    let streams = open(port, connections).await?;
    let began = Instant::now();
    let tallies = try_join_all(streams.into_iter().map(|stream| send_on_one(stream, &next, &note))).await?;
    let mut sum = Tally { seconds: began.elapsed().as_secs_f64(), ..Tally::default() };
    for tally in tallies {
        sum.answers += tally.answers;
        sum.noted += tally.noted;
        sum.times.extend(tally.times);
    }
    Ok(sum)
}

/// Opens this many connections.
pub(crate) async fn open(port: u16, connections: usize) -> Result<Vec<TcpStream>, Failure> {
    let mut streams = Vec::with_capacity(connections);
    for _ in 0..connections {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    Ok(streams)
}

/// Sends one request, and returns the body of the response, which `buffer` holds.
pub(crate) async fn exchange<'b>(stream: &mut TcpStream, request: &[u8], buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Failure> {
    stream.write_all(request).await?;
    buffer.clear();
    while body(buffer)?.is_none() {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server closed a connection".into());
        }
    }
    Ok(body(buffer)?.unwrap_or_default())
}

async fn send_on_one<'q>(
    mut stream: TcpStream,
    next: impl Fn() -> Option<&'q [u8]>,
    note: impl Fn(&[u8]) -> bool,
) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    let mut buffer = Vec::with_capacity(4_096);
    while let Some(request) = next() {
        let began = Instant::now();
        let body = exchange(&mut stream, request, &mut buffer).await?;
        tally.times.push(began.elapsed());
        tally.answers += 1;
        tally.noted += u64::from(note(body));
    }
    Ok(tally)
}

/// The body of a response, once it is complete. A response without a length or with a status other than 200, 201 and 204 is an error.
fn body(answer: &[u8]) -> Result<Option<&[u8]>, Failure> {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let (head, rest) = answer.split_at(end);
    let body = rest.get(4..).unwrap_or_default();
    if head.starts_with(b"HTTP/1.1 204") {
        return Ok(Some(body));
    }
    if !head.starts_with(b"HTTP/1.1 200") && !head.starts_with(b"HTTP/1.1 201") {
        return Err(format!("answered with {}\n{}", String::from_utf8_lossy(head), String::from_utf8_lossy(body)).into());
    }
    let length = head.split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(15)?;
        name.eq_ignore_ascii_case(b"content-length:").then(|| std::str::from_utf8(value).ok()?.trim().parse::<usize>().ok())?
    });
    match length {
        Some(length) if body.len() == length => Ok(Some(body)),
        Some(length) if body.len() < length => Ok(None),
        _ => Err("a response without a length, or longer than its length".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::body;

    #[test]
    fn a_response_is_read_to_its_end() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nx: y\r\n\r\nhello";
        assert_eq!(body(answer).unwrap(), Some(b"hello".as_slice()));
        for cut in 0..answer.len() {
            assert_eq!(body(&answer[..cut]).unwrap(), None);
        }
        assert!(body(b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n").is_err());
        assert!(body(b"HTTP/1.1 200 OK\r\n\r\nhello").is_err());
        assert!(body(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nhello").is_err());
    }
}
