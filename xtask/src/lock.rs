//! File locks between commands that write the same files: in one clone, such as `dev` and `test`, or in several that share the cache.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use crate::session::{Failure, say};

/// Locks `path`, which is created if missing; prints a message if it has to wait. Dropping the file unlocks it, as does the end of this process;
/// child processes do not inherit the lock.
pub(crate) fn hold(path: &Path) -> Result<File, Failure> {
    // Never truncated, so that an existing file with another purpose can serve as the lock.
    let file = File::options().append(true).create(true).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            say(format!("waiting for another command that holds the lock {}", path.display()));
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
    fn a_lock_is_held_until_dropped_and_keeps_the_contents_of_the_file() {
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
