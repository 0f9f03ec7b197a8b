//! Asks the old server and this one the same update checks, and finds the reason of each difference.
//!
//! The checks are generated from the histories, or taken from an access log. Every request is a GET. Start reading at [`run::Run::compare`].

mod answer;
mod ask;
mod check;
mod explain;
mod generate;
mod log;
mod model;
mod reason;
mod report;
pub mod run;

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::future::join;
use futures_util::stream;
use shared::keys::DeploymentKey;
use shared::snapshot::HistoryRelease;

pub use ask::{Rate, Server};
pub use check::Check;
pub use generate::{Generated, generate};
pub use log::{Logged, read};
pub use report::Report;

use self::answer::{Answer, Info};
use self::explain::Explainer;
use self::model::Model;
use crate::source::Entry;

/// Checks under way at once.
const AT_ONCE: usize = 16;
/// So many checks in a row that fail are the server's fault: the rest would fail, too.
const MOST_FAILURES: usize = 20;
/// The bytes of differing answers that are kept until they are explained.
const MOST_BYTES: usize = 256 << 20;
/// After how many checks to say how far it is.
const SAY_EVERY: usize = 1_000;

/// A deployment to compare, as it is here.
#[derive(Clone, Debug)]
pub struct Deployment {
    name: String,
    key: DeploymentKey,
    /// Newest first.
    releases: Vec<HistoryRelease>,
    imported: Option<u32>,
}

impl Deployment {
    /// A deployment with its history here, newest first, and the newest label that was imported.
    pub fn new(name: String, key: DeploymentKey, releases: Vec<HistoryRelease>, imported: Option<u32>) -> Self {
        Self { name, key, releases, imported }
    }

    /// Its name, as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its key.
    pub fn key(&self) -> &str {
        self.key.as_str()
    }

    /// The deployment with the releases of both servers: what only the old one has is behind those here. Only to generate checks from.
    fn with(&self, there: Option<&Vec<Entry>>) -> Self {
        let mut both = self.clone();
        let theirs = there.map(|entries| Model::of_entries(entries, &self.releases).releases).unwrap_or_default();
        let is_new = |release: &HistoryRelease| {
            let is_same = |ours: &HistoryRelease| {
                (&ours.label, &ours.package_hash, &ours.range, ours.rollout)
                    == (&release.label, &release.package_hash, &release.range, release.rollout)
            };
            !self.releases.iter().any(is_same)
        };
        both.releases.extend(theirs.into_iter().filter(is_new));
        both
    }
}

/// Two servers, and what they are asked.
#[derive(Debug)]
pub struct Comparison {
    /// The old server.
    pub old: Server,
    /// This one.
    pub new: Server,
    /// The deployments.
    pub deployments: Vec<Deployment>,
    /// The checks.
    pub checks: Vec<Check>,
}

/// A comparison whose checks were asked.
#[derive(Debug)]
pub struct Compared {
    deployments: Vec<Deployment>,
    different: Different,
    report: Report,
}

/// Answers that are not equal to the byte for devices, or not those of the releases here.
#[derive(Debug, Default)]
struct Different {
    answers: Vec<(Check, Answer, Answer)>,
    bytes: usize,
}

impl Different {
    fn push(&mut self, check: Check, old: Answer, new: Answer) {
        self.bytes += check.query.len() + old.bytes() + new.bytes();
        self.answers.push((check, old, new));
    }

    fn is_full(&self) -> bool {
        self.bytes > MOST_BYTES
    }
}

/// Whether an answer is that of the releases here. If both addresses lead to the same other server, all answers are equal.
fn is_of_this_server(here: &mut [Model], check: &Check, info: &Info) -> bool {
    // What this server refuses to answer, no release says.
    let Some(request) = check.request() else { return true };
    let model = here.get_mut(check.deployment);
    model.and_then(|model| model.answer(None, &request, &[])).is_some_and(|own| own.says_the_same(info))
}

impl Comparison {
    /// Asks all checks, or until one server has failed many times in a row, or too many answers differ. Calls `told` with a
    /// line of progress now and then.
    pub async fn ask(self, told: &mut dyn FnMut(&str)) -> Compared {
        let Self { old, new, deployments, checks } = self;
        let total = checks.len();
        let mut report = Report { old: old.address().to_owned(), new: new.address().to_owned(), ..Report::default() };
        report.deployments = deployments.len();
        let (mut different, mut seen) = (Different::default(), vec![false; deployments.len()]);
        let mut here: Vec<_> = deployments.iter().map(|deployment| Model::new(deployment.releases.clone())).collect();
        let is_asked = |at: usize| checks.iter().any(|check| check.deployment == at);
        let unasked = deployments.iter().enumerate().filter(|(at, _)| !is_asked(*at));
        report.unasked = unasked.map(|(_, deployment)| deployment.name.clone()).collect();
        let (old, new) = (&old, &new);
        let mut answers = stream::iter(checks)
            .map(|check| async move {
                let (one, other) = join(old.ask(&check), new.ask(&check)).await;
                (check, one, other)
            })
            .buffered(AT_ONCE);
        let (mut done, mut failures) = (0, [0_usize; 2]);
        while let Some((check, one, other)) = answers.next().await {
            done += 1;
            if done % SAY_EVERY == 0 {
                told(&format!("{done} of {total} checks."));
            }
            for (count, answer) in failures.iter_mut().zip([&one, &other]) {
                *count = if answer.is_failure() { *count + 1 } else { 0 };
            }
            if let (Some(seen), true) = (seen.get_mut(check.deployment), one.info().is_some() && other.info().is_some()) {
                *seen = true;
            }
            // Two updates without an address are equal as well, but of no use.
            let is_of_use = |info: &&Info| !info.is_available || info.has_address;
            let equal = one.info().filter(|_| one == other).filter(is_of_use);
            if equal.is_some_and(|info| is_of_this_server(&mut here, &check, info)) {
                report.count("", &check, Vec::new());
            } else {
                different.push(check, one, other);
            }
            if different.is_full() {
                report.is_full = true;
                report.not_asked = total - done;
                break;
            }
            if failures.iter().any(|count| *count >= MOST_FAILURES) {
                report.not_asked = total - done;
                break;
            }
        }
        drop(answers);
        let unseen = deployments.iter().zip(seen).filter(|(_, seen)| !seen);
        report.unseen = unseen.map(|(deployment, _)| deployment.name.clone()).collect();
        Compared { deployments, different, report }
    }
}

impl Compared {
    /// Whether there is anything to explain.
    pub fn has_differences(&self) -> bool {
        !self.different.answers.is_empty()
    }

    /// Explains the differences, with the histories of the old server by deployment key, as far as they are known, and the deployments as they are
    /// here after the checks.
    pub fn explain(self, there: &BTreeMap<String, Vec<Entry>>, after: &[Deployment]) -> Report {
        let Self { deployments, different, mut report } = self;
        let of = |(before, after): (&Deployment, &Deployment)| {
            (before.name.clone(), Explainer::new(before, there.get(before.key()).map(Vec::as_slice), after))
        };
        let mut explainers: Vec<_> = deployments.iter().zip(after).map(of).collect();
        for (check, old, new) in different.answers {
            let Some((name, explainer)) = explainers.get_mut(check.deployment) else { continue };
            let causes = explainer.explain(&check, &old, &new);
            report.count(name, &check, causes);
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_answers_are_kept_up_to_a_bound() {
        let check = || Check { deployment: 0, path: check::NEW, query: "deployment_key=key".to_owned() };
        let large = || Answer::Info(Info { description: "x".repeat(1_000), ..Info::default() });
        let mut different = Different { bytes: MOST_BYTES - 2_000, ..Different::default() };
        assert!(!different.is_full());
        different.push(check(), large(), large());
        assert!(different.is_full());
        let report = Report { asked: 1, is_full: true, not_asked: 7, ..Report::default() };
        let objection = "the comparison was aborted, because the answers that differ take more than 256 MiB; 7 checks were not asked";
        assert_eq!(report.objection().as_deref(), Some(objection));
    }
}
