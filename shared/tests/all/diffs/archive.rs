//! Archives of test packages, written byte by byte: every kind of entry that devices can read.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use shared::archive::{ArchiveLimits, inspect};
use shared::diff::{Layout, LayoutRead, Package};
use shared::hash::Sha256Hex;
use shared::package::Manifest;

/// How an entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Stored,
    Deflated,
    /// Deflated, with checksum and sizes after the data.
    Streamed,
}

/// An entry: a file, or a directory if the name ends with a slash.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub name: String,
    pub data: Vec<u8>,
    pub form: Form,
}

impl Item {
    pub(super) fn new(name: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), data: data.into(), form: Form::Deflated }
    }
}

/// The archive of these entries, in this order.
pub(super) fn zip(items: &[Item]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for item in items {
        let data = match item.form {
            Form::Stored => item.data.clone(),
            Form::Deflated | Form::Streamed => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&item.data).unwrap();
                encoder.finish().unwrap()
            }
        };
        let numbers = [crc32fast::hash(&item.data), length(&data), length(&item.data)];
        let is_streamed = item.form == Form::Streamed;
        let flags = 0x800_u16 | if is_streamed { 8 } else { 0 };
        let method = if item.form == Form::Stored { 0 } else { 8 };
        let common = |numbers: [u32; 3]| {
            let mut bytes: Vec<u8> = [20, flags, method, 0x6000, 0x5a21].iter().flat_map(|field| field.to_le_bytes()).collect();
            bytes.extend(numbers.iter().flat_map(|field| field.to_le_bytes()));
            bytes.extend([u16::try_from(item.name.len()).unwrap(), 0].iter().flat_map(|field| field.to_le_bytes()));
            bytes
        };
        let offset = length(&file);
        file.extend(b"PK\x03\x04");
        file.extend(common(if is_streamed { [0; 3] } else { numbers }));
        file.extend(item.name.bytes());
        file.extend(data);
        if is_streamed {
            file.extend(b"PK\x07\x08");
            file.extend(numbers.iter().flat_map(|field| field.to_le_bytes()));
        }
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(common(numbers));
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(item.name.bytes());
    }
    let count = u16::try_from(items.len()).unwrap();
    let (offset, size) = (length(&file), length(&directory));
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count, count].iter().flat_map(|field| field.to_le_bytes()));
    file.extend([size, offset].iter().flat_map(|field| field.to_le_bytes()));
    file.extend([0; 2]);
    file
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap()
}

/// A package as the server has it.
pub(super) struct Uploaded {
    pub bytes: Vec<u8>,
    pub manifest: Manifest,
    pub layout: Layout,
}

impl Uploaded {
    pub(super) fn of(items: &[Item]) -> Self {
        let bytes = zip(items);
        let limits = ArchiveLimits { entries: 20_000, uncompressed_bytes: 1 << 30, ratio: 10_000 };
        let contents = inspect(&mut Cursor::new(&bytes), bytes.len() as u64, Sha256Hex::of(&bytes), &limits).unwrap();
        let LayoutRead::Known(layout) = Layout::read(&bytes, bytes.len() as u64).unwrap() else { unreachable!("all of it was given") };
        Self { manifest: contents.manifest.unwrap(), layout, bytes }
    }

    /// A package of these files, stored before some names were refused.
    pub(super) fn earlier(names: &[(&str, &str)]) -> Self {
        let items: Vec<Item> = names.iter().map(|(name, data)| Item::new(*name, *data)).collect();
        let bytes = zip(&items);
        let LayoutRead::Known(layout) = Layout::read(&bytes, bytes.len() as u64).unwrap() else { unreachable!("all of it was given") };
        let mut manifest = Manifest::new();
        for item in &items {
            manifest.insert(&item.name, Sha256Hex::of(&item.data));
        }
        Self { bytes, manifest, layout }
    }

    /// A package of these files.
    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        let items: Vec<Item> = files.iter().map(|(name, data)| Item::new(*name, *data)).collect();
        Self::of(&items)
    }

    pub(super) fn package(&self) -> Package<'_> {
        Package { manifest: &self.manifest, layout: &self.layout }
    }
}
