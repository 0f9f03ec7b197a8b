//! The browser of the tests: Debian's Chromium with its driver, installed when it is missing and this is root.

use std::{env, process::Command};

use rustix::process::geteuid;
use xtask::paths;

use crate::session::{Failure, Session, say};

const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// Whether there is a browser for the tests, installed now if need be.
///
/// Without one the tests that need it can be left out on a developer's machine, which somebody is told of; where `CI` is set that is a failure.
pub(crate) fn install(session: &Session) -> Result<bool, Failure> {
    if paths::browser().is_some() {
        return Ok(true);
    }
    let reason = match install_packages(session) {
        Ok(()) if paths::browser().is_some() => return Ok(true),
        Ok(()) => "they were installed, and are not on PATH".to_owned(),
        Err(Failure::Said(reason)) => reason,
        Err(failure) => return Err(failure),
    };
    let missing = format!("chromium and chromedriver are missing: {reason}");
    if env::var_os("CI").is_some_and(|value| !value.is_empty()) {
        return Err(Failure::Said(missing));
    }
    say(missing);
    Ok(false)
}

fn install_packages(session: &Session) -> Result<(), Failure> {
    if !geteuid().is_root() {
        return Err(Failure::Said("this is not root, who could install them".to_owned()));
    }
    if paths::on_path("apt-get").is_none() {
        return Err(Failure::Said("there is no apt-get to install them".to_owned()));
    }
    say(format!("installing {} (once; this takes a minute)", PACKAGES.join(" ")));
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.args(["-qq", "-o", "DPkg::Lock::Timeout=600"]).env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    match session.run(apt().arg("update")) {
        // Old lists may do as well.
        Err(Failure::Said(reason)) => say(format!("the lists of packages could not be refreshed: {reason}")),
        done => done?,
    }
    session.run(apt().args(["install", "--yes", "--no-install-recommends"]).args(PACKAGES))
}
