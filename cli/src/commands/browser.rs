//! Opens pages in a browser.

use std::process::{Command, Stdio};

use reqwest::Url;

use crate::error::{Error, Result};

/// The program that opens pages, instead of the desktop's browser.
fn program() -> Option<String> {
    std::env::var("UPDRAFT_BROWSER").ok().filter(|program| !program.is_empty())
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// Whether a browser would open where the user sees it: with `UPDRAFT_BROWSER`, or on a desktop that is not used by SSH.
pub(super) fn is_there() -> bool {
    let has_desktop = cfg!(any(target_os = "macos", target_os = "windows")) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    program().is_some() || (has_desktop && !is_set("SSH_CONNECTION"))
}

/// Opens a page, and does not wait. Errors: failed (1) if no browser starts, or the address is not a page's.
pub(super) fn open(address: &str) -> Result<()> {
    let next = format!("Open it yourself: {address}");
    // The address comes from the server. Desktops would also open files and start programs.
    let address = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(|| {
        Error::failed("the server's address of the page is not a web address", "Tell your administrator: DASHBOARD_URL is wrong.")
    })?;
    let opened = match program() {
        Some(program) => {
            let mut command = Command::new(program);
            command.arg(address.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
        }
        None => open::that_detached(address.as_str()),
    };
    opened.map_err(|error| Error::failed(format!("cannot open a browser: {error}"), next))
}
