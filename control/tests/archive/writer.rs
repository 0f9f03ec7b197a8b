//! A ZIP writer that can write every fault: headers need not match the data.

use std::io::Write;

use flate2::{Compression, write::DeflateEncoder};

/// The fields that both headers of an entry have.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) name: Vec<u8>,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc32: u32,
    pub(crate) compressed: u32,
    pub(crate) uncompressed: u32,
    pub(crate) extra: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Bytes before the local header that belong to no entry.
    pub(crate) before: Vec<u8>,
    pub(crate) local: Header,
    pub(crate) body: Vec<u8>,
    pub(crate) descriptor: Vec<u8>,
    pub(crate) central: Header,
    pub(crate) made_by: u16,
    pub(crate) attributes: u32,
    pub(crate) disk: u16,
    pub(crate) comment: Vec<u8>,
    /// Replaces the real offset of the local header.
    pub(crate) offset: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Archive {
    pub(crate) entries: Vec<Entry>,
    pub(crate) before_directory: Vec<u8>,
    pub(crate) before_end: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    /// Bytes after the end record and its comment.
    pub(crate) after: Vec<u8>,
    /// Changes the end record: this disk, directory's disk, entries here, entries, directory's size and offset.
    pub(crate) end: Option<fn(&mut [u32; 6])>,
}

pub(crate) const UNIX: u16 = 3 << 8 | 63;
pub(crate) const FILE: u32 = 0o100_664 << 16;

pub(crate) fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn descriptor(header: &Header) -> Vec<u8> {
    [header.crc32, header.compressed, header.uncompressed].iter().flat_map(|field| field.to_le_bytes()).collect()
}

pub(crate) fn extra_field(id: u16, data: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &u16::try_from(data.len()).unwrap().to_le_bytes(), data].concat()
}

fn entry(name: &str, data: &[u8], flags: u16, method: u16, body: Vec<u8>) -> Entry {
    let header = Header {
        name: name.as_bytes().to_vec(),
        flags,
        method,
        crc32: crc32fast::hash(data),
        compressed: u32::try_from(body.len()).unwrap(),
        uncompressed: u32::try_from(data.len()).unwrap(),
        extra: Vec::new(),
    };
    Entry {
        before: Vec::new(),
        local: header.clone(),
        body,
        descriptor: Vec::new(),
        central: header,
        made_by: UNIX,
        attributes: FILE,
        disk: 0,
        comment: Vec::new(),
        offset: None,
    }
}

/// As the CodePush CLI writes it (yazl): sizes follow the data.
pub(crate) fn streamed(name: &str, data: &[u8]) -> Entry {
    let mut entry = entry(name, data, 0x808, 8, deflate(data));
    entry.descriptor = [b"PK\x07\x08".to_vec(), descriptor(&entry.central)].concat();
    (entry.local.crc32, entry.local.compressed, entry.local.uncompressed) = (0, 0, 0);
    entry
}

/// As tools with seekable output write it: sizes precede the data.
pub(crate) fn deflated(name: &str, data: &[u8]) -> Entry {
    entry(name, data, if name.is_ascii() { 0 } else { 0x800 }, 8, deflate(data))
}

pub(crate) fn stored(name: &str, data: &[u8]) -> Entry {
    entry(name, data, if name.is_ascii() { 0 } else { 0x800 }, 0, data.to_vec())
}

pub(crate) fn directory(name: &str) -> Entry {
    Entry { attributes: 0o040_775 << 16 | 0x10, ..stored(name, b"") }
}

impl Entry {
    /// Changes both headers in the same way.
    pub(crate) fn with(mut self, change: impl Fn(&mut Header)) -> Self {
        change(&mut self.local);
        change(&mut self.central);
        self
    }

    pub(crate) fn local(mut self, change: impl FnOnce(&mut Header)) -> Self {
        change(&mut self.local);
        self
    }

    pub(crate) fn attributes(self, attributes: u32) -> Self {
        Self { attributes, ..self }
    }
}

pub(crate) fn archive<const N: usize>(entries: [Entry; N]) -> Archive {
    Archive { entries: entries.into(), ..Archive::default() }
}

pub(crate) fn zip<const N: usize>(entries: [Entry; N]) -> Vec<u8> {
    archive(entries).bytes()
}

impl Archive {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            out.extend(&entry.before);
            let offset = entry.offset.unwrap_or(u32::try_from(out.len()).unwrap());
            out.extend(b"PK\x03\x04\x14\x00");
            put_common(&mut out, &entry.local);
            out.extend(&entry.local.name);
            out.extend(&entry.local.extra);
            out.extend(&entry.body);
            out.extend(&entry.descriptor);

            directory.extend(b"PK\x01\x02");
            directory.extend(entry.made_by.to_le_bytes());
            directory.extend(20_u16.to_le_bytes());
            put_common(&mut directory, &entry.central);
            directory.extend(u16::try_from(entry.comment.len()).unwrap().to_le_bytes());
            directory.extend(entry.disk.to_le_bytes());
            directory.extend([0, 0]);
            directory.extend(entry.attributes.to_le_bytes());
            directory.extend(offset.to_le_bytes());
            directory.extend(&entry.central.name);
            directory.extend(&entry.central.extra);
            directory.extend(&entry.comment);
        }
        out.extend(&self.before_directory);
        let count = u32::try_from(self.entries.len()).unwrap();
        let (size, offset) = (u32::try_from(directory.len()).unwrap(), u32::try_from(out.len()).unwrap());
        out.extend(directory);
        out.extend(&self.before_end);
        let mut end = [0, 0, count, count, size, offset];
        if let Some(change) = self.end {
            change(&mut end);
        }
        out.extend(b"PK\x05\x06");
        end[..4].iter().for_each(|&field| out.extend(u16::try_from(field).unwrap().to_le_bytes()));
        end[4..].iter().for_each(|&field| out.extend(field.to_le_bytes()));
        out.extend(u16::try_from(self.comment.len()).unwrap().to_le_bytes());
        out.extend(&self.comment);
        out.extend(&self.after);
        out
    }
}

fn put_common(out: &mut Vec<u8>, header: &Header) {
    out.extend(header.flags.to_le_bytes());
    out.extend(header.method.to_le_bytes());
    out.extend([0x00, 0x60, 0x21, 0x5a]);
    out.extend(header.crc32.to_le_bytes());
    out.extend(header.compressed.to_le_bytes());
    out.extend(header.uncompressed.to_le_bytes());
    out.extend(u16::try_from(header.name.len()).unwrap().to_le_bytes());
    out.extend(u16::try_from(header.extra.len()).unwrap().to_le_bytes());
}
