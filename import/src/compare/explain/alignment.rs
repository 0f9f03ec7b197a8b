//! Which releases of two histories are the same one. After a release on one server only, the next package has another label on each.

use std::collections::{BTreeMap, BTreeSet};

use shared::keys::Label;
use shared::snapshot::HistoryRelease;

use super::super::answer::Info;
use super::super::check::Request;
use super::super::reason::{Named, Side};

/// The most pairs of releases to look at. Above, releases are the same by their labels only.
const MOST_PAIRS: usize = 4_000_000;

/// Releases of the old server's history, and those here that are the same.
#[derive(Debug, Default)]
pub(super) struct Alignment {
    /// By the label there, the label here.
    here: BTreeMap<Label, Label>,
    /// By the label here, the label there.
    there: BTreeMap<Label, Label>,
    /// Where releases that only the old server has would be in the history here. Those without a place between two labels are left out.
    added: BTreeMap<Label, Label>,
    /// Releases that only the old server has, newest first.
    only_there: Vec<Label>,
    /// Releases of the same package that have other neighbors on each server.
    moved: Vec<Named>,
}

impl Alignment {
    /// By their labels, as long as no label stands for another package on each server. Otherwise by the packages, in order, and what is left in the
    /// same gap by its label. Histories are newest first.
    pub(super) fn new(there: &[HistoryRelease], here: &[HistoryRelease]) -> Self {
        let labels: BTreeMap<Label, &HistoryRelease> = here.iter().map(|release| (release.label, release)).collect();
        let is_conflict =
            |release: &HistoryRelease| labels.get(&release.label).is_some_and(|ours| ours.package_hash != release.package_hash);
        let by_label = || there.iter().filter(|release| labels.contains_key(&release.label)).map(|release| (release.label, release.label));
        let pairs = if there.iter().any(is_conflict) { by_package(there, here) } else { None };
        let pairs: Vec<(Label, Label)> = pairs.unwrap_or_else(|| by_label().collect());
        let mut alignment = Self::default();
        for (theirs, ours) in pairs {
            alignment.here.insert(theirs, ours);
            alignment.there.insert(ours, theirs);
        }
        alignment.pair_gaps(there, &labels.keys().copied().collect());
        let is_only_there = |release: &&HistoryRelease| !alignment.here.contains_key(&release.label);
        alignment.only_there = there.iter().filter(is_only_there).map(|release| release.label).collect();
        let mut only_here: Vec<_> = here.iter().filter(|release| !alignment.there.contains_key(&release.label)).collect();
        for theirs in there.iter().filter(|release| alignment.only_there.contains(&release.label)) {
            if let Some(place) = only_here.iter().position(|ours| ours.package_hash == theirs.package_hash) {
                alignment.moved.push(Named { here: only_here.remove(place).label, there: theirs.label });
            }
        }
        alignment.place_added(there, labels.into_keys().collect());
        alignment
    }

    /// Releases of one label that are left between the same neighbors are one, with another package on each server.
    fn pair_gaps(&mut self, there: &[HistoryRelease], labels: &BTreeSet<Label>) {
        for label in there.iter().map(|release| release.label) {
            let is_left = !self.here.contains_key(&label) && !self.there.contains_key(&label) && labels.contains(&label);
            let older =
                (self.here.range(..label).next_back().map(|(_, ours)| *ours), self.there.range(..label).next_back().map(|(ours, _)| *ours));
            let newer = (self.here.range(label..).next().map(|(_, ours)| *ours), self.there.range(label..).next().map(|(ours, _)| *ours));
            if is_left && older.0 == older.1 && newer.0 == newer.1 {
                self.here.insert(label, label);
                self.there.insert(label, label);
            }
        }
    }

    /// Finds a free label for each release that only the old server has: its own if that is in order, else the first between its neighbors.
    fn place_added(&mut self, there: &[HistoryRelease], mut taken: BTreeSet<Label>) {
        let newest_here = taken.last().map_or(0, |label| label.number());
        let mut older = 0;
        for theirs in there.iter().rev().map(|release| release.label) {
            if let Some(ours) = self.here(theirs) {
                older = ours.number();
                continue;
            }
            let newer = self.here.range(theirs..).next().map(|(_, ours)| ours.number());
            let from = if newer.is_none() { older.max(newest_here) } else { older }.saturating_add(1);
            let gap = from..newer.unwrap_or(u32::MAX);
            let is_free = |number: &u32| Label::new(*number).is_some_and(|label| !taken.contains(&label));
            let own = Some(theirs.number()).filter(|number| gap.contains(number) && is_free(number));
            let Some(place) = own.or_else(|| gap.clone().find(is_free)).and_then(Label::new) else { continue };
            taken.insert(place);
            self.added.insert(theirs, place);
            older = place.number();
        }
    }

    /// The label here of the same release.
    pub(super) fn here(&self, there: Label) -> Option<Label> {
        self.here.get(&there).copied()
    }

    /// Where the release of the old server is, or would be, in the history here.
    pub(super) fn place(&self, there: Label) -> Option<Label> {
        self.here(there).or_else(|| self.added.get(&there).copied())
    }

    /// Whether the old server has the release of this label here.
    pub(super) fn is_there(&self, here: Label) -> bool {
        self.there.contains_key(&here)
    }

    /// The newest release that both have, by its label here.
    pub(super) fn newest(&self) -> Option<Label> {
        self.there.keys().next_back().copied()
    }

    /// A release here by its labels on both servers.
    pub(super) fn named(&self, here: Label) -> Named {
        Named { here, there: self.there.get(&here).copied().unwrap_or(here) }
    }

    /// Releases that only the old server has, by their labels there, newest first.
    pub(super) fn only_there(&self) -> impl Iterator<Item = Label> {
        self.only_there.iter().copied()
    }

    /// Releases of the same package that both have, in another order.
    pub(super) fn all_moved(&self) -> &[Named] {
        &self.moved
    }

    /// The one of them with this label on this server.
    pub(super) fn moved(&self, side: Side, label: Label) -> Option<Named> {
        let is_it = |named: &&Named| label == if side == Side::Old { named.there } else { named.here };
        self.moved.iter().find(is_it).copied()
    }

    /// Releases that both have under different labels, newest first.
    pub(super) fn renamed(&self) -> impl Iterator<Item = Named> {
        self.here.iter().rev().map(|(there, here)| Named { here: *here, there: *there }).filter(|named| named.here != named.there)
    }

    /// The old server's answer, with the label that its release has here.
    pub(super) fn translated(&self, old: &Info) -> Info {
        with_label(old, |label| self.place(label))
    }

    /// The answer here, with the label that its release has there.
    pub(super) fn translated_back(&self, new: &Info) -> Info {
        with_label(new, |label| self.there.get(&label).copied())
    }

    /// The request as one that names the device's release as it is named here.
    pub(super) fn asked(&self, request: &Request) -> Request {
        asking(request, |label| self.place(label))
    }

    /// The request as one that names the device's release as it is named there.
    pub(super) fn asked_back(&self, request: &Request) -> Request {
        asking(request, |label| self.there.get(&label).copied())
    }
}

fn with_label(info: &Info, of: impl Fn(Label) -> Option<Label>) -> Info {
    let label = Label::try_from(info.label.as_str()).ok().and_then(of);
    Info { label: label.map_or_else(|| info.label.clone(), |label| label.to_string()), ..info.clone() }
}

fn asking(request: &Request, of: impl Fn(Label) -> Option<Label>) -> Request {
    let mut request = request.clone();
    if let Some(label) = request.label().and_then(|label| Label::try_from(label).ok()).and_then(of) {
        request.check.label = Some(label.to_string());
    }
    request
}

/// The longest sequence of equal packages that both histories have, the newest if there are several. `None` if the histories are too long.
fn by_package(there: &[HistoryRelease], here: &[HistoryRelease]) -> Option<Vec<(Label, Label)>> {
    let is_same = |theirs: &&HistoryRelease, ours: &&HistoryRelease| theirs.package_hash == ours.package_hash;
    let same = |pair: &(&HistoryRelease, &HistoryRelease)| is_same(&pair.0, &pair.1);
    let labels = |(theirs, ours): (&HistoryRelease, &HistoryRelease)| (theirs.label, ours.label);
    let newest: Vec<_> = there.iter().zip(here).take_while(same).map(labels).collect();
    let (there, here) = (there.get(newest.len()..)?, here.get(newest.len()..)?);
    let oldest: Vec<_> = there.iter().rev().zip(here.iter().rev()).take_while(same).map(labels).collect();
    let (there, here) = (there.get(..there.len() - oldest.len())?, here.get(..here.len() - oldest.len())?);
    let width = here.len() + 1;
    if (there.len() + 1).saturating_mul(width) > MOST_PAIRS {
        return None;
    }
    // Entry (i, j): the longest sequence of what follows, towards the oldest.
    let mut longest = vec![0_u16; (there.len() + 1) * width];
    let at = |longest: &[u16], i: usize, j: usize| longest.get(i * width + j).copied().unwrap_or_default();
    for (i, theirs) in there.iter().enumerate().rev() {
        for (j, ours) in here.iter().enumerate().rev() {
            let best = if is_same(&theirs, &ours) {
                at(&longest, i + 1, j + 1).saturating_add(1)
            } else {
                at(&longest, i + 1, j).max(at(&longest, i, j + 1))
            };
            if let Some(entry) = longest.get_mut(i * width + j) {
                *entry = best;
            }
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, newest);
    while let Some(pair) = there.get(i).zip(here.get(j)) {
        if same(&pair) {
            pairs.push(labels(pair));
            (i, j) = (i + 1, j + 1);
        } else if at(&longest, i + 1, j) >= at(&longest, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs.extend(oldest);
    Some(pairs)
}
