//! The central directory: the list of an archive's entries, held in memory while the archive is judged.

use std::io::{Read, Seek};

use super::ArchiveLimits;
use super::end::End;
use super::fault::ArchiveFault;
use super::headers::{self, Entry};
use super::source::Source;

/// All names together: 400 bytes each at 20,000 entries. Names of the greatest length would take more than twice as much.
const NAMES_BYTES: usize = 8 << 20;

/// Reads every entry of the directory, checks each by itself and all together against `limits`; `length` is that of the whole file.
///
/// Sizes are what the archive declares. That is enough to keep the limits, because reading an entry stops as soon as it exceeds what it declared.
pub(super) fn read(file: &mut (impl Read + Seek), end: &End, length: u64, limits: &ArchiveLimits) -> Result<Vec<Entry>, ArchiveFault> {
    if u32::from(end.entries) > limits.entries {
        return Err(ArchiveFault::archive(format!("the archive has {} entries, more than {}", end.entries, limits.entries)));
    }
    let mut source = Source::new(file, end.directory_offset, end.record_offset, "the central directory ends within an entry")?;
    let mut entries = Vec::new();
    let (mut names, mut total) = (0_usize, 0_u64);
    for _ in 0..end.entries {
        let entry = headers::read_central(&mut source)?;
        names += entry.name.len();
        if names > NAMES_BYTES {
            return Err(ArchiveFault::archive(format!("the archive's names take more than {NAMES_BYTES} bytes together")));
        }
        total += u64::from(entry.uncompressed);
        if total > limits.uncompressed_bytes {
            let why = format!("with it the archive exceeds {} bytes uncompressed", limits.uncompressed_bytes);
            return Err(ArchiveFault::entry(entry.name.as_bytes(), why));
        }
        if total > length.saturating_mul(limits.ratio) {
            let why = format!("with it the archive exceeds a compression ratio of {}:1", limits.ratio);
            return Err(ArchiveFault::entry(entry.name.as_bytes(), why));
        }
        entries.push(entry);
    }
    if source.position() != end.record_offset {
        return Err(ArchiveFault::archive("the central directory is longer than its entries"));
    }
    Ok(entries)
}
