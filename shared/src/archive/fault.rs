//! Errors of an archive inspection.

use std::io;

/// Why an inspection failed.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveFault {
    /// The upload is at fault (400). Holds the whole message for the client; it names the entry at fault, if there is one.
    #[error("{0}")]
    Refused(String),
    /// The file could not be read back: the server is at fault (5xx).
    #[error("the uploaded file could not be read back")]
    Read(#[source] io::Error),
}

impl ArchiveFault {
    pub(crate) fn archive(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }

    /// A fault of one entry. Its name is quoted and escaped, because it may hold anything, and truncated, because it may be 65,535 bytes long.
    pub(crate) fn entry(name: &[u8], why: impl std::fmt::Display) -> Self {
        let name = String::from_utf8_lossy(name);
        let mut shown: String = name.chars().take(200).collect();
        if shown.len() < name.len() {
            shown.push('…');
        }
        Self::Refused(format!("entry {shown:?}: {why}"))
    }
}
