//! What a target has already, and what it has room for.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use shared::hash::PackageHash;
use shared::keys::Label;

use crate::plan::{Deployment, Method, Place, Release};

/// The releases of a history that the reference keeps: it forgets the oldest ones.
const MOST_KEPT: usize = 50;
/// How many of the newest releases on each side are compared in order.
const MOST_ORDERED: usize = 1_000;

/// What a target has already, and what it has room for.
#[derive(Debug, Default)]
pub struct Room {
    /// The bytes of packages that fit into the quota; `None` without one.
    pub bytes: Option<u64>,
    /// Apps there that came from the source, and that are not in the plan: their names there.
    pub others: Vec<String>,
    /// The apps that are there: their names there, by those at the source.
    known: BTreeMap<String, String>,
    /// Deployments there that the source does not have any more: their names there, by the app's name at the source.
    gone: BTreeMap<String, Vec<String>>,
    /// The deployments that are there.
    settled: HashMap<Place, Settled>,
}

/// A deployment that a target has already.
#[derive(Clone, Debug)]
pub struct Settled {
    /// Its name there.
    pub name: String,
    /// The newest label that came from the source: no release up to it is taken. `None` without releases.
    pub newest: Option<Label>,
    /// Whether imports leave it alone.
    pub has_own: bool,
    /// Its releases.
    pub releases: BTreeMap<Label, Here>,
}

/// A release that a target has already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// The hash of its package.
    pub package_hash: PackageHash,
    /// The binary versions that it targets.
    pub range: String,
    /// Release notes.
    pub description: Option<String>,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// The percentage of devices that get it.
    pub rollout: u8,
}

impl Here {
    /// Whether the source says something else about the release.
    fn differs(&self, release: &Release) -> bool {
        let same = self.range == release.range.text()
            && self.description.as_deref().filter(|text| !text.is_empty()) == release.description.as_deref()
            && (self.is_disabled, self.is_mandatory) == (release.is_disabled, release.is_mandatory)
            && self.rollout == release.rollout.get();
        !same
    }
}

/// What differs between a history and the one at the target, and is not taken over or not yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Differences {
    /// Releases that are the same at the target, apart from what is said about them.
    pub changed: Vec<Label>,
    /// Releases that are not at the target, and do not come: imports leave the deployment alone, or an earlier one left them out.
    pub not_taken: Vec<Label>,
    /// Releases that are disabled at the source only, and stay so, because imports leave the deployment alone.
    pub disabled: Vec<Label>,
    /// Releases that devices get from the target, and that are not in the source's history any more.
    pub gone: Vec<Label>,
    /// Whether that is because the source's history is empty now.
    pub is_cleared: bool,
}

impl Room {
    /// An empty place with room for so many bytes.
    pub fn of(bytes: Option<u64>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Notes an app that is there, by its name at the source, with the deployments that the source does not have any more.
    pub fn know(&mut self, app: &str, name: &str, gone: Vec<String>) {
        self.known.insert(app.to_owned(), name.to_owned());
        self.gone.insert(app.to_owned(), gone);
    }

    /// The deployments of an app there that the source does not have any more: their names there.
    pub fn gone(&self, app: &str) -> &[String] {
        self.gone.get(app).map_or(&[], Vec::as_slice)
    }

    /// Notes a deployment that is there, by its names at the source.
    pub fn settle(&mut self, app: &str, deployment: &str, settled: Settled) {
        self.settled.insert(place(app, deployment), settled);
    }

    /// Whether an app is there.
    pub fn knows(&self, app: &str) -> bool {
        self.known.contains_key(app)
    }

    /// The names that a deployment has there, if they are other ones than at the source.
    pub fn other_names(&self, app: &str, deployment: &str) -> Option<(&str, &str)> {
        let (here, settled) = (self.known.get(app)?, self.settled.get(&place(app, deployment))?);
        let bare = app.rsplit(':').next().unwrap_or_default();
        (here != bare || settled.name != deployment).then_some((here.as_str(), settled.name.as_str()))
    }

    /// The package hash of a release that is there.
    pub fn package_hash(&self, place: &Place) -> Option<&PackageHash> {
        Some(&self.settled(place)?.releases.get(place.label.as_ref()?)?.package_hash)
    }

    /// Whether imports leave a deployment alone.
    pub fn leaves_alone(&self, place: &Place) -> bool {
        self.settled(place).is_some_and(|settled| settled.has_own)
    }

    /// Whether a release is not taken anymore: an import has been beyond it, or leaves the deployment alone.
    pub fn is_settled(&self, place: &Place) -> bool {
        self.settled(place).is_some_and(|settled| settled.has_own || (place.label.is_some() && place.label <= settled.newest))
    }

    /// Whether a release of the source is there.
    pub fn has_imported(&self, place: &Place) -> bool {
        let Some((settled, label)) = self.settled(place).zip(place.label) else { return false };
        Some(label) <= settled.newest && settled.releases.contains_key(&label)
    }

    fn settled(&self, place: &Place) -> Option<&Settled> {
        self.settled.get(&Place { label: None, ..place.clone() })
    }

    /// What differs between a deployment's history and the one at the target.
    pub fn differences(&self, app: &str, deployment: &Deployment) -> Differences {
        let mut found = Differences::default();
        let Some(settled) = self.settled.get(&place(app, &deployment.source_name)) else { return found };
        // What was released here, by its package: the same one may have been released on both servers.
        let own: Vec<Own<'_>> = settled.releases.iter().filter(|(label, _)| Some(**label) > settled.newest).collect();
        let by_package: HashMap<String, Own<'_>> =
            own.iter().map(|(label, here)| (here.package_hash.to_string(), (*label, *here))).collect();
        let theirs: Vec<&Release> = deployment.releases.iter().filter(|release| Some(release.label) > settled.newest).collect();
        let in_order = if settled.has_own { in_order(&theirs, &own) } else { HashMap::new() };
        for release in &deployment.releases {
            let here = settled.releases.get(&release.label);
            let is_theirs = Some(release.label) <= settled.newest;
            if !settled.has_own {
                match here {
                    Some(here) if is_theirs && here.differs(release) => found.changed.push(release.label),
                    None if is_theirs => found.not_taken.push(release.label),
                    _ => {}
                }
                continue;
            }
            // A rollback has an old package, and takes devices away from a newer one: only one in the same place has its effect.
            let anywhere = release.package_hash.as_ref().filter(|_| release.method != Method::Rollback);
            let anywhere = || anywhere.and_then(|hash| by_package.get(&hash.to_string()));
            let (label, here) = match (is_theirs, in_order.get(&release.label).or_else(anywhere)) {
                (true, _) => (&release.label, here),
                (false, Some((label, here))) => (*label, Some(*here)),
                (false, None) => {
                    found.not_taken.push(release.label);
                    continue;
                }
            };
            if release.is_disabled && here.is_some_and(|here| !here.is_disabled) {
                found.disabled.push(*label);
            }
        }
        if !settled.has_own {
            let forgotten = if deployment.history.len() == MOST_KEPT { deployment.history.iter().min() } else { None };
            let is_gone = |label: &Label| !deployment.history.contains(label) && forgotten.is_none_or(|first| label > first);
            let enabled = settled.releases.iter().filter(|(label, here)| Some(**label) <= settled.newest && !here.is_disabled);
            found.gone = enabled.map(|(label, _)| *label).filter(is_gone).collect();
            found.is_cleared = deployment.is_empty && !found.gone.is_empty();
        }
        found
    }
}

/// A release that was released at the target.
type Own<'r> = (&'r Label, &'r Here);

/// Which releases of the source were released at the target as well, with the same packages in the same order: the longest common subsequence of
/// the newest ones, by their labels at the source.
fn in_order<'r>(theirs: &[&Release], own: &[Own<'r>]) -> HashMap<Label, Own<'r>> {
    let theirs = theirs.split_at(theirs.len().saturating_sub(MOST_ORDERED)).1;
    let own = own.split_at(own.len().saturating_sub(MOST_ORDERED)).1;
    let is_same = |release: &Release, here: &Here| release.package_hash.as_ref() == Some(&here.package_hash);
    // For each release of the source, and for each one here: how many follow from there on in both. From the end.
    let mut rows: Vec<Vec<u16>> = vec![vec![0; own.len() + 1]];
    for release in theirs.iter().rev() {
        let below = rows.last().map(Vec::as_slice).unwrap_or_default();
        let (mut row, mut right) = (vec![0], 0);
        for (at, (_, here)) in own.iter().enumerate().rev() {
            let of = |at: usize| below.get(at).copied().unwrap_or_default();
            right = if is_same(release, here) { of(at + 1) + 1 } else { of(at).max(right) };
            row.push(right);
        }
        row.reverse();
        rows.push(row);
    }
    rows.reverse();
    let count = |at: usize, of: usize| rows.get(at).and_then(|row| row.get(of)).copied().unwrap_or_default();
    let (mut found, mut at, mut of) = (HashMap::new(), 0, 0);
    while let (Some(release), Some(one)) = (theirs.get(at), own.get(of)) {
        if is_same(release, one.1) {
            found.insert(release.label, *one);
            (at, of) = (at + 1, of + 1);
        } else if count(at + 1, of) >= count(at, of + 1) {
            at += 1;
        } else {
            of += 1;
        }
    }
    found
}

fn place(app: &str, deployment: &str) -> Place {
    Place { app: app.to_owned(), deployment: Some(deployment.to_owned()), label: None }
}
