//! Mails as files, for a service without a mail server.

use std::fs::{DirBuilder, OpenOptions, rename};
use std::io::Write;
use std::path::Path;

use lettre::Message;
use shared::time::UnixMillis;

/// Writes the message into `folder` and gives the file's name. Names are ordered by the time at which the mails were decided on; a mail that is
/// written again replaces its file.
pub(crate) async fn write(folder: &Path, id: &str, created: UnixMillis, message: &Message) -> std::io::Result<String> {
    let name = format!("{}-{}.eml", created.iso8601().replace(':', "-"), id);
    let (folder, file, bytes) = (folder.to_owned(), name.clone(), message.formatted());
    tokio::task::spawn_blocking(move || keep(&folder, &file, &bytes)).await.map_err(std::io::Error::other)??;
    Ok(name)
}

/// Written beside and renamed, so that a reader finds whole mails only. They hold tokens: nobody else on this machine is to read them.
fn keep(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)?;
    let beside = folder.join(format!("{name}.new"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    rename(&beside, folder.join(name))
}
