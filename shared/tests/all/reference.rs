//! A model of the selection, transcribed line by line from the wire reference (2.1 to 2.7), and a function that reads a decision of `shared` in the
//! same terms. It is naive on purpose, because tests compare the real selection with it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use proptest::sample::select as one_of;
use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::{AppId, DeploymentId};
use shared::keys::{DeploymentKey, Label};
use shared::select::{CheckRequest, Outcome, Reason, select};
use shared::snapshot::{DiffSource, HistoryRelease, Snapshot, SnapshotHeader};
use shared::time::UnixMillis;
use shared::version::{AppVersion, Range, gtr};
use shared::wire::check::{DownloadUrls, answer};
use shared::wire::path::Case;

/// An answer, from the model or from `shared`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are the wire's members")]
pub(crate) struct Answer {
    pub(crate) is_available: bool,
    pub(crate) is_mandatory: bool,
    pub(crate) label: String,
    pub(crate) package_hash: String,
    pub(crate) description: Option<String>,
    pub(crate) blob: String,
    pub(crate) size: u64,
    pub(crate) app_version: String,
    pub(crate) should_run_binary_version: bool,
    pub(crate) update_app_version: bool,
}

/// Wire 2.2: one scan over the history. The second value is the rollout of the chosen release.
fn scan(newest_first: &[HistoryRelease], request: &CheckRequest, ignore_rollouts: bool) -> (Answer, Option<u8>) {
    let mut result = Answer { description: Some(String::new()), ..Answer::default() };
    let version = request.app_version.version();
    let label = request.label.as_deref().filter(|label| !label.is_empty());
    let hash = request.package_hash.as_deref().filter(|hash| !hash.is_empty());
    let satisfies = |release: &HistoryRelease| Range::parse(&release.range).unwrap().satisfies(version);

    if newest_first.is_empty() {
        result.should_run_binary_version = true;
        return (result, None);
    }
    let mut found = false;
    let mut latest_satisfying: Option<&HistoryRelease> = None;
    let mut latest_enabled: Option<&HistoryRelease> = None;
    let mut force = false;
    for release in newest_first {
        // Without `(!label && !hash)`: a new device is on no release.
        found = found
            || (label.is_some() && label == Some(release.label.to_string().as_str()))
            || (label.is_none() && hash.is_some() && hash == Some(release.package_hash.as_str()));
        if release.is_disabled || (ignore_rollouts && is_unfinished(release.rollout)) {
            continue;
        }
        latest_enabled = latest_enabled.or(Some(release));
        if !request.is_companion && !satisfies(release) {
            continue;
        }
        latest_satisfying = latest_satisfying.or(Some(release));
        if found {
            break;
        }
        if release.is_mandatory {
            force = true;
            break;
        }
    }
    result.should_run_binary_version = latest_satisfying.is_none();
    let Some(enabled) = latest_enabled else { return (result, None) };
    let Some(chosen) = latest_satisfying.filter(|release| hash != Some(release.package_hash.as_str())) else {
        if gtr(version, &Range::parse(&enabled.range).unwrap()) {
            result.app_version.clone_from(&enabled.range);
        } else if !satisfies(enabled) {
            result.update_app_version = true;
            result.app_version.clone_from(&enabled.range);
        }
        return (result, None);
    };
    let diff = chosen.diffs.iter().find(|diff| hash == Some(diff.source_hash.as_str()));
    result.is_available = true;
    result.is_mandatory = force || chosen.is_mandatory;
    result.label = chosen.label.to_string();
    result.package_hash = chosen.package_hash.to_string();
    result.description.clone_from(&chosen.description);
    result.blob = diff.map_or(&chosen.blob, |diff| &diff.blob).to_string();
    result.size = diff.map_or(chosen.size, |diff| diff.size);
    // 2.1: the version as sent, for both packages.
    request.app_version.sent().clone_into(&mut result.app_version);
    (result, chosen.rollout)
}

fn is_unfinished(rollout: Option<u8>) -> bool {
    rollout.is_some_and(|rollout| rollout != 0 && rollout != 100)
}

/// Wire 2.3 and 2.7.
pub(crate) fn expected(newest_first: &[HistoryRelease], request: &CheckRequest) -> Answer {
    let (newest, rollout) = scan(newest_first, request, false);
    if !is_unfinished(rollout) {
        return newest;
    }
    let client = request.client_id.as_deref().filter(|client| !client.is_empty());
    if client.is_some_and(|client| bucket(&format!("{client}-{}", newest.label)) < i64::from(rollout.unwrap())) {
        return newest;
    }
    scan(newest_first, request, true).0
}

fn bucket(identifier: &str) -> i64 {
    let mut hash = 0_i64;
    for unit in identifier.encode_utf16() {
        // `h << 5` in JavaScript: on the low 32 bits, as a signed number.
        let low = (hash & 0xffff_ffff) << 5 & 0xffff_ffff;
        let shifted = if low >= 1 << 31 { low - (1 << 32) } else { low };
        hash = shifted - hash + i64::from(unit);
    }
    hash.abs() % 100
}

pub(crate) fn header() -> SnapshotHeader {
    let created = UnixMillis(1_769_851_800_000);
    SnapshotHeader { deployment: DeploymentId::v7(created, [1; 10]), app: AppId::v7(created, [2; 10]), version: 5, created }
}

/// The snapshot of a history, as parsed by the edge.
pub(crate) fn published(newest_first: &[HistoryRelease]) -> Snapshot {
    let text = Snapshot::publish(&header(), newest_first).unwrap();
    Snapshot::parse(text.as_bytes()).unwrap()
}

/// The answer of `shared`, parsed from the JSON of both dialects.
pub(crate) fn answered(snapshot: &Snapshot, request: &CheckRequest) -> (Answer, Reason) {
    let decision = select(snapshot, request);
    if let Outcome::Update { release, .. } = &decision.outcome {
        assert!(!release.is_disabled, "a disabled release was offered");
    }
    let urls = DownloadUrls { base_url: "https://updates.example", secret: &[7; 32], now: UnixMillis(0) };
    let read = |case: Case| {
        let (outer, names) = match case {
            Case::Snake => ("update_info", SNAKE),
            Case::Camel => ("updateInfo", CAMEL),
        };
        let body: serde_json::Value = serde_json::from_str(&answer(case, request, snapshot, &decision, &urls)).unwrap();
        let info = body.get(outer).unwrap();
        let member = |index: usize| info.get(names.get(index).unwrap()).unwrap();
        let text = |index: usize| member(index).as_str().unwrap().to_owned();
        let flag = |index: usize| member(index).as_bool().unwrap();
        assert_eq!(info.get("target_binary_range"), Some(member(5)));
        let url = text(0);
        let blob = url.strip_prefix("https://updates.example/v1/public/svc/bundles/").and_then(|rest| rest.split_once('?'));
        Answer {
            is_available: flag(1),
            is_mandatory: flag(2),
            label: text(3),
            package_hash: text(4),
            description: info.get("description").map(|description| description.as_str().unwrap().to_owned()),
            blob: blob.map(|(blob, _)| BlobKey::from_encoded(blob).unwrap().sha256.to_string()).unwrap_or_default(),
            size: member(6).as_u64().unwrap(),
            app_version: text(5),
            should_run_binary_version: flag(7),
            update_app_version: flag(8),
        }
    };
    let snake = read(Case::Snake);
    assert_eq!(snake, read(Case::Camel), "the dialects differ");
    (snake, decision.reason)
}

const SNAKE: [&str; 9] = [
    "download_url",
    "is_available",
    "is_mandatory",
    "label",
    "package_hash",
    "app_version",
    "package_size",
    "should_run_binary_version",
    "update_app_version",
];
const CAMEL: [&str; 9] = [
    "downloadURL",
    "isAvailable",
    "isMandatory",
    "label",
    "packageHash",
    "appVersion",
    "packageSize",
    "shouldRunBinaryVersion",
    "updateAppVersion",
];

/// The hash of a package, named by a letter or a number.
pub(crate) fn hash(name: impl std::fmt::Display) -> Sha256Hex {
    Sha256Hex::of(format!("package {name}").as_bytes())
}

pub(crate) fn release(number: u32, range: &str) -> HistoryRelease {
    HistoryRelease {
        label: Label::new(number).unwrap(),
        range: range.to_owned(),
        package_hash: hash(number),
        is_mandatory: false,
        is_disabled: false,
        rollout: None,
        description: Some(format!("notes of v{number}")),
        size: 1_000 + u64::from(number),
        blob: Sha256Hex::of(format!("blob {number}").as_bytes()),
        diffs: Vec::new(),
    }
}

pub(crate) fn request(app_version: &str) -> CheckRequest {
    CheckRequest {
        deployment_key: DeploymentKey::try_from("deployment-key").unwrap(),
        app_version: AppVersion::parse(app_version).unwrap(),
        package_hash: None,
        label: None,
        client_id: None,
        is_companion: false,
    }
}

const RANGES: [&str; 10] = ["1.0.0", "^1.0.0", "*", "1.x || 2.x", ">=1.2.3 <1.2.7", "1.0.0-beta", "2.0.0", "~1.2.0-rc.1", "", ">2 <1"];
const VERSIONS: [&str; 12] =
    ["1", "1.0", "1.0.0", "v1.0.0", "1.0.0+abc", "1.2.5", "1.2.7", "2.0.0", "9.9.9", "1.0.0-beta", "1.2.0-rc.2", "0.9.0"];

prop_compose! {
    /// Any release; the caller sets the label.
    fn any_release()(
        range in one_of(&RANGES),
        package in 0_u32..7,
        is_mandatory in prop::bool::weighted(0.3),
        is_disabled in prop::bool::weighted(0.25),
        rollout in prop_oneof![4 => Just(None), 3 => (1_u8..=100).prop_map(Some)],
        description in prop_oneof![Just(None), Just(Some(String::new())), ".{0,9}".prop_map(Some)],
        is_single_file: bool,
        diffs in prop::collection::btree_set(0_u32..7, 0..3),
    ) -> HistoryRelease {
        let mut release = release(1, range);
        release.package_hash = hash(package);
        if is_single_file {
            release.blob = hash(package);
        }
        release.diffs = diffs
            .into_iter()
            .map(|source| DiffSource { source_hash: hash(source), blob: hash(format!("diff {source}")), size: u64::from(source) })
            .collect();
        HistoryRelease { is_mandatory, is_disabled, rollout, description, ..release }
    }
}

/// Up to 14 releases, newest first. Some labels are missing, as after clearing the history.
pub(crate) fn any_history() -> impl Strategy<Value = Vec<HistoryRelease>> {
    prop::collection::vec((any_release(), 1_u32..3), 0..14).prop_map(|entries| {
        let mut number = 0;
        let mut history: Vec<_> = entries
            .into_iter()
            .map(|(release, step)| {
                number += step;
                HistoryRelease { label: Label::new(number).unwrap(), ..release }
            })
            .collect();
        history.reverse();
        history
    })
}

prop_compose! {
    /// Any device: new, or identified by hash, by label or by both, with and without a client ID.
    pub(crate) fn any_request()(
        version in one_of(&VERSIONS),
        package_hash in prop_oneof![
            3 => Just(None),
            1 => Just(Some(String::new())),
            1 => Just(Some("of the binary".to_owned())),
            7 => (0_u32..7).prop_map(|package| Some(hash(package).to_string())),
        ],
        label in prop_oneof![
            4 => Just(None),
            1 => Just(Some(String::new())),
            1 => Just(Some("V1".to_owned())),
            6 => (1_u32..24).prop_map(|number| Some(format!("v{number}"))),
        ],
        client_id in prop_oneof![2 => Just(None), 1 => Just(Some(String::new())), 7 => ".{1,12}".prop_map(Some)],
        is_companion in prop::bool::weighted(0.1),
    ) -> CheckRequest {
        CheckRequest { package_hash, label, client_id, is_companion, ..request(version) }
    }
}
