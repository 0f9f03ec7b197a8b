//! Files and folders that only their owner may read.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// Writes `text` to `path` with mode 0600, in place of what was there.
///
/// The file is made anew and renamed, so that neither an older, wider mode nor half of the text is ever seen. Fails as the file system does.
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

/// Makes the folder `path`, and those above it, with mode 0700; one that exists is left as it is.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
