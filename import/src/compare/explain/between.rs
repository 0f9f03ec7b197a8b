//! Why two answers differ when the old server's history is known: which of the differences between the histories decides?

use shared::keys::Label;

use super::super::answer::Info;
use super::super::check::Request;
use super::super::model::{Added, Change, Edit, KnownFault, Model};
use super::super::reason::{Cause, Differing, Named, Property, Rollback, Side};
use super::alignment::Alignment;
use super::{History, MOST_EDITS, added, is_answer, property};

/// In place of a device's label: no release has it.
const NO_LABEL: &str = "none";

/// The answer follows from the old server's history: which of its differences from the history here decides?
pub(super) fn between(
    here: &mut History,
    there: &mut Model,
    imported: Option<u32>,
    request: &Request,
    faults: &[KnownFault],
    [old, new]: [&Info; 2],
) -> Option<Vec<Cause>> {
    let History { model: here, alignment } = here;
    let known = faults.iter().copied().map(Cause::Known);
    if !is_answer(there, None, request, faults, old) {
        // Released there since its history was read?
        let newer = added(here, request, old).filter(|edit| edit.label.number() > there.newest())?;
        return is_answer(here, Some(&newer), request, faults, old).then(|| known.chain([Cause::Newer(Side::Old, newer.label)]).collect());
    }
    let is_mandatory = old.is_available && old.package_hash == new.package_hash && old.is_mandatory != new.is_mandatory;
    let mut between = Between {
        imported: imported.unwrap_or_else(|| alignment.newest().map_or(0, Label::number)),
        has_own: imported.is_none_or(|imported| here.newest() > imported),
        old_here: alignment.translated(old),
        new_there: alignment.translated_back(new),
        asked: alignment.asked(request),
        asked_back: alignment.asked_back(request),
        mandatory: is_mandatory.then_some(if old.is_mandatory { Side::Old } else { Side::New }),
        here,
        there,
        alignment,
        request,
        faults,
        old,
    };
    let causes: Vec<_> = known.chain(between.causes()?).collect();
    (!causes.is_empty()).then_some(causes)
}

/// Both histories, and an update check that both servers answer by them.
struct Between<'b> {
    here: &'b mut Model,
    there: &'b mut Model,
    alignment: &'b Alignment,
    /// The newest label that was imported, or that both servers have.
    imported: u32,
    /// Whether somebody has released here, so that imports leave the deployment alone.
    has_own: bool,
    request: &'b Request,
    /// The request with the label that the device's release has here, and there.
    asked: Request,
    asked_back: Request,
    faults: &'b [KnownFault],
    old: &'b Info,
    /// The answers, with the label that the release has on the other server.
    old_here: Info,
    new_there: Info,
    /// The server that offers the same package as the other one, but as a mandatory update.
    mandatory: Option<Side>,
}

impl Between<'_> {
    /// The causes; empty if the old server's known faults are the only ones.
    fn causes(&mut self) -> Option<Vec<Cause>> {
        if self.is_old(None) {
            let other = Label::try_from(self.old_here.label.as_str()).ok().filter(|_| self.old_here.label != self.old.label);
            let of_label = other.map(|label| Cause::OtherLabel(self.alignment.named(label)));
            return Some(self.of_device(true).or(of_label).into_iter().collect());
        }
        if self.there.releases.is_empty() && !self.here.releases.is_empty() {
            return Some(vec![Cause::Cleared]);
        }
        let mut edits = edits(self.here, self.there, self.alignment);
        edits.truncate(MOST_EDITS);
        if self.mandatory.is_some() {
            // A flag that differs can be mended. A device's release that one server does not know cannot.
            let of_both = |(_, release): &&(Edit, Differing)| matches!(release, Differing::Both(_));
            let flags: Vec<_> = edits.iter().filter(of_both).cloned().collect();
            if let Some(cause) = self.of_edits(&flags).or_else(|| self.of_device(true)) {
                return Some(vec![cause]);
            }
        }
        if let Some(causes) = self.of_both_newest() {
            return Some(causes);
        }
        let one = self.of_edits(&edits).or_else(|| self.of_old_release()).or_else(|| self.of_new_releases()).or_else(|| self.staged());
        one.or_else(|| self.of_many(&edits)).map(|cause| vec![cause])
    }

    /// Whether the old server's answer is that of the history here with this change.
    fn is_old(&mut self, edit: Option<&Edit>) -> bool {
        is_answer(self.here, edit, &self.asked, self.faults, &self.old_here)
    }

    /// Both offer the same package, and one of them as a mandatory update, because it does not know the device's release, or takes it for another one.
    /// If not `exact`, this may be a part of the reason.
    fn of_device(&mut self, exact: bool) -> Option<Cause> {
        let mandatory = self.mandatory?;
        let mut unknown = self.request.clone();
        unknown.check.label = Some(NO_LABEL.to_owned());
        let is_its = match (is_known(self.here, self.request), is_known(self.there, self.request)) {
            (true, false) if mandatory == Side::Old => !exact || is_answer(self.here, None, &unknown, self.faults, &self.old_here),
            (false, true) if mandatory == Side::New => !exact || is_answer(self.there, None, &unknown, &[], &self.new_there),
            (true, true) => {
                let label = Label::try_from(self.request.label()?).ok()?;
                let is_other = self.alignment.here(label) != Some(label);
                let is_its =
                    is_other && (!exact || self.is_old(None) || is_answer(self.there, None, &self.asked_back, &[], &self.new_there));
                return is_its.then_some(Cause::DeviceLabel);
            }
            _ => false,
        };
        is_its.then_some(Cause::DeviceUnknown(mandatory))
    }

    /// Each server has a release for the device that the other one does not have, or another package under the same label.
    fn of_both_newest(&mut self) -> Option<Vec<Cause>> {
        let (there, here) = (chosen(self.there, self.request, self.faults)?, chosen(self.here, self.request, &[])?);
        if self.alignment.here(there) == Some(here) {
            let package = |model: &Model, label| model.release(label).map(|release| release.package_hash.clone());
            let is_other = package(self.there, there) != package(self.here, here);
            return is_other.then(|| vec![Cause::Differs(Property::Package, Named { here, there }, true)]);
        }
        let is_moved = [(Side::Old, there), (Side::New, here)].iter().any(|(side, label)| self.alignment.moved(*side, *label).is_some());
        if is_moved || self.alignment.here(there).is_some() || self.alignment.is_there(here) {
            return None;
        }
        Some(match self.rollback(there) {
            Some(rollback) => vec![rollback, self.only(Side::New, here)],
            None => vec![Cause::OtherPackage(Named { here, there })],
        })
    }

    /// The one difference with which the history here answers as the old server.
    fn of_edits(&mut self, edits: &[(Edit, Differing)]) -> Option<Cause> {
        let (edit, release) = edits.iter().find(|(edit, _)| self.is_old(Some(edit)))?;
        Some(match release {
            Differing::Both(named) => Cause::Differs(property(&edit.change), *named, true),
            Differing::Only(side, label) => self.only(*side, *label),
        })
    }

    /// The release without which the old server would answer as this one.
    fn of_old_release(&mut self) -> Option<Cause> {
        let label = self.alignment.only_there().take(MOST_EDITS).find(|label| {
            let edit = Edit { label: *label, change: Change::Missing };
            is_answer(self.there, Some(&edit), &self.asked_back, &[], &self.new_there)
        })?;
        Some(self.only(Side::Old, label))
    }

    /// All that was released here since, and nothing else.
    fn of_new_releases(&mut self) -> Option<Cause> {
        let label = self.alignment.newest().filter(|label| label.number() < self.here.newest())?;
        let first = self.here.releases.iter().rev().map(|release| release.label).find(|release| *release > label)?;
        self.is_old(Some(&Edit { label, change: Change::MissingAfter })).then_some(Cause::Newer(Side::New, first))
    }

    /// The staged release that this device is offered by one of the servers only, because its label decides which devices are in it.
    fn staged(&mut self) -> Option<Cause> {
        let is_staged = |named: &Named| self.here.release(named.here).is_some_and(|release| release.rollout.is_some());
        let staged: Vec<Named> = self.alignment.renamed().filter(is_staged).take(MOST_EDITS).collect();
        let found = staged.into_iter().find(|named| {
            let mut is_old = |change| self.is_old(Some(&Edit { label: named.here, change }));
            is_old(Change::Rollout(None)) || is_old(Change::Missing)
        });
        found.map(Cause::Staged)
    }

    /// No difference alone decides.
    fn of_many(&mut self, edits: &[(Edit, Differing)]) -> Option<Cause> {
        if let Some(cause) = self.of_device(false) {
            return Some(cause);
        }
        if let Some(moved) = self.alignment.all_moved().first() {
            return Some(Cause::OtherOrder(*moved));
        }
        let mut releases: Vec<Differing> = Vec::new();
        for release in
            edits.iter().map(|(_, release)| *release).chain(self.alignment.only_there().map(|label| Differing::Only(Side::Old, label)))
        {
            if !releases.contains(&release) {
                releases.push(release);
            }
        }
        Some(match releases[..] {
            [] => return None,
            [Differing::Both(named)] => Cause::SeveralOf(named, edits.iter().map(|(edit, _)| property(&edit.change)).collect()),
            [Differing::Only(side, label)] => Cause::Missing(side.other(), label),
            _ => {
                releases.truncate(5);
                Cause::Several(releases)
            }
        })
    }

    /// What is told of a release that only this server has.
    fn only(&self, side: Side, label: Label) -> Cause {
        if let Some(moved) = self.alignment.moved(side, label) {
            return Cause::OtherOrder(moved);
        }
        if let Some(mandatory) = self.mandatory {
            // A release that makes the update mandatory on the other server is the one that the device is on.
            return if mandatory == side { Cause::MandatoryBetween(side, label) } else { Cause::DeviceUnknown(mandatory) };
        }
        let newest = if side == Side::Old { self.here.newest() } else { self.imported };
        let rollback = if side == Side::Old { self.rollback(label) } else { None };
        rollback.unwrap_or(if label.number() > newest { Cause::Newer(side, label) } else { Cause::Missing(side.other(), label) })
    }

    /// What is told of a release that only the old server has, if it is a rollback.
    fn rollback(&self, there: Label) -> Option<Cause> {
        let theirs = self.there.release(there).filter(|_| self.there.is_rollback(there))?;
        let of_package: Vec<_> = self.here.releases.iter().filter(|ours| ours.package_hash == theirs.package_hash).collect();
        let newest = self.here.releases.first();
        let fitting = of_package.iter().find(|ours| newest.is_some_and(|newest| newest.range == ours.range));
        let advice = match (fitting, of_package.first()) {
            _ if !self.has_own => Rollback::Import,
            (Some(ours), _) => Rollback::To(ours.label),
            (None, Some(ours)) => Rollback::Again(ours.label),
            (None, None) => Rollback::Release,
        };
        Some(Cause::RolledBack(there, advice))
    }
}

/// Whether a server with this history recognizes the release that a device is on.
fn is_known(model: &Model, request: &Request) -> bool {
    match (request.label(), request.hash()) {
        (Some(label), _) => Label::try_from(label).is_ok_and(|label| model.release(label).is_some()),
        (None, Some(hash)) => model.releases.iter().any(|release| release.package_hash.as_str() == hash),
        (None, None) => false,
    }
}

/// The newest release for a device, whatever it runs.
fn chosen(model: &mut Model, request: &Request, faults: &[KnownFault]) -> Option<Label> {
    let mut fresh = request.clone();
    (fresh.check.label, fresh.check.package_hash) = (None, None);
    model.answer(None, &fresh, faults).and_then(|info| Label::try_from(info.label.as_str()).ok())
}

/// What has to be changed in the history here to get the other one, newest first, and the release that it is about.
fn edits(here: &Model, there: &Model, alignment: &Alignment) -> Vec<(Edit, Differing)> {
    let mut edits = Vec::new();
    for theirs in &there.releases {
        let Some(label) = alignment.place(theirs.label) else { continue };
        let Some(ours) = here.release(label) else {
            let change = Change::Added(Box::new(Added {
                package_hash: theirs.package_hash.clone(),
                range: theirs.range.clone(),
                description: theirs.description.clone(),
                is_mandatory: theirs.is_mandatory,
                is_disabled: theirs.is_disabled,
                rollout: theirs.rollout,
            }));
            edits.push((Edit { label, change }, Differing::Only(Side::Old, theirs.label)));
            continue;
        };
        let mut edit = |change| edits.push((Edit { label, change }, Differing::Both(Named { here: label, there: theirs.label })));
        if ours.is_disabled != theirs.is_disabled {
            edit(Change::Disabled(theirs.is_disabled));
        }
        if ours.rollout.filter(|rollout| *rollout < 100) != theirs.rollout {
            edit(Change::Rollout(theirs.rollout));
        }
        if ours.is_mandatory != theirs.is_mandatory {
            edit(Change::Mandatory(theirs.is_mandatory));
        }
        if ours.range != theirs.range {
            edit(Change::Range(theirs.range.clone()));
        }
        if ours.description.as_ref().filter(|text| !text.is_empty()) != theirs.description.as_ref() {
            edit(Change::Description(theirs.description.clone()));
        }
        if ours.package_hash != theirs.package_hash {
            edit(Change::Package(theirs.package_hash.clone()));
        }
    }
    let missing = here.releases.iter().map(|release| release.label).filter(|label| !alignment.is_there(*label));
    edits.extend(missing.map(|label| (Edit { label, change: Change::Missing }, Differing::Only(Side::New, label))));
    edits.sort_by_key(|(edit, _)| std::cmp::Reverse(edit.label));
    edits
}
