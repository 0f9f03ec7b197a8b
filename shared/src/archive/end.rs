//! The end of central directory record, which locates the central directory.

use std::io::{Read, Seek};

use super::fault::ArchiveFault;
use super::source::Source;

const SIGNATURE: &[u8; 4] = b"PK\x05\x06";
/// Length of the record without its comment.
const LENGTH: usize = 22;
const LOCATOR_SIGNATURE: &[u8; 4] = b"PK\x06\x07";
const LOCATOR_LENGTH: usize = 20;

const ZIP64: &str = "the archive uses zip64 records, which are for more than 65,534 entries or 4 GiB";

/// Where the central directory is, and how many entries it lists.
pub(super) struct End {
    pub(super) directory_offset: u64,
    /// Also the end of the directory: nothing is between the two.
    pub(super) record_offset: u64,
    pub(super) entries: u16,
}

/// Finds the one end record.
///
/// Readers search for it in different ways: at the file's end minus 22, the last signature, or the first signature whose comment reaches the end of
/// the file. Only a file where all of them find the same record is accepted.
pub(super) fn find(file: &mut (impl Read + Seek), length: u64) -> Result<End, ArchiveFault> {
    let start = length.saturating_sub(LENGTH as u64 + u64::from(u16::MAX));
    let mut source = Source::new(file, start, length, "the archive is truncated")?;
    let mut tail = Vec::new();
    while source.position() < length {
        let chunk = source.chunk(length - source.position())?;
        tail.extend_from_slice(chunk);
        let count = chunk.len();
        source.consume(count);
    }

    let last_signature = tail.windows(SIGNATURE.len()).rposition(|window| window == SIGNATURE);
    let mut fitting = (0..).zip(tail.windows(LENGTH)).filter(|&(at, window)| comment_fits(window, tail.len() - LENGTH - at));
    let (Some(last_signature), Some((at, record))) = (last_signature, fitting.next()) else {
        return Err(ArchiveFault::archive("the archive has no end record at the end of the file: it is truncated, or bytes follow it"));
    };
    if fitting.next().is_some() || last_signature != at {
        return Err(ArchiveFault::archive("the archive has several end records"));
    }
    if at.checked_sub(LOCATOR_LENGTH).and_then(|before| tail.get(before..)).is_some_and(|bytes| bytes.starts_with(LOCATOR_SIGNATURE)) {
        return Err(ArchiveFault::archive(ZIP64));
    }
    parse(record, start + at as u64)
}

/// Whether `window` is an end record whose comment is exactly the `rest` bytes that follow it.
fn comment_fits(window: &[u8], rest: usize) -> bool {
    window.starts_with(SIGNATURE) && window.last_chunk().is_some_and(|length| usize::from(u16::from_le_bytes(*length)) == rest)
}

fn parse(record: &[u8], at: u64) -> Result<End, ArchiveFault> {
    let mut fields = Source::new(std::io::Cursor::new(record), 4, record.len() as u64, "the end record is truncated")?;
    let (disk, directory_disk) = (fields.u16()?, fields.u16()?);
    let (disk_entries, entries) = (fields.u16()?, fields.u16()?);
    let (size, offset) = (fields.u32()?, fields.u32()?);
    if disk_entries == u16::MAX || entries == u16::MAX || size == u32::MAX || offset == u32::MAX {
        return Err(ArchiveFault::archive(ZIP64));
    }
    if disk != 0 || directory_disk != 0 || disk_entries != entries {
        return Err(ArchiveFault::archive("the archive is split over several files"));
    }
    if entries == 0 {
        return Err(ArchiveFault::archive(super::HOLDS_NO_FILES));
    }
    let (directory_offset, size) = (u64::from(offset), u64::from(size));
    if directory_offset + size != at {
        return Err(ArchiveFault::archive("the central directory does not end where the end record begins"));
    }
    Ok(End { directory_offset, record_offset: at, entries })
}
