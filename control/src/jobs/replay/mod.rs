//! `reports replay`: counts dead letters, the reports that the edge could not deliver for so long that it parked them.
//!
//! They are counted by the same [`service`] as any others, directly in the database, so that a letter that was counted before, by whatever way,
//! changes nothing. One that is counted is deleted where it came from, after the commit; so an interrupted run leaves what the next one finds. What
//! cannot be counted stays and is named by its key alone: a letter's text is a client's. `folder` and `bucket` are the two places that letters are
//! in. Start reading at [`Replay::run`].

mod bucket;
mod folder;

pub use bucket::{BucketAddress, Credentials};

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

/// The largest letter, in bytes. A Queue takes no larger message.
const MAX_LETTER: u64 = 128 << 10;

/// Letters that are read, or deleted, at once.
const AT_ONCE: usize = 16;

/// Where dead letters are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Files in a folder, or in folders below it.
    Folder(PathBuf),
    /// Objects of a bucket.
    Bucket(BucketAddress),
}

impl FromStr for Place {
    type Err = Invalid;

    /// Reads the path of a folder, or `s3://bucket?endpoint=…&region=…`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.strip_prefix("s3://") {
            Some(rest) => BucketAddress::parse(rest).map(Self::Bucket),
            None if text.contains("://") => Err(Invalid::from("must be a folder, or s3://BUCKET?endpoint=URL&region=NAME")),
            None => Ok(Self::Folder(PathBuf::from(text))),
        }
    }
}

/// Why a run ended before its end. It can be repeated.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The folder cannot be listed.
    #[error("the folder {0} cannot be listed")]
    Folder(PathBuf, #[source] std::io::Error),
    /// The bucket cannot be listed.
    #[error("the bucket cannot be listed")]
    Bucket(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The bucket listed names again, or in another order than S3 does: the run would find no end, or skip some.
    #[error("the bucket's listing is not in the order of the names, or does not begin after the one that it was asked to begin after")]
    Order,
    /// The database refused; of the batch nothing was deleted.
    #[error("the dead letters could not be counted")]
    Database(#[from] sqlx::Error),
}

/// What a run has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Letters that are counted now, or were before.
    pub counted: u64,
    /// Letters that are still where they were, although they should not be.
    pub left: u64,
}

/// A run.
#[derive(Debug)]
pub struct Replay<'r> {
    /// The database that they are counted in.
    pub db: &'r Db,
    /// Says when they are counted.
    pub clock: Clock,
    /// Binary versions that are counted by their names.
    pub most_binary_versions: u32,
    /// Whether what is counted stays where it came from.
    pub is_kept: bool,
}

impl Replay<'_> {
    /// Counts every letter in that place, a batch at a time. Each that is left is named to `left`, with the reason.
    pub async fn run(
        &self,
        place: &Place,
        credentials: Option<Credentials>,
        mut left: impl FnMut(&str, &str),
    ) -> Result<Replayed, ReplayError> {
        let mut source = match place {
            Place::Folder(path) => Source::Folder(Folder::new(path)),
            Place::Bucket(address) => Source::Bucket(Bucket::new(address, credentials)),
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
                // Another run was faster.
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
                // It may be that of another service, or of one whose database is about to be restored.
                Ok(Outcome::NoDeployment) => leave(&name, "no deployment has its key", replayed),
                // Its release may come back with a newer backup.
                Ok(Outcome::NoRelease) => leave(&name, "no release has its label", replayed),
                Err(error) => leave(&name, &format!("is not counted: a row that it changes cannot be read: {}", chain(&error)), replayed),
            }
        }
        replayed.counted += u64::try_from(finished.len()).unwrap_or(u64::MAX);
        if self.is_kept {
            return Ok(());
        }
        let mut deletions = stream::iter(finished).map(|name| async move { (source.delete(&name).await, name) }).buffered(AT_ONCE);
        while let Some((deleted, name)) = deletions.next().await {
            if let Err(reason) = deleted {
                leave(&name, &format!("is counted, and could not be deleted: {reason}"), replayed);
            }
        }
        Ok(())
    }
}

/// The report that a letter is, or why it is none; without a word of its text.
fn parse(bytes: &[u8]) -> Result<Report, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not a report".to_owned())?;
    Report::from_text(text).map_err(|fault| fault.to_string())
}

/// What letters are read from.
#[derive(Debug)]
enum Source {
    Folder(Folder),
    Bucket(Bucket),
}

impl Source {
    /// The names of the next letters, at most so many; none at the end.
    async fn next(&mut self, most: usize) -> Result<Vec<String>, ReplayError> {
        match self {
            Self::Folder(folder) => folder.next(most).await,
            Self::Bucket(bucket) => bucket.next(most).await,
        }
    }

    /// A letter's bytes; none when it has gone. The error says why they cannot be had.
    async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        match self {
            Self::Folder(folder) => folder.read(name).await,
            Self::Bucket(bucket) => bucket.read(name).await,
        }
    }

    /// Deletes a letter; one that has gone is deleted.
    async fn delete(&self, name: &str) -> Result<(), String> {
        match self {
            Self::Folder(folder) => folder.delete(name).await,
            Self::Bucket(bucket) => bucket.delete(name).await,
        }
    }
}

/// What stands in the way, in words.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    chain(error)
}

fn too_large() -> String {
    format!("is larger than {MAX_LETTER} bytes")
}
