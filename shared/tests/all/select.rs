//! Devices get the same update as from the reference: the golden table of the wire reference (2.6), and random histories.

use crate::reference::{Answer, answered, any_history, any_request, expected, hash, published, release, request};
use proptest::prelude::*;
use shared::rollout::bucket;
use shared::select::{CheckRequest, Reason};
use shared::snapshot::{DiffSource, HistoryRelease};

/// A history, oldest release first: a range, a colon, then flags: `m` mandatory, `x` disabled, `%25` rollout, `=A` contents.
fn history(oldest_first: &[&str]) -> Vec<HistoryRelease> {
    let mut releases: Vec<_> = oldest_first
        .iter()
        .zip(1..)
        .map(|(entry, number)| {
            let (range, flags) = entry.split_once(':').unwrap_or((entry, ""));
            let mut release = release(number, range);
            for flag in flags.split(' ').filter(|flag| !flag.is_empty()) {
                match flag.split_at(1) {
                    ("m", _) => release.is_mandatory = true,
                    ("x", _) => release.is_disabled = true,
                    ("%", percentage) => release.rollout = percentage.parse().ok(),
                    ("=", contents) => release.package_hash = hash(contents),
                    _ => assert_eq!(flag, "", "unknown flag"),
                }
            }
            release
        })
        .collect();
    releases.reverse();
    releases
}

/// A request from a device on the release with this number.
fn on(app_version: &str, history: &[HistoryRelease], number: u32) -> CheckRequest {
    let release = history.iter().find(|release| release.label.number() == number);
    CheckRequest {
        label: Some(format!("v{number}")),
        package_hash: release.map(|release| release.package_hash.to_string()),
        ..request(app_version)
    }
}

/// The answer, after asserting that `shared` and the model agree.
fn ask(history: &[HistoryRelease], request: &CheckRequest) -> (Answer, Reason) {
    let (answer, reason) = answered(&published(history), request);
    assert_eq!(answer, expected(history, request), "{request:?}");
    (answer, reason)
}

/// Asserts an update to `label` that echoes the sent version.
fn updates(history: &[HistoryRelease], request: &CheckRequest, label: &str, is_mandatory: bool) -> (Answer, Reason) {
    let (answer, reason) = ask(history, request);
    let expected = (true, label, is_mandatory, request.app_version.sent(), false, false);
    let Answer { is_available, is_mandatory, app_version, should_run_binary_version, update_app_version, .. } = &answer;
    let actual =
        (*is_available, answer.label.as_str(), *is_mandatory, app_version.as_str(), *should_run_binary_version, *update_app_version);
    assert_eq!(actual, expected, "{request:?}");
    (answer, reason)
}

/// Asserts that there is no update, with these hints.
fn stays(history: &[HistoryRelease], request: &CheckRequest, runs_binary: bool, update_app: bool, app_version: &str) -> Reason {
    let (answer, reason) = ask(history, request);
    let expected = Answer {
        should_run_binary_version: runs_binary,
        update_app_version: update_app,
        app_version: app_version.to_owned(),
        description: Some(String::new()),
        ..Answer::default()
    };
    assert_eq!(answer, expected, "{request:?}");
    reason
}

#[test]
fn an_empty_history_has_no_update() {
    assert_eq!(stays(&[], &request("1.0.0"), true, false, ""), Reason::NoReleases);
}

#[test]
fn ranges_decide_which_versions_get_a_release() {
    for (range, version) in
        [("^1.2.0", "1.3.0"), ("1.2", "1.2.7"), ("1.2.x", "1.2.9"), ("1", "1.9.9"), ("1.2 - 1.4", "1.4.9"), ("1.0.0", "1.0.0+abc")]
    {
        assert_eq!(updates(&history(&[range]), &request(version), "v1", false).1, Reason::Update);
    }
    assert_eq!(stays(&history(&["*"]), &request("1.0.0-beta"), true, true, "*"), Reason::NoReleaseForVersion);
    stays(&history(&[">=1.2.3 <1.2.7"]), &request("1.2.7"), true, false, ">=1.2.3 <1.2.7");
    stays(&history(&["1.0.0"]), &request("2.0.0"), true, false, "1.0.0");
    stays(&history(&["2.0.0"]), &request("1.0.0"), true, true, "2.0.0");
}

#[test]
fn a_release_for_a_newer_app_version_asks_for_that_version() {
    let history = history(&["1.0.0", "2.0.0"]);
    updates(&history, &request("1.0.0"), "v1", false);
    assert_eq!(stays(&history, &on("1.0.0", &history, 1), false, true, "2.0.0"), Reason::UpToDate);
}

#[test]
fn a_disabled_release_is_ignored() {
    assert_eq!(stays(&history(&["1.0.0:x"]), &request("1.0.0"), true, false, ""), Reason::NothingEnabled);
    let history = history(&["1.0.0", "1.0.0:x"]);
    updates(&history, &on("1.0.0", &history, 2), "v1", false);
}

#[test]
fn a_mandatory_release_in_between_makes_the_update_mandatory() {
    let history_of_three = history(&["1.0.0", "1.0.0:m", "1.0.0"]);
    updates(&history_of_three, &on("1.0.0", &history_of_three, 1), "v3", true);
    updates(&history_of_three, &on("1.0.0", &history_of_three, 2), "v3", false);
    let disabled = history(&["1.0.0", "1.0.0:m x", "1.0.0"]);
    updates(&disabled, &on("1.0.0", &disabled, 1), "v3", false);
    let other_version = history(&["1.0.0", "2.0.0:m", "1.0.0"]);
    updates(&other_version, &on("1.0.0", &other_version, 1), "v3", false);
}

#[test]
fn any_mandatory_release_makes_the_first_update_mandatory() {
    let history = history(&["1.0.0:m", "1.0.0"]);
    let unknown = CheckRequest { label: Some("v9".into()), package_hash: Some(hash("unknown").to_string()), ..request("1.0.0") };
    updates(&history, &unknown, "v2", true);
    updates(&history, &request("1.0.0"), "v2", true);
    let empty = CheckRequest { label: Some(String::new()), package_hash: Some(String::new()), ..request("1.0.0") };
    updates(&history, &empty, "v2", true);
}

#[test]
fn a_device_is_recognized_by_its_hash_alone() {
    let history = history(&["1.0.0:m", "1.0.0"]);
    let only_hash = |number| CheckRequest { label: None, ..on("1.0.0", &history, number) };
    updates(&history, &only_hash(1), "v2", false);
    stays(&history, &only_hash(2), false, false, "");
    // A hash does not make up for a wrong label.
    updates(&history, &CheckRequest { label: Some("v7".into()), ..only_hash(1) }, "v2", true);
    // A label alone identifies the release, but only a hash shows that the device is up to date.
    updates(&history, &CheckRequest { package_hash: None, ..on("1.0.0", &history, 2) }, "v2", false);
}

#[test]
fn a_rollback_to_contents_that_the_device_has_is_no_update() {
    let history = history(&["1.0.0:=A", "1.0.0:=B", "1.0.0:=A"]);
    updates(&history, &on("1.0.0", &history, 2), "v3", false);
    assert_eq!(stays(&history, &on("1.0.0", &history, 1), false, false, ""), Reason::UpToDate);
}

/// A client ID inside or outside the first 25 percent for a label.
fn client(label: &str, is_in: bool) -> Option<String> {
    (0..1_000).map(|number| format!("client-{number}")).find(|id| (bucket(&format!("{id}-{label}")) < 25) == is_in)
}

#[test]
fn an_unfinished_rollout_reaches_only_selected_devices() {
    let both = history(&["1.0.0", "1.0.0:%25"]);
    let on_first = on("1.0.0", &both, 1);
    assert_eq!(stays(&both, &on_first, false, false, ""), Reason::NoClientId);
    let outside = CheckRequest { client_id: client("v2", false), ..on_first.clone() };
    assert_eq!(stays(&both, &outside, false, false, ""), Reason::RolloutHeldBack);
    let inside = CheckRequest { client_id: client("v2", true), ..on_first };
    assert_eq!(updates(&both, &inside, "v2", false).1, Reason::InRollout);
    // A device that already runs it is not moved back.
    assert_eq!(stays(&both, &on("1.0.0", &both, 2), false, false, ""), Reason::UpToDate);

    let only = history(&["1.0.0:%25"]);
    assert_eq!(stays(&only, &request("1.0.0"), true, false, ""), Reason::NoClientId);
    updates(&only, &CheckRequest { client_id: client("v1", true), ..request("1.0.0") }, "v1", false);

    let other_version = history(&["1.0.0", "2.0.0:%25"]);
    assert_eq!(updates(&other_version, &request("1.0.0"), "v1", false).1, Reason::Update);
}

#[test]
fn the_version_is_echoed_as_sent_during_a_rollout() {
    let history = history(&["1.0.0", "1.0.0:%25"]);
    let inside = CheckRequest { client_id: client("v2", true), ..on("1.0", &history, 1) };
    assert_eq!(updates(&history, &inside, "v2", false).0.app_version, "1.0");
    updates(&history, &request("1"), "v1", false);
    updates(&history, &request("v1.0.0"), "v1", false);
}

#[test]
fn a_device_with_the_source_package_gets_the_diff() {
    let mut history = history(&["1.0.0", "1.0.0"]);
    history[0].diffs = vec![DiffSource { source_hash: hash(1), blob: hash("diff"), size: 12 }];
    let (answer, _) = updates(&history, &on("1.0.0", &history, 1), "v2", false);
    assert_eq!((answer.blob, answer.size), (hash("diff").to_string(), 12));
    let (answer, _) = updates(&history, &request("1.0.0"), "v2", false);
    assert_eq!((answer.blob, answer.size), (history[0].blob.to_string(), 1_002));
}

#[test]
fn a_companion_app_accepts_releases_for_any_version() {
    let companion = CheckRequest { is_companion: true, ..request("9.9.9") };
    updates(&history(&["1.0.0"]), &companion, "v1", false);
}

#[test]
fn a_shadowed_mandatory_rollout_forces_no_update_outside_rollouts() {
    // The scan without unfinished rollouts skips v2, although v3 shadows it and it has the short form.
    let history = history(&["1.0.0", "1.0.0:m %25", "1.0.0", "1.0.0:%25"]);
    let on_first = on("1.0.0", &history, 1);
    updates(&history, &on_first, "v3", false);
    updates(&history, &CheckRequest { client_id: client("v4", true), ..on_first }, "v4", true);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_device_gets_the_same_update_as_from_the_reference(
        history in any_history(),
        requests in prop::collection::vec(any_request(), 1..5),
    ) {
        let snapshot = published(&history);
        for request in requests {
            let (answer, reason) = answered(&snapshot, &request);
            prop_assert_eq!(&answer, &expected(&history, &request), "{:?}", request);
            let may_update = matches!(reason, Reason::Update | Reason::InRollout | Reason::RolloutHeldBack | Reason::NoClientId);
            prop_assert!(may_update || !answer.is_available, "{:?} with an update", reason);
        }
    }
}
