//! Python packages in exactly the versions of a list: those of the tests, which include a real mail server, and those of `fuzz-api`.

use std::{fs, path::PathBuf, process::Command};

use xtask::paths;

use crate::{
    lock,
    session::{Failure, Session, say},
};

/// Creates the environment for a list of packages in the cache if it is missing, and returns its Python.
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
    // If two commands run at once, for example in two clones, the second waits and then finds the work done.
    let _lock = lock::hold(&cache.join(".python-lock"))?;
    if stamp.is_file() {
        return Ok(python);
    }
    if paths::on_path("python3").is_none() {
        return Err(Failure::Message(format!(
            "python3 with the module venv is required for the packages in {list} (Debian: python3-venv)"
        )));
    }
    say(format!("installing the Python packages in {list}"));
    // `--clear` discards what an interrupted run left.
    session.run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment)).map_err(|_| {
        Failure::Message("could not create a Python environment: is the module venv installed (Debian: python3-venv)?".to_owned())
    })?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"]);
    session.run(install.args(["--require-hashes", "--requirement"]).arg(root.join(list)))?;
    fs::write(&stamp, "")?;
    Ok(python)
}
