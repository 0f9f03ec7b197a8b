//! Python packages of exactly the versions in a list: the tests', a real mail server among them, and those of `fuzz-api`.

use std::{fs, path::PathBuf, process::Command};

use xtask::paths;

use crate::{
    lock,
    session::{Failure, Session, say},
};

/// Makes the environment of a list of packages in the cache, when it is absent, and gives its Python.
pub(crate) fn install(session: &Session, list: &str) -> Result<PathBuf, Failure> {
    let root = paths::root();
    let environment = paths::python_environment(&root, list)?;
    let python = environment.join("bin/python");
    let stamp = environment.join(paths::PYTHON_STAMP);
    if stamp.is_file() {
        return Ok(python);
    }
    let cache = paths::cache()?;
    fs::create_dir_all(&cache)?;
    // Two commands at once, of two clones say: the second waits, and then finds the work done.
    let _lock = lock::hold(&cache.join(".python-lock"))?;
    if stamp.is_file() {
        return Ok(python);
    }
    if paths::on_path("python3").is_none() {
        return Err(Failure::Said(format!("python3 with its module venv is needed for the packages of {list} (Debian: python3-venv)")));
    }
    say(format!("installing the Python packages of {list}"));
    // What an interrupted run left is begun anew.
    session.run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment)).map_err(|_| {
        Failure::Said("no Python environment could be made: is the module venv installed (Debian: python3-venv)?".to_owned())
    })?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"]);
    session.run(install.args(["--require-hashes", "--requirement"]).arg(root.join(list)))?;
    fs::write(&stamp, "")?;
    Ok(python)
}
