//! The release before this one, built once into the cache: its Worker and its control plane, to upgrade from and to compare with.
//!
//! `tests/previous-release` names its commit, which the clone's own history must have. Start reading at [`Previous::find`].

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Command, Stdio},
};

use xtask::paths;

use crate::{
    lock,
    session::{Failure, Session, cargo, say},
    tools::{self, Kit},
    worker::{self, Recipe},
};

/// The file with the commit.
const FILE: &str = "tests/previous-release";
/// The control plane's program.
const CONTROL: &str = "updraft-control";

/// The previous release: where it is built.
pub(crate) struct Previous {
    /// Its folder in the cache, one per commit.
    folder: PathBuf,
}

impl Previous {
    /// Unpacks its sources into the cache, unless they are there.
    ///
    /// Fails if the clone does not have its commit.
    pub(crate) fn find(session: &Session) -> Result<Self, Failure> {
        let text = fs::read_to_string(paths::root().join(FILE))?;
        let commit = commit(&text).ok_or_else(|| Failure::Message(format!("{FILE} has no line with the 40 hex digits of a commit")))?;
        let cache = paths::cache()?;
        let short: String = commit.chars().take(12).collect();
        let previous = Self { folder: cache.join(format!("previous-{short}")) };
        fs::create_dir_all(&previous.folder)?;
        let _lock = previous.lock()?;
        if previous.source().is_dir() {
            return Ok(previous);
        }
        let mut look = git();
        look.args(["cat-file", "-e", &format!("{commit}^{{commit}}")]).stderr(Stdio::null());
        if session.run(&mut look).is_err() {
            return Err(Failure::Message(missing(&commit)));
        }
        // Renamed only when complete, so that an interrupted run does not count as done.
        let (archive, unfinished) = (previous.folder.join("source.tar"), previous.folder.join(".unfinished"));
        session.run(git().args(["archive", "--format=tar"]).arg("--output").arg(&archive).arg(&commit))?;
        tools::remove(&unfinished)?;
        tar::Archive::new(File::open(&archive)?).unpack(&unfinished)?;
        fs::rename(&unfinished, previous.source())?;
        fs::remove_file(archive)?;
        Ok(previous)
    }

    /// The folder of its built Worker, with `entry.js` in it. Built if it is missing.
    pub(crate) fn worker(&self, session: &Session) -> Result<PathBuf, Failure> {
        let folder = self.folder.join("worker");
        let recipe = Recipe::of(self.source(), self.target(), folder.clone());
        let kit = Kit::for_worker_of(session, &self.source())?;
        let _lock = self.lock()?;
        worker::build_recipe(session, &kit, &recipe)?;
        tools::remove(&self.target())?;
        Ok(folder)
    }

    /// Its control plane's program, not optimized. Built if it is missing.
    pub(crate) fn control(&self, session: &Session) -> Result<PathBuf, Failure> {
        let _lock = self.lock()?;
        let program = self.folder.join(CONTROL);
        if program.is_file() {
            return Ok(program);
        }
        say(format!("building the control plane of the previous release into {} (once; this takes minutes)", self.folder.display()));
        let mut build = cargo();
        build.args(["build", "--quiet", "--locked", "--package", "control", "--bin", CONTROL]).current_dir(self.source());
        // Its own toolchain, not that of this checkout.
        build.env_remove("RUSTUP_TOOLCHAIN").env("CARGO_TARGET_DIR", self.target()).env("CARGO_PROFILE_DEV_DEBUG", "0");
        session.run(&mut build)?;
        let unfinished = self.folder.join(".unfinished-control");
        fs::copy(self.target().join("debug").join(CONTROL), &unfinished)?;
        fs::rename(unfinished, &program)?;
        // Gigabytes that nobody needs again.
        tools::remove(&self.target())?;
        Ok(program)
    }

    fn source(&self) -> PathBuf {
        self.folder.join("source")
    }

    fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// If two commands run at once, for example in two clones, the second waits and then finds the work done.
    fn lock(&self) -> Result<File, Failure> {
        lock::hold(&self.folder.join(".lock"))
    }
}

/// The commit in the text of [`FILE`]: the first line that is no comment.
fn commit(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    (line.len() == 40 && line.bytes().all(|digit| digit.is_ascii_hexdigit())).then(|| line.to_owned())
}

fn missing(commit: &str) -> String {
    format!("this clone does not have the commit {commit} of {FILE}. A shallow clone lacks history: run `git fetch --unshallow` first")
}

fn git() -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(paths::root());
    command
}

#[cfg(test)]
mod tests {
    use std::fs;

    use xtask::paths;

    use super::{FILE, commit};

    #[test]
    fn the_previous_release_is_a_commit() {
        assert!(commit(&fs::read_to_string(paths::root().join(FILE)).unwrap()).is_some());
        let hash = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(commit(&format!("# why\n\n{hash}\n")).as_deref(), Some(hash));
        for wrong in ["", "# only a comment\n", "main\n", "0123456\n", &format!("{hash}0\n"), &hash.replace('0', "g")] {
            assert_eq!(commit(wrong), None, "{wrong:?}");
        }
    }
}
