//! The packages of a plan: downloaded, and checked as uploads are.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use futures_util::StreamExt;
use futures_util::stream;
use shared::keys::Label;

use crate::plan::{self, Place, Plan, Problem};
use crate::source::{Fault, Source};
use crate::staging::{Staged, Staging, StagingFault};

/// Packages to download at once.
const AT_ONCE: usize = 4;
/// So many packages that cannot be downloaded are the server's fault, not theirs.
const MOST_FAULTS: usize = 5;
/// After how many packages to say how far it is.
const SAY_EVERY: usize = 50;

/// Why the packages are not there. The next run continues.
#[derive(Debug, thiserror::Error)]
pub enum PackagesFault {
    /// The folder for them cannot be used.
    #[error(transparent)]
    Disk(#[from] Fault),
    /// Too many cannot be downloaded.
    #[error("the other server does not deliver its packages; the last answer: {0}. Start the import again later: it continues")]
    TooMany(Fault),
}

/// The packages of all releases.
#[derive(Debug, Default)]
pub struct Packages {
    staged: HashMap<Place, Staged>,
}

impl Packages {
    /// The bytes of all packages, each counted once for each app, as storage keeps them.
    pub fn bytes(&self) -> u64 {
        self.distinct().values().sum()
    }

    /// How many different packages there are, counted for each app.
    pub fn count(&self) -> usize {
        self.distinct().len()
    }

    fn distinct(&self) -> BTreeMap<(&str, String), u64> {
        self.staged.iter().map(|(place, staged)| ((place.app.as_str(), staged.sha256.to_string()), staged.size)).collect()
    }

    /// The releases of a deployment with their packages.
    pub fn of(&self, app: &str, deployment: &plan::Deployment) -> Vec<(plan::Release, Staged)> {
        let with = |release: &plan::Release| {
            let staged = self.staged.get(&place(app, &deployment.source_name, release.label))?;
            Some((release.clone(), staged.clone()))
        };
        deployment.releases.iter().filter_map(with).collect()
    }
}

fn place(app: &str, deployment: &str, label: Label) -> Place {
    Place { app: app.to_owned(), deployment: Some(deployment.to_owned()), label: Some(label) }
}

/// Downloads and checks the packages of all releases. Those that cannot be imported become problems of the plan. Releases of one package share it.
pub async fn fetch(source: &Source, staging: &Staging, plan: &mut Plan, told: &mut dyn FnMut(&str)) -> Result<Packages, PackagesFault> {
    let mut by_package: BTreeMap<String, Vec<(Place, plan::Release)>> = BTreeMap::new();
    for app in &plan.apps {
        for deployment in &app.deployments {
            for release in &deployment.releases {
                let place = place(&app.source_name, &deployment.source_name, release.label);
                by_package.entry(Staging::name(release)).or_default().push((place, release.clone()));
            }
        }
    }
    let total = by_package.len();
    told(&format!("Downloading and checking {total} packages."));
    let fetched = by_package.into_values().map(|releases| async move {
        let staged = match releases.first() {
            Some((place, release)) => one(source, staging, place, release).await,
            None => Err(StagingFault::Refused("it has no release".to_owned())),
        };
        (Rc::new(releases), staged)
    });
    let mut fetched = stream::iter(fetched).buffer_unordered(AT_ONCE);
    let (mut packages, mut done, mut faults) = (Packages::default(), 0, 0);
    while let Some((releases, staged)) = fetched.next().await {
        done += 1;
        if done % SAY_EVERY == 0 {
            told(&format!("{done} of {total} packages."));
        }
        let problem: fn(Place, String) -> Problem;
        let text = match staged {
            Ok(staged) => {
                packages.staged.extend(releases.iter().map(|(place, _)| (place.clone(), staged.clone())));
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
            Err(StagingFault::Refused(text)) => {
                problem = |place, text| Problem::of_release(place, text);
                text
            }
        };
        plan.problems.extend(releases.iter().map(|(place, _)| problem(place.clone(), text.clone())));
    }
    drop(fetched);
    Ok(packages)
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
