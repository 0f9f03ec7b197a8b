//! What a comparison says at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use serde_json::{Value, json};

use super::MOST_BYTES;
use super::check::Check;
use super::reason::{Cause, Class};
use crate::plan::printable;

/// Examples of each reason.
const EXAMPLES: usize = 3;

/// A comparison. Its text is for people.
#[derive(Debug, Default)]
pub struct Report {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) deployments: usize,
    pub(super) asked: usize,
    pub(super) equal: usize,
    pub(super) explained: usize,
    pub(super) unexplained: usize,
    pub(super) failed: usize,
    /// Checks that were not asked after many failures in a row, or because too much differs.
    pub(super) not_asked: usize,
    /// Whether it is because too much differs.
    pub(super) is_full: bool,
    /// Deployments without one check that both servers answered.
    pub(super) unseen: Vec<String>,
    /// Those of them that had no check to be asked.
    pub(super) unasked: Vec<String>,
    /// Those of them that the log has checks of: others used up the number of checks.
    pub(super) crowded_out: Vec<String>,
    /// Whether the checks are from a log.
    pub(super) has_log: bool,
    /// Whether a key of the old server was given, to read its histories.
    pub(super) has_key: bool,
    /// Deployments whose history there was not read.
    pub(super) unread: BTreeSet<String>,
    /// By deployment and causes: how many, and examples.
    pub(super) groups: BTreeMap<Group, (usize, Vec<String>)>,
}

/// Differences of a deployment with the same causes.
pub(super) type Group = (Class, String, Vec<Cause>);

impl Report {
    pub(super) fn count(&mut self, deployment: &str, check: &Check, mut causes: Vec<Cause>) {
        self.asked += 1;
        causes.sort();
        causes.dedup();
        let Some(class) = causes.iter().map(Cause::class).min() else {
            self.equal += 1;
            return;
        };
        match class {
            Class::Failed => self.failed += 1,
            Class::Unexplained => self.unexplained += 1,
            Class::Explained => self.explained += 1,
        }
        let (count, examples) = self.groups.entry((class, deployment.to_owned(), causes)).or_default();
        *count += 1;
        if examples.len() < EXAMPLES {
            examples.push(check.shown());
        }
    }

    /// The comparison for programs.
    pub fn json(&self) -> Value {
        let group = |((class, deployment, causes), (count, examples)): (&Group, &(usize, Vec<String>))| {
            let class = match class {
                Class::Failed => "failed",
                Class::Unexplained => "unexplained",
                Class::Explained => "explained",
            };
            json!({ "kind": class, "deployment": deployment, "reasons": self.sentences(causes), "checks": count, "examples": examples })
        };
        json!({
            "old": self.old,
            "new": self.new,
            "deployments": self.deployments,
            "checks": self.asked,
            "equal": self.equal,
            "explained": self.explained,
            "unexplained": self.unexplained,
            "failed": self.failed,
            "notAsked": self.not_asked,
            "objection": self.objection(),
            "differences": self.groups.iter().map(group).collect::<Vec<_>>(),
        })
    }

    /// The causes in words, with what would make them more exact.
    fn sentences(&self, causes: &[Cause]) -> Vec<String> {
        let hint = |cause: &Cause| if cause.is_vague() && !self.has_key { " Use --key-file to see which." } else { "" };
        causes.iter().map(|cause| cause.sentence() + hint(cause)).collect()
    }

    /// Why reasons are not exact, if histories of the old server were not read.
    fn doubt(&self, class: Class) -> Option<String> {
        let names: BTreeSet<&String> = self.groups.keys().filter(|(of, ..)| *of == class).map(|(_, name, _)| name).collect();
        let unread: Vec<_> = names.iter().filter(|name| self.unread.contains(**name)).map(|name| printable(name)).collect();
        if class == Class::Failed || unread.is_empty() {
            return None;
        }
        let (of, reasons) = if unread.len() == names.len() {
            (String::new(), "these reasons")
        } else {
            (format!(" of {}", unread.join(", ")), "the reasons for these")
        };
        Some(match (class, self.has_key) {
            (Class::Explained, false) => {
                "Without --key-file, these reasons are the likely ones: a change on the old server can look the same.".to_owned()
            }
            (Class::Explained, true) => {
                format!("The old server's histories{of} were not read, so {reasons} are the likely ones: a change there can look the same.")
            }
            (_, false) => "With --key-file, a key of the old server, its histories may tell the reasons.".to_owned(),
            (_, true) => format!("The old server's histories{of} were not read. They may tell the reasons."),
        })
    }

    /// Whether no check was answered in another way.
    pub fn has_no_differences(&self) -> bool {
        self.groups.is_empty()
    }

    /// Why the servers cannot be called equal for devices; `None` if every check was answered by both, and every difference has its reason.
    pub fn objection(&self) -> Option<String> {
        if self.asked == 0 {
            return Some("no check was asked: nothing was compared".to_owned());
        }
        if self.not_asked > 0 && self.is_full {
            let most = MOST_BYTES >> 20;
            let why = format!("because the answers that differ take more than {most} MiB");
            return Some(format!("the comparison was aborted, {why}; {} checks were not asked", self.not_asked));
        }
        if self.not_asked > 0 {
            return Some(format!("the comparison was aborted after many failures in a row; {} checks were not asked", self.not_asked));
        }
        if self.failed > 0 || self.unexplained > 0 {
            return Some(format!("{} checks failed, and {} differences have no explanation", self.failed, self.unexplained));
        }
        let names = |names: &mut dyn Iterator<Item = &String>| names.map(|name| printable(name)).collect::<Vec<_>>().join(", ");
        let unanswered = names(&mut self.unseen.iter().filter(|name| !self.unasked.contains(name)));
        if !unanswered.is_empty() {
            return Some(format!("both servers answered no check of {unanswered}: it was not compared"));
        }
        let crowded_out = names(&mut self.crowded_out.iter());
        if !crowded_out.is_empty() {
            return Some(format!("no check of {crowded_out} was asked, because the log has more than --checks: it was not compared"));
        }
        let unasked = names(&mut self.unasked.iter());
        let whose = if self.has_log { "the log has no check" } else { "there was no check" };
        (!unasked.is_empty()).then(|| format!("{whose} of {unasked}: it was not compared"))
    }

    /// What to do if there is an objection.
    pub fn advice(&self) -> &'static str {
        let (is_other, is_missing) = (self.failed + self.unexplained + self.not_asked > 0, !self.unasked.is_empty());
        match (is_other, is_missing, self.has_log) {
            (false, true, true) if !self.crowded_out.is_empty() => "Raise --checks.",
            (false, true, true) => "Give --deployment for those that the log has checks of, or another log.",
            (false, true, false) => "Raise --checks.",
            _ if self.has_key => "See the reasons above.",
            _ => "See the reasons above. With --key-file, an access key of the old server, they are exact.",
        }
    }
}

impl Display for Report {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { old, new, deployments, asked, equal, explained, unexplained, failed, .. } = self;
        writeln!(formatter, "Compared {old} (old) with {new} (new), apart from the addresses of packages. Deployments: {deployments}.")?;
        writeln!(
            formatter,
            "Checks: {asked}. Equal: {equal}. Different but explained: {explained}. Unexplained: {unexplained}. Failed: {failed}."
        )?;
        if self.not_asked > 0 {
            writeln!(formatter, "Not asked: {}.", self.not_asked)?;
        }
        let mut last = None;
        for ((class, deployment, causes), (count, examples)) in &self.groups {
            if last != Some(class) {
                let title = match class {
                    Class::Failed => "Failed:",
                    Class::Unexplained => "Unexplained:",
                    Class::Explained => "Different but explained:",
                };
                writeln!(formatter, "\n{title}")?;
                if let Some(doubt) = self.doubt(*class) {
                    writeln!(formatter, "  {doubt}")?;
                }
                last = Some(class);
            }
            writeln!(formatter, "  {}, {count} checks: {}", printable(deployment), printable(&self.sentences(causes).join(" ")))?;
            examples.iter().try_for_each(|example| writeln!(formatter, "    {}", printable(example)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts_are_about_the_deployments_whose_history_was_not_read() {
        let causes = || vec![Cause::PackedDifferently];
        let groups = ["A", "B"].map(|name| ((Class::Explained, name.to_owned(), causes()), (1, Vec::new()))).into();
        let mut report = Report { has_key: true, unread: ["B".to_owned()].into(), groups, ..Report::default() };
        let some = "The old server's histories of B were not read, so the reasons for these are the likely ones: a change there can look the same.";
        assert_eq!(report.doubt(Class::Explained).as_deref(), Some(some));
        assert_eq!(report.doubt(Class::Unexplained), None);
        report.unread.insert("A".to_owned());
        assert!(
            report.doubt(Class::Explained).is_some_and(|doubt| doubt.starts_with("The old server's histories were not read, so these"))
        );
        report.unread.clear();
        assert_eq!(report.doubt(Class::Explained), None);
    }

    #[test]
    fn a_log_with_more_checks_than_are_asked_is_not_said_to_have_none() {
        let names = || vec!["A".to_owned()];
        let report = Report { asked: 1, has_log: true, unseen: names(), unasked: names(), crowded_out: names(), ..Report::default() };
        assert_eq!(
            report.objection().as_deref(),
            Some("no check of A was asked, because the log has more than --checks: it was not compared")
        );
        assert_eq!(report.advice(), "Raise --checks.");
    }
}
