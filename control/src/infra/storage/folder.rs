//! Objects as files on this machine: `{root}/{app id}/{first two hex}/{sha256}`. Uploads in progress are in `{root}/.tmp`.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use shared::hash::BlobKey;
use tokio::io::AsyncSeekExt;

use super::disk::Disk;
use super::reader::{self, BlobReader};

/// Not a valid app id, so it cannot clash with one.
const TEMP_DIR: &str = ".tmp";
const PROBE: &[u8] = b"probe";

/// Stores objects in a folder that only this process uses. Files are readable only by their owner (0600, folders 0700).
#[derive(Clone, Debug)]
pub struct FolderStore {
    root: PathBuf,
    temp_dir: PathBuf,
    disk: Disk,
}

impl FolderStore {
    /// Opens the folder `root`, and creates it if it does not exist.
    pub async fn open(root: PathBuf) -> io::Result<Self> {
        let temp_dir = root.join(TEMP_DIR);
        let store = Self { root, temp_dir, disk: Disk::default() };
        let created = store.clone();
        blocking(move || {
            create_dir(&created.root)?;
            create_dir(&created.temp_dir)?;
            created.root.parent().map_or(Ok(()), sync_dir)
        })
        .await?;
        Ok(store)
    }

    pub(super) async fn put_file(&self, key: &BlobKey, source: &Path) -> io::Result<()> {
        let (store, key, source) = (self.clone(), key.clone(), source.to_owned());
        blocking(move || store.put(&key, &source)).await
    }

    pub(super) async fn length(&self, key: &BlobKey) -> io::Result<Option<u64>> {
        Ok(present(tokio::fs::metadata(self.path(key)).await)?.map(|metadata| metadata.len()))
    }

    pub(super) async fn read(&self, key: &BlobKey, range: Option<Range<u64>>) -> io::Result<Option<BlobReader>> {
        let Some(mut file) = present(tokio::fs::File::open(self.path(key)).await)? else { return Ok(None) };
        // The length of the open file, not of the path: the file may have been replaced by now.
        let total_length = file.metadata().await?.len();
        let range = reader::within(range, total_length)?;
        if range.start > 0 {
            file.seek(io::SeekFrom::Start(range.start)).await?;
        }
        Ok(Some(BlobReader::new(file, total_length, range)))
    }

    pub(super) async fn local(&self, key: &BlobKey) -> io::Result<Option<File>> {
        let path = self.path(key);
        blocking(move || present(File::open(path))).await
    }

    pub(super) async fn delete(&self, key: &BlobKey) -> io::Result<()> {
        // The folder stays, even if it is empty: an upload may be about to create a file in it.
        present(tokio::fs::remove_file(self.path(key)).await).map(drop)
    }

    pub(super) fn disk(&self) -> &Disk {
        &self.disk
    }

    pub(super) async fn probe(&self) -> io::Result<()> {
        let temp_dir = self.temp_dir.clone();
        blocking(move || {
            let mut file = tempfile::Builder::new().prefix("probe-").tempfile_in(temp_dir)?;
            file.write_all(PROBE)?;
            file.as_file().sync_all()?;
            file.rewind()?;
            let mut read = Vec::new();
            file.read_to_end(&mut read)?;
            if read != PROBE {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the data read differs from the data written"));
            }
            file.close()
        })
        .await
    }

    pub(super) fn temp_dir(&self) -> &Path {
        &self.temp_dir
    }

    pub(super) async fn clean_temp(&self) -> io::Result<()> {
        let temp_dir = self.temp_dir.clone();
        blocking(move || {
            for entry in fs::read_dir(temp_dir)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    fs::remove_dir_all(entry.path())?;
                } else {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        })
        .await
    }

    fn put(&self, key: &BlobKey, source: &Path) -> io::Result<()> {
        let (target, folder) = (self.path(key), self.folder(key));
        create_dir(&folder)?;
        let file = File::open(source)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.sync_all()?;
        match fs::rename(source, &target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                self.copy(file, &target)?;
                fs::remove_file(source)?;
            }
            Err(error) => return Err(error),
        }
        // Syncs up to the root each time: another upload may have just created these folders and not synced them yet.
        folder.ancestors().take(3).try_for_each(sync_dir)
    }

    /// Copies a file from another file system. A crash leaves the copy where [`Self::clean_temp`] finds it.
    fn copy(&self, mut file: File, target: &Path) -> io::Result<()> {
        let mut copy = tempfile::NamedTempFile::new_in(&self.temp_dir)?;
        io::copy(&mut file, &mut copy)?;
        copy.as_file().sync_all()?;
        copy.persist(target).map(drop).map_err(|error| error.error)
    }

    fn folder(&self, key: &BlobKey) -> PathBuf {
        let first_two: String = key.sha256.as_str().chars().take(2).collect();
        self.root.join(key.app.as_str()).join(first_two)
    }

    fn path(&self, key: &BlobKey) -> PathBuf {
        self.folder(key).join(key.sha256.as_str())
    }
}

/// Creates a folder and its missing parents.
fn create_dir(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes creations and renames in a folder survive a power failure.
fn sync_dir(folder: &Path) -> io::Result<()> {
    // The parent of a relative path of one segment is the empty path.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

/// Turns "not found" into `None`.
fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Runs blocking file system calls off the async threads.
async fn blocking<T: Send + 'static>(job: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(job).await.map_err(io::Error::other)?
}
