//! A part of the file, read once from start to end, buffered.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use super::fault::ArchiveFault;

/// Large enough that system calls cost little compared to inflating and hashing what they read.
const BUFFER: usize = 64 * 1024;

/// Reads from `position` up to `end` and never beyond. Reaching `end` too early is the archive's fault. Reaching the end of the file is not: `end` is
/// within the file's known length.
pub(crate) struct Source<R> {
    reader: BufReader<R>,
    position: u64,
    end: u64,
    overrun: &'static str,
}

impl<R: Read + Seek> Source<R> {
    /// `overrun` is the message for an archive whose records extend beyond `end`.
    pub(crate) fn new(mut reader: R, start: u64, end: u64, overrun: &'static str) -> Result<Self, ArchiveFault> {
        reader.seek(SeekFrom::Start(start)).map_err(ArchiveFault::Read)?;
        Ok(Self { reader: BufReader::with_capacity(BUFFER, reader), position: start, end, overrun })
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ArchiveFault> {
        self.advance(N as u64)?;
        let mut array = [0; N];
        self.reader.read_exact(&mut array).map_err(ArchiveFault::Read)?;
        Ok(array)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ArchiveFault> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ArchiveFault> {
        self.array().map(u32::from_le_bytes)
    }

    /// Fills `into`, a reused buffer, with the next `count` bytes: at most 65,535, whatever an archive declares.
    pub(crate) fn bytes(&mut self, count: u16, into: &mut Vec<u8>) -> Result<(), ArchiveFault> {
        self.advance(count.into())?;
        into.clear();
        into.resize(count.into(), 0);
        self.reader.read_exact(into).map_err(ArchiveFault::Read)
    }

    /// Returns up to `at_most` of the next bytes; empty only if `at_most` is 0. They are not consumed until [`Self::consume`].
    pub(crate) fn chunk(&mut self, at_most: u64) -> Result<&[u8], ArchiveFault> {
        if self.end.saturating_sub(self.position) < at_most {
            return Err(ArchiveFault::archive(self.overrun));
        }
        if at_most == 0 {
            return Ok(&[]);
        }
        let buffer = fill(&mut self.reader).map_err(ArchiveFault::Read)?;
        let count = usize::try_from(at_most).unwrap_or(usize::MAX);
        Ok(buffer.get(..count).unwrap_or(buffer))
    }

    /// Goes forward to `position`, which is not behind the current one.
    pub(crate) fn skip_to(&mut self, position: u64) -> Result<(), ArchiveFault> {
        let forward = position.checked_sub(self.position).and_then(|count| i64::try_from(count).ok());
        let forward = forward.ok_or_else(|| ArchiveFault::archive("two entries of the archive overlap"))?;
        self.advance(forward.unsigned_abs())?;
        self.reader.seek_relative(forward).map_err(ArchiveFault::Read)
    }

    /// Consumes `count` bytes of the last [`Self::chunk`].
    pub(crate) fn consume(&mut self, count: usize) {
        self.reader.consume(count);
        self.position += count as u64;
    }

    fn advance(&mut self, count: u64) -> Result<(), ArchiveFault> {
        match self.position.checked_add(count) {
            Some(position) if position <= self.end => self.position = position,
            _ => return Err(ArchiveFault::archive(self.overrun)),
        }
        Ok(())
    }
}

fn fill<R: Read>(reader: &mut BufReader<R>) -> io::Result<&[u8]> {
    loop {
        match reader.fill_buf() {
            Ok([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(reader.buffer())
}
