//! `updraft-control import compare`: both servers are asked the same, and each difference has its reason.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, header};
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use tests::cli::Cli;
use tests::old_server::OldServer;
use tests::program::{self, Ended};
use tests::stand_in::StandIn;
use tests::{Client, TestApp};
use tokio::net::TcpListener;

use super::second_updraft::fill;
use super::{imported, key_file, target};

/// Compares deployments of the app Weather, as fast as possible.
async fn compare(app: &TestApp, from: &str, deployments: &[&str], more: &[&str]) -> Ended {
    let names: Vec<_> = deployments.iter().map(|name| format!("ada@example.com:Weather/{name}")).collect();
    let mut arguments = vec!["import", "compare", "--from", from, "--rate", "1000/s"];
    arguments.extend(names.iter().flat_map(|name| ["--deployment", name.as_str()]));
    arguments.extend(more);
    program::run(&app.settings(), &arguments).await
}

#[track_caller]
fn has(ended: &Ended, code: i32, lines: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    for line in lines {
        assert!(ended.out.contains(line) || ended.err.contains(line), "{line} in\n{}\n{}", ended.out, ended.err);
    }
}

/// A server in front of another one. It changes the requests and answers of a check by what its deployment is named.
async fn in_front_of(server: &str, deployments: BTreeMap<String, String>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (server, deployments, http) = (server.to_owned(), Arc::new(deployments), reqwest::Client::new());
    let count = Arc::new(AtomicUsize::new(0));
    let answer = move |request: Request| {
        let (server, deployments, http, count) = (server.clone(), Arc::clone(&deployments), http.clone(), Arc::clone(&count));
        async move {
            let target = request.uri().path_and_query().unwrap().as_str().to_owned();
            let name = deployments.iter().find(|(key, _)| target.contains(key.as_str())).map_or("", |(_, name)| name.as_str());
            if name == "busy" && count.fetch_add(1, Ordering::Relaxed) < 2 {
                return Response::builder().status(429).header(header::RETRY_AFTER, "0").body(Body::from("Too many")).unwrap();
            }
            let forwarded = match name {
                "label" if !target.contains("label=") => format!("{target}&label=undefined"),
                "client" if !target.to_lowercase().contains("client") => format!("{target}&client_unique_id=undefined"),
                _ => target.clone(),
            };
            let mut forward = http.get(format!("{server}{forwarded}"));
            if let Some(key) = request.headers().get(header::AUTHORIZATION) {
                forward = forward.header(header::AUTHORIZATION, key);
            }
            let answer = forward.send().await.unwrap();
            let status = answer.status();
            let mut body: Value = answer.json().await.unwrap_or_default();
            if let Some(info) = body.as_object_mut().and_then(|body| body.values_mut().next()).and_then(Value::as_object_mut) {
                change(name, &target, info);
            }
            Response::builder().status(status).body(Body::from(body.to_string())).unwrap()
        }
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    base
}

fn change(name: &str, target: &str, info: &mut serde_json::Map<String, Value>) {
    let is_available = info.get("is_available").or(info.get("isAvailable")) == Some(&json!(true));
    let has_hash = target.to_lowercase().contains("hash=");
    match name {
        "short" if is_available && info["label"] == "v2" && target.contains("app_version=1.0&") => {
            info["app_version"] = json!("1.0.0");
            info["target_binary_range"] = json!("1.0.0");
        }
        "diff" if is_available && has_hash => {
            for size in ["package_size", "packageSize"] {
                info.get_mut(size).into_iter().for_each(|size| *size = json!(5));
            }
        }
        "odd" => {
            for name in ["update_app_version", "updateAppVersion"] {
                info.get_mut(name).into_iter().for_each(|value| *value = json!(value != true));
            }
        }
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_app_is_equal_and_nothing_is_called_equal_unseen() {
    let source = TestApp::spawn().await;
    let grace = source.sign_up("grace").await;
    fill(&source, &grace).await;
    let (app, _) = target().await;
    imported(&app, &source.base, grace.token(), &[]).await;
    let key = grace.deployment_key("Weather", "Production").await;

    let same = compare(&app, &app.base, &["Production"], &["--to", &format!("{}/", app.base)]).await;
    assert!(same.code == Some(1) && same.err.contains("is the address of both servers: nothing would be compared"), "{same:?}");
    let equal = compare(&app, &source.base, &["Production", "Staging", "Beta"], &["--checks", "400"]).await;
    has(&equal, 0, &["Generated 400 of ", "Checks: 400. Equal: 400. Different but explained: 0. Unexplained: 0. Failed: 0."]);
    let all = compare(&app, &source.base, &["Beta"], &["--to", &app.base]).await;
    has(&all, 0, &["all 160 combinations of app version, device and request.", "Checks: 160. Equal: 160."]);
    // A server that is busy now and then is asked again, as it wishes.
    let busy = in_front_of(&source.base, BTreeMap::from([(key.clone(), "busy".to_owned())])).await;
    has(&compare(&app, &busy, &["Production"], &["--checks", "8"]).await, 0, &["Checks: 8. Equal: 8."]);

    let log = app.folder().join("access.log");
    let lines = format!(
        "1.2.3.4 - - [26/Nov/2026:12:00:00 +0000] \"GET /v1/v0.1/public/codepush/update_check?deployment_key={key}&app_version=1.0 HTTP/1.1\" 200 1\n\
         1.2.3.4 - - [26/Nov/2026:12:00:00 +0000] \"GET /updateCheck?deploymentKey={key}&appVersion=1.1.0&packageHash= HTTP/1.1\" 200 1 \"-\" \"x\"\n\
         /v0.1/legacy/updateCheck?deploymentKey={key}&appVersion=1.0.0\n\
         /v0.1/legacy/updateCheck?deploymentKey={key}&appVersion=1.0.0\n\
         /updateCheck?deploymentKey={key}&appVersion=not.a.version\n\
         /updateCheck?deploymentKey=somebody-elses-key&appVersion=1.0.0\n\
         garbage\n"
    );
    std::fs::write(&log, lines).unwrap();
    let log = log.to_str().unwrap();
    let ended = compare(&app, &source.base, &["Production"], &["--log", log]).await;
    let told = "Log lines: 7. Checks of these deployments: 5, different ones to ask: 4. Checks of other deployments: 1. Other lines: 1.";
    has(&ended, 0, &[told, "Checks: 4. Equal: 4."]);

    has(&compare(&app, &source.base, &["Staging"], &["--log", log]).await, 1, &["no check was asked: nothing was compared"]);
    has(
        &compare(&app, &source.base, &["Production", "Staging"], &["--log", log]).await,
        1,
        &["Equal: 4.", "the log has no check of ada@example.com:Weather/Staging: it was not compared\nGive --deployment for those"],
    );
    has(&compare(&app, &source.base, &["Staging"], &["--checks", "0"]).await, 1, &["no check was asked"]);
    has(&compare(&app, &source.base, &["Gone"], &[]).await, 1, &["Weather/Gone: deployment was not found"]);
    has(&compare(&app, &source.base, &["Staging"], &["--log", "/nowhere"]).await, 1, &["--log: /nowhere cannot be read"]);

    // Servers that give no usable answer.
    let broken = StandIn::start(|_| b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    let garbage = StandIn::start(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>".to_vec()).await;
    let limited = StandIn::start(|_| b"HTTP/1.1 429 Slow\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    let silent = StandIn::start(|_| Vec::new()).await;
    let other = StandIn::start(|_| b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    let few = ["--checks", "4"];
    let same = other.base.replace("127.0.0.1", "localhost");
    let both = ["--checks", "4", "--to", &same];
    let ended = tokio::join!(
        compare(&app, &broken.base, &["Staging"], &["--checks", "200"]),
        compare(&app, &garbage.base, &["Staging"], &few),
        compare(&app, &limited.base, &["Staging"], &few),
        compare(&app, &silent.base, &["Staging"], &few),
        compare(&app, &other.base, &["Staging"], &both),
    );
    has(
        &ended.0,
        1,
        &["Checks: 20. Equal: 0.", "Failed: 20.", "Not asked: 180.", "The old server answers with status 500.", "many failures in a row"],
    );
    has(&ended.1, 1, &["Failed: 4.", "The old server answers with something that is no answer to an update check."]);
    has(&ended.2, 1, &["Failed: 4.", "The old server limits the rate of requests (status 429). Use a lower --rate."]);
    has(&ended.3, 1, &["Failed: 4.", "The old server does not answer: "]);
    has(&ended.4, 1, &["Equal: 0.", "Failed: 4.", "The new server does not know the deployment key"]);
    for server in [&broken, &garbage, &limited, &silent, &other] {
        assert!(server.asked().iter().all(|request| request.line.starts_with("GET ")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_old_server_under_another_address_is_not_taken_for_this_one() {
    let source = TestApp::spawn().await;
    let grace = source.sign_up("grace").await;
    fill(&source, &grace).await;
    let (app, ada) = target().await;
    imported(&app, &source.base, grace.token(), &[]).await;
    let change = json!({ "label": "v1", "packageInfo": { "isDisabled": true } });
    ada.patch("/v1/apps/Weather/deployments/Staging/release", change).await.assert(200);
    // Both addresses lead to the old server, so all answers are equal.
    let other = in_front_of(&source.base, BTreeMap::new()).await;
    let ended = compare(&app, &source.base, &["Staging"], &["--to", &other, "--checks", "100"]).await;
    let sentence =
        "The new server's answer does not match its own releases. Does its address (--to) lead to this server, and not to the old one?";
    has(&ended, 1, &["Unexplained:", sentence, "have no explanation"]);
    let versioned = compare(&app, &app.base, &["Staging"], &["--to", &format!("{}/v1/", app.base)]).await;
    has(&versioned, 1, &["is the address of both servers: nothing would be compared"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_is_not_advised() {
    let (app, ada) = target().await;
    ada.create_app("Weather").await;
    ada.upload("Weather", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    // A server whose account has no deployments: every check fails.
    let old = OldServer::start().await;
    old.put_apps(&[]);
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    let arguments = ["import", "compare", "--from", &old.base, "--app", "Weather", "-d", "Production", "--checks", "4", "--rate", "1000/s"];
    let advice = "With --key-file";
    let without = cli.expect(1, &arguments).await;
    assert!(without.out.contains("The old server does not know the deployment key") && without.err.contains(advice), "{without:?}");
    let given = cli.expect(1, &[&arguments[..], &["--key-file", "old-key"]].concat()).await;
    assert!(given.err.contains("See the reasons above.") && !given.err.contains(advice) && !given.out.contains(advice), "{given:?}");
    let file = key_file(&app, "key");
    let by_operator = compare(&app, &old.base, &["Production"], &["--checks", "4", "--key-file", file.to_str().unwrap()]).await;
    has(&by_operator, 1, &["4 checks failed, and 0 differences have no explanation\nSee the reasons above.\n"]);
}

/// Deployments with a planted difference each. All have v1 and v2 for 1.0.0, unless said otherwise below.
const PLANTED: [&str; 13] =
    ["rollout", "disabled", "mandatory", "range", "description", "newer", "released", "cleared", "label", "client", "short", "diff", "odd"];

/// The same five checks of each deployment: new installations with and without client ID, and devices on v1.
fn checks(keys: &BTreeMap<String, String>) -> String {
    let mut lines = String::new();
    for (key, name) in keys {
        let hash = Sha256Hex::of(format!("{name} 1").as_bytes());
        let (new, old) = ("/v0.1/public/codepush/update_check?deployment_key", "/updateCheck?deploymentKey");
        for line in [
            format!("{new}={key}&app_version=1.0.0&client_unique_id=a"),
            format!("{new}={key}&app_version=1.0.0"),
            format!("{old}={key}&appVersion=1.0.0&packageHash={hash}&label=v1&clientUniqueId=a"),
            format!("{old}={key}&appVersion=1.0.0&packageHash={hash}&clientUniqueId=a"),
            format!("{new}={key}&app_version=1.0&package_hash={hash}&label=v1&client_unique_id=e"),
        ] {
            lines.push_str(&line);
            lines.push('\n');
        }
    }
    lines
}

async fn plant(grace: &Client) -> BTreeMap<String, String> {
    grace.create_app("Weather").await;
    let mut keys = BTreeMap::new();
    for name in PLANTED {
        grace.post("/v1/apps/Weather/deployments", json!({ "name": name })).await.assert(201);
        for number in if name == "cleared" { 1..=1 } else { 1..=2 } {
            let mut info = json!({ "appVersion": "1.0.0", "isMandatory": name == "label" && number == 1 });
            // `a-v2` is in bucket 80, `e-v2` in 44, `undefined-v2` in 25.
            let rollout = [("rollout", 50), ("client", 30), ("short", 50)].iter().find(|(known, _)| *known == name && number == 2);
            if let Some((_, percent)) = rollout {
                info["rollout"] = json!(percent);
            }
            grace.upload("Weather", name, format!("{name} {number}").as_bytes(), info).await.assert(201);
        }
        keys.insert(grace.deployment_key("Weather", name).await, name.to_owned());
    }
    keys
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_differences_are_found_and_explained() {
    let source = TestApp::spawn().await;
    let grace = source.sign_up("grace").await;
    let keys = plant(&grace).await;
    let (app, ada) = target().await;
    imported(&app, &source.base, grace.token(), &[]).await;
    let log = app.folder().join("checks.log");
    std::fs::write(&log, checks(&keys)).unwrap();
    let log = ["--log", log.to_str().unwrap()];
    has(&compare(&app, &source.base, &PLANTED, &log).await, 0, &["Checks: 65. Equal: 65."]);

    for (name, change) in [
        ("rollout", json!({ "rollout": 100 })),
        ("disabled", json!({ "isDisabled": true })),
        ("mandatory", json!({ "isMandatory": true })),
        ("range", json!({ "appVersion": "2.0.0" })),
        ("description", json!({ "description": "other" })),
    ] {
        let path = format!("/v1/apps/Weather/deployments/{name}/release");
        grace.patch(&path, json!({ "packageInfo": change })).await.assert(200);
    }
    grace.upload("Weather", "newer", b"newer 3", json!({ "appVersion": "1.0.0" })).await.assert(201);
    ada.upload("Weather", "released", b"released 3", json!({ "appVersion": "1.0.0" })).await.assert(201);
    grace.delete("/v1/apps/Weather/deployments/cleared/history").await;
    let old = in_front_of(&source.base, keys.clone()).await;

    let known = [
        "label, 1 checks: Known fault of the old server: without a label,",
        "short, 1 checks: Known fault of the old server: in a staged rollout it answers a short app version",
        "diff, 3 checks: The old server sends a diff",
        "newer, 5 checks: v3 was released on the old server after the import. Import again, or release it here if this deployment has releases of its own.",
        "description, 5 checks: The description of v2 differs.",
        "client, 1 checks: Known fault of the old server: devices without a client ID",
    ];
    let without = compare(&app, &old, &PLANTED, &log).await;
    has(&without, 1, &known);
    let from_answers = [
        "Checks: 65. Equal: 15. Different but explained: 45. Unexplained: 5. Failed: 0.",
        "rollout, 3 checks: The rollout of v2 differs.",
        "disabled, 5 checks: The old server does not offer v2: it is missing or disabled there",
        "mandatory, 5 checks: v2, or a release between it and the device's, is mandatory on the old server only.",
        "range, 2 checks: The old server does not offer v2",
        "range, 3 checks: The target versions of v2 differ, or the old server has a newer release.",
        "cleared, 5 checks: The old server does not offer v1",
        "released, 5 checks: v3 was released here after the import. The old server does not offer it: it may be missing, disabled or rolled back there. Use --key-file",
        "Unexplained:\n  With --key-file, a key of the old server, its histories may tell the reasons.",
        "odd, 5 checks: No reason found. Different: update_app_version.",
        "/v0.1/public/codepush/update_check?deployment_key=",
        "0 checks failed, and 5 differences have no explanation",
    ];
    has(&without, 1, &from_answers);

    let key = key_file(&app, grace.token());
    let with_key = [&log[..], &["--key-file", key.to_str().unwrap()]].concat();
    let explained = compare(&app, &old, &PLANTED[..12], &with_key).await;
    has(&explained, 0, &known);
    let from_histories = [
        "Checks: 60. Equal: 15. Different but explained: 45. Unexplained: 0. Failed: 0.",
        "rollout, 4 checks: The rollout of v2 differs.",
        "disabled, 5 checks: v2 is disabled on the old server only.",
        "mandatory, 5 checks: v2 is mandatory on the old server only.",
        "range, 5 checks: The target versions of v2 differ.",
        "cleared, 5 checks: The old server's history is empty: it was cleared there.",
        "released, 5 checks: v3 was released here after the import. The old server does not have it.",
    ];
    has(&explained, 0, &from_histories);
    assert!(!explained.out.contains(grace.token()) && !explained.err.contains(grace.token()));

    // Answers that are not this server's.
    let new = in_front_of(&app.base, keys).await;
    let wrong = compare(&app, &source.base, &["odd"], &[&log[..], &["--to", &new]].concat()).await;
    has(&wrong, 1, &["odd, 5 checks: The new server's answer does not match its own releases."]);
}
