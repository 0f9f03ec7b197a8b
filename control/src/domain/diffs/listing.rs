//! What became of a release's diffs, for people.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use shared::diff::{self, Package};
use shared::hash::{PackageHash, Sha256Hex};
use shared::keys::Label;
use shared::time::UnixMillis;

use super::choice::{self, Devices, Known, Ranges};
use super::packages::{self, Files};
use super::repo::{self, MadeRow, ReleaseRow};
use super::{Problem, Reason, UnsafeFile, turn};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::context::Context;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{Error, Result, Thing, chain};
use crate::domain::releases::repo as releases;
use crate::domain::releases::service::label as label_of;
use crate::domain::releases::turns::{Turn, Turns};
use crate::infra::db::ReadTx;

/// How many earlier packages are read to name a file in them. Most often, all of them have the same one.
const MAX_READ: usize = 5;

/// The diffs that lead to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The label of the release.
    pub label: Label,
    /// The size of the whole bundle in bytes.
    pub full_size: i64,
    /// Whether devices can be offered the release: else no diffs are made, and those that exist go after a while.
    pub is_offered: bool,
    /// Whether the package is a single file, which has no diffs.
    pub is_single_file: bool,
    /// Why no diffs are made for the release; `None` if they are.
    pub reason: Option<Reason>,
    /// Each diff, those from the newest releases first.
    pub diffs: Vec<Line>,
}

/// A diff, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The hash of the package that devices have.
    pub source_hash: PackageHash,
    /// The numbers of the labels of the releases with this package, newest first; empty if the history has none any more.
    pub labels: Vec<i64>,
    /// What became of it.
    pub state: State,
}

/// What became of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Devices are offered it. Its size in bytes.
    Ready(i64),
    /// It is not made yet.
    Pending,
    /// There is none.
    Missing(Obstacle),
}

/// Why there is no diff. Its text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// What is wrong.
    pub problem: Problem,
    /// When that was found; `None` if it is known from the release alone.
    pub found: Option<UnixMillis>,
    /// From when on the diff is tried again; `None` if it is not.
    pub retry: Option<UnixMillis>,
    /// The file whose name is the problem, if it is known.
    pub file: Option<UnsafeFile>,
}

impl Obstacle {
    fn of(problem: Problem, row: &MadeRow) -> Self {
        let retry = turn::retry_time(row);
        Self { problem, found: Some(row.made_time), retry, file: None }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(to)?;
        self.file.as_ref().map_or(Ok(()), |file| write!(to, ": {file}"))
    }
}

/// Turns for listings.
#[derive(Clone, Copy, Debug)]
pub struct ListingTurns<'t> {
    /// To find out which diffs there should be: a history can have thousands of releases.
    pub histories: &'t Turns,
    /// To read packages.
    pub packages: &'t Turns,
}

/// The diffs that lead to the release with this label. That takes a turn; so does reading files with unsafe names from the storage. Errors: 404.
pub async fn read(app: &Context, turns: ListingTurns<'_>, grant: &AppGrant<ReadApp>, deployment: &str, label: Label) -> Result<Listing> {
    let turn = turns.histories.take(grant.account()).await?;
    let history = History::read(&mut app.db.read().await?, grant, deployment, label).await?;
    // Nothing of the database is held meanwhile.
    let (mut listing, target, bases) = turn.run(move || of(history, label)).await??;
    drop(turn);
    let is_unsafe = |line: &Line| matches!(&line.state, State::Missing(obstacle) if obstacle.problem == Problem::UnsafeNames);
    if listing.diffs.iter().any(is_unsafe) {
        let turn = turns.packages.take(grant.account()).await?;
        // It only adds to what is known.
        if let Err(error) = name_files(app, grant, &turn, &mut listing, (&target, &bases)).await {
            tracing::warn!(release.id = %target.id, cause = chain(&error), "failed to read which files have unsafe names");
        }
    }
    Ok(listing)
}

/// What decides which diffs a release has.
struct History {
    releases: Vec<ReleaseRow>,
    target: ReleaseRow,
    ready: HashMap<PackageHash, i64>,
    made: HashMap<Sha256Hex, MadeRow>,
    devices: Devices,
}

impl History {
    async fn read(tx: &mut ReadTx, grant: &AppGrant<ReadApp>, deployment: &str, label: Label) -> Result<Self> {
        let deployment = deployments::find(tx, grant.app(), deployment).await?;
        let releases = repo::releases(tx, &deployment.id).await?;
        let number = i64::from(label.number());
        let target = releases.iter().find(|release| release.label == number).cloned().ok_or(Error::NotFound(Thing::Release))?;
        let ready = releases::diffs_of(tx, &target.id).await?.into_iter().map(|diff| (diff.source_hash, diff.size)).collect();
        let made = repo::made(tx, grant.app(), target.target()).await?.into_iter().map(|row| (row.base_sha256.clone(), row)).collect();
        let devices = turn::devices(tx, &deployment).await?;
        Ok(Self { releases, target, ready, made, devices })
    }
}

/// The diffs, the release, and the releases that they are from, by source hash. Takes a while of a core if there are thousands of releases.
fn of(history: History, label: Label) -> Result<(Listing, ReleaseRow, HashMap<PackageHash, ReleaseRow>)> {
    let History { releases, target, mut ready, made, devices } = history;
    let is_offered = releases.iter().zip(turn::offered_of(&releases)).any(|(release, is_offered)| is_offered && release.id == target.id);
    let is_single_file = target.manifest_sha256.is_none();
    let chosen = if is_offered && !is_single_file {
        choice::choose(&target, &releases, &Ranges::of(&releases), &devices, |base| turn::known(made.get(base)))
    } else {
        Vec::new()
    };
    let obstacle = |row: &MadeRow| row.problem.map(|problem| Obstacle::of(problem, row));
    // Then no other diff is tried either.
    let lost = made.values().filter_map(obstacle).find(|obstacle| obstacle.problem.is_of_target());
    let (mut diffs, mut bases): (Vec<Line>, _) = (Vec::new(), HashMap::new());
    for base in chosen {
        let source_hash = base.release.package_hash.clone();
        let own = made.get(&base.release.blob_sha256).and_then(obstacle);
        let state = match (ready.remove(&source_hash), own, base.known) {
            (Some(size), _, _) => State::Ready(size),
            (None, Some(obstacle), _) => State::Missing(obstacle),
            // A package of one file.
            (None, None, Some(Known::Failed)) => {
                State::Missing(Obstacle { problem: Problem::SingleFile, found: None, retry: None, file: None })
            }
            (None, None, _) => lost.clone().map_or(State::Pending, State::Missing),
        };
        bases.insert(source_hash.clone(), base.release.clone());
        diffs.push(Line { labels: labels(&releases, &source_hash), source_hash, state });
    }
    let others = ready.into_iter().map(|(source_hash, size)| Line {
        labels: labels(&releases, &source_hash),
        source_hash,
        state: State::Ready(size),
    });
    diffs.extend(others);
    diffs.sort_by(|one, other| other.labels.first().cmp(&one.labels.first()).then_with(|| one.source_hash.cmp(&other.source_hash)));
    let reason = reason(&target, &releases, is_offered, diffs.is_empty())?;
    let listing = Listing { label, full_size: target.size, is_offered, is_single_file, reason, diffs };
    Ok((listing, target, bases))
}

fn labels(newest_first: &[ReleaseRow], hash: &PackageHash) -> Vec<i64> {
    newest_first.iter().filter(|release| release.package_hash == *hash).map(|release| release.label).collect()
}

/// Why no diffs are made for the release.
fn reason(target: &ReleaseRow, newest_first: &[ReleaseRow], is_offered: bool, has_none: bool) -> Result<Option<Reason>> {
    let has_earlier = newest_first.iter().any(|release| release.label < target.label);
    let replaces = |release: &&ReleaseRow| {
        let is_full = release.rollout.is_none_or(|percent| percent >= 100);
        release.label > target.label && release.app_version == target.app_version && !release.is_disabled && is_full
    };
    Ok(if target.manifest_sha256.is_none() {
        Some(Reason::SingleFile)
    } else if has_none && !has_earlier && is_offered {
        Some(Reason::NoEarlierRelease)
    } else if is_offered {
        has_none.then_some(Reason::NoOtherPackage)
    } else if target.is_disabled {
        Some(Reason::Disabled)
    } else {
        Some(Reason::Replaced(newest_first.iter().find(replaces).map(|release| label_of(release.label)).transpose()?))
    })
}

/// Names the file that prevents a diff, wherever that is the problem: one of the release itself, else one of each earlier package.
async fn name_files(
    app: &Context,
    grant: &AppGrant<ReadApp>,
    turn: &Turn,
    listing: &mut Listing,
    (target, bases): (&ReleaseRow, &HashMap<PackageHash, ReleaseRow>),
) -> Result<()> {
    let Ok(files) = packages::files(app, grant.app(), target, Problem::TargetDamaged).await? else { return Ok(()) };
    let files = Arc::new(files);
    let of_target = {
        let files = Arc::clone(&files);
        turn.run(move || diff::unsafe_target_name(&package(&files))).await?
    };
    let mut count = 0;
    for line in &mut listing.diffs {
        let State::Missing(obstacle) = &mut line.state else { continue };
        if obstacle.problem != Problem::UnsafeNames {
            continue;
        }
        if of_target.is_some() {
            obstacle.file = of_target.clone().map(UnsafeFile::new);
            continue;
        }
        let Some(base) = bases.get(&line.source_hash).filter(|_| count < MAX_READ) else { continue };
        count += 1;
        let Ok(earlier) = packages::files(app, grant.app(), base, Problem::BaseDamaged).await? else { continue };
        let files = Arc::clone(&files);
        let found = turn.run(move || diff::unsafe_name(&package(&earlier), &package(&files))).await?;
        obstacle.file = found.map(UnsafeFile::new);
    }
    Ok(())
}

fn package(files: &Files) -> Package<'_> {
    Package { manifest: &files.manifest, layout: &files.layout }
}
