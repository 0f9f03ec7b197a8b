//! Names of files with which a package has no diffs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use shared::archive::MIN_TAIL;
use shared::diff::{self, Layout, LayoutRead, Package, UnsafeName};
use shared::package::Manifest;

/// The first name of an archive with which there are no diffs to it, or from it. The server has the same rules. `None` also
/// if the archive cannot be read back: this only adds a warning.
pub(super) fn unsafe_name(file: &mut File, length: u64, manifest: &Manifest) -> Option<UnsafeName> {
    let mut start = length.saturating_sub(MIN_TAIL);
    // The second time, all of the directory is read.
    for _ in 0..2 {
        file.seek(SeekFrom::Start(start)).ok()?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail).ok()?;
        match Layout::read(&tail, length).ok()? {
            LayoutRead::From(offset) => start = offset,
            LayoutRead::Known(layout) => {
                let package = Package { manifest, layout: &layout };
                return diff::unsafe_name(&package, &package);
            }
        }
    }
    None
}
