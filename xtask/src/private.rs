//! Files and directories that only their owner may read.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// Writes `text` to `path` with mode 0600, replacing an existing file.
///
/// A new file is created and renamed, so that readers never see an old, wider mode or partial text.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}", std::process::id()));
    let fresh = path.with_file_name(name);
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?.write_all(text.as_bytes())?;
    fs::rename(&fresh, path)
}

/// Creates the directory `path` and its parents with mode 0700; existing ones stay unchanged.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
