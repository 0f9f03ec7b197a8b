//! Credentials by server: in the system's keyring where there is one, otherwise in a file that only its owner can read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::server::ServerUrl;
use super::{files, user};
use crate::error::Result;

/// `credentials.toml`: credentials by URL.
#[derive(Default, Deserialize, Serialize)]
struct File {
    #[serde(default)]
    credentials: BTreeMap<ServerUrl, String>,
}

/// The credential for a server.
pub(crate) fn find(url: &ServerUrl) -> Result<Option<String>> {
    let Ok(folder) = user::folder() else { return Ok(None) };
    let file: Option<File> = files::read(&folder.join("credentials.toml"))?;
    Ok(file.unwrap_or_default().credentials.remove(url))
}

/// Stores the credential for a server. Returns where it is stored, for people.
pub(crate) fn store(url: &ServerUrl, credential: &str) -> Result<String> {
    let path = user::folder()?.join("credentials.toml");
    let mut file: File = files::read(&path)?.unwrap_or_default();
    file.credentials.insert(url.clone(), credential.to_owned());
    files::write(&path, &file)?;
    Ok(path.display().to_string())
}

/// Forgets the credential for a server.
pub(crate) fn forget(url: &ServerUrl) -> Result<()> {
    let path = user::folder()?.join("credentials.toml");
    let Some(mut file): Option<File> = files::read(&path)? else { return Ok(()) };
    if file.credentials.remove(url).is_some() {
        files::write(&path, &file)?;
    }
    Ok(())
}
