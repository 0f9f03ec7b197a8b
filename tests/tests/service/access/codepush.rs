//! The same for the operations of the CodePush dialect: each has a row, and each row is tried with every kind of credential and role.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use control::testing::server::codepush_operations;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tests::{Client, Device, SessionOrigin};

use super::{Caller, Expected, MANAGE, OWN, READ_APP, RELEASE, REMOVE, Row, SHARE, Scene, Who, prepared};

/// Exactly one row for each operation of the dialect.
const DIALECT: &[Row] = &[
    ("GET /authenticated", Who::Any, 200),
    ("GET /account", Who::Any, 200),
    ("DELETE /sessions/{source}", Who::NotApiKey, 204),
    ("GET /accesskeys", Who::NotApiKey, 200),
    ("POST /accesskeys", Who::NotApiKey, 403),
    ("GET /accesskeys/{key}", Who::Login, 200),
    ("PATCH /accesskeys/{key}", Who::Login, 200),
    ("DELETE /accesskeys/{key}", Who::NotApiKey, 204),
    ("GET /apps", Who::Any, 200),
    ("POST /apps", Who::Creator, 201),
    ("GET /apps/{app}", READ_APP, 200),
    ("PATCH /apps/{app}", MANAGE, 200),
    ("DELETE /apps/{app}", OWN, 204),
    ("POST /apps/{app}/transfer/{email}", OWN, 201),
    ("GET /apps/{app}/collaborators", READ_APP, 200),
    ("POST /apps/{app}/collaborators/{email}", SHARE, 201),
    ("DELETE /apps/{app}/collaborators/{email}", REMOVE, 204),
    ("GET /apps/{app}/deployments", READ_APP, 200),
    ("POST /apps/{app}/deployments", MANAGE, 201),
    ("GET /apps/{app}/deployments/{deployment}", READ_APP, 200),
    ("PATCH /apps/{app}/deployments/{deployment}", MANAGE, 200),
    ("DELETE /apps/{app}/deployments/{deployment}", MANAGE, 204),
    ("GET /apps/{app}/deployments/{deployment}/history", READ_APP, 200),
    ("DELETE /apps/{app}/deployments/{deployment}/history", MANAGE, 204),
    ("GET /apps/{app}/deployments/{deployment}/metrics", READ_APP, 200),
    ("POST /apps/{app}/deployments/{deployment}/release", RELEASE, 201),
    ("PATCH /apps/{app}/deployments/{deployment}/release", RELEASE, 200),
    ("POST /apps/{app}/deployments/{deployment}/promote/{destination}", RELEASE, 201),
    ("POST /apps/{app}/deployments/{deployment}/rollback", RELEASE, 201),
    ("POST /apps/{app}/deployments/{deployment}/rollback/{label}", RELEASE, 201),
    ("GET /apps/{app}/deployments/{deployment}/basebundle", RELEASE, 200),
];

/// Whether an operation that succeeds writes an audit row.
fn is_audited((operation, _, done): &Row) -> bool {
    !operation.starts_with("GET ") && *done < 400
}

/// What a caller may expect. A key has no sessions.
fn expected(operation: &str, who: Who, caller: Caller) -> Expected {
    match (operation, caller) {
        ("DELETE /sessions/{source}", Caller::NamedKey | Caller::ApiKey(_)) => Expected::Refused(404, None),
        _ => who.expects(caller),
    }
}

/// A request that succeeds for authorized callers.
async fn question(scene: &Scene<'_>, client: &Client) -> RequestBuilder {
    let (method, path) = scene.operation.split_once(' ').unwrap();
    let colleague = format!("colleague-of-{}", scene.name);
    if path.contains("{email}") {
        scene.app.sign_up(&colleague).await;
        if method == "DELETE" {
            scene.app.share(&scene.name, "demo", &colleague, "Viewer", scene.app.clock.now().0 + 1).await;
        }
    }
    if path.contains("{key}") {
        scene.app.named_key(&scene.name, "target").await;
    }
    if path.contains("{source}") {
        scene.app.open_session_of(&scene.name, SessionOrigin::CliBrowser, "192.0.2.7", &Device::default()).await;
    }
    let path = path
        .replace("{app}", "demo")
        .replace("{deployment}", "Staging")
        .replace("{destination}", "Production")
        .replace("{label}", "v1")
        .replace("{email}", &format!("{colleague}@example.com"))
        .replace("{key}", "target")
        .replace("{source}", "192.0.2.7");
    let query = if path.ends_with("/basebundle") { "?appVersion=1.0.0" } else { "" };
    let request = client.request(method.parse::<Method>().unwrap(), &format!("{path}{query}"));
    let body = match scene.operation {
        "POST /apps/{app}/deployments/{deployment}/release" => {
            let info = Part::text(json!({ "appVersion": "1.0.0" }).to_string());
            return request.multipart(Form::new().part("package", Part::bytes(b"script".to_vec())).part("packageInfo", info));
        }
        "POST /accesskeys" | "PATCH /accesskeys/{key}" => json!({ "friendlyName": "renamed" }),
        "PATCH /apps/{app}/deployments/{deployment}/release" => json!({ "packageInfo": { "isMandatory": true } }),
        "POST /apps" | "PATCH /apps/{app}" | "POST /apps/{app}/deployments" | "PATCH /apps/{app}/deployments/{deployment}" => {
            json!({ "name": "new" })
        }
        _ => return request,
    };
    request.json(&body)
}

/// Calls these rows with every caller. Each successful change must write exactly one audit row, every other request none. The refusals are stored in the
/// snapshot of this name.
async fn walk(area: &str, rows: impl Iterator<Item = &Row>) {
    let app = prepared().await;
    let (mut refusals, mut number) = (String::new(), 0);
    for row in rows {
        let (operation, who, done) = row;
        let mut added = BTreeSet::new();
        for caller in who.callers() {
            number += 1;
            let scene = Scene::set(&app, operation, number).await;
            scene.release_twice_before(&["/rollback", "{destination}", "/basebundle"]).await;
            let client = scene.client(caller).await;
            let request = question(&scene, &client).await;
            let before = app.audit_changes().await;
            let answer = client.send(request).await;
            let audited = app.audit_changes().await - before;
            let status = match expected(operation, *who, caller) {
                Expected::Done => *done,
                Expected::Refused(status, _) => status,
            };
            assert_eq!(answer.status.as_u16(), status, "{operation} by {caller:?}: {}", answer.text());
            if status < 400 {
                added.insert(audited);
                continue;
            }
            assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8", "{operation} by {caller:?}");
            assert_eq!(audited, 0, "{operation} by {caller:?} was refused but audited");
            let text = answer.text().replace(&app.base, "SERVER");
            writeln!(refusals, "{operation}, {caller:?}: {status} {text}").unwrap();
        }
        let expected = if *done < 400 { BTreeSet::from([i64::from(is_audited(row))]) } else { BTreeSet::new() };
        assert_eq!(added, expected, "{operation}: audit rows for each success");
    }
    insta::assert_snapshot!(format!("refusals_of_codepush_{area}"), refusals);
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_of_the_codepush_dialect_on_the_account_follow_the_access_table() {
    walk("account", DIALECT.iter().filter(|(operation, ..)| !operation.contains("{app}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_of_the_codepush_dialect_on_apps_follow_the_access_table() {
    let is_of_app = |operation: &str| operation.contains("{app}") && !operation.contains("{deployment}/");
    walk("apps", DIALECT.iter().filter(|(operation, ..)| is_of_app(operation))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_of_the_codepush_dialect_on_releases_follow_the_access_table() {
    walk("releases", DIALECT.iter().filter(|(operation, ..)| operation.contains("{deployment}/"))).await;
}

#[test]
fn every_operation_of_the_codepush_dialect_has_a_row() {
    let served: Vec<String> = codepush_operations().list.iter().map(|(method, path)| format!("{method} {path}")).collect();
    let known: Vec<&str> = DIALECT.iter().map(|(operation, ..)| *operation).collect();
    assert_eq!(served, known);
}
