//! Where the bytes of packages are kept: one immutable object per content and app, named by [`BlobKey`].
//!
//! Not here: which blobs are still referenced and when one may go (that is the database's knowledge), and signed download addresses.
//! Start at [`Storage`]; [`FolderStore`] is the default of a single server, [`MemoryStore`] that of tests.

mod folder;
mod memory;
mod reader;

pub use folder::FolderStore;
pub use memory::MemoryStore;
pub use reader::BlobReader;

use std::io;
use std::ops::Range;
use std::path::Path;

use shared::hash::BlobKey;

/// A backend, chosen by a setting at start.
#[derive(Debug)]
pub enum Storage {
    /// A folder of this machine.
    Folder(FolderStore),
    /// This process's memory: everything is gone at its end.
    Memory(MemoryStore),
}

impl Storage {
    /// Makes the finished file at `source`, on whatever file system, the object `key`, and takes the file away.
    ///
    /// On return the object is durable. Nobody ever sees a part of it. An object that exists is replaced, which heals one that was damaged; those
    /// who are reading it go on reading the old bytes. The bytes are not hashed again: the caller did that while they streamed in.
    /// On an error, `source` may or may not still be there.
    pub async fn put_file(&self, key: &BlobKey, source: &Path) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.put_file(key, source).await,
            Self::Memory(store) => store.put_file(key, source).await,
        }
    }

    /// Whether the object is there.
    pub async fn exists(&self, key: &BlobKey) -> io::Result<bool> {
        Ok(self.length(key).await?.is_some())
    }

    /// The object's length in bytes; `None` if it is not there.
    pub async fn length(&self, key: &BlobKey) -> io::Result<Option<u64>> {
        match self {
            Self::Folder(store) => store.length(key).await,
            Self::Memory(store) => Ok(store.length(key)),
        }
    }

    /// Opens the object for reading, whole or the bytes `range`; `None` if it is not there.
    ///
    /// A range that is reversed or reaches beyond the object is an error of kind [`io::ErrorKind::InvalidInput`]; ask for [`Self::length`] first.
    pub async fn open(&self, key: &BlobKey, range: Option<Range<u64>>) -> io::Result<Option<BlobReader>> {
        match self {
            Self::Folder(store) => store.read(key, range).await,
            Self::Memory(store) => store.read(key, range),
        }
    }

    /// Removes the object; that it is not there is no error. Those who are reading it read on to its end.
    pub async fn delete(&self, key: &BlobKey) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.delete(key).await,
            Self::Memory(store) => {
                store.delete(key);
                Ok(())
            }
        }
    }

    /// For readiness: writes, reads and deletes a small file, and says what failed.
    pub async fn probe(&self) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.probe().await,
            Self::Memory(_) => Ok(()),
        }
    }

    /// Where uploads in progress are to be written, so that [`Self::put_file`] need not copy them.
    pub fn temp_dir(&self) -> &Path {
        match self {
            Self::Folder(store) => store.temp_dir(),
            Self::Memory(store) => store.temp_dir(),
        }
    }

    /// Removes the uploads in progress that a crash left behind. Only for the start of the process, before it takes uploads: those of another
    /// process that shares the folder would be lost, which is why the folder store is for a single process.
    pub async fn clean_temp(&self) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.clean_temp().await,
            // Its folder was made by this process.
            Self::Memory(_) => Ok(()),
        }
    }
}
