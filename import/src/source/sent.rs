//! The answers of the other server as they are sent, and what they mean. Servers of the family leave members out, and send some in other types. What is
//! not understood is said: a wrong guess could give a release to devices that must not have it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::json::{Bounded, Member, Names, Weighed};
use super::read::{Counts, Entry};

/// The list of apps.
#[derive(Deserialize)]
pub(super) struct SentApps {
    pub(super) apps: Bounded<Vec<SentApp>>,
}

impl Weighed for SentApps {
    fn bytes(&self) -> usize {
        self.apps.bytes() + self.apps.entries.iter().map(|app| app.collaborators.bytes()).sum::<usize>()
    }
}

/// An app.
#[derive(Deserialize)]
pub(super) struct SentApp {
    pub(super) name: String,
    #[serde(default)]
    pub(super) collaborators: Names,
}

/// An app's deployments.
#[derive(Deserialize)]
pub(super) struct SentDeployments {
    pub(super) deployments: Bounded<Vec<SentDeployment>>,
}

impl Weighed for SentDeployments {
    fn bytes(&self) -> usize {
        self.deployments.bytes()
    }
}

/// A deployment.
#[derive(Deserialize)]
pub(super) struct SentDeployment {
    pub(super) name: String,
    #[serde(default)]
    pub(super) key: Member,
}

/// A deployment's counts, by label and binary version.
#[derive(Deserialize)]
pub(super) struct SentMetrics {
    pub(super) metrics: Bounded<BTreeMap<String, Option<SentCounts>>>,
}

impl Weighed for SentMetrics {
    fn bytes(&self) -> usize {
        self.metrics.bytes()
    }
}

/// The counts of one label or version.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SentCounts {
    pub(super) active: Member,
    pub(super) downloaded: Member,
    pub(super) installed: Member,
    pub(super) failed: Member,
}

impl SentCounts {
    pub(super) fn read(self) -> Counts {
        let [active, downloaded, installed, failed] =
            [self.active, self.downloaded, self.installed, self.failed].map(|count| count.rounded().unwrap_or_default());
        Counts { active, downloaded, installed, failed }
    }
}

/// A deployment's releases.
#[derive(Deserialize)]
pub(super) struct SentHistory {
    pub(super) history: Bounded<Vec<SentEntry>>,
}

impl Weighed for SentHistory {
    fn bytes(&self) -> usize {
        self.history.bytes()
    }
}

/// A release.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SentEntry {
    pub(super) label: Member,
    pub(super) app_version: Member,
    pub(super) blob_url: Member,
    pub(super) description: Member,
    pub(super) is_disabled: Member,
    pub(super) is_mandatory: Member,
    pub(super) rollout: Member,
    pub(super) package_hash: Member,
    pub(super) release_method: Member,
    pub(super) original_label: Member,
    pub(super) original_deployment: Member,
    pub(super) released_by: Member,
    pub(super) size: Member,
    pub(super) upload_time: Member,
}

impl SentEntry {
    pub(super) fn read(self) -> Entry {
        let mut unclear = None;
        let mut text = |member: Member, fault: &'static str| {
            if member.is_there() && !matches!(member, Member::Text(_)) {
                unclear = Some(fault);
            }
            member.text()
        };
        let label = text(self.label, "its label is not text");
        let app_version = text(self.app_version, "its app version is not text");
        let description = text(self.description, "its description is not text");
        let package_hash = text(self.package_hash, "its package hash is not text");
        let mut flag = |member: Member, fault: &'static str| match member {
            Member::Missing => false,
            Member::Bool(value) => value,
            _ => {
                unclear = Some(fault);
                false
            }
        };
        let is_disabled = flag(self.is_disabled, "its isDisabled is neither true nor false");
        let is_mandatory = flag(self.is_mandatory, "its isMandatory is neither true nor false");
        let rollout = self.rollout.whole().and_then(|percent| u64::try_from(percent).ok());
        if self.rollout.is_there() && rollout.is_none() {
            unclear = Some("its rollout is not a whole number from 0 to 100");
        }
        Entry {
            label,
            app_version,
            blob_url: self.blob_url.text(),
            description,
            is_disabled,
            is_mandatory,
            rollout,
            package_hash,
            release_method: self.release_method.text(),
            original_label: self.original_label.text(),
            original_deployment: self.original_deployment.text(),
            released_by: self.released_by.text(),
            size: self.size.whole().and_then(|size| u64::try_from(size).ok()),
            upload_time: self.upload_time.rounded(),
            unclear,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_entries_weigh_what_they_take() {
        let list = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
        let history: SentHistory = serde_json::from_str(&format!(r#"{{"history":{}}}"#, list(1_000))).unwrap();
        assert!(history.bytes() >= 1_000 * size_of::<SentEntry>() && history.bytes() > 100 * 3_000);
        assert!(size_of::<Entry>() <= size_of::<SentEntry>());
        let metrics: SentMetrics = serde_json::from_str(r#"{"metrics":{"v1":null,"v2":{}}}"#).unwrap();
        assert!(metrics.bytes() >= 2 * size_of::<SentCounts>());
        let apps: SentApps = serde_json::from_str(r#"{"apps":[{"name":"","collaborators":{"a":1,"b":1}}]}"#).unwrap();
        assert!(apps.bytes() >= size_of::<SentApp>() + 2 * size_of::<String>());
    }
}
