//! `reports replay`: counts dead letters, the reports that the edge stored because it could not deliver them.
//!
//! The same [`service`] counts them as any other report, directly in the database. So a dead letter that was already counted changes nothing. A counted
//! one is deleted at its source after the commit, so a run after an interrupted one finds the rest. One that cannot be counted stays, and is reported by
//! its name only: the contents come from a device. `folder` and `bucket` are the two sources. Start reading at [`Replay::run`].

mod bucket;
mod folder;

use std::path::PathBuf;
use std::str::FromStr;

use futures_util::StreamExt;
use futures_util::stream;
use shared::Invalid;
use shared::report::Report;
use shared::wire::report::MAX_BATCH_REPORTS;

use self::bucket::Bucket;
use self::folder::Folder;
use crate::domain::counting::{Outcome, service};
use crate::domain::error::chain;
use crate::infra::clock::Clock;
use crate::infra::db::Db;
use crate::infra::s3::{BucketAddress, Credentials};

/// The maximum size of a dead letter, in bytes: that of a Queue message.
const MAX_DEAD_LETTER_BYTES: u64 = 128 << 10;

/// Dead letters to read, or delete, at once.
const AT_ONCE: usize = 16;

/// Where dead letters are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Files in a folder, or in its subfolders.
    Folder(PathBuf),
    /// Objects in a bucket.
    Bucket(BucketAddress),
}

impl FromStr for Location {
    type Err = Invalid;

    /// Parses the path of a folder, or `s3://bucket?endpoint=…&region=…`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.strip_prefix("s3://") {
            Some(rest) => BucketAddress::parse(rest).map(Self::Bucket),
            None if text.contains("://") => Err(Invalid::from("must be a folder, or s3://BUCKET?endpoint=URL&region=NAME")),
            None => Ok(Self::Folder(PathBuf::from(text))),
        }
    }
}

/// Why a run was aborted. It can be repeated.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The folder cannot be listed.
    #[error("the folder {0} cannot be listed")]
    Folder(PathBuf, #[source] std::io::Error),
    /// The bucket cannot be listed.
    #[error("the bucket cannot be listed")]
    Bucket(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The bucket listed names repeatedly, or in another order than S3: the run would not end, or would skip some.
    #[error("the bucket's listing is not sorted by name, or ignores the start-after parameter")]
    Order,
    /// The database failed; nothing of the batch was deleted.
    #[error("the dead letters could not be counted")]
    Database(#[from] sqlx::Error),
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Dead letters that are counted, now or before.
    pub counted: u64,
    /// Dead letters that could not be counted, or not be deleted.
    pub left: u64,
}

/// A run.
#[derive(Debug)]
pub struct Replay<'r> {
    /// The database to count in.
    pub db: &'r Db,
    /// The clock for the time of counting.
    pub clock: Clock,
    /// Maximum number of binary versions counted by name, per deployment.
    pub most_binary_versions: u32,
    /// Whether to keep counted dead letters at their source.
    pub is_kept: bool,
}

impl Replay<'_> {
    /// Counts all dead letters at this location, in batches. Calls `left` with the name and reason for each that remains.
    pub async fn run(
        &self,
        location: &Location,
        credentials: Option<Credentials>,
        mut left: impl FnMut(&str, &str),
    ) -> Result<Replayed, ReplayError> {
        let mut source = match location {
            Location::Folder(path) => Source::Folder(Folder::new(path)),
            Location::Bucket(address) => Source::Bucket(Bucket::new(address, credentials).await?),
        };
        let mut replayed = Replayed::default();
        loop {
            let names = source.next(MAX_BATCH_REPORTS).await?;
            if names.is_empty() {
                return Ok(replayed);
            }
            self.replay(&source, names, &mut replayed, &mut left).await?;
        }
    }

    async fn replay(
        &self,
        source: &Source,
        names: Vec<String>,
        replayed: &mut Replayed,
        left: &mut impl FnMut(&str, &str),
    ) -> Result<(), ReplayError> {
        let mut leave = |name: &str, reason: &str, replayed: &mut Replayed| {
            replayed.left += 1;
            left(name, reason);
        };
        let (mut counted, mut reports) = (Vec::new(), Vec::new());
        let mut letters = stream::iter(names).map(|name| async move { (source.read(&name).await, name) }).buffered(AT_ONCE);
        while let Some((letter, name)) = letters.next().await {
            match letter.and_then(|letter| letter.map(|bytes| parse(&bytes)).transpose()) {
                Ok(Some(report)) => {
                    reports.push(report);
                    counted.push(name);
                }
                // Another run has deleted it.
                Ok(None) => {}
                Err(reason) => leave(&name, &reason, replayed),
            }
        }
        drop(letters);
        let outcomes = service::outcomes(self.db, self.most_binary_versions, &reports, self.clock.now()).await?;
        let mut finished = Vec::with_capacity(counted.len());
        for (name, outcome) in counted.into_iter().zip(outcomes) {
            match outcome {
                Ok(Outcome::Counted) => finished.push(name),
                // It may belong to another service, or the database may be about to be restored.
                Ok(Outcome::NoDeployment) => leave(&name, "no deployment has its key", replayed),
                // Its release may come back with a newer backup.
                Ok(Outcome::NoRelease) => leave(&name, "no release has its label", replayed),
                Err(error) => leave(&name, &format!("could not be counted: a database row cannot be read: {}", chain(&error)), replayed),
            }
        }
        replayed.counted += u64::try_from(finished.len()).unwrap_or(u64::MAX);
        if self.is_kept {
            return Ok(());
        }
        let mut deletions = stream::iter(finished).map(|name| async move { (source.delete(&name).await, name) }).buffered(AT_ONCE);
        while let Some((deleted, name)) = deletions.next().await {
            if let Err(reason) = deleted {
                leave(&name, &format!("was counted but could not be deleted: {reason}"), replayed);
            }
        }
        Ok(())
    }
}

/// Parses a dead letter's report. The error never contains parts of it.
fn parse(bytes: &[u8]) -> Result<Report, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not a report".to_owned())?;
    Report::from_text(text).map_err(|fault| fault.to_string())
}

/// A source of dead letters.
#[derive(Debug)]
enum Source {
    Folder(Folder),
    Bucket(Bucket),
}

impl Source {
    /// The names of the next dead letters, at most `max`; empty at the end.
    async fn next(&mut self, max: usize) -> Result<Vec<String>, ReplayError> {
        match self {
            Self::Folder(folder) => folder.next(max).await,
            Self::Bucket(bucket) => bucket.next(max).await,
        }
    }

    /// Reads a dead letter; `None` if it was deleted meanwhile. The error says why it cannot be read.
    async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        match self {
            Self::Folder(folder) => folder.read(name).await,
            Self::Bucket(bucket) => bucket.read(name).await,
        }
    }

    /// Deletes a dead letter. A missing one is not an error.
    async fn delete(&self, name: &str) -> Result<(), String> {
        match self {
            Self::Folder(folder) => folder.delete(name).await,
            Self::Bucket(bucket) => bucket.delete(name).await,
        }
    }
}

/// The error with its causes, as text.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    chain(error)
}

fn too_large() -> String {
    format!("is larger than {MAX_DEAD_LETTER_BYTES} bytes")
}
