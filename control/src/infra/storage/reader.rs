//! A stream of one object's bytes, from any backend.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf, Take};

/// The bytes of an object, or a range of them, as an [`AsyncRead`].
pub struct BlobReader {
    total_length: u64,
    range: Range<u64>,
    bytes: Take<Box<dyn AsyncRead + Send + Unpin>>,
}

impl BlobReader {
    /// `bytes` is positioned at the start of `range`, which is within `total_length`: see [`within`].
    pub(super) fn new(bytes: impl AsyncRead + Send + Unpin + 'static, total_length: u64, range: Range<u64>) -> Self {
        let bytes: Box<dyn AsyncRead + Send + Unpin> = Box::new(bytes);
        let length = range.end.saturating_sub(range.start);
        Self { total_length, range, bytes: bytes.take(length) }
    }

    /// The length of the whole object in bytes.
    pub fn total_length(&self) -> u64 {
        self.total_length
    }

    /// The range of the object that this reader returns.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }
}

impl AsyncRead for BlobReader {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.bytes).poll_read(context, buffer)
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
