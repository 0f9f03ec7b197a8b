//! Update checks as clients send them, and the exact bytes of the responses.

use crate::reference::{any_history, any_request, hash, header, published, release, request};
use proptest::prelude::*;
use shared::select::{CheckRequest, Decision, Outcome, Reason, select};
use shared::time::UnixMillis;
use shared::wire::check::{DownloadUrls, answer, parse_query};
use shared::wire::path::Case;

const URLS: DownloadUrls<'_> =
    DownloadUrls { base_url: "https://updates.example", secret: b"a secret of at least 32 characters", now: UnixMillis(0) };

#[test]
fn queries_are_accepted_in_either_case() {
    let expected = CheckRequest {
        package_hash: Some("abc".into()),
        label: Some("v3".into()),
        client_id: Some("Ada's phone".into()),
        is_companion: true,
        ..request("1.0")
    };
    let snake = "deployment_key=deployment-key&app_version=1.0&package_hash=abc&label=v3&client_unique_id=Ada%27s+phone&is_companion=true";
    assert_eq!(parse_query(snake).as_ref(), Ok(&expected));
    let camel = "deploymentKey=deployment-key&appVersion=1.0&packageHash=abc&label=v3&clientUniqueId=Ada's%20phone&isCompanion=True&more=1";
    assert_eq!(parse_query(camel).as_ref(), Ok(&expected));
}

#[test]
fn empty_parameters_count_as_absent() {
    let query = "deploymentKey=deployment-key&appVersion=1.0.0&packageHash=&isCompanion=&label=&clientUniqueId=";
    assert_eq!(parse_query(query), Ok(request("1.0.0")));
    assert!(!parse_query("deploymentKey=deployment-key&appVersion=1.0.0&isCompanion=false").unwrap().is_companion);
}

#[test]
fn snake_case_wins_and_duplicates_are_refused() {
    let read = parse_query("appVersion=3.0.0&app_version=1.0.0&deployment_key=&deploymentKey=deployment-key&more=1&more=2").unwrap();
    assert_eq!(read, request("1.0.0"));
    for (query, name) in [
        ("app_version=2.0.0", "app_version"),
        ("app_version=", "app_version"),
        ("label=v1&label=v1", "label"),
        ("isCompanion&isCompanion", "is_companion"),
    ] {
        let query = format!("app_version=1.0.0&deployment_key=deployment-key&{query}");
        assert_eq!(parse_query(&query).unwrap_err().to_string(), format!("{name}: must be given only once"), "{query}");
    }
}

#[test]
fn whitespace_around_a_deployment_key_is_trimmed() {
    assert_eq!(parse_query("deployment_key=%20deployment-key%0A&app_version=1.0.0"), Ok(request("1.0.0")));
}

#[test]
fn the_error_lists_every_invalid_parameter() {
    let key = "deployment_key: must be 10 to 100 characters of A-Z a-z 0-9 _ -";
    let version = "app_version: must be a semantic version, such as 1.0.0";
    let cases = [
        ("", "deployment_key: is required; app_version: is required".to_owned()),
        ("deployment_key=short&app_version=1.2.3.4", format!("{key}; {version}")),
        ("deployment_key=deployment-key&app_version=x", version.to_owned()),
        ("deployment_key=deployment+key&app_version=1", key.to_owned()),
    ];
    for (query, message) in cases {
        assert_eq!(parse_query(query).map_err(|errors| errors.to_string()), Err(message.clone()), "{query}");
    }
}

fn answers(history: &[shared::snapshot::HistoryRelease], request: &CheckRequest) -> [String; 2] {
    let snapshot = published(history);
    let decision = select(&snapshot, request);
    [Case::Snake, Case::Camel].map(|case| answer(case, request, &snapshot, &decision, &URLS))
}

#[test]
fn a_response_without_update_has_exactly_the_members_of_the_reference() {
    let [snake, camel] = answers(&[release(1, "1.0.0")], &CheckRequest { package_hash: Some(hash(1).to_string()), ..request("1.0") });
    assert_eq!(
        snake,
        r#"{"update_info":{"download_url":"","description":"","is_available":false,"is_mandatory":false,"app_version":"","package_hash":"","label":"","package_size":0,"update_app_version":false,"should_run_binary_version":false,"target_binary_range":""}}"#
    );
    assert_eq!(
        camel,
        r#"{"updateInfo":{"downloadURL":"","description":"","isAvailable":false,"isMandatory":false,"appVersion":"","packageHash":"","label":"","packageSize":0,"updateAppVersion":false,"shouldRunBinaryVersion":false,"target_binary_range":""}}"#
    );
}

#[test]
fn a_response_with_update_has_exactly_the_members_of_the_reference() {
    let mut newest = release(3, "1.0.0");
    newest.is_mandatory = true;
    let blob = shared::hash::BlobKey { app: header().app, sha256: newest.blob.clone() };
    let url = shared::signature::download_url(&URLS, &blob);
    let hash = newest.package_hash.clone();
    let [snake, camel] = answers(&[newest.clone()], &request("1.0"));
    assert_eq!(
        snake,
        format!(
            r#"{{"update_info":{{"download_url":"{url}","description":"notes of v3","is_available":true,"is_mandatory":true,"app_version":"1.0","package_hash":"{hash}","label":"v3","package_size":1003,"update_app_version":false,"should_run_binary_version":false,"target_binary_range":"1.0"}}}}"#
        )
    );
    newest.description = None;
    let [_, without_description] = answers(&[newest], &request("1.0"));
    assert_eq!(
        without_description,
        format!(
            r#"{{"updateInfo":{{"downloadURL":"{url}","isAvailable":true,"isMandatory":true,"appVersion":"1.0","packageHash":"{hash}","label":"v3","packageSize":1003,"updateAppVersion":false,"shouldRunBinaryVersion":false,"target_binary_range":"1.0"}}}}"#
        )
    );
    assert_eq!(camel, without_description.replace(r#""isAvailable""#, r#""description":"notes of v3","isAvailable""#));
}

#[test]
fn a_device_outside_the_range_is_told_the_range() {
    let [snake, _] = answers(&[release(1, "^2.0")], &request("1.0"));
    assert!(snake.contains(r#""app_version":"^2.0""#) && snake.contains(r#""target_binary_range":"^2.0""#), "{snake}");
}

#[test]
fn strings_are_escaped() {
    let outcome = Outcome::NoUpdate { should_run_binary_version: true, update_app_version: false, app_version: "\"\\\n" };
    let decision = Decision { outcome, reason: Reason::NoReleases };
    let body = answer(Case::Snake, &request("1"), &published(&[]), &decision, &URLS);
    assert!(body.contains(r#""app_version":"\"\\\n""#), "{body}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_query_panics(query in prop_oneof![any::<String>(), "((app_version|label|deploymentKey|%|&|=|%zz|\\+|%ff|v1|1.0){1,3}[=&]){0,5}"]) {
        let _ = parse_query(&query);
    }

    #[test]
    fn every_response_is_json(history in any_history(), request in any_request()) {
        for body in answers(&history, &request) {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&body).is_ok(), "{}", body);
        }
    }
}
