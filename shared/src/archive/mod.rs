//! Inspects an uploaded file: a valid ZIP archive, or a single-file package. Computes its package hash and manifest.
//!
//! Not here: receiving the upload, storing it, creating diffs ([`crate::diff`]). Nothing is ever unpacked to disk. Start reading at [`inspect`]. It reads the file
//! twice, first the directory at its end and then everything from the first byte. It needs the same small amount of memory for every archive: the
//! directory's entries and two buffers.
//!
//! The rules exist because different readers see an archive differently: streaming readers (Android) trust the local headers, others (iOS) the
//! central directory at the end, and file systems differ in case and Unicode normalization. An archive is accepted only if all of them must see the
//! same files.

mod content;
mod directory;
mod end;
mod fault;
mod headers;
mod names;
mod source;
mod tail;

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

pub use fault::ArchiveFault;
pub(crate) use headers::{CENTRAL_SIGNATURE, DEFLATED, Entry, LOCAL_SIGNATURE, UNIX_FILE, read_local};
pub(crate) use names::{DIFF_MARKER, SEPARATOR, is_marker, key, unverified};
pub(crate) use source::Source;

use crate::hash::{PackageHash, Sha256Hex};
use crate::package::{Manifest, normalize_name};
use tail::Tail;

/// How many entries an archive can have by default, including directories.
pub const DEFAULT_ENTRIES: u32 = 20_000;

/// Size limits of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Entries, including directories. Archives with 65,535 or more need zip64 records, which are always refused.
    pub entries: u32,
    /// Total uncompressed bytes of all entries.
    pub uncompressed_bytes: u64,
    /// Total uncompressed bytes per byte of the file.
    pub ratio: u64,
}

/// The contents of a valid upload.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The hash that clients also compute after unpacking.
    pub package_hash: PackageHash,
    /// The files of a ZIP archive with their hashes; `None` for a single-file package.
    pub manifest: Option<Manifest>,
    /// The uncompressed size of each of these files, in the manifest's order; empty for a single-file package.
    pub sizes: Vec<u64>,
    /// The normalized names of directory entries, each with a slash at the end. They are not in the manifest.
    pub directories: Vec<String>,
}

impl Contents {
    /// The package hash that the reference server computes: also over directory entries, which clients never see (wire facts, part 5.2). `None` if there
    /// are none, so that it is the package hash.
    pub fn hash_with_directories(&self) -> Option<PackageHash> {
        let manifest = self.manifest.as_ref().filter(|_| !self.directories.is_empty())?;
        Some(manifest.hash_with_directories(&self.directories))
    }
}

/// How many bytes at the end of an archive [`sizes`] needs at least, or all of a shorter one: enough for the end record with the longest comment.
pub const MIN_TAIL: u64 = 66 << 10;

/// What the end of an archive tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// The uncompressed sizes by normalized name, directories included.
    Known(BTreeMap<String, u64>),
    /// Too little was read: the directory begins at this offset.
    From(u64),
}

/// Checks a complete upload and computes its package hash and manifest.
///
/// A file that starts like a ZIP archive must be a valid one; any other file is a single-file package, whose hash is the file's own. `length` is the
/// file's length in bytes and `file_sha256` its hash, both computed while it streamed in. Blocking: call it inside `spawn_blocking`.
///
/// An archive is [`ArchiveFault::Refused`] if two readers could see different files in it, if devices would not verify one of them, if it exceeds `limits`, or
/// if it has nothing to run. An empty file is refused too.
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
        // An archive without entries is only an end record. Treated as a script, it would leave the app without one.
        b"PK\x05\x06" => Err(ArchiveFault::archive(HOLDS_NO_FILES)),
        // The signature of the first part of a split archive.
        b"PK\x07\x08" => Err(ArchiveFault::archive("the archive is split over several files")),
        _ => Ok(Contents { package_hash: file_sha256, manifest: None, sizes: Vec::new(), directories: Vec::new() }),
    }
}

/// Checks the names of files before an archive of them is created: each alone and all together, as [`inspect`] will. Errors: refused, naming the file.
pub fn check_names<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Result<(), ArchiveFault> {
    for name in names.clone() {
        let checked = names::check(name.as_bytes(), true).and_then(|name| names::refuse_marker(name).and(names::refuse_unverified(name)));
        checked.map_err(|why| ArchiveFault::entry(name.as_bytes(), why))?;
    }
    names::refuse_clashes(names)
}

const HOLDS_NO_FILES: &str = "the archive has no files";

fn inspect_zip(file: &mut (impl Read + Seek), length: u64, limits: &ArchiveLimits) -> Result<Contents, ArchiveFault> {
    let listing = list(file, length, limits, Purpose::Package)?;
    for entry in &listing.entries {
        headers::check_expansion(entry)?;
        // Not in `list`: packages that were stored before this rule are read, too.
        names::refuse_unverified(&entry.name).map_err(|why| entry.fault(why))?;
    }
    let manifest = listing.manifest(file)?;
    let package_hash = manifest.package_hash();
    // True also if the only file is a signature, which is not part of the hash.
    if package_hash == Manifest::new().package_hash() {
        return Err(ArchiveFault::archive(HOLDS_NO_FILES));
    }
    let by_name = by_name(&listing.entries);
    let sizes = manifest.iter().map(|(name, _)| by_name.get(name).copied().unwrap_or_default()).collect();
    let directories = listing.entries.iter().filter(|entry| entry.is_directory());
    let directories = directories.map(|entry| normalize_name(&entry.name)).collect();
    Ok(Contents { package_hash, manifest: Some(manifest), sizes, directories })
}

/// Reads the sizes of an archive's files from its directory alone. `tail` is the end of the archive, `length` that of the whole. The archive was inspected
/// when it was uploaded: its files are not read again.
pub fn sizes(tail: &[u8], length: u64) -> Result<Sizes, ArchiveFault> {
    Ok(match list_tail(tail, length)? {
        Tailed::Known(entries) => Sizes::Known(by_name(&entries)),
        Tailed::From(offset) => Sizes::From(offset),
    })
}

/// What an archive is read as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A whole package, without the marker of diffs.
    Package,
    /// A diff, which has the marker.
    Diff,
}

/// The limits of an archive that was inspected when it was uploaded.
pub(crate) const INSPECTED: ArchiveLimits = ArchiveLimits { entries: u32::MAX, uncompressed_bytes: u64::MAX, ratio: u64::MAX };

/// An archive's entries, from its directory.
pub(crate) struct Listing {
    /// In the order of the file.
    pub(crate) entries: Vec<Entry>,
    /// The end of the entries' data, in bytes from the start of the file.
    pub(crate) directory_offset: u64,
}

impl Listing {
    /// Reads the data of all entries, checks it, and hashes it.
    pub(crate) fn manifest(&self, file: &mut (impl Read + Seek)) -> Result<Manifest, ArchiveFault> {
        content::read(file, &self.entries, self.directory_offset)
    }

    /// The data of one entry, which [`Self::manifest`] has checked; at most `limit` bytes.
    pub(crate) fn data(&self, file: &mut (impl Read + Seek), entry: &Entry, limit: u32) -> Result<Vec<u8>, ArchiveFault> {
        content::data(file, entry, self.directory_offset, limit)
    }
}

/// Reads an archive's directory, and checks its entries as far as that is possible without their data. `length` is that of the file.
pub(crate) fn list(file: &mut (impl Read + Seek), length: u64, limits: &ArchiveLimits, purpose: Purpose) -> Result<Listing, ArchiveFault> {
    let end = end::find(file, length)?;
    let mut entries = directory::read(file, &end, length, limits, purpose)?;
    names::refuse_clashes(entries.iter().map(|entry| entry.name.as_str()))?;
    // From here on, entries are read in file order; the directory may list them in any order.
    entries.sort_unstable_by_key(|entry| entry.offset);
    Ok(Listing { entries, directory_offset: end.directory_offset })
}

/// What the end of an inspected package tells.
pub(crate) enum Tailed {
    /// Its entries, in the order of the directory.
    Known(Vec<Entry>),
    /// Too little was read: the directory begins at this offset.
    From(u64),
}

/// Reads the directory of a package that was inspected when it was uploaded from the end of its archive; `length` is that of the whole.
pub(crate) fn list_tail(tail: &[u8], length: u64) -> Result<Tailed, ArchiveFault> {
    let mut file = Tail::new(tail, length);
    let end = end::find(&mut file, length)?;
    if end.directory_offset < length.saturating_sub(tail.len() as u64) {
        return Ok(Tailed::From(end.directory_offset));
    }
    directory::read(&mut file, &end, length, &INSPECTED, Purpose::Package).map(Tailed::Known)
}

/// Checks how many entries an archive says that it has, from its end alone: `entries` at most, in a directory of at most `bytes`. The directory itself is not
/// read, so this takes the same small amount of memory for every archive. `length` is that of the file. Errors: refused, also if the archive has zip64
/// records, which no archive of a server has.
pub fn check_end(file: &mut (impl Read + Seek), length: u64, entries: u32, bytes: u64) -> Result<(), ArchiveFault> {
    let end = end::find(file, length)?;
    directory::check_count(&end, entries)?;
    let directory = end.record_offset - end.directory_offset;
    if directory > bytes {
        return Err(ArchiveFault::archive(format!("the central directory has {directory} bytes, more than the limit of {bytes}")));
    }
    Ok(())
}

fn by_name(entries: &[headers::Entry]) -> BTreeMap<String, u64> {
    entries.iter().map(|entry| (normalize_name(&entry.name), entry.uncompressed.into())).collect()
}
