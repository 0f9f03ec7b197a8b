//! What `updraft init` would change: computed first, shown, and then made.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::diff;
use super::text::Encoding;
use crate::error::{Error, Result};

/// The largest file that is edited.
const MAX_BYTES: u64 = 4_000_000;

/// What the SDK needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sdk {
    /// The address of the server, with a slash at the end.
    pub(super) url: String,
    /// The deployment key.
    pub(super) key: String,
    /// The one platform that gets them; `None`: each that the project has.
    pub(super) only: Option<Platform>,
}

/// A platform that an app runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Platform {
    /// Android.
    Android,
    /// iOS.
    Ios,
}

impl Platform {
    /// Both.
    pub(super) const ALL: [Self; 2] = [Self::Ios, Self::Android];

    /// Its name, which is also that of its folder.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Android => "android",
            Self::Ios => "ios",
        }
    }
}

impl Platform {
    /// The other one.
    pub(in crate::commands) const fn other(self) -> Self {
        match self {
            Self::Android => Self::Ios,
            Self::Ios => Self::Android,
        }
    }

    /// Its name for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Android => "Android",
            Self::Ios => "iOS",
        }
    }
}

impl Sdk {
    /// Whether a platform gets them.
    pub(super) fn is_for(&self, platform: Platform) -> bool {
        self.only.is_none_or(|only| only == platform)
    }

    /// The platforms that get them.
    pub(super) fn platforms(&self) -> impl Iterator<Item = Platform> + '_ {
        Platform::ALL.into_iter().filter(|platform| self.is_for(*platform))
    }
}

#[cfg(test)]
impl Sdk {
    /// An example.
    pub(super) fn example(url: &str) -> Self {
        Self { url: url.to_owned(), key: "KEY".to_owned(), only: None }
    }

    /// The text after an edit. The same edit again must change nothing.
    pub(super) fn edited(&self, edit: impl Fn(&str, &Self) -> Result<String, ByHand>, text: &str) -> String {
        let after = edit(text, self).unwrap();
        assert_eq!(edit(&after, self).unwrap(), after, "again");
        after
    }
}

/// Why a file must be changed by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ByHand(pub(super) String);

/// A change of a file.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The file, relative to the project.
    pub(super) path: String,
    /// The change as a unified diff.
    pub(super) diff: String,
    before: Option<Vec<u8>>,
    after: Vec<u8>,
}

impl Change {
    /// The texts before and after.
    pub(super) fn texts(&self) -> (String, String) {
        let text = |bytes: &[u8]| Encoding::decode(bytes).1;
        (self.before.as_deref().map(text).unwrap_or_default(), text(&self.after))
    }
}

/// The changes to a project.
#[derive(Debug)]
pub(super) struct Plan {
    root: PathBuf,
    /// The files that need no change.
    pub(super) unchanged: Vec<String>,
    /// What can be changed.
    pub(super) changes: Vec<Change>,
    /// What must be changed by hand: the file, and why or what to do.
    pub(super) by_hand: Vec<(String, String)>,
    /// What to do after the changes.
    pub(super) next: Vec<String>,
}

impl Plan {
    /// No changes yet to the project in a folder.
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, unchanged: Vec::new(), changes: Vec::new(), by_hand: Vec::new(), next: Vec::new() }
    }

    /// The project's folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the project has a file or folder.
    pub(super) fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// The text of a file, if it can be read.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        read(&self.root.join(path)).ok().map(|bytes| Encoding::decode(&bytes).1)
    }

    /// Refuses a file outside of the project: a link can lead anywhere, and the project can be somebody else's.
    fn inside(&self, path: &str) -> Result<(), ByHand> {
        let found = |path: &Path| fs::canonicalize(path).map_err(|error| ByHand(format!("it cannot be read: {error}")));
        if found(&self.root.join(path))?.starts_with(found(&self.root)?) {
            Ok(())
        } else {
            Err(ByHand("it is a link to a file outside of this folder".to_owned()))
        }
    }

    /// Adds the edit of a file. If it cannot be edited, the file is left alone, and that is noted.
    pub(super) fn edit(&mut self, path: &str, edit: impl FnOnce(&str) -> Result<String, ByHand>) {
        let edited = self.inside(path).and_then(|()| read(&self.root.join(path))).and_then(|before| {
            let (encoding, text) = Encoding::decode(&before);
            let after_text = edit(&text)?;
            let after = encoding.encode(&after_text).ok_or_else(|| ByHand("its encoding lacks a letter of the new values".to_owned()))?;
            Ok((text, before, after_text, after))
        });
        match edited {
            Ok((_, before, _, after)) if before == after => self.unchanged.push(path.to_owned()),
            Ok((text, before, after_text, after)) => {
                let diff = diff::unified(path, Some(&text), &after_text);
                self.changes.push(Change { path: path.to_owned(), diff, before: Some(before), after });
            }
            Err(ByHand(why)) => {
                self.by_hand(path, &format!("{why}. Put server and deployment key in by hand: `updraft deployment show` prints them"));
            }
        }
    }

    /// Adds a new file.
    pub(super) fn create(&mut self, path: &str, text: &str) {
        let diff = diff::unified(path, None, text);
        self.changes.push(Change { path: path.to_owned(), diff, before: None, after: text.as_bytes().to_vec() });
    }

    /// Notes what must be changed by hand.
    pub(super) fn by_hand(&mut self, path: &str, what: &str) {
        self.by_hand.push((path.to_owned(), what.to_owned()));
    }

    /// Notes what to do after the changes.
    pub(super) fn then(&mut self, what: &str) {
        self.next.push(what.to_owned());
    }

    /// Makes the changes. Errors: failed (1); the files before the one that failed are changed.
    pub(super) fn apply(&self) -> Result<()> {
        for change in &self.changes {
            let path = self.root.join(&change.path);
            let now = fs::read(&path).ok();
            if now != change.before {
                let next = "Run `updraft init` again.";
                return Err(Error::failed(format!("{} was changed by another program in the meantime", change.path), next));
            }
            let written = if change.before.is_some() { replace(&path, &change.after) } else { create(&path, &change.after) };
            written.map_err(|error| {
                Error::failed(
                    format!("cannot write {}: {error}", change.path),
                    "Check the file's permissions, then run `updraft init` again.",
                )
            })?;
        }
        Ok(())
    }
}

/// Creates a file. Errors: a link that leads nowhere is there, too.
fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Replaces a file at once, so that it is never half-written. Its permissions stay. A link is followed: the file behind it is replaced.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let permissions = fs::metadata(&path)?.permissions();
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(content)?;
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    file.persist(&path).map(drop).map_err(|error| error.error)
}

fn read(path: &Path) -> Result<Vec<u8>, ByHand> {
    let size = fs::metadata(path).map_or(0, |metadata| metadata.len());
    if size > MAX_BYTES {
        return Err(ByHand("it is larger than 4 MB".to_owned()));
    }
    fs::read(path).map_err(|error| ByHand(format!("it cannot be read: {error}")))
}
