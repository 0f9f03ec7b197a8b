//! Objects in memory, for tests.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::hash::BlobKey;
use tempfile::TempDir;

use super::disk::Disk;
use super::reader::{self, BlobReader};

/// Stores objects in memory, and uploads in progress in a temporary folder that is deleted with it.
#[derive(Debug)]
pub struct MemoryStore {
    objects: Mutex<HashMap<BlobKey, Arc<[u8]>>>,
    temp_dir: TempDir,
    disk: Disk,
}

impl MemoryStore {
    /// An empty store. Fails if the system's temporary folder cannot be written to.
    pub fn new() -> io::Result<Self> {
        Ok(Self { objects: Mutex::default(), temp_dir: TempDir::new()?, disk: Disk::default() })
    }

    pub(super) async fn put_file(&self, key: &BlobKey, source: &Path) -> io::Result<()> {
        let bytes = tokio::fs::read(source).await?;
        self.objects().insert(key.clone(), bytes.into());
        tokio::fs::remove_file(source).await
    }

    pub(super) fn length(&self, key: &BlobKey) -> Option<u64> {
        self.objects().get(key).map(|bytes| bytes.len() as u64)
    }

    pub(super) fn read(&self, key: &BlobKey, range: Option<Range<u64>>) -> io::Result<Option<BlobReader>> {
        let Some(bytes) = self.objects().get(key).cloned() else { return Ok(None) };
        let total_length = bytes.len() as u64;
        let range = reader::within(range, total_length)?;
        let mut bytes = io::Cursor::new(bytes);
        bytes.set_position(range.start);
        Ok(Some(BlobReader::new(bytes, total_length, range)))
    }

    pub(super) fn delete(&self, key: &BlobKey) {
        self.objects().remove(key);
    }

    pub(super) fn disk(&self) -> &Disk {
        &self.disk
    }

    pub(super) fn temp_dir(&self) -> &Path {
        self.temp_dir.path()
    }

    /// Locks the map. A panic elsewhere cannot leave it half changed, so a poisoned lock is safe to use.
    fn objects(&self) -> MutexGuard<'_, HashMap<BlobKey, Arc<[u8]>>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
