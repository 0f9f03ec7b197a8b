//! Credentials by server: in the system's keyring where there is one, otherwise in a file that only its owner can read.
//!
//! The file also says which credentials are in the keyring, so that commands ask the keyring only for those. `UPDRAFT_CREDENTIAL_STORE` chooses: `auto`
//! (the default), `keyring`, `file`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::server::ServerUrl;
use super::{files, user};
use crate::error::{Error, Kind, Result};

/// The service under which keyrings show the credentials. The user name is the server's URL.
const SERVICE: &str = "updraft";
/// How long the keyring may take. It can be waiting for a dialog that nobody sees.
const PATIENCE: Duration = Duration::from_secs(10);

/// `credentials.toml`.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct File {
    /// The servers whose credentials are in the keyring.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    keyring: BTreeSet<ServerUrl>,
    /// The other credentials, by URL.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    credentials: BTreeMap<ServerUrl, String>,
}

/// Where credentials are to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Store {
    Auto,
    Keyring,
    File,
}

fn chosen() -> Result<Store> {
    match std::env::var("UPDRAFT_CREDENTIAL_STORE").unwrap_or_default().as_str() {
        "" | "auto" => Ok(Store::Auto),
        "keyring" => Ok(Store::Keyring),
        "file" => Ok(Store::File),
        other => {
            let next = "Set it to auto, keyring or file, or unset it.";
            Err(Error::usage(format!("UPDRAFT_CREDENTIAL_STORE cannot be {other}"), next))
        }
    }
}

fn path() -> Result<PathBuf> {
    Ok(user::folder()?.join("credentials.toml"))
}

/// Checks that a credential could be stored, before somebody takes the trouble to get one. Errors: usage (2); failed (1) without the keyring that was
/// asked for.
pub(crate) fn check() -> Result<()> {
    if chosen()? == Store::Keyring && !has_keyring() { Err(not_stored("there is no D-Bus session")) } else { Ok(()) }
}

fn not_stored(why: &str) -> Error {
    let next = "Unlock the keyring, or unset UPDRAFT_CREDENTIAL_STORE to use a file.";
    Error::failed(format!("the system keyring does not store the credential: {why}"), next)
}

/// The credential for a server. Errors: not signed in (3) if the keyring has it, but does not give it.
pub(crate) fn find(url: &ServerUrl) -> Result<Option<String>> {
    // Without a home folder nothing was ever stored.
    let Ok(path) = path() else { return Ok(None) };
    let mut file: File = files::read(&path)?.unwrap_or_default();
    if let Some(credential) = file.credentials.remove(url) {
        return Ok(Some(credential));
    }
    if !file.keyring.contains(url) {
        return Ok(None);
    }
    ask_keyring(url, |entry| match entry.get_password() {
        Ok(credential) => Ok(Some(credential)),
        Err(keyring::Error::NoEntry) => Ok(None),
        Err(error) => Err(error),
    })
    .map_err(|why| {
        let next = "Unlock the keyring, sign in again with UPDRAFT_CREDENTIAL_STORE=file, or set UPDRAFT_TOKEN.";
        Error::new(Kind::NotSignedIn, format!("the system keyring does not give the credential for {url}: {why}"), next)
    })
}

/// Stores the credential for a server. Returns where it is stored, for people.
pub(crate) fn store(url: &ServerUrl, credential: &str) -> Result<String> {
    let (store, path) = (chosen()?, path()?);
    let _lock = files::lock(&user::folder()?)?;
    let mut file: File = files::read(&path)?.unwrap_or_default();
    if store == Store::Keyring || (store == Store::Auto && has_keyring()) {
        let secret = credential.to_owned();
        match ask_keyring(url, move |entry| entry.set_password(&secret)) {
            Ok(()) => {
                file.credentials.remove(url);
                file.keyring.insert(url.clone());
                files::write(&path, &file)?;
                return Ok("the system keyring".to_owned());
            }
            Err(why) if store == Store::Keyring => return Err(not_stored(&why)),
            Err(_) => {}
        }
    }
    if file.keyring.remove(url) {
        forget_in_keyring(url);
    }
    file.credentials.insert(url.clone(), credential.to_owned());
    files::write(&path, &file)?;
    Ok(path.display().to_string())
}

/// Forgets the credential for a server.
pub(crate) fn forget(url: &ServerUrl) -> Result<()> {
    let path = path()?;
    if !path.exists() {
        return Ok(());
    }
    let _lock = files::lock(&user::folder()?)?;
    let Some(mut file): Option<File> = files::read(&path)? else { return Ok(()) };
    let was_in_keyring = file.keyring.remove(url);
    let was_in_file = file.credentials.remove(url).is_some();
    if was_in_keyring {
        forget_in_keyring(url);
    }
    if was_in_keyring || was_in_file { files::write(&path, &file) } else { Ok(()) }
}

/// Deletes it in the keyring. If the keyring does not answer, an entry that nothing refers to is left over.
fn forget_in_keyring(url: &ServerUrl) {
    let _ = ask_keyring(url, keyring::Entry::delete_credential);
}

/// Whether there can be a keyring. Elsewhere than on macOS and Windows it is reached by D-Bus, which starts only on a desktop.
fn has_keyring() -> bool {
    cfg!(any(target_os = "macos", target_os = "windows"))
        || std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some_and(|value| !value.is_empty())
}

/// Does something with a server's entry, on a thread of its own: the keyring can block. Errors: why it failed, for people.
fn ask_keyring<T: Send + 'static>(
    url: &ServerUrl,
    work: impl FnOnce(&keyring::Entry) -> keyring::Result<T> + Send + 'static,
) -> Result<T, String> {
    if !has_keyring() {
        return Err("there is no D-Bus session".to_owned());
    }
    let (send, receive) = mpsc::channel();
    let user = url.as_str().to_owned();
    std::thread::spawn(move || {
        // Why there is no keyring says more than what follows from it.
        let result = match keyring::Entry::store_status() {
            Ok(()) => keyring::Entry::new(SERVICE, &user).and_then(|entry| work(&entry)).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        // Nobody waits any more if it took too long.
        let _ = send.send(result);
    });
    match receive.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(_) => Err(format!("it did not answer within {} seconds", PATIENCE.as_secs())),
    }
}
