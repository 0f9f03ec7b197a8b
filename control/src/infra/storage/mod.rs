//! Storage for the bytes of packages: one immutable object per content and app, named by [`BlobKey`].
//!
//! The database knows which blobs are referenced and when one may be deleted. Signed download URLs are elsewhere too.
//! Start at [`Storage`]; [`FolderStore`] is the default for a single server, [`MemoryStore`] is for tests.

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

/// A backend, chosen by a setting at startup.
#[derive(Debug)]
pub enum Storage {
    /// A folder on this machine.
    Folder(FolderStore),
    /// This process's memory, lost when it exits.
    Memory(MemoryStore),
}

impl Storage {
    /// Moves the finished file at `source`, on any file system, to the object `key`.
    ///
    /// On return the object is durable. Readers never see a part of it. An existing object is replaced, which repairs a damaged one; current readers
    /// continue with the old bytes. The bytes are not hashed again: the caller hashed them while they streamed in.
    /// After an error, `source` may or may not still exist.
    pub async fn put_file(&self, key: &BlobKey, source: &Path) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.put_file(key, source).await,
            Self::Memory(store) => store.put_file(key, source).await,
        }
    }

    /// Whether the object exists.
    pub async fn exists(&self, key: &BlobKey) -> io::Result<bool> {
        Ok(self.length(key).await?.is_some())
    }

    /// The object's length in bytes; `None` if it does not exist.
    pub async fn length(&self, key: &BlobKey) -> io::Result<Option<u64>> {
        match self {
            Self::Folder(store) => store.length(key).await,
            Self::Memory(store) => Ok(store.length(key)),
        }
    }

    /// Opens the object for reading, completely or only `range`; `None` if it does not exist.
    ///
    /// A range that is reversed or exceeds the object is an error of kind [`io::ErrorKind::InvalidInput`]; check [`Self::length`] first.
    pub async fn open(&self, key: &BlobKey, range: Option<Range<u64>>) -> io::Result<Option<BlobReader>> {
        match self {
            Self::Folder(store) => store.read(key, range).await,
            Self::Memory(store) => store.read(key, range),
        }
    }

    /// Deletes the object. A missing object is not an error. Current readers can read to the end.
    pub async fn delete(&self, key: &BlobKey) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.delete(key).await,
            Self::Memory(store) => {
                store.delete(key);
                Ok(())
            }
        }
    }

    /// Checks readiness: writes, reads and deletes a small file.
    pub async fn probe(&self) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.probe().await,
            Self::Memory(_) => Ok(()),
        }
    }

    /// The folder for uploads in progress, from which [`Self::put_file`] need not copy.
    pub fn temp_dir(&self) -> &Path {
        match self {
            Self::Folder(store) => store.temp_dir(),
            Self::Memory(store) => store.temp_dir(),
        }
    }

    /// Deletes unfinished uploads left by a crash. Call it only at startup, before uploads are accepted. It would delete the uploads of another process
    /// that shares the folder, which is why the folder store is for a single process.
    pub async fn clean_temp(&self) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.clean_temp().await,
            // This process created its folder.
            Self::Memory(_) => Ok(()),
        }
    }
}
