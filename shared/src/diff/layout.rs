//! The names in a package's archive, also of what is not in its manifest.

use crate::archive::{self, ArchiveFault, Tailed};
use crate::package::Manifest;

/// How a package's files lie on a device: the names of all entries of its archive, directories and ignored files included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// As the archive spells them, in its order.
    names: Vec<String>,
}

/// What the end of an archive tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutRead {
    /// The whole layout.
    Known(Layout),
    /// Too little was read: the directory begins at this offset.
    From(u64),
}

/// A package of several files.
#[derive(Clone, Copy, Debug)]
pub struct Package<'p> {
    /// The files with their hashes.
    pub manifest: &'p Manifest,
    /// The entries of the archive that these files are in.
    pub layout: &'p Layout,
}

impl Layout {
    /// Reads the layout of a package that was inspected when it was uploaded. `tail` is the end of the archive, at least
    /// [`MIN_TAIL`](crate::archive::MIN_TAIL) bytes or all of it; `length` is that of the whole. Errors: refused, if the directory is damaged.
    pub fn read(tail: &[u8], length: u64) -> Result<LayoutRead, ArchiveFault> {
        Ok(match archive::list_tail(tail, length)? {
            Tailed::Known(mut entries) => {
                entries.sort_unstable_by_key(|entry| entry.offset);
                LayoutRead::Known(Self { names: entries.into_iter().map(|entry| entry.name).collect() })
            }
            Tailed::From(offset) => LayoutRead::From(offset),
        })
    }

    /// The names of all entries, in the archive's order. Those of directories end with a slash.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}
