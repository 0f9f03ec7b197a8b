//! What of a source can be carried over, and what breaks a rule here. Nothing is written while there are problems.
//!
//! Start at [`plan`]. The rules that need no look at what is here already are checked in `decide`; quotas, taken names and taken keys are the target's.

mod counts;
mod decide;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;
use shared::hash::PackageHash;
use shared::keys::{DeploymentKey, Label, Name};
use shared::rollout::Percent;
use shared::time::UnixMillis;
use shared::version::Range;

use crate::source::{Collaborator, Counts};

pub use counts::kept_counts;
pub use decide::{plan, releases};

/// The limits of the server that apps are moved to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Releases of a deployment.
    pub releases: usize,
    /// Different version ranges of a deployment that can still be offered.
    pub ranges: usize,
    /// Bytes of a deployment's snapshot.
    pub snapshot_bytes: u64,
}

/// What is carried over, and what blocks it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The apps.
    pub apps: Vec<App>,
    /// What breaks a rule here.
    pub problems: Vec<Problem>,
    /// What is carried over in another form.
    pub notes: Vec<Remark>,
}

/// An app to create.
#[derive(Clone, Debug)]
pub struct App {
    /// Its name at the source.
    pub source_name: String,
    /// Its name here.
    pub name: Name,
    /// Who had access at the source, the owner included.
    pub collaborators: Vec<Collaborator>,
    /// Its deployments.
    pub deployments: Vec<Deployment>,
}

/// A deployment to create.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its name at the source.
    pub source_name: String,
    /// Its name here.
    pub name: Name,
    /// Its key, which installed devices have.
    pub key: DeploymentKey,
    /// Its releases, oldest first, with rising labels.
    pub releases: Vec<Release>,
    /// The labels of its history at the source, also of releases that cannot be carried over.
    pub history: BTreeSet<Label>,
    /// Whether its history at the source is empty.
    pub is_empty: bool,
    /// Its counts; `None` if the source does not tell them.
    pub counts: Option<BTreeMap<String, Counts>>,
}

/// A release to create.
#[derive(Clone, Debug)]
pub struct Release {
    /// Its label.
    pub label: Label,
    /// The binary versions that it targets.
    pub range: Range,
    /// Where its package is.
    pub blob_url: String,
    /// Release notes.
    pub description: Option<String>,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// The share of devices.
    pub rollout: Percent,
    /// The hash of its contents, if the source tells it.
    pub package_hash: Option<PackageHash>,
    /// The size of its package in bytes, if the source tells it.
    pub size: Option<u64>,
    /// How it was made.
    pub method: Method,
    /// The label of the release that it was made from.
    pub original_label: Option<Label>,
    /// The deployment that it was promoted from.
    pub original_deployment: Option<String>,
    /// Who released it.
    pub released_by: Option<String>,
    /// When.
    pub upload_time: Option<UnixMillis>,
}

/// How a release was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From uploaded bytes.
    Upload,
    /// By a promotion.
    Promote,
    /// By a rollback.
    Rollback,
}

/// Something about one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The app, the deployment and the release, as far as it is about one.
    #[serde(flatten)]
    pub place: Place,
    /// What it is.
    pub text: String,
}

/// The name in a [`Place`] that stands for the account that apps are moved to.
pub const THE_ACCOUNT: &str = "the account";

/// An app, a deployment or a release at the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The app.
    pub app: String,
    /// The deployment.
    pub deployment: Option<String>,
    /// The release's label.
    pub label: Option<Label>,
}

/// Names of the source may have control characters: they are not printed.
impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let label = self.label.map(|label| label.to_string());
        let parts = [Some(&self.app), self.deployment.as_ref(), label.as_ref()].into_iter().flatten().map(|part| printable(part));
        formatter.write_str(&parts.collect::<Vec<_>>().join(" / "))
    }
}

/// A text of the source, fit to print: without what steers a terminal, and without what reverses or hides text.
pub fn printable(text: &str) -> String {
    let is_odd = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|letter| if is_odd(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Something that breaks a rule here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, and what.
    pub remark: Remark,
    /// Whether the rest can be imported without this release.
    pub can_be_left_out: bool,
}

impl Problem {
    /// A release that is refused here.
    pub fn of_release(place: Place, text: impl Into<String>) -> Self {
        Self { remark: Remark { place, text: text.into() }, can_be_left_out: true }
    }

    /// Anything else.
    pub fn new(place: Place, text: impl Into<String>) -> Self {
        Self { remark: Remark { place, text: text.into() }, can_be_left_out: false }
    }
}

impl Plan {
    /// Takes out the releases that are refused. What is left has no problems, unless others block it.
    pub fn leave_out_refused(&mut self) -> Vec<Remark> {
        let (refused, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.problems).into_iter().partition(|problem| problem.can_be_left_out);
        self.problems = kept;
        let places: HashSet<&Place> = refused.iter().map(|problem| &problem.remark.place).collect();
        for app in &mut self.apps {
            for deployment in &mut app.deployments {
                let of =
                    |label| Place { app: app.source_name.clone(), deployment: Some(deployment.source_name.clone()), label: Some(label) };
                deployment.releases.retain(|release| !places.contains(&of(release.label)));
            }
        }
        refused.into_iter().map(|problem| problem.remark).collect()
    }
}
