//! The packages of a plan: downloaded, and checked as uploads are.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use futures_util::StreamExt;
use futures_util::stream;
use shared::keys::Label;

use crate::plan::{self, Place, Plan, Problem, THE_ACCOUNT};
use crate::room::Room;
use crate::source::{Fault, Source};
use crate::staging::{Staged, Staging, StagingFault};

/// Packages to download at once.
const AT_ONCE: usize = 4;
/// So many packages that cannot be downloaded are the server's fault, not theirs.
const MOST_FAULTS: usize = 5;
/// What blocks a history that is another one than the one that was imported.
const OTHER_PACKAGE: &str = "is a different package there than here. If the history there was cleared, delete the deployment here, whose key stays yours, and \
    import again";
/// After how many packages to say how far it is.
const SAY_EVERY: usize = 50;

/// Why the packages are not there. The next run continues.
#[derive(Debug, thiserror::Error)]
pub enum PackagesFault {
    /// The folder for them cannot be used.
    #[error(transparent)]
    Disk(#[from] Fault),
    /// Some were not fetched.
    #[error("not all packages are there. Start the import again: it continues")]
    Missing,
    /// Too many cannot be downloaded.
    #[error("the other server does not deliver its packages; the last answer: {0}. Start the import again later: it continues")]
    TooMany(Fault),
}

/// The packages of all releases that are not at the target yet.
#[derive(Debug, Default)]
pub struct Packages {
    staged: HashMap<Place, Staged>,
    /// Releases that are at the target already.
    here: HashSet<Place>,
    /// The different packages of each app, as storage keeps them.
    distinct: HashSet<(String, String)>,
    bytes: u64,
    /// Whether some were not fetched, because the target has no room for all of them, or takes the import in no case.
    is_cut: bool,
    /// Whether one has more bytes than the account may upload.
    has_too_large: bool,
}

impl Packages {
    /// The bytes of all packages, each counted once for each app, as storage keeps them. If they were not all fetched, more than there is room for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many different packages there are, counted for each app.
    pub fn count(&self) -> usize {
        self.distinct.len()
    }

    /// Whether some were not fetched, because the target has no room for all of them, or takes the import in no case.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether one has more bytes than the account may upload.
    pub fn has_too_large(&self) -> bool {
        self.has_too_large
    }

    /// None of the packages that a plan needs, for a target that takes the import in no case.
    pub fn not_fetched(plan: &Plan, room: &Room) -> Self {
        let (by_package, here) = needed(plan, room);
        Self { here, bytes: told_bytes(&by_package), is_cut: !by_package.is_empty(), ..Self::default() }
    }

    /// The releases of a deployment with their packages. A release that is at the target already has none.
    pub fn of(&self, app: &str, deployment: &plan::Deployment) -> Vec<(plan::Release, Option<Staged>)> {
        let with = |release: &plan::Release| {
            let place = place(app, &deployment.source_name, release.label);
            let staged = self.staged.get(&place).cloned();
            (staged.is_some() || self.here.contains(&place)).then(|| (release.clone(), staged))
        };
        deployment.releases.iter().filter_map(with).collect()
    }

    fn add(&mut self, releases: &[(Place, plan::Release)], staged: &Staged) {
        for (place, _) in releases {
            if self.distinct.insert((place.app.clone(), staged.sha256.to_string())) {
                self.bytes = self.bytes.saturating_add(staged.size);
            }
            self.staged.insert(place.clone(), staged.clone());
        }
    }
}

fn place(app: &str, deployment: &str, label: Label) -> Place {
    Place { app: app.to_owned(), deployment: Some(deployment.to_owned()), label: Some(label) }
}

/// Releases with one package, by the package's name in the folder.
type ByPackage = BTreeMap<String, Vec<(Place, plan::Release)>>;

/// The releases whose packages are needed, and those that are at the target already, or are not taken anymore. Without a package hash of the source, only
/// the package tells whether it is still the same.
fn needed(plan: &Plan, room: &Room) -> (ByPackage, HashSet<Place>) {
    let (mut by_package, mut here) = (ByPackage::new(), HashSet::new());
    for app in &plan.apps {
        for deployment in &app.deployments {
            for release in &deployment.releases {
                let place = place(&app.source_name, &deployment.source_name, release.label);
                let is_known = room.package_hash(&place).is_some();
                if room.leaves_alone(&place) || (room.is_settled(&place) && (!is_known || release.package_hash.is_some())) {
                    here.insert(place);
                } else {
                    by_package.entry(Staging::name(release)).or_default().push((place, release.clone()));
                }
            }
        }
    }
    (by_package, here)
}

/// The bytes of these packages as far as the source tells them, each counted once for each app. Servers copy packages: the hash tells which are the same.
fn told_bytes(by_package: &ByPackage) -> u64 {
    let mut sizes: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for (name, releases) in by_package {
        for (place, release) in releases {
            let package = release.package_hash.as_ref().map_or_else(|| name.clone(), ToString::to_string);
            let size = sizes.entry((place.app.as_str(), package)).or_default();
            *size = (*size).max(release.size.unwrap_or_default());
        }
    }
    sizes.into_values().fold(0, u64::saturating_add)
}

/// Names the releases whose label stands for another package at the target: then the history there is another one.
fn name_others(plan: &mut Plan, room: &Room, packages: &Packages) {
    let mut problems = Vec::new();
    for app in &plan.apps {
        for deployment in &app.deployments {
            for release in &deployment.releases {
                let place = place(&app.source_name, &deployment.source_name, release.label);
                let told = packages.staged.get(&place).map(|staged| &staged.package_hash).or(release.package_hash.as_ref());
                let is_other = room.package_hash(&place).zip(told).is_some_and(|(here, told)| here != told);
                if is_other && !room.leaves_alone(&place) {
                    problems.push(Problem::new(place, OTHER_PACKAGE));
                }
            }
        }
    }
    plan.problems.extend(problems);
}

/// Downloads and checks the packages of all releases that are not at the target yet. Those that cannot be imported become problems of the plan. Releases
/// of one package share it. Ends early once there is no room for them.
pub async fn fetch(
    source: &Source,
    staging: &Staging,
    plan: &mut Plan,
    room: &Room,
    told: &mut dyn FnMut(&str),
) -> Result<Packages, PackagesFault> {
    let (by_package, here) = needed(plan, room);
    let mut packages = Packages { here, ..Packages::default() };
    let (total, expected, most) = (by_package.len(), told_bytes(&by_package), room.bytes.unwrap_or(u64::MAX));
    if expected > most {
        packages = Packages { bytes: expected, is_cut: true, ..packages };
        finish(plan, room, &packages);
        return Ok(packages);
    }
    staging.check_space(expected.saturating_sub(staging.bytes().await?))?;
    if total > 0 {
        told(&format!("Downloading and checking {total} packages."));
    }
    let fetched = by_package.into_values().map(|releases| async move {
        let staged = match releases.first() {
            Some((place, release)) => one(source, staging, place, release).await,
            None => Err(StagingFault::Refused("it has no release".to_owned())),
        };
        (Rc::new(releases), staged)
    });
    let mut fetched = stream::iter(fetched).buffer_unordered(AT_ONCE);
    let (mut done, mut faults) = (0, 0);
    while let Some((releases, staged)) = fetched.next().await {
        done += 1;
        if done % SAY_EVERY == 0 {
            told(&format!("{done} of {total} packages."));
        }
        let problem: fn(Place, String) -> Problem;
        let text = match staged {
            Ok(staged) => {
                packages.add(&releases, &staged);
                if packages.bytes > most {
                    packages.is_cut = true;
                    break;
                }
                // The sizes that the source tells may be wrong.
                staging.check_space(0)?;
                continue;
            }
            Err(StagingFault::Source(fault @ Fault::Disk(_))) => return Err(fault.into()),
            Err(StagingFault::Source(fault)) => {
                faults += 1;
                if faults >= MOST_FAULTS {
                    return Err(PackagesFault::TooMany(fault));
                }
                // Not left out: it may well be there later.
                problem = |place, text| Problem::new(place, text);
                format!("its package cannot be downloaded now: {fault}. Start the import again later")
            }
            Err(refusal @ (StagingFault::Refused(_) | StagingFault::TooLarge(_))) => {
                let is_too_large = matches!(refusal, StagingFault::TooLarge(_));
                packages.has_too_large |= is_too_large;
                problem = |place, text| Problem::of_release(place, text);
                match releases.first().and_then(|(_, release)| release.size).filter(|_| is_too_large) {
                    Some(size) => format!("{refusal}; the other server says that it has {size}"),
                    None => refusal.to_string(),
                }
            }
        };
        plan.problems.extend(releases.iter().map(|(place, _)| problem(place.clone(), text.clone())));
    }
    drop(fetched);
    finish(plan, room, &packages);
    Ok(packages)
}

fn finish(plan: &mut Plan, room: &Room, packages: &Packages) {
    name_others(plan, room, packages);
    if packages.is_cut {
        let place = Place { app: THE_ACCOUNT.to_owned(), deployment: None, label: None };
        plan.problems.push(Problem::new(place, "there is no room for all packages, so not all of them were downloaded and checked"));
    }
}

/// The package of a release. If its address has expired, the history has a new one.
async fn one(source: &Source, staging: &Staging, place: &Place, release: &plan::Release) -> Result<Staged, StagingFault> {
    let newer = async || {
        let history = source.history(&place.app, place.deployment.as_deref().unwrap_or_default()).await?;
        let label = release.label.to_string();
        Ok(history.into_iter().find(|entry| entry.label.as_ref() == Some(&label)).and_then(|entry| entry.blob_url))
    };
    staging.fetch(source, release, newer).await
}
