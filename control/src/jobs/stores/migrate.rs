//! `storage migrate`: copies every bundle that something refers to into another storage, each verified by its hash.
//!
//! What is copied is noted in a file, so that a second run, after the server has stopped, takes only as long as what is new.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use futures_util::stream::{self, StreamExt};
use shared::hash::BlobKey;
use tempfile::NamedTempFile;

use super::{AT_ONCE, Broken, Stores, copy, is_needed, key, page, read};
use crate::domain::error::{Error, Result};
use crate::domain::releases::blob::{self, Needed};
use crate::infra::storage::Storage;

/// How long blobs are copied after their last use although nothing refers to them, in milliseconds.
const RECENT: i64 = 48 * 60 * 60 * 1_000;

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Migrated {
    /// Bundles, and their lists of files, that were copied now.
    pub copied: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that were there already.
    pub kept: u64,
    /// Copies that were deleted, because nothing needs them any more.
    pub deleted: u64,
    /// What the old storage does not have.
    pub broken: Vec<Broken>,
}

enum Outcome {
    Copied(u64),
    Kept,
    Broken(Broken),
    /// Nothing refers to it any more.
    Gone,
}

/// The copies that a journal names, by [`BlobKey`] as text. Its first line says from where to where.
struct Journal {
    done: HashSet<String>,
    file: File,
}

impl Journal {
    /// Opens the file. One about other places is replaced.
    fn open(path: &Path, about: &str) -> io::Result<Self> {
        let mut done = HashSet::new();
        let mut is_about = false;
        if let Ok(file) = File::open(path) {
            let mut lines = BufReader::new(file).lines();
            is_about = lines.next().transpose()?.is_some_and(|line| line == about);
            if is_about {
                for line in lines {
                    done.insert(line?);
                }
            }
        }
        if !is_about {
            done.clear();
            fs::write(path, format!("{about}\n"))?;
        }
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Self { done, file })
    }

    fn add(&mut self, key: &BlobKey) -> io::Result<()> {
        let line = key.to_string();
        writeln!(self.file, "{line}")?;
        self.done.insert(line);
        Ok(())
    }

    /// Writes it again, with what is in `done` now.
    fn write_again(&self, path: &Path, about: &str) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = NamedTempFile::new_in(folder)?;
        writeln!(file, "{about}")?;
        for line in &self.done {
            writeln!(file, "{line}")?;
        }
        file.persist(path).map(drop).map_err(|error| error.error)
    }
}

/// Copies everything into `to`. `journal` is the file that notes what is copied, `about` says from where to where. `tell` gets the number of those
/// that are done. Errors: the database, a storage that cannot be read or written to at all, the journal.
pub async fn migrate(stores: Stores<'_>, to: &Storage, journal: &Path, about: &str, tell: &mut dyn FnMut(u64)) -> Result<Migrated> {
    let mut notes = Journal::open(journal, about).map_err(Error::unavailable)?;
    let (mut found, mut count, mut after) = (Migrated::default(), 0, None);
    let mut seen = HashSet::new();
    loop {
        // Also what nothing refers to any more, as long as URLs of it are valid.
        let page = page(stores.db, after.as_ref(), stores.clock.now().plus_millis(-RECENT)).await?;
        let done: Vec<bool> = page.iter().map(|needed| notes.done.contains(&key(needed).to_string())).collect();
        let jobs = stream::iter(page.iter().zip(done));
        let mut moves = jobs.map(async |(needed, is_done)| (needed, bring(stores, to, needed, is_done).await)).buffered(AT_ONCE);
        while let Some((needed, outcome)) = moves.next().await {
            let (key, outcome) = (key(needed), outcome?);
            seen.insert(key.to_string());
            count += 1;
            match outcome {
                Outcome::Copied(size) => {
                    found.copied += 1;
                    found.bytes += size;
                }
                Outcome::Kept => found.kept += 1,
                Outcome::Broken(broken) => {
                    found.broken.push(broken);
                    continue;
                }
                Outcome::Gone => continue,
            }
            if !notes.done.contains(&key.to_string()) {
                notes.add(&key).map_err(Error::unavailable)?;
            }
        }
        drop(moves);
        after = page.last().cloned();
        if after.is_none() {
            break;
        }
        tell(count);
    }
    found.deleted = tidy(stores, to, &mut notes, &seen).await?;
    notes.write_again(journal, about).map_err(Error::unavailable)?;
    Ok(found)
}

async fn bring(stores: Stores<'_>, to: &Storage, needed: &Needed, is_done: bool) -> Result<Outcome> {
    let there = to.length(&key(needed)).await.map_err(Error::unavailable)?;
    if there.is_some_and(|length| i64::try_from(length).is_ok_and(|length| length == needed.size)) {
        // A run that was killed may have copied it and not noted that.
        if is_done || read(to, needed, None).await.map_err(Error::unavailable)?.is_ok() {
            return Ok(Outcome::Kept);
        }
    }
    match copy(stores, to, needed).await? {
        Ok(size) => Ok(Outcome::Copied(size)),
        Err(_) if !is_needed(stores.db, needed).await? => Ok(Outcome::Gone),
        Err(fault) => Ok(Outcome::Broken(Broken::of(needed, fault))),
    }
}

/// Deletes copies of what was deleted since. Returns how many.
async fn tidy(stores: Stores<'_>, to: &Storage, notes: &mut Journal, seen: &HashSet<String>) -> Result<u64> {
    let mut deleted = 0;
    let unseen: Vec<String> = notes.done.iter().filter(|line| !seen.contains(*line)).cloned().collect();
    for line in unseen {
        let parsed = line.split_once('/').and_then(|(app, sha256)| Some(BlobKey { app: app.parse().ok()?, sha256: sha256.parse().ok()? }));
        let Some(key) = parsed else { continue };
        // One with a row may be released again at any moment.
        if blob::stamp(&mut stores.db.read().await?, &key.app, &key.sha256).await?.is_none() {
            to.delete(&key).await.map_err(Error::unavailable)?;
            notes.done.remove(&line);
            deleted += 1;
        }
    }
    Ok(deleted)
}
