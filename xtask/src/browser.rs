//! The desktop for tests: Debian's Chromium with its driver, tmux and GNOME Keyring, installed if missing and running as root.

use std::{env, process::Command};

use rustix::process::geteuid;
use xtask::paths;

use crate::session::{Failure, Session, say};

const PACKAGES: [&str; 5] = ["chromium", "chromium-driver", "dbus", "gnome-keyring", "tmux"];
/// The programs of these packages that tests start by name.
const PROGRAMS: [&str; 3] = ["dbus-run-session", "gnome-keyring-daemon", "tmux"];

/// Returns whether there are a browser, a terminal and a keyring for the tests, after trying to install them.
///
/// Without them, a developer's machine skips the tests that need them, with a message; if `CI` is set, that is a failure.
pub(crate) fn install(session: &Session) -> Result<bool, Failure> {
    let is_there = || paths::browser().is_some() && PROGRAMS.iter().all(|program| paths::on_path(program).is_some());
    if is_there() {
        return Ok(true);
    }
    let reason = match install_packages(session) {
        Ok(()) if is_there() => return Ok(true),
        Ok(()) => "they were installed but are not on PATH".to_owned(),
        Err(Failure::Message(reason)) => reason,
        Err(failure) => return Err(failure),
    };
    let missing = format!("chromium, chromedriver, {} is missing: {reason}", PROGRAMS.join(" or "));
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
