//! Emails as files, for a service without a mail server.

use std::fs::{DirBuilder, OpenOptions, rename};
use std::io::Write;
use std::path::Path;

use lettre::Message;
use shared::time::UnixMillis;

/// Writes the message into `folder` and returns the file's name. Names sort by the emails' creation time. An email that is written again replaces its
/// file.
pub(crate) async fn write(folder: &Path, id: &str, created: UnixMillis, message: &Message) -> std::io::Result<String> {
    let name = format!("{}-{}.eml", created.iso8601().replace(':', "-"), id);
    let (folder, file, bytes) = (folder.to_owned(), name.clone(), message.formatted());
    tokio::task::spawn_blocking(move || write_atomically(&folder, &file, &bytes)).await.map_err(std::io::Error::other)??;
    Ok(name)
}

/// Writes a temporary file and renames it, so that readers see only complete emails. Emails contain tokens: no other user of this machine may read them.
fn write_atomically(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)?;
    let temporary = folder.join(format!("{name}.new"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    rename(&temporary, folder.join(name))
}
