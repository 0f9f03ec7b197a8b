//! A stream of one object's bytes, from any backend.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::ready;
use futures_util::stream::{BoxStream, Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf, Take};
use tokio_util::io::{ReaderStream, StreamReader};

/// The bytes of an object, or a range of them, as an [`AsyncRead`].
pub struct BlobReader {
    total_length: u64,
    range: Range<u64>,
    bytes: Source,
}

/// Where the bytes come from.
enum Source {
    /// A file, or memory.
    Reader(Take<Box<dyn AsyncRead + Send + Unpin>>),
    /// Another server's answer. Its chunks need not be copied.
    Chunks(Take<StreamReader<BoxStream<'static, io::Result<Bytes>>, Bytes>>),
}

impl BlobReader {
    /// `bytes` is positioned at the start of `range`, which is within `total_length`: see [`within`].
    pub(super) fn new(bytes: impl AsyncRead + Send + Unpin + 'static, total_length: u64, range: Range<u64>) -> Self {
        let bytes: Box<dyn AsyncRead + Send + Unpin> = Box::new(bytes);
        let length = range.end.saturating_sub(range.start);
        Self { total_length, range, bytes: Source::Reader(bytes.take(length)) }
    }

    /// The same of chunks.
    pub(super) fn of_chunks(chunks: impl Stream<Item = io::Result<Bytes>> + Send + 'static, total_length: u64, range: Range<u64>) -> Self {
        let length = range.end.saturating_sub(range.start);
        Self { total_length, range, bytes: Source::Chunks(StreamReader::new(chunks.boxed()).take(length)) }
    }

    /// The length of the whole object in bytes.
    pub fn total_length(&self) -> u64 {
        self.total_length
    }

    /// The range of the object that this reader returns.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// The bytes that were not read yet, in chunks: of at most `size` bytes from a file, as they arrive from another server.
    pub fn into_chunks(self, size: usize) -> BoxStream<'static, io::Result<Bytes>> {
        match self.bytes {
            Source::Reader(reader) => ReaderStream::with_capacity(reader, size).boxed(),
            Source::Chunks(reader) => {
                let left = reader.limit();
                let (rest, first) = reader.into_inner().into_inner_with_chunk();
                futures_util::stream::iter(first.map(Ok)).chain(rest).scan(left, |left, chunk| ready(within_limit(left, chunk))).boxed()
            }
        }
    }
}

/// What is within the limit, and nothing once it is reached.
fn within_limit(left: &mut u64, chunk: io::Result<Bytes>) -> Option<io::Result<Bytes>> {
    if *left == 0 {
        return None;
    }
    Some(chunk.map(|mut chunk| {
        chunk.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
        *left = left.saturating_sub(chunk.len() as u64);
        chunk
    }))
}

impl AsyncRead for BlobReader {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.bytes {
            Source::Reader(reader) => Pin::new(reader).poll_read(context, buffer),
            Source::Chunks(reader) => Pin::new(reader).poll_read(context, buffer),
        }
    }
}

impl std::fmt::Debug for BlobReader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("BlobReader").field("total_length", &self.total_length).field("range", &self.range).finish_non_exhaustive()
    }
}

/// The range to read from an object of `total_length` bytes. Fails if `requested` exceeds it.
pub(super) fn within(requested: Option<Range<u64>>, total_length: u64) -> io::Result<Range<u64>> {
    let range = requested.unwrap_or(0..total_length);
    if range.start > range.end || range.end > total_length {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the range is not within the object"));
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader() -> BlobReader {
        let chunks = ["abc", "", "defg", "hij"].map(|text| Ok(Bytes::from_static(text.as_bytes())));
        BlobReader::of_chunks(futures_util::stream::iter(chunks), 100, 10..18)
    }

    #[tokio::test]
    async fn chunks_end_with_the_range() {
        let all: Vec<Bytes> = reader().into_chunks(2).map(Result::unwrap_or_default).collect().await;
        assert_eq!(all.concat(), b"abcdefgh");
        let mut begun = reader();
        let mut first = [0; 5];
        assert_eq!((begun.read_exact(&mut first).await.ok(), &first), (Some(5), b"abcde"));
        let rest: Vec<Bytes> = begun.into_chunks(2).map(Result::unwrap_or_default).collect().await;
        assert_eq!(rest.concat(), b"fgh");
    }
}
