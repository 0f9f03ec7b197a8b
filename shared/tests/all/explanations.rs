//! Explanations: the same decision as the selection's, with a true verdict on every release.

use crate::reference::{any_history, any_request, hash, published, release, request};
use proptest::prelude::*;
use shared::explanation::{Explanation, MAX_CONSIDERED, Verdict};
use shared::keys::Label;
use shared::rollout::bucket;
use shared::select::{CheckRequest, Outcome, Reason, select};
use shared::snapshot::HistoryRelease;
use shared::time::UnixMillis;
use shared::version::Range;
use shared::wire::check::{DownloadUrls, answer, parse_query, parse_query_without_key};
use shared::wire::path::Case;

/// The verdicts, and the texts.
fn explained(newest_first: &[HistoryRelease], request: &CheckRequest) -> (Reason, String, Vec<(String, Verdict, String)>) {
    let snapshot = published(newest_first);
    let explanation = Explanation::of(&snapshot, request);
    let considered = explanation.considered.into_iter().map(|release| (release.label.to_string(), release.verdict, release.text));
    (explanation.decision.reason, explanation.text, considered.collect())
}

/// A client ID in this bucket of the release's rollout.
fn client(label: &str, in_bucket: u8) -> Option<String> {
    (0..10_000).map(|number| format!("client-{number}")).find(|id| bucket(&format!("{id}-{label}")) == in_bucket)
}

fn staged(number: u32, range: &str, percent: u8) -> HistoryRelease {
    HistoryRelease { rollout: Some(percent), ..release(number, range) }
}

#[test]
fn every_verdict_and_its_sentence() {
    let history = [
        HistoryRelease { is_disabled: true, ..release(6, "1.0.0") },
        release(5, "^2.0.0"),
        staged(4, "1.0.0", 25),
        staged(3, "1.0.0", 90),
        HistoryRelease { is_mandatory: true, ..release(2, "1.0.0") },
        release(1, "1.0.0"),
    ];
    let device = CheckRequest { client_id: client("v4", 67), ..request("1.0.0") };
    let (reason, text, considered) = explained(&history, &device);
    let considered: Vec<_> = considered.iter().map(|(label, verdict, text)| (label.as_str(), *verdict, text.as_str())).collect();
    let skips =
        "It is rolled out to 90% of devices. The rollout of v4 does not include the device, which then skips all unfinished rollouts.";
    let expected = [
        ("v6", Verdict::Disabled, "It is disabled."),
        ("v5", Verdict::Version, "It is for app version ^2.0.0, and the device has 1.0.0."),
        ("v4", Verdict::Rollout, "It is rolled out to 25% of devices. It includes buckets below 25, and the device is in bucket 67."),
        ("v3", Verdict::Rollout, skips),
        ("v2", Verdict::Chosen, "The device gets it, as a mandatory update."),
        ("v1", Verdict::Older, "The device gets v2, which is newer."),
    ];
    assert_eq!(considered, expected);
    assert_eq!(reason, Reason::RolloutHeldBack);
    assert_eq!(text, "The rollout of v4 to 25% of devices does not include this device, which is in bucket 67: it gets v2 instead.");

    let on_second = CheckRequest { package_hash: Some(hash(2).to_string()), label: Some("v2".to_owned()), client_id: None, ..device };
    let (reason, text, considered) = explained(&history, &on_second);
    assert_eq!(reason, Reason::NoClientId);
    let expected = "The check has no client ID, so the rollout of v4 to 25% of devices does not include the device: it gets no update.";
    assert_eq!(text, expected);
    assert_eq!(considered[3].2, "It is rolled out to 90% of devices. The check has no client ID, so no rollout includes the device.");
    assert_eq!((considered[4].1, considered[4].2.as_str()), (Verdict::SameContents, "The device already runs its package."));
    assert_eq!(considered[5].2, "The device already runs the package of v2, which is newer.");
}

#[test]
fn releases_behind_the_chosen_one_say_why_the_device_could_not_get_them() {
    let history =
        [release(4, "2.0.0"), HistoryRelease { is_disabled: true, ..release(3, "2.0.0") }, release(2, "1.0.0"), release(1, "^2.0.0")];
    let (_, _, considered) = explained(&history, &request("2.0.0"));
    let considered: Vec<_> = considered.iter().map(|(label, verdict, text)| (label.as_str(), *verdict, text.as_str())).collect();
    let expected = [
        ("v4", Verdict::Chosen, "The device gets it."),
        ("v3", Verdict::Disabled, "It is disabled."),
        ("v2", Verdict::Version, "It is for app version 1.0.0, and the device has 2.0.0."),
        ("v1", Verdict::Older, "The device gets v4, which is newer."),
    ];
    assert_eq!(considered, expected);
    // A companion app ignores target versions.
    let companion = CheckRequest { is_companion: true, ..request("9.0.0") };
    let verdicts: Vec<_> = explained(&history, &companion).2.into_iter().map(|(_, verdict, _)| verdict).collect();
    assert_eq!(verdicts, [Verdict::Chosen, Verdict::Disabled, Verdict::Older, Verdict::Older]);
}

#[test]
fn every_other_reason_and_its_sentence() {
    let one = |release: HistoryRelease| vec![release];
    let on_first = CheckRequest { package_hash: Some(hash(1).to_string()), ..request("1.0.0") };
    let inside = CheckRequest { client_id: client("v1", 24), ..request("1.0.0") };
    let included = "The rollout of v1 to 25% of devices includes this device, which is in bucket 24.";
    for (history, request, expected, sentence) in [
        (vec![], &on_first, Reason::NoReleases, "The deployment has no releases."),
        (
            one(HistoryRelease { is_disabled: true, ..release(1, "1.0.0") }),
            &request("1.0.0"),
            Reason::NothingEnabled,
            "All releases are disabled.",
        ),
        (one(release(1, "1.0.0")), &request("2"), Reason::NoReleaseForVersion, "No enabled release is for app version 2."),
        (
            one(release(1, "1.0.0")),
            &on_first,
            Reason::UpToDate,
            "The device already runs the package of v1, the newest release that it can get.",
        ),
        (one(release(1, "1.0.0")), &request("1.0.0"), Reason::Update, "v1 is the newest release that the device can get."),
        (one(staged(1, "1.0.0", 25)), &inside, Reason::InRollout, included),
    ] {
        let (reason, text, considered) = explained(&history, request);
        assert_eq!((reason, text.as_str(), considered.len()), (expected, sentence, history.len()));
    }
}

#[test]
fn the_bucket_is_that_of_the_rollout_that_decided() {
    let bucket_of = |history: &[HistoryRelease], request: &CheckRequest| Explanation::of(&published(history), request).bucket;
    let history = [staged(3, "2.0.0", 10), staged(2, "1.0.0", 25), release(1, "1.0.0")];
    for number in [24, 25] {
        let device = CheckRequest { client_id: client("v2", number), ..request("1.0.0") };
        assert_eq!(bucket_of(&history, &device), Some(number));
        // A device that has it already.
        assert_eq!(bucket_of(&history, &CheckRequest { package_hash: Some(hash(2).to_string()), ..device.clone() }), Some(number));
        assert_eq!(bucket_of(&history, &CheckRequest { client_id: Some(String::new()), ..device.clone() }), None);
        // No rollout decides: the newest release for the device is for everybody.
        assert_eq!(bucket_of(&[release(4, "1.0.0"), staged(2, "1.0.0", 25)], &device), None);
        assert_eq!(bucket_of(&[staged(3, "2.0.0", 10)], &device), None);
    }
}

#[test]
fn a_long_history_is_cut_but_for_the_release_that_decides() {
    let count = u32::try_from(MAX_CONSIDERED).unwrap() + 50;
    let history: Vec<_> = (1..=count).rev().map(|number| release(number, if number <= 20 { "1.0.0" } else { "2.0.0" })).collect();
    let labels = |version: &str| {
        let considered = explained(&history, &request(version)).2;
        (considered.len(), considered.last().map(|(label, verdict, _)| (label.clone(), *verdict)))
    };
    assert_eq!(labels("1.0.0"), (MAX_CONSIDERED + 1, Some(("v20".to_owned(), Verdict::Chosen))));
    assert_eq!(labels("2.0.0"), (MAX_CONSIDERED, Some(("v51".to_owned(), Verdict::Older))));
    assert_eq!(explained(&[release(2, "*"), release(1, "1.0.0")], &request("2.0.0")).2[1].1, Verdict::Version);
    assert_eq!(labels("3.0.0"), (MAX_CONSIDERED, Some(("v51".to_owned(), Verdict::Version))));
}

#[test]
fn a_query_without_a_key_is_read_as_one_with_it() {
    let key = "deployment-key";
    for rest in ["app_version=1.0.0", "appVersion=1&label=v2&clientUniqueId=a%20b&package_hash=&is_companion=TRUE"] {
        let with = parse_query(&format!("deployment_key={key}&{rest}")).unwrap();
        let query = format!("deploymentKey=&{rest}");
        let without = parse_query_without_key(&query).unwrap();
        assert_eq!(without(with.deployment_key.clone()), with);
    }
    let refused = |query: &str| parse_query_without_key(query).map(drop).unwrap_err().to_string();
    let must_not = "deployment_key: must not be given: the path names the deployment";
    for name in ["deployment_key", "deploymentKey"] {
        assert_eq!(refused(&format!("{name}={key}&appVersion=1")), must_not);
    }
    let all = format!("label: must be given only once; {must_not}; app_version: must be a semantic version, such as 1.0.0");
    assert_eq!(refused("label=v1&label=v1&deploymentKey=x&app_version=one"), all);
    assert_eq!(refused(""), "app_version: is required");
}

/// Asserts what each verdict claims, from the history itself.
fn check(history: &[HistoryRelease], request: &CheckRequest) {
    let snapshot = published(history);
    let explanation = Explanation::of(&snapshot, request);
    let decision = select(&snapshot, request);
    let urls = DownloadUrls { base_url: "https://updates.example", secret: &[7; 32], now: UnixMillis(0) };
    let body = |decision| answer(Case::Camel, request, &snapshot, decision, &urls);
    assert_eq!((explanation.decision.reason, body(&explanation.decision)), (decision.reason, body(&decision)));

    // Every release once, newest first.
    let labels: Vec<Label> = explanation.considered.iter().map(|release| release.label).collect();
    assert_eq!(labels, history.iter().map(|release| release.label).collect::<Vec<_>>());
    let chosen = match &decision.outcome {
        Outcome::Update { release, .. } => vec![release.label],
        Outcome::NoUpdate { .. } => vec![],
    };
    let version = request.app_version.version();
    let mut is_settled = false;
    let mut rollouts = Vec::new();
    for (considered, release) in explanation.considered.iter().zip(history) {
        let is_for_device = request.is_companion || Range::parse(&release.range).is_ok_and(|range| range.satisfies(version));
        let percent = release.rollout.filter(|rollout| *rollout < 100);
        assert_eq!(considered.verdict == Verdict::Older, is_settled && !release.is_disabled && is_for_device, "{considered:?}");
        assert_eq!(considered.verdict == Verdict::Chosen, chosen.contains(&release.label), "{considered:?}");
        let is_true = match considered.verdict {
            Verdict::Chosen | Verdict::SameContents => {
                let is_same = request.package_hash.as_deref() == Some(release.package_hash.as_str());
                is_settled = true;
                !release.is_disabled && is_for_device && is_same == (considered.verdict == Verdict::SameContents)
            }
            Verdict::Disabled => release.is_disabled,
            Verdict::Version => !release.is_disabled && !is_for_device,
            Verdict::Rollout => {
                rollouts.push((release.label, percent));
                !release.is_disabled && is_for_device && percent.is_some()
            }
            Verdict::Older => true,
        };
        assert!(is_true, "{considered:?} of {release:?} for {request:?}");
        assert!(considered.text.ends_with('.'), "{considered:?}");
    }
    // The newest of the skipped rollouts is the one that does not include the device.
    let is_held_back = matches!(decision.reason, Reason::RolloutHeldBack | Reason::NoClientId);
    assert_eq!(is_held_back, !rollouts.is_empty());
    if let (Some((label, percent)), Some(client_id)) = (rollouts.first(), request.client_id()) {
        assert_eq!(explanation.bucket, Some(bucket(&format!("{client_id}-{label}"))));
        assert!(explanation.bucket >= *percent);
    }
    assert!(explanation.text.ends_with('.'), "{}", explanation.text);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_explanation_has_the_same_decision_and_true_verdicts(
        history in any_history(),
        requests in prop::collection::vec(any_request(), 1..5),
    ) {
        for request in requests {
            check(&history, &request);
        }
    }
}
