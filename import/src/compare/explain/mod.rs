//! Finds out why two answers differ: looks for the known fault, or the one difference between the histories, with which the old server's answer is
//! exactly the one that it gave. Anything else stays unexplained.

mod alignment;
mod between;
#[cfg(test)]
mod tests;

use shared::hash::PackageHash;
use shared::keys::Label;
use shared::snapshot::HistoryRelease;

use alignment::Alignment;
use between::between;

use super::Deployment;
use super::answer::{Answer, Info};
use super::check::{Check, Request};
use super::model::{Added, Change, Edit, KnownFault, Model};
use super::reason::{Cause, Failure, Named, Property, Side};
use crate::source::Entry;

/// The most differing releases to look at for one answer, newest first.
const MOST_EDITS: usize = 24;

/// What is known about a deployment.
#[derive(Debug)]
pub(super) struct Explainer {
    /// The histories here: before the checks, and after them if it has changed.
    here: Vec<History>,
    /// The old server's.
    there: Option<Model>,
    /// The newest label that was imported.
    imported: Option<u32>,
}

/// A history here.
#[derive(Debug)]
struct History {
    model: Model,
    /// What the old server's history has of it; nothing if that is not known.
    alignment: Alignment,
}

impl Explainer {
    pub(super) fn new(deployment: &Deployment, there: Option<&[Entry]>, after: &Deployment) -> Self {
        let there = there.map(|entries| Model::of_entries(entries, &after.releases));
        let history = |releases: &[HistoryRelease]| History {
            model: Model::new(releases.to_vec()),
            alignment: there.as_ref().map(|there| Alignment::new(&there.releases, releases)).unwrap_or_default(),
        };
        let mut here = vec![history(&deployment.releases)];
        if after.releases != deployment.releases {
            here.push(history(&after.releases));
        }
        Self { here, there, imported: after.imported }
    }

    /// Why these answers differ, or are not those of the releases here; empty if nothing is wrong.
    pub(super) fn explain(&mut self, check: &Check, old: &Answer, new: &Answer) -> Vec<Cause> {
        let request = check.request();
        match (old, new) {
            (Answer::Info(old), Answer::Info(new)) if is_equal(old, new) => {
                let other = request.and_then(|request| of_this_server(&mut self.here, &request, new).err());
                other.into_iter().collect()
            }
            (Answer::Info(old), Answer::Info(new)) => match request {
                Some(request) => self.of_infos(&request, old, new),
                None => vec![Cause::Unexplained(old.differing(new))],
            },
            (Answer::Status(400), Answer::Status(400)) => Vec::new(),
            (Answer::Info(_), Answer::Status(400)) if check.repeats_a_parameter() => vec![Cause::Repeated],
            (Answer::Status(500), Answer::Info(_)) if self.reference_fails(request.as_ref()) => vec![Cause::NoRange],
            (old, new) => {
                let of = |side, answer| failure(answer).map(|failure| Cause::Failed(side, failure));
                of(Side::Old, old).into_iter().chain(of(Side::New, new)).collect()
            }
        }
    }

    fn reference_fails(&mut self, request: Option<&Request>) -> bool {
        self.there.as_mut().zip(request).is_some_and(|(there, request)| there.fails_at(request))
    }

    fn of_infos(&mut self, request: &Request, old: &Info, new: &Info) -> Vec<Cause> {
        for info in [old, new] {
            if info.is_available && !info.has_address {
                return vec![Cause::Unexplained(vec!["an update without a download address"])];
            }
        }
        let differing = old.differing(new);
        let here = match of_this_server(&mut self.here, request, new) {
            Ok(here) => here,
            Err(cause) => return vec![cause],
        };
        if differing.is_empty() {
            return sizes(&here.model, self.there.as_ref(), request, old, new);
        }
        if let Some(other) = other_label(old, new) {
            return [other].into_iter().chain(sizes(&here.model, self.there.as_ref(), request, old, new)).collect();
        }
        let faults = subsets(&KnownFault::possible(request));
        let found = if let Some(there) = &mut self.there {
            faults.iter().find_map(|faults| between(here, there, self.imported, request, faults, [old, new]))
        } else {
            let here = &mut here.model;
            let known = faults.iter().find(|faults| is_answer(here, None, request, faults, old));
            let known = known.map(|faults| faults.iter().copied().map(Cause::Known).collect());
            known.or_else(|| faults.iter().find_map(|faults| supposed(here, self.imported, request, faults, old, new)))
        };
        found.unwrap_or(vec![Cause::Unexplained(differing)])
    }
}

/// The history here that this answer is of. Errors: that it is of none, with the members that differ from the newest one.
fn of_this_server<'h>(here: &'h mut [History], request: &Request, new: &Info) -> Result<&'h mut History, Cause> {
    let (mut found, mut members) = (None, Vec::new());
    for (at, history) in here.iter_mut().enumerate() {
        let Some(own) = history.model.answer(None, request, &[]) else { continue };
        members = own.differing(new);
        if members.is_empty() {
            found = Some(at);
            break;
        }
    }
    found.and_then(|at| here.get_mut(at)).ok_or(Cause::NotItsReleases(members))
}

/// Both answers offer the same package with the same words, and only its label differs. Devices go by the package.
fn other_label(old: &Info, new: &Info) -> Option<Cause> {
    let is_same = old.is_available && !old.package_hash.is_empty() && Info { label: new.label.clone(), ..old.clone() }.says_the_same(new);
    let label = |info: &Info| Label::try_from(info.label.as_str()).ok();
    let named = is_same.then(|| Some(Named { here: label(new)?, there: label(old)? })).flatten();
    named.map(Cause::OtherLabel)
}

/// Whether answers with sizes and addresses are equal for devices: diffs may have different sizes.
fn is_equal(old: &Info, new: &Info) -> bool {
    let are_there = |info: &Info| !info.is_available || info.has_address;
    old.says_the_same(new) && are_there(old) && are_there(new) && (old.size == new.size || !old.is_available)
}

/// Both answers offer the same package: why its sizes differ. Empty if they do not.
fn sizes(here: &Model, there: Option<&Model>, request: &Request, old: &Info, new: &Info) -> Vec<Cause> {
    if old.size == new.size {
        return Vec::new();
    }
    let full = |model: &Model, info: &Info| {
        Label::try_from(info.label.as_str()).ok().and_then(|label| model.release(label)).map(|release| release.size)
    };
    let unexplained = || vec![Cause::Unexplained(vec!["package size"])];
    let Some(new_full) = full(here, new) else { return unexplained() };
    let old_full = there.and_then(|there| full(there, old)).unwrap_or(new_full);
    // Only a device that has a package can use a diff, and a diff is smaller.
    let is_diff = |size: u64, full: u64| request.hash().is_some() && size < full;
    let (old_is_diff, new_is_diff) = (is_diff(old.size, old_full), is_diff(new.size, new_full));
    let is_full = (old_is_diff || old.size == old_full) && (new_is_diff || new.size == new_full);
    match (is_full, old_is_diff, new_is_diff) {
        (false, ..) => unexplained(),
        (true, true, false) => vec![Cause::Diff(Side::Old)],
        (true, false, true) => vec![Cause::Diff(Side::New)],
        (true, true, true) => Vec::new(),
        // The package hash, which is that of the files, is equal.
        (true, false, false) => vec![Cause::PackedDifferently],
    }
}

fn failure(answer: &Answer) -> Option<Failure> {
    match answer {
        Answer::Info(_) => None,
        Answer::Status(429) => Some(Failure::RateLimit),
        Answer::Status(status) => Some(Failure::Status(*status)),
        Answer::Unreadable => Some(Failure::Unreadable),
        Answer::Nothing(text) => Some(Failure::Nothing(text.clone())),
    }
}

fn is_answer(model: &mut Model, edit: Option<&Edit>, request: &Request, faults: &[KnownFault], given: &Info) -> bool {
    model.answer(edit, request, faults).is_some_and(|info| info.says_the_same(given))
}

/// All sets of these faults, smallest first.
fn subsets(faults: &[KnownFault]) -> Vec<Vec<KnownFault>> {
    let mut sets = vec![Vec::new()];
    for fault in faults {
        let with: Vec<_> = sets.iter().map(|set: &Vec<_>| set.iter().copied().chain([*fault]).collect()).collect();
        sets.extend(with);
    }
    sets.sort_by_key(Vec::len);
    sets
}

fn property(change: &Change) -> Property {
    match change {
        Change::Rollout(_) => Property::Rollout,
        Change::Mandatory(true) => Property::Mandatory(Side::Old),
        Change::Mandatory(false) | Change::NoneMandatory => Property::Mandatory(Side::New),
        Change::Range(_) => Property::Range,
        Change::Description(_) => Property::Description,
        Change::Package(_) => Property::Package,
        Change::Disabled(false) => Property::Disabled(Side::New),
        Change::Disabled(true) | Change::Missing | Change::MissingAfter | Change::Added(_) => Property::Disabled(Side::Old),
    }
}

/// Without the old server's history: the one change to the history here that gives exactly its answer.
fn supposed(
    here: &mut Model,
    imported: Option<u32>,
    request: &Request,
    faults: &[KnownFault],
    old: &Info,
    new: &Info,
) -> Option<Vec<Cause>> {
    let known = || faults.iter().copied().map(Cause::Known);
    for (edit, cause) in suppositions(here, imported, request, old, new) {
        if is_answer(here, Some(&edit), request, faults, old) {
            return Some(known().chain([cause]).collect());
        }
    }
    None
}

fn suppositions(here: &Model, imported: Option<u32>, request: &Request, old: &Info, new: &Info) -> Vec<(Edit, Cause)> {
    let mut found = Vec::new();
    let label = |info: &Info| Label::try_from(info.label.as_str()).ok().filter(|_| info.is_available);
    let differs = |change: Change, label: Label| {
        let cause = Cause::Differs(property(&change), label.into(), false);
        (Edit { label, change }, cause)
    };
    if let Some((label, release)) = label(old).and_then(|label| Some((label, here.release(label)?))) {
        found.push(differs(Change::Description(Some(old.description.clone()).filter(|text| !text.is_empty())), label));
        found.extend(PackageHash::try_from(old.package_hash.as_str()).ok().map(|hash| differs(Change::Package(hash), label)));
        found.push(differs(if old.is_mandatory { Change::Mandatory(true) } else { Change::NoneMandatory }, label));
        if release.is_disabled {
            found.push(differs(Change::Disabled(false), label));
        }
        if release.rollout.is_some() {
            found.push(differs(Change::Rollout(None), label));
        }
        found.push((
            Edit { label, change: Change::Range(request.check.app_version.version().to_string()) },
            Cause::Differs(Property::Range, label.into(), true),
        ));
    }
    if let Some(edit) = added(here, request, old) {
        let cause =
            if edit.label.number() > here.newest() { Cause::Newer(Side::Old, edit.label) } else { Cause::Missing(Side::New, edit.label) };
        found.push((edit, cause));
    }
    // Those that the old server may not offer: the one that is offered here, and the newest one, which decides what is said without an update.
    let newest = here.releases.iter().find(|release| !release.is_disabled).map(|release| release.label);
    for label in label(new).into_iter().chain(newest) {
        let is_newer = imported.is_some_and(|imported| label.number() > imported);
        let cause = if is_newer { Cause::NewerNotOffered(label) } else { Cause::NotOffered(label) };
        if !old.is_available && !old.target.is_empty() && !is_newer {
            found.push(differs(Change::Range(old.target.clone()), label));
        }
        found.extend([Change::Missing, Change::Disabled(true)].map(|change| (Edit { label, change }, cause.clone())));
    }
    if let Some(last) = imported.and_then(Label::new) {
        let first = here.releases.iter().rev().map(|release| release.label).find(|label| *label > last);
        found.extend(first.map(|first| (Edit { label: last, change: Change::MissingAfter }, Cause::NewerNotOffered(first))));
    }
    found
}

/// The release that the old server offers, if it is not here.
fn added(here: &Model, request: &Request, old: &Info) -> Option<Edit> {
    let label = Label::try_from(old.label.as_str()).ok().filter(|label| old.is_available && here.release(*label).is_none())?;
    let change = Change::Added(Box::new(Added {
        package_hash: PackageHash::try_from(old.package_hash.as_str()).ok()?,
        range: request.check.app_version.version().to_string(),
        description: Some(old.description.clone()).filter(|text| !text.is_empty()),
        is_mandatory: old.is_mandatory,
        is_disabled: false,
        rollout: None,
    }));
    Some(Edit { label, change })
}
