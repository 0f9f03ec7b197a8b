//! The browser and the terminal for tests: Debian's Chromium with its driver, and tmux, installed if missing and running as root.

use std::{env, process::Command};

use rustix::process::geteuid;
use xtask::paths;

use crate::session::{Failure, Session, say};

const PACKAGES: [&str; 3] = ["chromium", "chromium-driver", "tmux"];

/// Returns whether there are a browser and a terminal for the tests, after trying to install it.
///
/// Without them, a developer's machine skips the tests that need them, with a message; if `CI` is set, that is a failure.
pub(crate) fn install(session: &Session) -> Result<bool, Failure> {
    let is_there = || paths::browser().is_some() && paths::on_path("tmux").is_some();
    if is_there() {
        return Ok(true);
    }
    let reason = match install_packages(session) {
        Ok(()) if is_there() => return Ok(true),
        Ok(()) => "they were installed but are not on PATH".to_owned(),
        Err(Failure::Message(reason)) => reason,
        Err(failure) => return Err(failure),
    };
    let missing = format!("chromium, chromedriver or tmux is missing: {reason}");
    if env::var_os("CI").is_some_and(|value| !value.is_empty()) {
        return Err(Failure::Message(missing));
    }
    say(missing);
    Ok(false)
}

fn install_packages(session: &Session) -> Result<(), Failure> {
    if !geteuid().is_root() {
        return Err(Failure::Message("cannot install them: not running as root".to_owned()));
    }
    if paths::on_path("apt-get").is_none() {
        return Err(Failure::Message("cannot install them: apt-get was not found".to_owned()));
    }
    say(format!("installing {} (once; this takes a minute)", PACKAGES.join(" ")));
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.args(["-qq", "-o", "DPkg::Lock::Timeout=600"]).env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    match session.run(apt().arg("update")) {
        // Old lists may still work.
        Err(Failure::Message(reason)) => say(format!("could not refresh the package lists: {reason}")),
        done => done?,
    }
    session.run(apt().args(["install", "--yes", "--no-install-recommends"]).args(PACKAGES))
}
