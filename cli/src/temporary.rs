//! Temporary folders, which only this user can read: they hold sources that are not released yet.

use std::fs::Permissions;
use std::io;

use tempfile::TempDir;

use crate::output::interrupt;

/// Creates a folder that is removed when it is dropped, and when the program is interrupted.
pub(crate) fn folder() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("updraft-");
    #[cfg(unix)]
    builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700));
    let folder = builder.tempdir()?;
    interrupt::remove_then(folder.path());
    Ok(folder)
}
