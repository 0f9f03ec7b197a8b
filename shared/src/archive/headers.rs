//! An entry's two headers, in the central directory and before its data, which must agree.

use std::io::{Read, Seek};

use super::Purpose;
use super::fault::ArchiveFault;
use super::names;
use super::source::Source;

pub(crate) const CENTRAL_SIGNATURE: [u8; 4] = *b"PK\x01\x02";
pub(crate) const LOCAL_SIGNATURE: [u8; 4] = *b"PK\x03\x04";

const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// The compression level. No reader acts on these flags, so the two headers may differ in them.
const EFFORT: u16 = 1 << 1 | 1 << 2;
const DESCRIPTOR: u16 = 1 << 3;
pub(crate) const UTF8: u16 = 1 << 11;

const STORED: u16 = 0;
pub(crate) const DEFLATED: u16 = 8;

const DOS_DIRECTORY: u32 = 1 << 4;
const UNIX_TYPE: u32 = 0o170_000;
pub(crate) const UNIX_FILE: u32 = 0o100_000;
const UNIX_DIRECTORY: u32 = 0o040_000;
const UNIX_LINK: u32 = 0o120_000;

/// How much larger than its content compressed data may be, in percent of the content and in bytes. Codes for text make other bytes an eighth larger.
const EXPANSION: (u64, u64) = (25, 1_024);

const EXTRA_ZIP64: u16 = 0x0001;
const EXTRA_UNICODE_PATH: u16 = 0x7075;

const ZIP64: &str = "it uses zip64 fields, which are for more than 4 GiB";

/// One entry, as both of its headers must describe it.
pub(crate) struct Entry {
    /// As spelled in the archive, backslashes included.
    pub(crate) name: String,
    flags: u16,
    pub(crate) method: u16,
    /// Date and time of the last change, as the directory has them.
    pub(crate) modified: [u8; 4],
    pub(crate) crc32: u32,
    pub(crate) compressed: u32,
    pub(crate) uncompressed: u32,
    /// The offset of the local header from the start of the file.
    pub(crate) offset: u32,
}

impl Entry {
    /// Directories matter for unpacking only: clients do not hash them, so they are not in the manifest.
    pub(crate) fn is_directory(&self) -> bool {
        self.name.ends_with('/')
    }

    pub(crate) fn is_deflated(&self) -> bool {
        self.method == DEFLATED
    }

    /// Whether checksum and sizes follow the data because they were unknown when the local header was written.
    pub(super) fn has_descriptor(&self) -> bool {
        self.flags & DESCRIPTOR != 0
    }

    /// The flags of the same entry without a data descriptor: checksum and sizes are in its local header.
    pub(crate) fn flags_without_descriptor(&self) -> u16 {
        self.flags & !DESCRIPTOR
    }

    pub(crate) fn fault(&self, why: impl std::fmt::Display) -> ArchiveFault {
        ArchiveFault::entry(self.name.as_bytes(), why)
    }
}

/// Reads the directory's next entry, and checks everything that can be checked without its data.
pub(super) fn read_central<R: Read + Seek>(source: &mut Source<R>, purpose: Purpose) -> Result<Entry, ArchiveFault> {
    if source.array()? != CENTRAL_SIGNATURE {
        return Err(ArchiveFault::archive("the central directory is damaged"));
    }
    let _versions: [u8; 4] = source.array()?;
    let (flags, method) = (source.u16()?, source.u16()?);
    let modified: [u8; 4] = source.array()?;
    let (crc32, compressed, uncompressed) = (source.u32()?, source.u32()?, source.u32()?);
    let (name_length, extra_length, comment_length) = (source.u16()?, source.u16()?, source.u16()?);
    let disk = source.u16()?;
    let _internal_attributes = source.u16()?;
    let attributes = source.u32()?;
    let offset = source.u32()?;

    let (mut name, mut rest) = (Vec::new(), Vec::new());
    source.bytes(name_length, &mut name)?;
    let fault = |why: &str| ArchiveFault::entry(&name, why);
    let text = names::check(&name, flags & UTF8 != 0).map_err(&fault)?;
    if purpose == Purpose::Package {
        names::refuse_marker(text).map_err(&fault)?;
    }
    check_flags_and_method(flags, method).map_err(&fault)?;
    source.bytes(extra_length, &mut rest)?;
    check_extra(&rest, &name).map_err(&fault)?;
    source.bytes(comment_length, &mut rest)?;

    if compressed == u32::MAX || uncompressed == u32::MAX || offset == u32::MAX {
        return Err(fault(ZIP64));
    }
    if disk != 0 {
        return Err(fault("it is in another part of a split archive"));
    }
    if method == STORED && compressed != uncompressed {
        return Err(fault("it is stored, but its two sizes differ"));
    }
    let entry = Entry { name: text.to_owned(), flags, method, modified, crc32, compressed, uncompressed, offset };
    check_kind(&entry, attributes)?;
    Ok(entry)
}

/// Refuses compressed data that is much larger than its content: it is filled up with what has no effect, and takes long to read.
pub(super) fn check_expansion(entry: &Entry) -> Result<(), ArchiveFault> {
    let (compressed, content, (percent, bytes)) = (u64::from(entry.compressed), u64::from(entry.uncompressed), EXPANSION);
    if compressed > content + content * percent / 100 + bytes {
        return Err(entry.fault("its compressed data is much larger than its content; create the archive again, for example with zip -r"));
    }
    Ok(())
}

/// Reads the local header at the source's position, up to the data, and compares it with the directory.
///
/// `scratch` is a reused buffer.
pub(crate) fn read_local<R: Read + Seek>(source: &mut Source<R>, entry: &Entry, scratch: &mut Vec<u8>) -> Result<(), ArchiveFault> {
    if source.array()? != LOCAL_SIGNATURE {
        return Err(entry.fault("its local header is not where the central directory says"));
    }
    let _version = source.u16()?;
    let (flags, method) = (source.u16()?, source.u16()?);
    let _modified: [u8; 4] = source.array()?;
    let (crc32, compressed, uncompressed) = (source.u32()?, source.u32()?, source.u32()?);
    let (name_length, extra_length) = (source.u16()?, source.u16()?);

    source.bytes(name_length, scratch)?;
    if scratch.as_slice() != entry.name.as_bytes() {
        return Err(entry.fault("its local header has a different name"));
    }
    if (flags ^ entry.flags) & !EFFORT != 0 || method != entry.method {
        return Err(entry.fault("its local header has different flags or a different method"));
    }
    source.bytes(extra_length, scratch)?;
    check_extra(scratch, entry.name.as_bytes()).map_err(|why| entry.fault(why))?;

    // With a descriptor these are 0 by the standard, but some tools fill them in afterwards.
    let agrees = |local: u32, central: u32| local == central || (entry.has_descriptor() && local == 0);
    if !(agrees(crc32, entry.crc32) && agrees(compressed, entry.compressed) && agrees(uncompressed, entry.uncompressed)) {
        return Err(entry.fault("its local header has a different checksum or different sizes"));
    }
    Ok(())
}

fn check_flags_and_method(flags: u16, method: u16) -> Result<(), &'static str> {
    if flags & ENCRYPTED != 0 {
        return Err("it is encrypted: create the archive without a password");
    }
    if flags & !(EFFORT | DESCRIPTOR | UTF8) != 0 {
        return Err("it has flags that devices do not support");
    }
    match method {
        DEFLATED => Ok(()),
        STORED if flags & DESCRIPTOR == 0 => Ok(()),
        // Without compression, a streaming reader cannot tell where the data ends and the descriptor begins.
        STORED => Err("it is stored with a data descriptor, which devices cannot read: use deflate"),
        _ => Err("devices do not support its compression method: use deflate, or none"),
    }
}

/// Compares the file type in the attributes with the one that the name implies.
///
/// The upper half is a Unix mode only if the archive was created on Unix. But some readers do not check where it was created, and tools on other
/// systems leave it 0, so the same rule applies to all.
fn check_kind(entry: &Entry, attributes: u32) -> Result<(), ArchiveFault> {
    let says_directory = match (attributes >> 16) & UNIX_TYPE {
        0 => None,
        UNIX_FILE => Some(false),
        UNIX_DIRECTORY => Some(true),
        UNIX_LINK => return Err(entry.fault("it is a symbolic link: replace it with the file")),
        _ => return Err(entry.fault("it is not a regular file")),
    };
    let is_directory = entry.is_directory();
    let says_dos_directory = attributes & DOS_DIRECTORY != 0;
    if says_directory.is_some_and(|says| says != is_directory) || (says_dos_directory && !is_directory) {
        return Err(entry.fault("its name and its attributes disagree on whether it is a directory"));
    }
    if is_directory && entry.uncompressed != 0 {
        return Err(entry.fault("it is a directory but has data"));
    }
    Ok(())
}

/// Checks the fields that could change what an entry is: different sizes (zip64) or a different name.
fn check_extra(mut extra: &[u8], name: &[u8]) -> Result<(), &'static str> {
    const DAMAGED: &str = "its extra field is damaged";
    while let Some((header, rest)) = extra.split_first_chunk::<4>() {
        let [id_low, id_high, length_low, length_high] = *header;
        let length = u16::from_le_bytes([length_low, length_high]);
        let (field, rest) = rest.split_at_checked(length.into()).ok_or(DAMAGED)?;
        match u16::from_le_bytes([id_low, id_high]) {
            EXTRA_ZIP64 => return Err(ZIP64),
            // The name follows a version byte and the header name's checksum. Some readers ignore the field if the checksum is wrong, others do not
            // check it.
            EXTRA_UNICODE_PATH if field.get(5..) != Some(name) => return Err("it has a second, different name in its extra field"),
            _ => {}
        }
        extra = rest;
    }
    // Alignment tools pad with zeros, which may leave less than one field.
    if extra.iter().any(|&byte| byte != 0) { Err(DAMAGED) } else { Ok(()) }
}
