//! Downloads of packages, from addresses that need no credential.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use indicatif::ProgressBar;

use super::Client;
use super::retry::innermost;

/// How many times an address can lead to another one.
const REDIRECTS: usize = 5;
/// How long the server can be silent.
const PATIENCE: Duration = Duration::from_mins(1);

/// Downloads `url` to a file, `most` bytes at most. It sends no credential, so it can be led to another host. `is_encrypted` says whether the server that named
/// it was asked over https. Errors: why, in words that end a sentence.
pub(crate) async fn download(url: &str, is_encrypted: bool, to: &Path, most: u64, progress: &ProgressBar) -> Result<(), String> {
    // What is encrypted stays so, also after a redirect.
    let is_encrypted = is_encrypted || url.starts_with("https://");
    let client = Client::http(|builder| {
        builder.redirect(reqwest::redirect::Policy::limited(REDIRECTS)).read_timeout(PATIENCE).https_only(is_encrypted)
    });
    let client = client.map_err(|error| error.what)?;
    // The address is signed: a message that is passed on must not give the package away.
    let failed = |error: reqwest::Error| format!("its package cannot be downloaded: {}", innermost(&error.without_url()));
    let mut answer = client.get(url).send().await.and_then(reqwest::Response::error_for_status).map_err(failed)?;
    progress.set_length(answer.content_length().unwrap_or_default());
    let mut file = File::create(to).map_err(|error| format!("cannot write to the folder for temporary files: {error}"))?;
    let mut size = 0;
    while let Some(chunk) = answer.chunk().await.map_err(failed)? {
        size += chunk.len() as u64;
        if size > most {
            return Err("its package is too large".to_owned());
        }
        progress.inc(chunk.len() as u64);
        file.write_all(&chunk).map_err(|error| format!("cannot write to the folder for temporary files: {error}"))?;
    }
    Ok(())
}
