//! Histories answer as the servers do.

use super::*;

pub(in super::super) fn release(number: u32, range: &str) -> HistoryRelease {
    let hash = PackageHash::of(number.to_string().as_bytes());
    HistoryRelease {
        label: Label::new(number).unwrap(),
        range: range.to_owned(),
        package_hash: hash.clone(),
        is_mandatory: false,
        is_disabled: false,
        rollout: None,
        description: None,
        size: 1_000 + u64::from(number),
        blob: hash,
        diffs: Vec::new(),
    }
}

pub(in super::super) fn request(query: &str) -> Request {
    super::super::check::Check { deployment: 0, path: super::super::check::NEW, query: format!("deployment_key=key-of-production&{query}") }
        .request()
        .unwrap()
}

/// The known faults, as the wire facts have observed them (parts 2.6, 2.7 and 2.9).
#[test]
fn faults_are_those_of_the_reference() {
    let hash = |number: u32| PackageHash::of(number.to_string().as_bytes());
    let mandatory = HistoryRelease { is_mandatory: true, ..release(1, "1.0.0") };
    let mut model = Model::new(vec![release(3, "1.0.0"), release(2, "1.0.0"), mandatory]);
    let query = format!("app_version=1.0.0&package_hash={}", hash(2));
    let mut is_mandatory = |query: &str, faults: &[KnownFault]| model.answer(None, &request(query), faults).unwrap().is_mandatory;
    assert!(!is_mandatory(&query, &[]) && is_mandatory(&query, &[KnownFault::LabelUndefined]));
    assert!(is_mandatory("app_version=1.0.0", &[]) && !is_mandatory("app_version=1.0.0", &[KnownFault::NewIsFound]));
    assert!(!KnownFault::possible(&request(&format!("{query}&label="))).contains(&KnownFault::LabelUndefined));

    // `undefined-v4` is in bucket 27. A device on v3 asks with 1.0: the answer outside the rollout is none.
    let staged = |rollout| HistoryRelease { rollout: Some(rollout), ..release(4, "1.0.0") };
    let asked = request(&format!("app_version=1.0&package_hash={}&label=v3", hash(3)));
    for (rollout, is_available) in [(27, false), (28, true)] {
        let mut model = Model::new(vec![staged(rollout), release(3, "1.0.0")]);
        assert!(!model.answer(None, &asked, &[]).unwrap().is_available);
        let info = model.answer(None, &asked, &[KnownFault::ClientUndefined, KnownFault::ShortVersionLost]).unwrap();
        assert_eq!((info.is_available, info.target.as_str()), (is_available, if is_available { "1.0.0" } else { "" }));
    }
    let fresh = request("app_version=1.0&client_unique_id=e");
    let mut model = Model::new(vec![staged(50), release(3, "1.0.0")]);
    let info = model.answer(None, &fresh, &[KnownFault::ShortVersionLost]).unwrap();
    assert_eq!((info.label.as_str(), info.target.as_str()), ("v4", "1.0"), "the answer outside the rollout has the short version");
}

#[test]
fn a_history_of_the_old_server_keeps_what_decides() {
    let entry = |label: &str, range: &str, rollout| Entry {
        label: Some(label.to_owned()),
        app_version: Some(range.to_owned()),
        rollout,
        package_hash: Some(PackageHash::of(b"x").to_string()),
        ..Entry::default()
    };
    let mut model = Model::of_entries(&[entry("v3", "", Some(0)), entry("v4", "1.0", Some(100)), entry("v7", "no range", Some(25))], &[]);
    let told: Vec<_> = model.releases.iter().map(|release| (release.label.number(), release.range.as_str(), release.rollout)).collect();
    assert_eq!(told, [(7, NO_RANGE, Some(25)), (4, "1.0", None), (3, "*", None)]);
    assert!(!model.fails_at(&request("app_version=1.0.0")), "there is an update");
    assert!(model.fails_at(&request(&format!("app_version=1.0.0&package_hash={}", PackageHash::of(b"x")))));
}
