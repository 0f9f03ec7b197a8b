//! Dead letters as files: the bucket as it was downloaded.

use std::io;
use std::path::{Path, PathBuf};

use tokio::fs::{self, File};
use tokio::io::AsyncReadExt;

use super::{MAX_LETTER, ReplayError, reason, too_large};

/// A folder. What lies in it is taken in the order of the names.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    /// What is yet to be looked at, the next one last.
    rest: Vec<PathBuf>,
}

impl Folder {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), rest: vec![PathBuf::new()] }
    }

    pub(super) async fn next(&mut self, most: usize) -> Result<Vec<String>, ReplayError> {
        let mut names = Vec::new();
        while names.len() < most {
            let Some(path) = self.rest.pop() else { break };
            let full = self.root.join(&path);
            let refused = |error| ReplayError::Folder(full.clone(), error);
            // Links are not followed: they may lead anywhere. The folder that was named may be one.
            let is_root = path.as_os_str().is_empty();
            let metadata = if is_root { fs::metadata(&full).await } else { fs::symlink_metadata(&full).await };
            match metadata {
                Ok(metadata) if metadata.is_dir() => self.rest.extend(entries(&full, &path).await.map_err(refused)?),
                Ok(_) if is_root => return Err(refused(io::ErrorKind::NotADirectory.into())),
                // A name that is no text is left by the reading, which does not find it under what it is called here.
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
            Ok(metadata) if metadata.len() > MAX_LETTER => return Err(too_large()),
            Ok(_) => {}
            Err(error) => return gone(&error, name),
        }
        let mut bytes = Vec::new();
        let reading = async { File::open(&path).await?.take(MAX_LETTER + 1).read_to_end(&mut bytes).await };
        match reading.await {
            Ok(_) if u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_LETTER) => Ok(Some(bytes)),
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

/// The paths of what a folder holds, below the root, the first one last.
async fn entries(full: &Path, path: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut listing, mut names) = (fs::read_dir(full).await?, Vec::new());
    while let Some(entry) = listing.next_entry().await? {
        names.push(path.join(entry.file_name()));
    }
    names.sort_unstable_by(|left, right| right.cmp(left));
    Ok(names)
}

/// A file that is not there any more has gone; only one whose name is no text was never there by the name that it has here.
fn gone(error: &io::Error, name: &str) -> Result<Option<Vec<u8>>, String> {
    match error.kind() {
        io::ErrorKind::NotFound if name.contains(char::REPLACEMENT_CHARACTER) => Err("has a name that is no text".to_owned()),
        io::ErrorKind::NotFound => Ok(None),
        _ => Err(reason(error)),
    }
}
