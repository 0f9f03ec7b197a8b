//! From which packages a release needs a diff. Pure.
//!
//! A device is offered a release only on a binary that both target, so only earlier releases for the same binaries count (wire facts, part 5.3). Of these: the
//! release that a rollback replaces, the newest five, then those with the most devices until 90 % of the devices have a diff; 15 packages at most.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use shared::hash::{PackageHash, Sha256Hex};
use shared::version::Range;

use super::repo::ReleaseRow;
use crate::domain::releases::ReleaseMethod;

/// The newest packages that always get a diff.
const NEWEST: usize = 5;
/// Packages that one release has diffs from, at most.
pub const MOST: usize = 15;
/// How many devices should be offered a diff, in percent.
const ENOUGH: i128 = 90;
/// After so many packages without a diff, no further ones are tried: they would fail, too.
const MOST_FAILED: usize = 30;

/// How many devices run each label, by its number.
pub type Devices = BTreeMap<i64, i64>;

/// The ranges and packages of a deployment's releases, each parsed once and numbered, however many releases have it.
#[derive(Debug)]
pub struct Ranges {
    /// `None` if it cannot be parsed. Ranges are checked when they are stored.
    parsed: Vec<Option<Range>>,
    /// How many packages there are.
    packages: usize,
    /// For each release, in the order of the history, the numbers of its range and of its package.
    of_releases: Vec<(usize, usize)>,
}

impl Ranges {
    /// Those of these releases. Takes a while of a core if there are thousands.
    pub fn of(releases: &[ReleaseRow]) -> Self {
        let (mut ranges, mut range_numbers, mut package_numbers) = (Vec::new(), HashMap::new(), HashMap::new());
        let of_releases = releases.iter().map(|release| {
            let range = *range_numbers.entry(release.app_version.as_str()).or_insert_with(|| {
                ranges.push(Range::parse(&release.app_version).ok());
                ranges.len() - 1
            });
            let next = package_numbers.len();
            (range, *package_numbers.entry(&release.package_hash).or_insert(next))
        });
        let of_releases = of_releases.collect();
        Self { parsed: ranges, packages: package_numbers.len(), of_releases }
    }
}

/// What is known of a pair of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// There is a diff.
    Made,
    /// There is none, and will not be.
    Failed,
}

/// A package that a release needs a diff from, if there can be one.
#[derive(Clone, Copy, Debug)]
pub struct Base<'r> {
    /// The newest release with the package.
    pub release: &'r ReleaseRow,
    /// What is known of its diff.
    pub known: Option<Known>,
}

/// A package that devices may have.
struct Candidate<'r> {
    base: Base<'r>,
    /// The label of its newest release before the target, if there is one.
    earlier: Option<i64>,
    devices: i64,
    is_chosen: bool,
}

/// The packages that `target` needs a diff from, the most important first. `newest_first` are all releases of the deployment, `ranges` theirs; `known` says what
/// is known of the diff from a bundle.
pub fn choose<'r>(
    target: &ReleaseRow,
    newest_first: &'r [ReleaseRow],
    ranges: &Ranges,
    devices: &Devices,
    known: impl Fn(&Sha256Hex) -> Option<Known>,
) -> Vec<Base<'r>> {
    let mut candidates = candidates(target, newest_first, ranges, devices, known);
    let place_of = |hash: &PackageHash| candidates.iter().position(|candidate| candidate.base.release.package_hash == *hash);
    let mut queue: Vec<usize> = Vec::new();
    if target.release_method == ReleaseMethod::Rollback
        && let Some(replaced) = newest_first.iter().find(|release| release.label < target.label)
    {
        queue.extend(place_of(&replaced.package_hash));
    }
    let mut earlier: Vec<(i64, usize)> =
        candidates.iter().enumerate().filter_map(|(place, candidate)| Some((candidate.earlier?, place))).collect();
    earlier.sort_unstable_by_key(|(label, _)| Reverse(*label));
    queue.extend(earlier.into_iter().take(NEWEST).map(|(_, place)| place));
    let all: i64 = candidates.iter().map(|candidate| candidate.devices).sum();
    let mut by_devices: Vec<usize> = (0..candidates.len()).filter(|place| candidates.get(*place).is_some_and(|c| c.devices > 0)).collect();
    by_devices.sort_by_key(|place| Reverse(candidates.get(*place).map_or(0, |candidate| candidate.devices)));
    let fixed = queue.len();
    queue.extend(by_devices);
    let (mut covered, mut failed) = (0, 0);
    let mut chosen: Vec<Base<'r>> = Vec::new();
    for (turn, place) in queue.into_iter().enumerate() {
        let is_enough = i128::from(covered) * 100 >= i128::from(all) * ENOUGH;
        let held = chosen.iter().filter(|base| base.known != Some(Known::Failed)).count();
        if (turn >= fixed && is_enough) || held >= MOST || failed >= MOST_FAILED {
            break;
        }
        let Some(candidate) = candidates.get_mut(place).filter(|candidate| !candidate.is_chosen) else { continue };
        candidate.is_chosen = true;
        if candidate.base.known == Some(Known::Failed) {
            failed += 1;
        } else {
            covered += candidate.devices;
        }
        chosen.push(candidate.base);
    }
    chosen
}

/// The packages that devices may have when they are offered `target`, by their newest release, newest first.
fn candidates<'r>(
    target: &ReleaseRow,
    newest_first: &'r [ReleaseRow],
    ranges: &Ranges,
    devices: &Devices,
    known: impl Fn(&Sha256Hex) -> Option<Known>,
) -> Vec<Candidate<'r>> {
    let Some(range) = newest_first.iter().zip(&ranges.of_releases).find(|(release, _)| release.app_version == target.app_version) else {
        return Vec::new();
    };
    let Some(range) = ranges.parsed.get(range.1.0).and_then(Option::as_ref) else { return Vec::new() };
    // Each distinct range is evaluated once.
    let is_match: Vec<bool> = ranges.parsed.iter().map(|earlier| earlier.as_ref().is_some_and(|earlier| matches(range, earlier))).collect();
    let mut places: Vec<Option<usize>> = vec![None; ranges.packages];
    let mut candidates: Vec<Candidate<'r>> = Vec::new();
    for (release, (range, package)) in newest_first.iter().zip(&ranges.of_releases) {
        if !is_match.get(*range).is_some_and(|is| *is) || release.package_hash == target.package_hash {
            continue;
        }
        let devices = devices.get(&release.label).copied().unwrap_or_default().max(0);
        let earlier = Some(release.label).filter(|label| *label < target.label);
        let Some(place) = places.get_mut(*package) else { continue };
        if let Some(candidate) = place.and_then(|place| candidates.get_mut(place)) {
            candidate.devices = candidate.devices.saturating_add(devices);
            candidate.earlier = candidate.earlier.or(earlier);
            continue;
        }
        *place = Some(candidates.len());
        // A package of one file has no diffs.
        let known = if release.manifest_sha256.is_some() { known(&release.blob_sha256) } else { Some(Known::Failed) };
        candidates.push(Candidate { base: Base { release, known }, earlier, devices, is_chosen: false });
    }
    candidates
}

/// Whether a device with a release for `earlier` can be offered one for `range` (wire facts, part 5.3).
fn matches(range: &Range, earlier: &Range) -> bool {
    match range.as_exact() {
        Some(version) => earlier.satisfies(version),
        None => earlier.canonical() == range.canonical() || earlier.as_exact().is_some_and(|version| range.satisfies(version)),
    }
}

/// The source hashes that stay although the choice has others: while there is room, those with the most devices. A diff that was offered is not taken away
/// only to be needed again.
pub fn kept<'a>(
    attached: &'a [PackageHash],
    chosen: &BTreeSet<&PackageHash>,
    newest_first: &[ReleaseRow],
    devices: &Devices,
) -> Vec<&'a PackageHash> {
    let mut on: HashMap<&PackageHash, i64> = HashMap::new();
    for release in newest_first {
        *on.entry(&release.package_hash).or_default() += devices.get(&release.label).copied().unwrap_or_default();
    }
    let mut others: Vec<&PackageHash> = attached.iter().filter(|hash| !chosen.contains(hash) && on.contains_key(hash)).collect();
    others.sort_by_key(|hash| Reverse(on.get(*hash).copied().unwrap_or_default()));
    others.truncate(MOST.saturating_sub(chosen.len()));
    others
}
