//! Reads and writes the CLI's files. What it writes is complete or not there, and readable only by its owner. Who changes a file holds the lock, so that
//! two commands at once lose nothing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// Reads a TOML file; absent is `None`. Errors: usage (2) with the place of the fault.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    // Not from a device or a pipe, which can have no end.
    let read = || {
        fs::metadata(path)
            .and_then(|found| if found.is_file() { fs::read_to_string(path) } else { Err(io::Error::other("it is not a file")) })
    };
    let text = match read() {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(Error::failed(format!("cannot read {}: {error}", path.display()), "Check the file's permissions.")),
    };
    toml::from_str(&text).map(Some).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count());
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        Error::usage(format!("{}, line {line}: {message}", path.display()), "Correct the file, then try again.")
    })
}

/// Waits until no other command changes files in this folder. Creates the folder. The lock ends with the value, or with the process. Errors: failed (1).
pub(crate) fn lock(folder: &Path) -> Result<File> {
    let locked = || -> io::Result<File> {
        fs::create_dir_all(folder)?;
        let file = File::options().create(true).append(true).open(folder.join("lock"))?;
        match file.lock() {
            // Some network file systems have no locks. There, a change can still be lost, as without one.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
            locked => locked.map(|()| file),
        }
    };
    locked().map_err(|error| not_written(folder, &error))
}

/// Writes a TOML file with mode 0600, through a temporary file in the same folder. Creates the folder. Errors: failed (1).
pub(crate) fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = toml::to_string(value).map_err(|error| Error::failed(format!("cannot write {}: {error}", path.display()), ""))?;
    let written = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // Temporary files are created with mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|error| not_written(path, &error))
}

fn not_written(path: &Path, error: &io::Error) -> Error {
    let next = "Make the folder writable, or set XDG_CONFIG_HOME to another one. In CI, set UPDRAFT_URL and UPDRAFT_TOKEN instead.";
    Error::failed(format!("cannot write {}: {error}", path.display()), next)
}
