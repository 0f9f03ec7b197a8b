//! Writes a diff: copies entries of the target's archive as they are compressed.

use std::collections::HashSet;
use std::io::{self, BufWriter, Read, Seek, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::marker::Marker;
use super::plan::Plan;
use crate::archive::{
    self, ArchiveFault, CENTRAL_SIGNATURE, DEFLATED, DIFF_MARKER, Entry, INSPECTED, LOCAL_SIGNATURE, Purpose, Source, UNIX_FILE,
};

const BUFFER: usize = 64 * 1024;
const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
/// Lengths of an entry's two headers without its name, and of the end record.
const HEADERS: u64 = 30 + 46;
const END: u64 = 22;
/// The version of the format that readers need: 2.0, for Deflate.
const VERSION: u16 = 20;
const MADE_ON_UNIX: u16 = 3 << 8 | VERSION;
const PERMISSIONS: u32 = 0o644;
/// January 1, 1980, the earliest that the format has. Equal diffs are equal bytes.
const MARKER_DATE: [u8; 4] = [0, 0, 0x21, 0];

/// Why a diff was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteFault {
    /// It would have more bytes than the limit, or more entries than an archive can have. Nothing was written.
    #[error("the diff is too large")]
    TooLarge,
    /// The target's archive could not be read, or is not the plan's.
    #[error("the package's archive could not be read")]
    Target(#[source] ArchiveFault),
    /// The diff could not be written.
    #[error("the diff could not be written")]
    Write(#[source] io::Error),
}

impl From<ArchiveFault> for WriteFault {
    fn from(fault: ArchiveFault) -> Self {
        Self::Target(fault)
    }
}

/// Writes the diff of `plan` to `to`, and returns how many bytes it has: `limit` at most.
///
/// `target` is the archive of the plan's target, of `length` bytes, already checked against its hash. Its files are not inflated. Memory: the target's
/// directory, the diff's directory, and two buffers. Blocking: call it inside `spawn_blocking`.
pub fn write(
    target: &mut (impl Read + Seek),
    length: u64,
    plan: &Plan,
    limit: u64,
    to: &mut (impl Write + Seek),
) -> Result<u64, WriteFault> {
    let listing = archive::list(target, length, &INSPECTED, Purpose::Package)?;
    let names: HashSet<&str> = plan.written().iter().map(String::as_str).collect();
    let entries: Vec<&Entry> = listing.entries.iter().filter(|entry| names.contains(entry.name.as_str())).collect();
    if entries.len() != names.len() {
        return Err(ArchiveFault::archive("the archive does not have all files of the plan").into());
    }

    let marker = Packed::marker(plan)?;
    let headers: Vec<Header<'_>> = [marker.header()].into_iter().chain(entries.iter().map(|entry| Header::of(entry))).collect();
    let bytes = END + headers.iter().map(|header| HEADERS + 2 * header.name.len() as u64 + u64::from(header.compressed)).sum::<u64>();
    // 65,535 entries and sizes or offsets of 4 GiB would need zip64 records, which devices do not read.
    let count = u16::try_from(headers.len()).ok().filter(|count| *count < u16::MAX);
    let Some(count) = count.filter(|_| bytes <= limit && bytes < u32::MAX.into()) else { return Err(WriteFault::TooLarge) };

    let mut source = Source::new(target, 0, listing.directory_offset, "the last entry runs into the central directory")?;
    let mut output = Output { to: BufWriter::with_capacity(BUFFER, to), written: 0 };
    let mut offsets = Vec::with_capacity(headers.len());
    let mut scratch = Vec::new();
    for (position, header) in headers.iter().enumerate() {
        offsets.push(output.written);
        output.put(&header.local())?;
        match position.checked_sub(1).and_then(|index| entries.get(index)) {
            None => output.put(&marker.data)?,
            Some(entry) => {
                source.skip_to(entry.offset.into())?;
                archive::read_local(&mut source, entry, &mut scratch)?;
                output.copy(&mut source, entry.compressed)?;
            }
        }
    }
    let directory = output.written;
    for (header, offset) in headers.iter().zip(offsets) {
        output.put(&header.central(offset))?;
    }
    output.put(&end(count, output.written - directory, directory))?;
    output.to.flush().map_err(WriteFault::Write)?;
    Ok(output.written)
}

/// Counts what it writes.
struct Output<W: Write> {
    to: BufWriter<W>,
    written: u64,
}

impl<W: Write> Output<W> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), WriteFault> {
        self.written += bytes.len() as u64;
        self.to.write_all(bytes).map_err(WriteFault::Write)
    }

    fn copy<R: Read + Seek>(&mut self, source: &mut Source<R>, count: u32) -> Result<(), WriteFault> {
        let mut left = u64::from(count);
        while left > 0 {
            let chunk = source.chunk(left)?;
            self.put(chunk)?;
            let count = chunk.len();
            source.consume(count);
            left -= count as u64;
        }
        Ok(())
    }
}

/// The marker as it is in the diff.
struct Packed {
    data: Vec<u8>,
    crc32: u32,
    uncompressed: u32,
}

impl Packed {
    fn marker(plan: &Plan) -> Result<Self, WriteFault> {
        let marker = Marker { deleted_files: plan.deleted().iter().map(String::as_str).collect() };
        let json = serde_json::to_vec(&marker).map_err(|error| WriteFault::Write(error.into()))?;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&json).map_err(WriteFault::Write)?;
        let data = encoder.finish().map_err(WriteFault::Write)?;
        let uncompressed = u32::try_from(json.len()).map_err(|_| WriteFault::TooLarge)?;
        Ok(Self { data, crc32: crc32fast::hash(&json), uncompressed })
    }

    fn header(&self) -> Header<'_> {
        Header {
            name: DIFF_MARKER,
            flags: 0,
            method: DEFLATED,
            modified: MARKER_DATE,
            crc32: self.crc32,
            // Larger data is larger than every limit.
            compressed: u32::try_from(self.data.len()).unwrap_or(u32::MAX),
            uncompressed: self.uncompressed,
        }
    }
}

/// What both headers of an entry say.
struct Header<'n> {
    name: &'n str,
    flags: u16,
    method: u16,
    modified: [u8; 4],
    crc32: u32,
    compressed: u32,
    uncompressed: u32,
}

impl<'n> Header<'n> {
    fn of(entry: &'n Entry) -> Self {
        Self {
            name: &entry.name,
            flags: entry.flags_without_descriptor(),
            method: entry.method,
            modified: entry.modified,
            crc32: entry.crc32,
            compressed: entry.compressed,
            uncompressed: entry.uncompressed,
        }
    }

    fn local(&self) -> Vec<u8> {
        let mut bytes = LOCAL_SIGNATURE.to_vec();
        self.push_common(&mut bytes);
        bytes.extend(self.name.bytes());
        bytes
    }

    fn central(&self, offset: u64) -> Vec<u8> {
        let mut bytes = CENTRAL_SIGNATURE.to_vec();
        bytes.extend(MADE_ON_UNIX.to_le_bytes());
        self.push_common(&mut bytes);
        // Comment, disk, and internal attributes.
        bytes.extend([0; 6]);
        bytes.extend(((UNIX_FILE | PERMISSIONS) << 16).to_le_bytes());
        bytes.extend(low32(offset));
        bytes.extend(self.name.bytes());
        bytes
    }

    /// From the needed version to the length of the extra field.
    fn push_common(&self, bytes: &mut Vec<u8>) {
        bytes.extend([VERSION, self.flags, self.method].iter().flat_map(|field| field.to_le_bytes()));
        bytes.extend(self.modified);
        bytes.extend([self.crc32, self.compressed, self.uncompressed].iter().flat_map(|field| field.to_le_bytes()));
        // Names of entries are at most 1,024 bytes long; there is no extra field.
        let name = u16::try_from(self.name.len()).unwrap_or(u16::MAX);
        bytes.extend([name, 0].iter().flat_map(|field| field.to_le_bytes()));
    }
}

fn end(count: u16, size: u64, offset: u64) -> Vec<u8> {
    let mut bytes = END_SIGNATURE.to_vec();
    bytes.extend([0; 4]);
    bytes.extend([count, count].iter().flat_map(|field| field.to_le_bytes()));
    bytes.extend(low32(size));
    bytes.extend(low32(offset));
    bytes.extend([0; 2]);
    bytes
}

/// A number within a diff, whose length was checked to fit.
fn low32(number: u64) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}
