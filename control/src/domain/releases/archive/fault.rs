//! Why an upload is not accepted.

use std::io;

/// Why there are no contents.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveFault {
    /// The upload is at fault (400). Holds the whole message for its sender; it names the entry where one is to blame.
    #[error("{0}")]
    Refused(String),
    /// The file could not be read back: this server is at fault (5xx).
    #[error("the uploaded file could not be read back")]
    Read(#[source] io::Error),
}

impl ArchiveFault {
    pub(super) fn archive(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }

    /// Blames one entry. Its name is quoted and escaped, because it may hold anything, and cut, because it may be 65,535 bytes long.
    pub(super) fn entry(name: &[u8], why: impl std::fmt::Display) -> Self {
        let name = String::from_utf8_lossy(name);
        let mut shown: String = name.chars().take(200).collect();
        if shown.len() < name.len() {
            shown.push('…');
        }
        Self::Refused(format!("entry {shown:?}: {why}"))
    }
}
