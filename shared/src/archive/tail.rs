//! The last bytes of a file, read at their places in it.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

/// A file whose end is known. Reading before it fails.
pub(super) struct Tail<'b> {
    start: u64,
    bytes: Cursor<&'b [u8]>,
}

impl<'b> Tail<'b> {
    /// The last bytes of a file of this length.
    pub(super) fn new(bytes: &'b [u8], length: u64) -> Self {
        Self { start: length.saturating_sub(bytes.len() as u64), bytes: Cursor::new(bytes) }
    }
}

impl Read for Tail<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(into)
    }
}

impl Seek for Tail<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(place) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        let within = place.checked_sub(self.start).ok_or(io::ErrorKind::InvalidInput)?;
        self.bytes.seek(SeekFrom::Start(within))?;
        Ok(place)
    }
}
