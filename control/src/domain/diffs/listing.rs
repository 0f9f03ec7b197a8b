//! What became of a release's diffs, for people.

use std::collections::HashMap;

use shared::hash::PackageHash;
use shared::keys::Label;

use super::choice::{self, Known, Ranges};
use super::repo::{self, ReleaseRow};
use super::{Problem, turn};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::repo as releases;
use crate::infra::db::ReadTx;

/// The diffs that lead to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The size of the whole bundle in bytes.
    pub full_size: i64,
    /// Whether devices can be offered the release: else no diffs are made, and those that exist go after a while.
    pub is_offered: bool,
    /// Whether the package is a single file, which has no diffs.
    pub is_single_file: bool,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Devices are offered it. Its size in bytes.
    Ready(i64),
    /// It is not made yet.
    Pending,
    /// There is none.
    Missing(Problem),
}

/// The diffs that lead to the release with this label. Errors: 404.
pub async fn of(tx: &mut ReadTx, grant: &AppGrant<ReadApp>, deployment: &str, label: Label) -> Result<Listing> {
    let deployment = deployments::find(tx, grant.app(), deployment).await?;
    let releases = repo::releases(tx, &deployment.id).await?;
    let number = i64::from(label.number());
    let found = releases.iter().zip(turn::offered_of(&releases)).find(|(release, _)| release.label == number);
    let (target, is_offered) = found.ok_or(Error::NotFound(Thing::Release))?;
    let mut ready: HashMap<PackageHash, i64> =
        releases::diffs_of(tx, &target.id).await?.into_iter().map(|diff| (diff.source_hash, diff.size)).collect();
    let made: HashMap<_, _> =
        repo::made(tx, grant.app(), target.target()).await?.into_iter().map(|row| (row.base_sha256.clone(), row)).collect();
    let devices = turn::devices(tx, &deployment).await?;
    let is_single_file = target.manifest_sha256.is_none();
    let chosen = if is_offered && !is_single_file {
        choice::choose(target, &releases, &Ranges::of(&releases), &devices, |base| turn::known(made.get(base)))
    } else {
        Vec::new()
    };
    // Then no other diff is tried either.
    let lost = made.values().filter_map(|row| row.problem).find(|problem| problem.is_of_target());
    let mut diffs: Vec<Line> = Vec::new();
    for base in chosen {
        let source_hash = base.release.package_hash.clone();
        let problem = made.get(&base.release.blob_sha256).and_then(|row| row.problem);
        let state = match (ready.remove(&source_hash), problem, base.known) {
            (Some(size), _, _) => State::Ready(size),
            (None, Some(problem), _) => State::Missing(problem),
            // A package of one file.
            (None, None, Some(Known::Failed)) => State::Missing(Problem::SingleFile),
            (None, None, _) => lost.map_or(State::Pending, State::Missing),
        };
        diffs.push(Line { labels: labels(&releases, &source_hash), source_hash, state });
    }
    let others = ready.into_iter().map(|(source_hash, size)| Line {
        labels: labels(&releases, &source_hash),
        source_hash,
        state: State::Ready(size),
    });
    diffs.extend(others);
    diffs.sort_by(|one, other| other.labels.first().cmp(&one.labels.first()).then_with(|| one.source_hash.cmp(&other.source_hash)));
    let full_size = target.size;
    Ok(Listing { full_size, is_offered, is_single_file, diffs })
}

fn labels(newest_first: &[ReleaseRow], hash: &PackageHash) -> Vec<i64> {
    newest_first.iter().filter(|release| release.package_hash == *hash).map(|release| release.label).collect()
}
