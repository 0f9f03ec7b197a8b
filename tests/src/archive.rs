//! ZIP archives built byte by byte, with headers that may be wrong.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The fields that both headers of an entry have.
#[derive(Clone, Debug)]
pub struct Header {
    /// The name's bytes.
    pub name: Vec<u8>,
    /// The general purpose bit flags.
    pub flags: u16,
    /// 8: deflated, 0: stored.
    pub method: u16,
    /// The checksum of the data.
    pub crc32: u32,
    /// The compressed size.
    pub compressed: u32,
    /// The uncompressed size.
    pub uncompressed: u32,
}

/// One entry of an archive.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The header before the data.
    pub local: Header,
    /// The header in the directory.
    pub central: Header,
    /// The data as stored in the archive.
    pub body: Vec<u8>,
    /// Bytes after the data: a descriptor, or unrelated bytes.
    pub after: Vec<u8>,
    /// The attributes, with a Unix mode in the upper half.
    pub attributes: u32,
    /// The error in the directory's offset of the local header.
    pub shift: i32,
}

/// A valid, deflated entry.
pub fn deflated(name: &str, data: &[u8]) -> Entry {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    entry(name, data, 8, encoder.finish().unwrap())
}

/// A valid, stored entry.
pub fn stored(name: &str, data: &[u8]) -> Entry {
    entry(name, data, 0, data.to_vec())
}

fn entry(name: &str, data: &[u8], method: u16, body: Vec<u8>) -> Entry {
    let header = Header {
        name: name.as_bytes().to_vec(),
        flags: if name.is_ascii() { 0 } else { 0x800 },
        method,
        crc32: crc32fast::hash(data),
        compressed: u32::try_from(body.len()).unwrap(),
        uncompressed: u32::try_from(data.len()).unwrap(),
    };
    Entry { local: header.clone(), central: header, body, after: Vec::new(), attributes: 0o100_644 << 16, shift: 0 }
}

impl Entry {
    /// Changes both headers.
    #[must_use]
    pub fn both(mut self, change: impl Fn(&mut Header)) -> Self {
        change(&mut self.local);
        change(&mut self.central);
        self
    }

    /// Changes the entry.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// The archive of these entries.
pub fn archive(entries: &[Entry]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = u32::try_from(bytes.len()).unwrap().checked_add_signed(entry.shift).unwrap();
        bytes.extend(b"PK\x03\x04\x14\x00");
        put(&mut bytes, &entry.local);
        bytes.extend(&entry.local.name);
        bytes.extend(&entry.body);
        bytes.extend(&entry.after);
        // Created on Unix, so that the attributes are a mode.
        directory.extend(b"PK\x01\x02\x14\x03\x14\x00");
        put(&mut directory, &entry.central);
        // No comment, first disk, no internal attributes.
        directory.extend([0; 6]);
        directory.extend(entry.attributes.to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(&entry.central.name);
    }
    let count = u16::try_from(entries.len()).unwrap().to_le_bytes();
    let (size, offset) = (u32::try_from(directory.len()).unwrap(), u32::try_from(bytes.len()).unwrap());
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\x00\x00\x00\x00");
    bytes.extend(count);
    bytes.extend(count);
    bytes.extend(size.to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

/// The fields from the flags to the length of the extra field, which is empty.
fn put(into: &mut Vec<u8>, header: &Header) {
    into.extend(header.flags.to_le_bytes());
    into.extend(header.method.to_le_bytes());
    into.extend([0x00, 0x60, 0x21, 0x5a]);
    into.extend(header.crc32.to_le_bytes());
    into.extend(header.compressed.to_le_bytes());
    into.extend(header.uncompressed.to_le_bytes());
    into.extend(u16::try_from(header.name.len()).unwrap().to_le_bytes());
    into.extend([0, 0]);
}
