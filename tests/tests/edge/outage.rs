//! An outage of the control plane.

use serde_json::{Value, json};
use shared::report::Report;
use shared::wire::path::Job;
use shared::wire::report::parse_report;
use tests::Bundle;
use tests::edge::{EdgeApp, EdgeOptions, until_counted};
use tokio::task::JoinSet;
use xtask::edge::Consumer;

const DEPLOY: &str = "/v1/public/svc/report_status/deploy";
const CLIENTS: usize = 500;
const AT_ONCE: usize = 10;

fn counts(number: usize) -> Value {
    json!({ "v1": { "active": number, "downloaded": 0, "installed": number, "failed": 0 } })
}

fn success(key: &str, client: &str) -> Value {
    json!({ "deployment_key": key, "app_version": "1.0.0", "label": "v1", "status": "DeploymentSucceeded", "client_unique_id": client })
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_continue_and_no_report_is_lost_while_the_control_plane_is_down() {
    let mut app = EdgeApp::spawn_with(EdgeOptions::default().with("REPORT_RETRY_BASE_SECONDS", "1")).await;
    let owner = app.control.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    owner.upload("app", "Production", &Bundle::script("first").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.until_offered(&key, "v1").await;

    app.control.stop().await;
    let check = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0");
    assert_eq!(app.anonymous().get(&check).await.assert(200)["update_info"]["label"], "v1");
    let refused = app.anonymous().get("/v1/apps").await;
    refused.refused(503);
    refused.header("retry-after").parse::<u32>().unwrap();

    let mut sending = JoinSet::new();
    for start in 0..AT_ONCE {
        let (client, key) = (app.anonymous(), key.clone());
        sending.spawn(async move {
            for number in (start..CLIENTS).step_by(AT_ONCE) {
                client.post(DEPLOY, success(&key, &format!("client-{number}"))).await.assert(200);
            }
        });
    }
    sending.join_all().await;

    // Each report failed its three deliveries; none has a third delivery twice.
    let third = |event: &Value| event["by_attempt"]["3"].as_u64().unwrap_or(0);
    let retries = app.edge.output.until("reports.retry", |events| events.iter().map(third).sum::<u64>() >= CLIENTS as u64).await;
    for event in &retries {
        let by_attempt = event["by_attempt"].as_object().unwrap();
        assert_eq!(by_attempt.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), event["messages"], "{event}");
        assert_eq!(by_attempt.keys().map(|attempt| attempt.parse::<u64>().unwrap()).max().unwrap(), event["attempts"], "{event}");
    }
    assert_eq!(app.anonymous().get(&check).await.assert(200)["update_info"]["label"], "v1");

    app.control.start().await;
    until_counted(&owner, "app", "Production", &counts(CLIENTS)).await;
    // A repeated report of a counted device changes nothing, one of a new device does: then the queue is empty.
    app.anonymous().post(DEPLOY, success(&key, "client-0")).await.assert(200);
    app.anonymous().post(DEPLOY, success(&key, "one more")).await.assert(200);
    until_counted(&owner, "app", "Production", &counts(CLIENTS + 1)).await;
    assert!(app.edge.dead_letters().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_exhausts_its_retries_becomes_a_complete_dead_letter() {
    let reports = Consumer { max_retries: Some(1), ..Consumer::default() };
    let options = EdgeOptions { reports, ..EdgeOptions::default() };
    let mut app = EdgeApp::spawn_with(options.with("REPORT_RETRY_BASE_SECONDS", "1")).await;
    let owner = app.control.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    owner.upload("app", "Production", &Bundle::script("first").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.until_offered(&key, "v1").await;

    app.control.stop().await;
    let clients = ["plain", "日本-クライアント", "😀 \"quoted\" \\ back", "c", "<&>'"];
    let mut expected = Vec::new();
    for client in clients {
        let body = success(&key, client);
        expected.push(parse_report(Job::DeployReport, body.to_string().as_bytes()).unwrap());
        app.anonymous().post(DEPLOY, body).await.assert(200);
    }
    let parked = app.edge.output.until("reports.parked", |events| events.len() >= clients.len()).await;
    assert!(parked.iter().all(|event| event["why"] == "exhausted"), "{parked:?}");

    let names = app.edge.dead_letters().await;
    assert_eq!(names.len(), clients.len(), "{names:?}");
    for name in names {
        let day = name.strip_prefix("dead-letters/").and_then(|rest| rest.split_once('/')).unwrap().0;
        assert!(day.len() == 10 && day.starts_with("20"), "{name}");
        let text = app.edge.dead_letter(&name).await;
        let report = Report::from_text(&text).unwrap().report;
        let place = expected.iter().position(|known| *known == report).unwrap_or_else(|| panic!("not sent, or stored twice: {text}"));
        expected.remove(place);
    }
    assert!(expected.is_empty(), "{expected:?}");

    // They are kept until they are replayed.
    app.control.start().await;
    app.anonymous().post(DEPLOY, success(&key, "afterwards")).await.assert(200);
    until_counted(&owner, "app", "Production", &counts(1)).await;
    assert_eq!(app.edge.dead_letters().await.len(), clients.len());
}
