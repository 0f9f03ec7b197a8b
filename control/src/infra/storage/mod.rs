//! Storage for the bytes of packages: one immutable object per content and app, named by [`BlobKey`].
//!
//! The database knows which blobs are referenced and when one may be deleted. Signed download URLs are elsewhere too.
//! Start at [`Storage`]; [`FolderStore`] is the default for a single server, [`S3Store`] is a bucket that several can share, [`MemoryStore`] is for tests.

mod disk;
mod folder;
mod memory;
mod reader;
mod s3;

pub use disk::Disk;
pub use folder::FolderStore;
pub use memory::MemoryStore;
pub use reader::BlobReader;
pub use s3::{PartsId, S3Store};

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shared::hash::BlobKey;

use crate::infra::s3::{BucketAddress, Credentials};

/// Which backend the settings name.
#[derive(Clone, Debug)]
pub enum StorageConfig {
    /// A folder in the data folder.
    Folder,
    /// A bucket.
    Bucket {
        /// Where it is.
        address: BucketAddress,
        /// The credentials that were given; `None` looks for them in the SDK's usual places.
        credentials: Option<Credentials>,
    },
}

impl StorageConfig {
    /// Parses the value of `UPDRAFT_STORAGE`: `file`, or the address of a bucket, here without credentials.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("s3://") {
            Some(rest) => {
                BucketAddress::parse(rest).map(|address| Self::Bucket { address, credentials: None }).map_err(|error| error.to_string())
            }
            None if text == "file" => Ok(Self::Folder),
            None => Err("must be file, or s3://BUCKET?endpoint=URL&region=NAME".to_owned()),
        }
    }

    /// The value of `UPDRAFT_STORAGE`, without credentials.
    pub fn setting(&self) -> String {
        match self {
            Self::Folder => "file".to_owned(),
            Self::Bucket { address, .. } => address.to_string(),
        }
    }

    /// The same with these credentials. A folder needs none.
    #[must_use]
    pub fn with(self, credentials: Option<Credentials>) -> Self {
        match self {
            Self::Folder => Self::Folder,
            Self::Bucket { address, .. } => Self::Bucket { address, credentials },
        }
    }

    /// Whether both are the same place.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Folder, Self::Folder) => true,
            (Self::Bucket { address, .. }, Self::Bucket { address: other, .. }) => {
                (&address.bucket, &address.endpoint) == (&other.bucket, &other.endpoint)
            }
            _ => false,
        }
    }
}

/// For people.
impl fmt::Display for StorageConfig {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder => to.write_str("the data folder"),
            Self::Bucket { address, .. } => match &address.endpoint {
                Some(endpoint) => write!(to, "the bucket {} at {endpoint}", address.bucket),
                None => write!(to, "the bucket {}", address.bucket),
            },
        }
    }
}

/// A backend, chosen by a setting at startup.
#[derive(Debug)]
pub enum Storage {
    /// A folder on this machine.
    Folder(FolderStore),
    /// A bucket of the S3 API.
    // The futures of the SDK are large: they are boxed, so that those of every request are not.
    S3(S3Store),
    /// This process's memory, lost when it exits.
    Memory(MemoryStore),
}

impl Storage {
    /// Opens the backend that the settings name. `folder` is for bundles, and with a bucket for uploads in progress. Errors: it cannot be written to.
    pub async fn connect(config: StorageConfig, folder: PathBuf) -> io::Result<Self> {
        let local = FolderStore::open(folder).await?;
        match config {
            StorageConfig::Folder => Ok(Self::Folder(local)),
            StorageConfig::Bucket { address, credentials } => Box::pin(S3Store::open(&address, credentials, local)).await.map(Self::S3),
        }
    }

    /// Begins an upload in parts, where an object of this size needs one. The caller keeps the ID before [`Self::put_file`], and forgets it when the upload has
    /// ended: by then the object is complete, or the upload is [aborted](Self::abort).
    pub async fn begin(&self, key: &BlobKey, size: u64) -> io::Result<Option<PartsId>> {
        match self {
            Self::S3(store) => Box::pin(store.begin(key, size)).await,
            Self::Folder(_) | Self::Memory(_) => Ok(None),
        }
    }

    /// Deletes what was sent of an upload in parts that did not end. One that is unknown, or complete, is not an error.
    pub async fn abort(&self, key: &BlobKey, id: &PartsId) -> io::Result<()> {
        match self {
            Self::S3(store) => Box::pin(store.abort(key, id)).await,
            Self::Folder(_) | Self::Memory(_) => Ok(()),
        }
    }

    /// Moves the finished file at `source`, on any file system, to the object `key`.
    ///
    /// On return the object is durable. Readers never see a part of it. An existing object is replaced, which repairs a damaged one; current readers
    /// continue with the old bytes. `id` is that of [`Self::begin`]. The bytes are not hashed again: the caller hashed them while they streamed in.
    /// After an error, `source` may or may not still exist.
    pub async fn put_file(&self, key: &BlobKey, source: &Path, id: Option<&PartsId>) -> io::Result<()> {
        match self {
            Self::S3(store) => Box::pin(store.put_file(key, source, id)).await,
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
            Self::S3(store) => Box::pin(store.length(key)).await,
            Self::Memory(store) => Ok(store.length(key)),
        }
    }

    /// Opens the object for reading, completely or only `range`; `None` if it does not exist.
    ///
    /// A range that is reversed or exceeds the object is an error of kind [`io::ErrorKind::InvalidInput`]; check [`Self::length`] first.
    pub async fn open(&self, key: &BlobKey, range: Option<Range<u64>>) -> io::Result<Option<BlobReader>> {
        match self {
            Self::Folder(store) => store.read(key, range).await,
            Self::S3(store) => Box::pin(store.read(key, range)).await,
            Self::Memory(store) => store.read(key, range),
        }
    }

    /// The object as a file of this machine, for reading only; `None` if it is missing, or is somewhere else.
    pub async fn local(&self, key: &BlobKey) -> io::Result<Option<File>> {
        match self {
            Self::Folder(store) => store.local(key).await,
            Self::S3(_) | Self::Memory(_) => Ok(None),
        }
    }

    /// A URL with which anyone can read the object for a while; `None` where there is none.
    pub async fn presigned(&self, key: &BlobKey, valid_for: Duration) -> io::Result<Option<String>> {
        match self {
            Self::S3(store) => Box::pin(store.presigned(key, valid_for)).await.map(Some),
            Self::Folder(_) | Self::Memory(_) => Ok(None),
        }
    }

    /// Deletes the object. A missing object is not an error. Current readers can read to the end.
    pub async fn delete(&self, key: &BlobKey) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.delete(key).await,
            Self::S3(store) => Box::pin(store.delete(key)).await,
            Self::Memory(store) => {
                store.delete(key);
                Ok(())
            }
        }
    }

    /// Checks readiness: writes, reads and deletes a small file; in a bucket, only reads.
    pub async fn probe(&self) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.probe().await,
            Self::S3(store) => Box::pin(store.probe()).await,
            Self::Memory(_) => Ok(()),
        }
    }

    /// The folder for uploads in progress, from which [`Self::put_file`] need not copy.
    pub fn temp_dir(&self) -> &Path {
        match self {
            Self::Folder(store) => store.temp_dir(),
            Self::S3(store) => store.local().temp_dir(),
            Self::Memory(store) => store.temp_dir(),
        }
    }

    /// Whether the disk of the [folder for uploads](Self::temp_dir), which is that of a folder's objects, is nearly full; `false` if the system does not tell.
    pub async fn is_nearly_full(&self) -> bool {
        self.disk().is_nearly_full(self.temp_dir().to_owned()).await
    }

    /// The disk of the [folder for uploads](Self::temp_dir).
    pub fn disk(&self) -> &Disk {
        match self {
            Self::Folder(store) => store.disk(),
            Self::S3(store) => store.local().disk(),
            Self::Memory(store) => store.disk(),
        }
    }

    /// Deletes unfinished uploads left by a crash. Call it only at startup, before uploads are accepted. It would delete the uploads of another process
    /// that shares the folder, which is why the folder store is for a single process.
    pub async fn clean_temp(&self) -> io::Result<()> {
        match self {
            Self::Folder(store) => store.clean_temp().await,
            Self::S3(store) => store.local().clean_temp().await,
            // This process created its folder.
            Self::Memory(_) => Ok(()),
        }
    }
}
