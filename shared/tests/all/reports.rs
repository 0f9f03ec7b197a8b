//! Reports as clients post them and as they are queued.

use proptest::prelude::*;
use serde_json::{Value, json};
use shared::FieldErrors;
use shared::ids::ReportId;
use shared::keys::{BinaryVersion, ClientId, DeploymentKey, Label};
use shared::report::{Event, NewReport, Report};
use shared::time::UnixMillis;
use shared::wire::path::Job;
use shared::wire::report::{BatchAnswer, Dropped, REPORT_OK, ReportBatch, parse_report};

const KEY: &str = "deployment-key";

fn read(job: Job, body: &Value) -> Result<NewReport, String> {
    parse_report(job, body.to_string().as_bytes()).map_err(|errors| errors.to_string())
}

fn deploy(body: &Value) -> Result<Event, String> {
    read(Job::DeployReport, body).map(|report| report.event)
}

#[test]
fn a_deploy_report_says_what_runs_or_failed() {
    let label = Label::new(3).unwrap();
    let app_version: BinaryVersion = "1.0".parse().unwrap();
    let cases = [
        (json!({}), Event::Binary { app_version: app_version.clone() }),
        (json!({"status": "DeploymentSucceeded"}), Event::Binary { app_version: app_version.clone() }),
        (json!({"label": "", "status": ""}), Event::Binary { app_version: app_version.clone() }),
        (json!({"label": null, "status": null}), Event::Binary { app_version }),
        (json!({"label": "v3"}), Event::Installed { label }),
        (json!({"label": "v3", "status": "DeploymentSucceeded"}), Event::Installed { label }),
        (json!({"label": "v3", "status": "DeploymentFailed"}), Event::Failed { label }),
    ];
    for (members, expected) in cases {
        for [key, version] in [["deployment_key", "app_version"], ["deploymentKey", "appVersion"]] {
            let mut body = members.clone();
            body[key] = json!(KEY);
            body[version] = json!("1.0");
            body["previous_label_or_app_version"] = json!(7);
            body["something"] = json!({"else": [1]});
            assert_eq!(deploy(&body), Ok(expected.clone()), "{body}");
        }
    }
}

#[test]
fn a_download_report_needs_a_label() {
    let body = json!({"client_unique_id": "device", "deployment_key": " deployment-key ", "label": "v1"});
    let report = read(Job::DownloadReport, &body).unwrap();
    assert_eq!(report.deployment_key.as_str(), KEY);
    assert_eq!(report.client_id.unwrap().as_str(), "device");
    assert_eq!(report.event, Event::Downloaded { label: Label::new(1).unwrap() });
    assert_eq!(read(Job::DownloadReport, &json!({"deploymentKey": KEY})), Err("label: is required".into()));
    assert!(read(Job::DownloadReport, &json!({"deploymentKey": KEY, "label": "v1"})).unwrap().client_id.is_none());
    assert!(read(Job::Check, &body).is_err());
}

#[test]
fn snake_case_wins_over_camel_case() {
    let body = json!({"deployment_key": KEY, "deploymentKey": "another-key", "app_version": "", "appVersion": "2.0"});
    let report = read(Job::DeployReport, &body).unwrap();
    assert_eq!(report.deployment_key.as_str(), KEY);
    assert_eq!(report.event, Event::Binary { app_version: "2.0".parse().unwrap() });
}

#[test]
fn the_error_lists_every_invalid_member() {
    let cases = [
        (json!({}), "deployment_key: is required; app_version: is required"),
        (
            json!({"deployment_key": 1, "clientUniqueId": {}, "app_version": [], "label": true, "status": 2.5}),
            "deployment_key: must be a string; clientUniqueId: must be a string; app_version: must be a string; label: must be a string; status: must be a string",
        ),
        (
            json!({"deployment_key": "short", "client_unique_id": "a\u{0}", "app_version": "1\n", "label": "v0", "status": "Downloaded"}),
            "deployment_key: must be 10 to 100 characters of A-Z a-z 0-9 _ -; client_unique_id: must be 1 to 128 characters without control characters; \
             app_version: must be 1 to 100 characters without control characters; label: must be v followed by a number from 1 to 999999999; \
             status: must be DeploymentSucceeded or DeploymentFailed",
        ),
        (json!({"deployment_key": KEY, "app_version": "1", "status": "DeploymentFailed"}), "label: is required to report a failure"),
        (json!({"deployment_key": KEY, "label": "v1"}), "app_version: is required"),
        (json!({"deployment_key": KEY, "status": "DeploymentFailed"}), "app_version: is required; label: is required to report a failure"),
    ];
    for (body, message) in cases {
        assert_eq!(deploy(&body), Err(message.to_owned()), "{body}");
    }
}

#[test]
fn bodies_that_are_not_objects_are_rejected() {
    for body in ["null", "[]", "\"text\"", "1", "true"] {
        assert_eq!(parse_report(Job::DeployReport, body.as_bytes()), Err(FieldErrors::of("body", "must be a JSON object")));
    }
    for body in ["", "{", "{\"a\":1}x", "\u{feff}{}", "{'a':1}", &"[".repeat(9_000)] {
        assert_eq!(parse_report(Job::DeployReport, body.as_bytes()), Err(FieldErrors::of("body", "is not valid JSON")), "{body:.20}");
    }
    assert!(parse_report(Job::DeployReport, b"{\"a\":\"\xff\"}").is_err());
}

#[test]
fn duplicate_members_are_rejected_at_every_depth() {
    let once = format!(r#"{{"deployment_key":"{KEY}","app_version":"1","deploymentKey":"x","more":[{{"a":1}},{{"a":1}}]}}"#);
    assert!(parse_report(Job::DeployReport, once.as_bytes()).is_ok());
    for twice in [
        format!(r#"{{"deployment_key":"{KEY}","app_version":"1","app_version":"1"}}"#),
        format!(r#"{{"deployment_key":"{KEY}","app_version":"1","more":{{"a":1,"a":1}}}}"#),
        format!(r#"{{"deployment_key":"{KEY}","app_version":"1","more":[[{{"a":1,"b":{{}},"\u0061":2}}]]}}"#),
    ] {
        assert_eq!(parse_report(Job::DeployReport, twice.as_bytes()), Err(FieldErrors::of("body", "must not repeat a member")), "{twice}");
    }
}

fn stamped(event: Event, client_id: Option<&str>) -> Report {
    let received = UnixMillis(1_769_851_800_000);
    let client_id = client_id.and_then(|id| ClientId::try_from(id).ok());
    let deployment_key: DeploymentKey = KEY.parse().unwrap_or_else(|_| DeploymentKey::from_random([0; 32]));
    Report { id: ReportId::v7(received, [0; 10]), received, report: NewReport { deployment_key, client_id, event } }
}

#[test]
fn a_report_is_queued_as_compact_json() {
    let text = stamped(Event::Installed { label: Label::new(3).unwrap() }, Some("device")).to_text();
    assert_eq!(
        text,
        r#"{"id":"019c1363-49c0-7000-8000-000000000000","received":1769851800000,"deploymentKey":"deployment-key","clientId":"device","event":"installed","label":"v3"}"#
    );
    let text = stamped(Event::Binary { app_version: "1.0".parse().unwrap() }, None).to_text();
    assert!(text.ends_with(r#""event":"binary","appVersion":"1.0"}"#), "{text}");
}

#[test]
fn each_element_of_a_batch_is_parsed_on_its_own() {
    let good = stamped(Event::Failed { label: Label::new(3).unwrap() }, None);
    let bodies =
        [good.to_text(), "{}".into(), r#"{"id":"x"}"#.into(), good.to_text().replace("v3", "3"), good.to_text().replace("label", "lable")];
    let batch: ReportBatch = serde_json::from_str(&format!(r#"{{"reports":[{},7]}}"#, bodies.join(","))).unwrap();
    let judged: Vec<_> = batch.reports.into_iter().map(Report::from_value).collect();
    assert_eq!(judged[0], Ok(good));
    assert_eq!(judged.len(), 6);
    assert!(judged.iter().skip(1).all(Result::is_err), "{judged:?}");
}

#[test]
fn the_response_to_a_batch_lists_dropped_reports() {
    let answer = BatchAnswer { accepted: 2, dropped: vec![Dropped { id: "x".into(), reason: "is not a report".into() }] };
    let text = r#"{"accepted":2,"dropped":[{"id":"x","reason":"is not a report"}]}"#;
    assert_eq!(serde_json::to_string(&answer).unwrap(), text);
    assert_eq!(serde_json::from_str::<BatchAnswer>(text).unwrap(), answer);
    assert_eq!(REPORT_OK, r#"{"status":"ok"}"#);
}

fn any_event() -> impl Strategy<Value = Event> {
    let label = (1_u32..1_000_000_000).prop_filter_map("a label", Label::new);
    let version = ".{1,100}".prop_filter_map("a version", |text| BinaryVersion::try_from(text).ok());
    prop_oneof![
        version.prop_map(|app_version| Event::Binary { app_version }),
        label.clone().prop_map(|label| Event::Installed { label }),
        label.clone().prop_map(|label| Event::Failed { label }),
        label.prop_map(|label| Event::Downloaded { label }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_report_survives_a_round_trip(event in any_event(), client in prop::option::of(".{1,128}"), received: i64) {
        let report = Report { received: UnixMillis(received), ..stamped(event, client.as_deref()) };
        prop_assert_eq!(Report::from_text(&report.to_text()), Ok(report.clone()));
        prop_assert_eq!(Report::from_value(serde_json::from_str(&report.to_text()).unwrap()), Ok(report));
    }

    #[test]
    fn no_body_panics(bytes: Vec<u8>, text: String, member in "(label|status|app_version|deploymentKey)", value in "(\"[^\"\\\\]{0,9}\"|[0-9]{1,9}|null|\\{\\}|\\[\\])") {
        let object = format!("{{\"{member}\":{value}}}");
        for job in [Job::DeployReport, Job::DownloadReport] {
            let _ = parse_report(job, &bytes);
            let _ = parse_report(job, text.as_bytes());
            prop_assert!(parse_report(job, object.as_bytes()).is_err());
        }
        let _ = Report::from_text(&text);
        prop_assert!(Report::from_text(&object).is_err());
    }
}
