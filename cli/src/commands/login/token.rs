//! Signing in with a key.

use std::io::Read;

use crate::config::server::ServerUrl;
use crate::error::{Error, Result};
use crate::output::prompt;

/// The longest key that is read.
const MAX_LENGTH: u64 = 1_000;

/// The key: given, on standard input (`-`), or asked for. Errors: usage (2) if there is none, or it cannot be one.
pub(super) fn read(given: Option<&str>) -> Result<String> {
    let token = match given {
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().take(MAX_LENGTH + 1).read_to_string(&mut text).map_err(|error| {
                Error::failed(
                    format!("cannot read standard input: {error}"),
                    "Send the key, such as `updraft login --token - < token.txt`.",
                )
            })?;
            text
        }
        Some(token) => token.to_owned(),
        None => prompt::secret("Access key or API key", "a value, or - and send the key to standard input")?,
    };
    let token = token.trim();
    let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    if token.is_empty() || !is_plain || u64::try_from(token.len()).unwrap_or(u64::MAX) > MAX_LENGTH {
        let next = "Copy the whole key, such as svc_ak_… or svc_sk_live_….";
        return Err(Error::usage("this is not a key: it is empty, too long, or has spaces", next));
    }
    Ok(token.to_owned())
}

/// Words a key that the server does not accept.
pub(super) fn refused(url: &ServerUrl, error: Error) -> Error {
    let next = format!("Check that it is a key of this server, or sign in with a browser: `updraft login --server {url}`.");
    Error { what: format!("{url} does not accept this key: it is wrong, expired or revoked"), next, ..error }
}
