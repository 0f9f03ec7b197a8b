//! The tests' Python packages, a real mail server among them: of exactly the versions in `tests/python/requirements.txt`.

use std::{fs, process::Command};

use xtask::paths;

use crate::{
    lock,
    session::{Failure, Session, say},
};

/// Makes the environment in the cache when it is absent or of another list of packages.
pub(crate) fn install(session: &Session) -> Result<(), Failure> {
    let root = paths::root();
    let environment = paths::python_environment(&root)?;
    let stamp = environment.join(paths::PYTHON_STAMP);
    if stamp.is_file() {
        return Ok(());
    }
    let cache = paths::cache()?;
    fs::create_dir_all(&cache)?;
    // Two commands at once, of two clones say: the second waits, and then finds the work done.
    let _lock = lock::hold(&cache.join(".python-lock"))?;
    if stamp.is_file() {
        return Ok(());
    }
    if paths::on_path("python3").is_none() {
        return Err(Failure::Said("python3 with its module venv is needed for the tests' mail server (Debian: python3-venv)".to_owned()));
    }
    say("installing the Python packages of tests/python/requirements.txt");
    // What an interrupted run left is begun anew.
    session.run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment)).map_err(|_| {
        Failure::Said("no Python environment could be made: is the module venv installed (Debian: python3-venv)?".to_owned())
    })?;
    let mut install = Command::new(environment.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"]);
    session.run(install.args(["--require-hashes", "--requirement"]).arg(root.join("tests/python/requirements.txt")))?;
    fs::write(&stamp, "")?;
    Ok(())
}
