//! Bundles as tools create them: zips of files.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A zip in memory, ready to upload.
#[derive(Clone, Debug)]
pub struct Bundle(pub Vec<u8>);

impl Bundle {
    /// A deflated zip of these files.
    pub fn of(files: &[(&str, &[u8])]) -> Self {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        for (name, bytes) in files {
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        Self(writer.finish().unwrap().into_inner())
    }

    /// The smallest React Native bundle with this content.
    pub fn script(content: &str) -> Self {
        Self::of(&[("CodePush/main.jsbundle", content.as_bytes())])
    }
}
