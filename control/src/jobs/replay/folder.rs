//! Dead letters as files in a folder: the downloaded bucket.

use std::io;
use std::path::{Path, PathBuf};

use tokio::fs::{self, File};
use tokio::io::AsyncReadExt;

use super::{MAX_DEAD_LETTER_BYTES, ReplayError, reason, too_large};

/// A folder. Its files are read in the order of their names.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    /// Paths not yet visited, the next one last.
    rest: Vec<PathBuf>,
}

impl Folder {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), rest: vec![PathBuf::new()] }
    }

    pub(super) async fn next(&mut self, max: usize) -> Result<Vec<String>, ReplayError> {
        let mut names = Vec::new();
        while names.len() < max {
            let Some(path) = self.rest.pop() else { break };
            let full = self.root.join(&path);
            let refused = |error| ReplayError::Folder(full.clone(), error);
            // Symbolic links are not followed, because they may lead anywhere. Only the root folder may be one.
            let is_root = path.as_os_str().is_empty();
            let metadata = if is_root { fs::metadata(&full).await } else { fs::symlink_metadata(&full).await };
            match metadata {
                Ok(metadata) if metadata.is_dir() => self.rest.extend(entries(&full, &path).await.map_err(refused)?),
                Ok(_) if is_root => return Err(refused(io::ErrorKind::NotADirectory.into())),
                // A name that is not UTF-8 is changed here, so `read` does not find the file and reports it.
                Ok(_) => names.push(path.to_string_lossy().into_owned()),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !is_root => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Ok(names)
    }

    pub(super) async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let path = self.root.join(name);
        match fs::symlink_metadata(&path).await {
            Ok(metadata) if !metadata.is_file() => return Err("is not a file".to_owned()),
            Ok(metadata) if metadata.len() > MAX_DEAD_LETTER_BYTES => return Err(too_large()),
            Ok(_) => {}
            Err(error) => return gone(&error, name),
        }
        let mut bytes = Vec::new();
        let reading = async { File::open(&path).await?.take(MAX_DEAD_LETTER_BYTES + 1).read_to_end(&mut bytes).await };
        match reading.await {
            Ok(_) if u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_DEAD_LETTER_BYTES) => Ok(Some(bytes)),
            Ok(_) => Err(too_large()),
            Err(error) => gone(&error, name),
        }
    }

    pub(super) async fn delete(&self, name: &str) -> Result<(), String> {
        match fs::remove_file(self.root.join(name)).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(reason(&error)),
            _ => Ok(()),
        }
    }
}

/// The paths of a folder's entries, relative to the root, the first one last.
async fn entries(full: &Path, path: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut listing, mut names) = (fs::read_dir(full).await?, Vec::new());
    while let Some(entry) = listing.next_entry().await? {
        names.push(path.join(entry.file_name()));
    }
    names.sort_unstable_by(|left, right| right.cmp(left));
    Ok(names)
}

/// Handles a missing file: it was deleted meanwhile, or its name is not UTF-8 and so was changed.
fn gone(error: &io::Error, name: &str) -> Result<Option<Vec<u8>>, String> {
    match error.kind() {
        io::ErrorKind::NotFound if name.contains(char::REPLACEMENT_CHARACTER) => Err("has a name that is not UTF-8".to_owned()),
        io::ErrorKind::NotFound => Ok(None),
        _ => Err(reason(error)),
    }
}
