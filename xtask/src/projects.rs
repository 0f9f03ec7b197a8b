//! The React Native and Expo projects that tests build and release: copied into the cache with their npm packages, in exactly the versions of their lock
//! files.

use std::{fs, path::Path, process::Command};

use xtask::paths;

use crate::{
    lock,
    session::{Failure, Session, say},
};

/// Installs the projects that are missing.
pub(crate) fn install(session: &Session) -> Result<(), Failure> {
    let root = paths::root();
    for name in paths::PROJECTS {
        let (source, project) = (paths::project_source(&root, name), paths::project(&root, name)?);
        let stamp = project.join(paths::PROJECT_STAMP);
        if stamp.is_file() {
            continue;
        }
        let cache = paths::cache()?;
        fs::create_dir_all(&cache)?;
        // If two commands run at once, the second waits and then finds the work done.
        let _lock = lock::hold(&cache.join(".projects-lock"))?;
        if stamp.is_file() {
            continue;
        }
        say(format!("installing the npm packages of the test project {name} (npm ci)"));
        // What an interrupted run left.
        match fs::remove_dir_all(&project) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        copy(&source, &project)?;
        let mut command = Command::new("npm");
        command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&project);
        session.run(command.env("PATH", paths::path_with(&paths::node(&root)?)?))?;
        fs::write(&stamp, "")?;
    }
    Ok(())
}

/// Copies a folder and everything in it.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
