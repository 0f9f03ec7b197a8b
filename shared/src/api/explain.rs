//! Explanations of update checks.

use serde::{Deserialize, Serialize};

use crate::explanation::{ConsideredRelease, Explanation};
use crate::select::{CheckRequest, Decision, Reason};
use crate::snapshot::Snapshot;
use crate::wire::check::{DownloadUrls, Info};

/// What a device gets, and why.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExplainAnswer {
    /// What the device gets, as in the answer to its update check.
    pub update_info: UpdateInfo,
    /// Why.
    pub reason: DecisionReason,
    /// The device's bucket in the unfinished rollout that decided; a rollout to 25 percent of devices includes the buckets 0 to 24. Null if no unfinished
    /// rollout decided, and without a client ID.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 99))]
    pub bucket: Option<u8>,
    /// What became of each release, newest first: of the 100 newest, and of the one that is `chosen` or has the `same_contents`.
    #[cfg_attr(feature = "openapi", schema(max_items = 101))]
    pub considered: Vec<ConsideredRelease>,
}

/// Why a device gets an update or none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DecisionReason {
    /// The reason.
    pub code: Reason,
    /// The reason in a sentence for people. Its wording can change.
    pub text: String,
}

/// The answer to an update check, as devices get it on paths in camel case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "they are the wire's members")]
pub struct UpdateInfo {
    /// A signed URL of the download, or `(hidden)` for callers without `deploymentKeys.read`. Empty without an update.
    #[serde(rename = "downloadURL")]
    pub download_url: String,
    /// Release notes; absent if the release has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether there is an update.
    pub is_available: bool,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// The app version of the check. Without an update, the range of the newest release if it is for other app versions, else empty.
    pub app_version: String,
    /// The hash of the update's contents. Empty without an update.
    pub package_hash: String,
    /// The label of the release. Empty without an update.
    pub label: String,
    /// The size of the download in bytes. 0 without an update.
    pub package_size: u64,
    /// Whether the newest release needs another app version, which is not older than the device's.
    pub update_app_version: bool,
    /// Whether no release is for the device's app version, so that it should run the bundle in its binary.
    pub should_run_binary_version: bool,
    /// The same as `appVersion`.
    #[serde(rename = "target_binary_range")]
    pub target_binary_range: String,
}

impl UpdateInfo {
    /// The answer to a device with this request.
    pub fn of(request: &CheckRequest, snapshot: &Snapshot, decision: &Decision<'_>, urls: &DownloadUrls<'_>) -> Self {
        let info = Info::of(request, snapshot, decision, urls);
        Self {
            download_url: info.download_url,
            description: info.description.map(str::to_owned),
            is_available: info.is_available,
            is_mandatory: info.is_mandatory,
            app_version: info.app_version.to_owned(),
            package_hash: info.package_hash.to_owned(),
            label: info.label,
            package_size: info.package_size,
            update_app_version: info.update_app_version,
            should_run_binary_version: info.should_run_binary_version,
            target_binary_range: info.app_version.to_owned(),
        }
    }
}

impl ExplainAnswer {
    /// The answer with this explanation.
    pub fn new(update_info: UpdateInfo, explanation: Explanation<'_>) -> Self {
        let Explanation { decision, text, bucket, considered } = explanation;
        Self { update_info, reason: DecisionReason { code: decision.reason, text }, bucket, considered }
    }
}
