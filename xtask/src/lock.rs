//! One command at a time, where two would write the same files: of one clone, as `dev` and `test`, or of several that share the cache.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use crate::session::{Failure, say};

/// Waits until no other command holds the lock on `path`, made when missing, and says so when that is not at once. Dropping the file unlocks
/// it, as does the end of this process; programs that it starts do not inherit it.
pub(crate) fn hold(path: &Path) -> Result<File, Failure> {
    // Never truncated, so that a file that is there for another purpose may serve.
    let file = File::options().append(true).create(true).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            say(format!("waiting for another command that holds {}", path.display()));
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, TryLockError};

    use super::hold;

    #[test]
    fn a_lock_is_held_until_it_is_dropped_and_leaves_the_files_text_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "text").unwrap();
        let held = hold(&path).unwrap();
        assert!(matches!(File::open(&path).unwrap().try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        File::open(&path).unwrap().try_lock().unwrap();
        drop(hold(&folder.path().join("new")).unwrap());
        assert_eq!(fs::read_to_string(path).unwrap(), "text");
    }
}
