//! The central directory: the list of an archive's entries, kept in memory during the inspection.

use std::io::{Read, Seek};

use super::end::End;
use super::fault::ArchiveFault;
use super::headers::{self, Entry};
use super::source::Source;
use super::{ArchiveLimits, Purpose};

/// Total bytes of all names: 400 bytes each at 20,000 entries. Names of the maximum length would take more than twice that.
const NAMES_BYTES: usize = 8 << 20;

/// Refuses an archive with more entries than the limit, before its directory is read.
pub(super) fn check_count(end: &End, limit: u32) -> Result<(), ArchiveFault> {
    if u32::from(end.entries) > limit {
        return Err(ArchiveFault::archive(format!("the archive has {} entries, more than the limit of {limit}", end.entries)));
    }
    Ok(())
}

/// Reads every entry of the directory, checks each alone and all together against `limits`; `length` is that of the whole file.
///
/// Sizes are those that the archive declares. That suffices for the limits, because reading an entry stops once it exceeds its declared size.
pub(super) fn read(
    file: &mut (impl Read + Seek),
    end: &End,
    length: u64,
    limits: &ArchiveLimits,
    purpose: Purpose,
) -> Result<Vec<Entry>, ArchiveFault> {
    check_count(end, limits.entries)?;
    let mut source = Source::new(file, end.directory_offset, end.record_offset, "the central directory ends within an entry")?;
    let mut entries = Vec::new();
    let (mut names, mut total) = (0_usize, 0_u64);
    for _ in 0..end.entries {
        let entry = headers::read_central(&mut source, purpose)?;
        names += entry.name.len();
        if names > NAMES_BYTES {
            return Err(ArchiveFault::archive(format!("the names in the archive exceed {NAMES_BYTES} bytes in total")));
        }
        total += u64::from(entry.uncompressed);
        if total > limits.uncompressed_bytes {
            let why = format!("it takes the archive over {} bytes uncompressed", limits.uncompressed_bytes);
            return Err(ArchiveFault::entry(entry.name.as_bytes(), why));
        }
        if total > length.saturating_mul(limits.ratio) {
            let why = format!("it takes the archive over a compression ratio of {}:1", limits.ratio);
            return Err(ArchiveFault::entry(entry.name.as_bytes(), why));
        }
        entries.push(entry);
    }
    if source.position() != end.record_offset {
        return Err(ArchiveFault::archive("the central directory is longer than its entries"));
    }
    Ok(entries)
}
