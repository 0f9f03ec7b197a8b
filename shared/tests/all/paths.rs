//! The acquisition paths and their response headers.

use proptest::prelude::*;
use shared::wire::headers;
use shared::wire::path::{Case, Job, all, endpoint};
use shared::wire::problem::Problem;
use std::collections::HashSet;

#[test]
fn every_acquisition_path_is_known_with_and_without_a_version_prefix() {
    let paths = [
        ("/v1/public/svc/update_check", Job::Check, Case::Snake),
        ("/v1/public/svc/report_status/deploy", Job::DeployReport, Case::Snake),
        ("/v1/public/svc/report_status/download", Job::DownloadReport, Case::Snake),
        ("/updateCheck", Job::Check, Case::Camel),
        ("/reportStatus/deploy", Job::DeployReport, Case::Camel),
        ("/reportStatus/download", Job::DownloadReport, Case::Camel),
        ("/v0.1/public/svc/update_check", Job::Check, Case::Snake),
        ("/v0.1/public/svc/report_status/deploy", Job::DeployReport, Case::Snake),
        ("/v0.1/public/svc/report_status/download", Job::DownloadReport, Case::Snake),
        ("/v1/public/codepush/update_check", Job::Check, Case::Snake),
        ("/v0.1/public/codepush/update_check", Job::Check, Case::Snake),
        ("/v0.1/public/codepush/report_status/deploy", Job::DeployReport, Case::Snake),
        ("/v1/public/codepush/report_status/download", Job::DownloadReport, Case::Snake),
        ("/v0.1/legacy/updateCheck", Job::Check, Case::Camel),
        ("/v0.1/legacy/reportStatus/deploy", Job::DeployReport, Case::Camel),
        ("/v0.1/legacy/reportStatus/download", Job::DownloadReport, Case::Camel),
    ];
    for (path, job, case) in paths {
        for path in [path.to_owned(), format!("/v1{path}"), format!("{path}/"), format!("/v1{path}//")] {
            let found = endpoint(&path).unwrap();
            assert_eq!((found.job, found.case), (job, case), "{path}");
            assert_eq!(found.successor.is_some(), path.contains("/v0.1/public/svc/"), "{path}");
        }
    }
}

#[test]
fn other_paths_are_not_acquisition_paths() {
    for path in [
        "",
        "/",
        "/v1",
        "/v1/",
        "/v1/public/svc/updateCheck",
        "/update_check",
        "/v1/v1/updateCheck",
        "/v2/updateCheck",
        "/v0.1/legacy/update_check",
        "/updatecheck",
        "//updateCheck",
        "/v1updateCheck",
        "/updateCheck?x",
        "/v1/public/svc/report_status",
    ] {
        assert_eq!(endpoint(path), None, "{path}");
    }
}

#[test]
fn the_table_lists_each_path_once_with_its_endpoint() {
    let table = all();
    assert_eq!(table.len(), 36);
    assert_eq!(table.iter().map(|(path, _)| path).collect::<HashSet<_>>().len(), 36);
    for (path, listed) in table {
        assert_eq!(endpoint(&path), Some(listed), "{path}");
    }
}

#[test]
fn a_deprecated_path_names_its_successor() {
    let headers = headers::acquisition(&endpoint("/v0.1/public/svc/report_status/deploy").unwrap());
    assert!(headers.contains(&("Deprecation", "true".into())));
    assert!(headers.contains(&("Link", "</v1/public/svc/report_status/deploy>; rel=\"successor-version\"".into())));
    let canonical = headers::acquisition(&endpoint("/v1/public/svc/update_check").unwrap());
    assert!(canonical.iter().all(|(name, _)| !["Deprecation", "Link"].contains(name)));
}

#[test]
fn web_views_may_read_responses_and_responses_are_never_cached() {
    let headers = headers::acquisition(&endpoint("/updateCheck").unwrap());
    let expected = [
        ("Content-Type", "application/json"),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Access-Control-Allow-Origin", "*"),
        ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
        ("Access-Control-Allow-Headers", "Content-Type, Accept, X-CodePush-Plugin-Name, X-CodePush-Plugin-Version, X-CodePush-SDK-Version"),
        ("Access-Control-Expose-Headers", "X-Request-Id"),
        ("Access-Control-Max-Age", "86400"),
    ];
    assert_eq!(headers, expected.map(|(name, value)| (name, value.to_owned())));
    assert!(headers::preflight("POST, OPTIONS").contains(&("Access-Control-Allow-Methods", "POST, OPTIONS".into())));
    let kept = |expires_in: i64| {
        headers::bundle(expires_in).into_iter().filter(|(name, _)| *name == "Cache-Control").map(|(_, value)| value).collect::<Vec<_>>()
    };
    assert_eq!(kept(90_000_000), ["public, max-age=86400, immutable, no-transform"]);
    // Never past the expiration of the URL.
    assert_eq!(kept(59_999), ["public, max-age=59, immutable, no-transform"]);
    assert_eq!(kept(0), ["public, max-age=0, immutable, no-transform"]);
}

#[test]
fn an_error_has_the_members_of_the_envelope_and_no_others() {
    let problem = Problem { error: "app \"x\" was not found", request_id: "id", code: None, retry_after_seconds: None };
    assert_eq!(problem.to_json(), r#"{"error":"app \"x\" was not found","requestId":"id"}"#);
    let problem = Problem { error: "wait", request_id: "id", code: Some("slow"), retry_after_seconds: Some(3) };
    assert_eq!(problem.to_json(), r#"{"error":"wait","requestId":"id","code":"slow","retryAfterSeconds":3}"#);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_path_panics(path in prop_oneof![any::<String>(), "(/v1|/v0.1|/public|/svc|/updateCheck|/legacy|/){0,6}"]) {
        let _ = endpoint(&path);
    }
}
