//! Reads the entries' data, from the file's first byte to the central directory: inflates, counts, checks and hashes it, and keeps none of it.

use std::io::{Read, Seek, SeekFrom};

use crate::hash::Sha256Hex;
use crate::package::Manifest;
use flate2::read::DeflateDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use sha2::{Digest, Sha256};

use super::fault::ArchiveFault;
use super::headers::{self, Entry};
use super::source::Source;

const BUFFER: usize = 64 * 1024;
const DESCRIPTOR_SIGNATURE: [u8; 4] = *b"PK\x07\x08";
/// Checksum and two sizes, without and with the signature in front, which is optional.
const DESCRIPTOR: u64 = 12;
const SIGNED_DESCRIPTOR: u64 = 16;

/// Reads all entries. They are sorted by offset and must fill the file up to `directory_offset` without gap or overlap.
pub(super) fn read(file: &mut (impl Read + Seek), entries: &[Entry], directory_offset: u64) -> Result<Manifest, ArchiveFault> {
    let mut source = Source::new(file, 0, directory_offset, "the last entry runs into the central directory")?;
    let mut unpacker = Unpacker { inflater: Decompress::new(false), buffer: vec![0; BUFFER] };
    let mut scratch = Vec::new();
    let mut manifest = Manifest::new();
    let ends = entries.iter().skip(1).map(|next| u64::from(next.offset)).chain([directory_offset]);
    for (entry, end) in entries.iter().zip(ends) {
        // Always true except for the first entry, because the previous entry was read up to exactly here.
        if u64::from(entry.offset) != source.position() {
            return Err(entry.fault("bytes before it belong to no entry"));
        }
        headers::read_local(&mut source, entry, &mut scratch)?;
        let data_end = source.position() + u64::from(entry.compressed);
        let after = end.checked_sub(data_end).ok_or_else(|| entry.fault("it overlaps what follows it"))?;
        match (entry.has_descriptor(), after) {
            (false, 0) | (true, DESCRIPTOR | SIGNED_DESCRIPTOR) => {}
            (true, 0..DESCRIPTOR) => return Err(entry.fault("its data descriptor is missing")),
            _ => return Err(entry.fault("bytes after it belong to no entry")),
        }
        let hash = unpacker.hash(&mut source, entry)?;
        if entry.has_descriptor() {
            check_descriptor(&mut source, entry, after == SIGNED_DESCRIPTOR)?;
        }
        // `insert` skips directories and other names that clients do not hash.
        manifest.insert(&entry.name, hash);
    }
    Ok(manifest)
}

/// The uncompressed data of an entry that was read before: at most `limit` bytes.
pub(super) fn data(file: &mut (impl Read + Seek), entry: &Entry, end: u64, limit: u32) -> Result<Vec<u8>, ArchiveFault> {
    if entry.uncompressed > limit {
        return Err(entry.fault(format!("it has {} bytes, more than the limit of {limit}", entry.uncompressed)));
    }
    let mut source = Source::new(&mut *file, entry.offset.into(), end, "the entry runs into the central directory")?;
    headers::read_local(&mut source, entry, &mut Vec::new())?;
    let start = source.position();
    file.seek(SeekFrom::Start(start)).map_err(ArchiveFault::Read)?;
    let compressed = file.take(entry.compressed.into());
    let mut bytes = Vec::new();
    let read = if entry.is_deflated() {
        DeflateDecoder::new(compressed).take(entry.uncompressed.into()).read_to_end(&mut bytes)
    } else {
        compressed.take(entry.uncompressed.into()).read_to_end(&mut bytes)
    };
    read.map_err(ArchiveFault::Read)?;
    Ok(bytes)
}

fn check_descriptor<R: Read + Seek>(source: &mut Source<R>, entry: &Entry, is_signed: bool) -> Result<(), ArchiveFault> {
    let signature_is_good = !is_signed || source.array()? == DESCRIPTOR_SIGNATURE;
    let crc32: [u8; 4] = source.array()?;
    // Readers mistake a checksum that looks like the signature for the signature.
    let is_clear = is_signed || crc32 != DESCRIPTOR_SIGNATURE;
    let (compressed, uncompressed) = (source.u32()?, source.u32()?);
    if signature_is_good
        && is_clear
        && u32::from_le_bytes(crc32) == entry.crc32
        && compressed == entry.compressed
        && uncompressed == entry.uncompressed
    {
        return Ok(());
    }
    Err(entry.fault("its data descriptor differs from the central directory"))
}

/// State reused for unpacking each entry.
struct Unpacker {
    inflater: Decompress,
    buffer: Vec<u8>,
}

impl Unpacker {
    /// Reads exactly the entry's compressed bytes, and returns the hash of the uncompressed data if it matches what the entry declared.
    fn hash<R: Read + Seek>(&mut self, source: &mut Source<R>, entry: &Entry) -> Result<Sha256Hex, ArchiveFault> {
        let mut output = Output { sha256: Sha256::new(), crc32: crc32fast::Hasher::new(), left: entry.uncompressed.into() };
        if entry.is_deflated() {
            self.inflate(source, entry, &mut output)?;
        } else {
            copy(source, entry, &mut output)?;
        }
        if output.left != 0 {
            return Err(entry.fault("it is shorter than it declares"));
        }
        if output.crc32.finalize() != entry.crc32 {
            return Err(entry.fault("its checksum is wrong"));
        }
        Ok(Sha256Hex::from_digest(output.sha256.finalize().into()))
    }

    fn inflate<R: Read + Seek>(&mut self, source: &mut Source<R>, entry: &Entry, output: &mut Output) -> Result<(), ArchiveFault> {
        self.inflater.reset(false);
        let mut left = u64::from(entry.compressed);
        loop {
            let (consumed_before, produced_before) = (self.inflater.total_in(), self.inflater.total_out());
            let input = source.chunk(left)?;
            let status = self
                .inflater
                .decompress(input, &mut self.buffer, FlushDecompress::None)
                .map_err(|_| entry.fault("its compressed data is damaged"))?;
            let consumed = self.inflater.total_in() - consumed_before;
            let produced = self.inflater.total_out() - produced_before;
            source.consume(usize::try_from(consumed).unwrap_or_default());
            left -= consumed;
            output.take(self.buffer.get(..usize::try_from(produced).unwrap_or_default()).unwrap_or_default(), entry)?;
            match status {
                Status::StreamEnd if left == 0 => return Ok(()),
                Status::StreamEnd => return Err(entry.fault("bytes follow the end of its compressed data")),
                Status::Ok | Status::BufError if consumed == 0 && produced == 0 => {
                    return Err(entry.fault("its compressed data ends too early"));
                }
                Status::Ok | Status::BufError => {}
            }
        }
    }
}

fn copy<R: Read + Seek>(source: &mut Source<R>, entry: &Entry, output: &mut Output) -> Result<(), ArchiveFault> {
    let mut left = u64::from(entry.compressed);
    while left > 0 {
        let chunk = source.chunk(left)?;
        output.take(chunk, entry)?;
        let count = chunk.len();
        source.consume(count);
        left -= count as u64;
    }
    Ok(())
}

/// Consumes an entry's uncompressed bytes.
struct Output {
    sha256: Sha256,
    crc32: crc32fast::Hasher,
    /// How many bytes are left, by the declared size.
    left: u64,
}

impl Output {
    /// Stops a ZIP bomb that lies about its size: one buffer after its declared size, which has been checked against the limits.
    fn take(&mut self, bytes: &[u8], entry: &Entry) -> Result<(), ArchiveFault> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| entry.fault("it is longer than it declares"))?;
        self.crc32.update(bytes);
        self.sha256.update(bytes);
        Ok(())
    }
}
