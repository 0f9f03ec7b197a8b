//! Judging an uploaded file: a sound zip archive, or a single-file package; its package hash and manifest.
//!
//! Not here: receiving the upload, storing it, making diffs. Nothing is ever unpacked to disk.
//! Start at [`inspect`]. It reads the file twice, the directory at its end and then everything from its first byte, and needs the same small
//! memory for every archive: the directory's entries, and two buffers.
//!
//! The rules exist because the archive has several readers: streaming ones (Android) believe the local headers, others (iOS) the central directory
//! at the end, and file systems differ on case and Unicode form. An archive is accepted only if all of them must see the same files.

mod content;
mod directory;
mod end;
mod fault;
mod headers;
mod names;
mod source;

use std::io::{Read, Seek, SeekFrom};

pub use fault::ArchiveFault;

use shared::hash::{PackageHash, Sha256Hex};
use shared::package::Manifest;

/// How large an archive may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Entries, directories counted too. Archives of 65,535 and more need zip64 records, which are refused whatever is set here.
    pub entries: u32,
    /// Bytes of all entries together, once uncompressed.
    pub uncompressed_bytes: u64,
    /// Uncompressed bytes of all entries, per byte of the whole file.
    pub ratio: u64,
}

/// What a sound upload turned out to hold.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The hash that clients compute themselves after unpacking.
    pub package_hash: PackageHash,
    /// The files of a zip archive with their hashes. `None`: a single-file package.
    pub manifest: Option<Manifest>,
}

/// Checks a finished upload and computes its package hash and manifest.
///
/// A file that starts as a zip archive does must be a sound one; every other file is a single-file package, whose hash is the file's own.
/// `length` is the file's length in bytes and `file_sha256` its hash, both taken while it streamed in. Blocking: run it inside `spawn_blocking`.
///
/// An archive is [`ArchiveFault::Refused`] when any reader could see other files in it than another, when it does not keep `limits`, and when it
/// holds nothing that a client could run. An empty file is refused too.
pub fn inspect(
    file: &mut (impl Read + Seek),
    length: u64,
    file_sha256: Sha256Hex,
    limits: &ArchiveLimits,
) -> Result<Contents, ArchiveFault> {
    if length == 0 {
        return Err(ArchiveFault::archive("the file is empty"));
    }
    let mut start = Vec::with_capacity(4);
    file.seek(SeekFrom::Start(0)).map_err(ArchiveFault::Read)?;
    file.take(4).read_to_end(&mut start).map_err(ArchiveFault::Read)?;
    match start.as_slice() {
        b"PK\x03\x04" => inspect_zip(file, length, limits),
        // An archive without entries is nothing but its end record. Taken for a script, it would leave the app without one.
        b"PK\x05\x06" => Err(ArchiveFault::archive(HOLDS_NO_FILES)),
        // The mark of the first part of an archive in several parts.
        b"PK\x07\x08" => Err(ArchiveFault::archive("the archive is split over several files")),
        _ => Ok(Contents { package_hash: file_sha256, manifest: None }),
    }
}

const HOLDS_NO_FILES: &str = "the archive holds no files";

fn inspect_zip(file: &mut (impl Read + Seek), length: u64, limits: &ArchiveLimits) -> Result<Contents, ArchiveFault> {
    let end = end::find(file, length)?;
    let mut entries = directory::read(file, &end, length, limits)?;
    names::refuse_clashes(&entries)?;
    // From here on the entries are walked as they lie in the file; the directory may list them in any order.
    entries.sort_unstable_by_key(|entry| entry.offset);
    let manifest = content::read(file, &entries, end.directory_offset)?;
    let package_hash = manifest.package_hash();
    // Also the case if a signature is all there is: it is not part of the hash.
    if package_hash == Manifest::new().package_hash() {
        return Err(ArchiveFault::archive(HOLDS_NO_FILES));
    }
    Ok(Contents { package_hash, manifest: Some(manifest) })
}
