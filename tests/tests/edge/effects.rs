//! Performs every operation that can change the responses to devices, and expects its effect at the Worker, based on one table.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::edge::{EdgeApp, EdgeOptions};
use tests::wait::eventually;
use tests::{Answer, Client};

/// The operations, with the changed member for PATCH …/release.
const TABLE: &[(&str, &str)] = &[
    ("POST /v1/apps", ""),
    ("PATCH /v1/apps/{app}", ""),
    ("DELETE /v1/apps/{app}", ""),
    ("POST /v1/apps/{app}/transfer/{email}", ""),
    ("POST /v1/apps/{app}/collaborators/{email}", ""),
    ("PATCH /v1/apps/{app}/collaborators/{email}", ""),
    ("DELETE /v1/apps/{app}/collaborators/{email}", ""),
    ("POST /v1/apps/{app}/collaborators/me/accept", ""),
    ("POST /v1/apps/{app}/deployments", ""),
    ("PATCH /v1/apps/{app}/deployments/{deployment}", ""),
    ("DELETE /v1/apps/{app}/deployments/{deployment}", ""),
    ("POST /v1/apps/{app}/deployments/{deployment}/releases", ""),
    ("PATCH /v1/apps/{app}/deployments/{deployment}/release", "appVersion"),
    ("PATCH /v1/apps/{app}/deployments/{deployment}/release", "clear"),
    ("PATCH /v1/apps/{app}/deployments/{deployment}/release", "description"),
    ("PATCH /v1/apps/{app}/deployments/{deployment}/release", "isDisabled"),
    ("PATCH /v1/apps/{app}/deployments/{deployment}/release", "isMandatory"),
    ("PATCH /v1/apps/{app}/deployments/{deployment}/release", "packageHash"),
    ("PATCH /v1/apps/{app}/deployments/{deployment}/release", "rollout"),
    ("POST /v1/apps/{app}/deployments/{deployment}/promotions", ""),
    ("POST /v1/apps/{app}/deployments/{deployment}/rollbacks", ""),
    ("DELETE /v1/apps/{app}/deployments/{deployment}/history", ""),
    ("POST /v1/imports/apps", ""),
    ("POST /v1/apps/{app}/imports/packages", ""),
    ("POST /v1/apps/{app}/deployments/{deployment}/imports", ""),
];

/// Operations that do not affect devices: accounts, checks of imports, and device reports. An account with apps cannot be deleted.
const OTHERS: &[&str] =
    &["/v1/auth/", "/v1/account", "/v1/access-keys", "/v1/api-keys", "/v1/sessions/", "/v1/mfa", "/v1/cli/", "/v1/imports/check"];

/// Documented changes that are in neither list, and rows without an operation.
fn unknown(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = item.as_object().unwrap().keys().filter(|method| *method != "get");
        let is_other = OTHERS.iter().any(|start| path.starts_with(start)) || path.contains("/report");
        found.extend(methods.filter(|_| !is_other).map(|method| format!("{} {path}", method.to_uppercase())));
    }
    let known: BTreeSet<String> = TABLE.iter().map(|(operation, _)| (*operation).to_owned()).collect();
    let members = document["components"]["schemas"]["ReleaseChanges"]["properties"].as_object().unwrap().keys();
    let performed: BTreeSet<&str> = TABLE.iter().map(|(_, member)| *member).collect();
    let unperformed = members.filter(|member| !performed.contains(member.as_str())).cloned();
    found.symmetric_difference(&known).cloned().chain(unperformed).collect()
}

#[test]
fn every_operation_in_the_openapi_document_is_in_the_table() {
    let mut document = control::testing::server::document("http://localhost");
    assert_eq!(unknown(&document), BTreeSet::new());
    document["paths"]["/v1/apps/{app}/planted"] = json!({ "post": {} });
    document["components"]["schemas"]["ReleaseChanges"]["properties"]["planted"] = json!({});
    assert_eq!(unknown(&document), ["POST /v1/apps/{app}/planted", "planted"].map(str::to_owned).into());
}

/// An owner with their own app, which has the deployments Staging and Production.
struct Scene<'a> {
    app: &'a EdgeApp,
    owner: Client,
    person: String,
    name: String,
    key: String,
}

impl<'a> Scene<'a> {
    async fn set(app: &'a EdgeApp, number: usize) -> Self {
        let (person, name) = (format!("owner{number}"), format!("app{number}"));
        let owner = app.sign_up(&person).await;
        let (key, _) = owner.create_app(&name).await;
        Self { app, owner, person, name, key }
    }

    fn below(&self, rest: &str) -> String {
        format!("/v1/apps/{}{rest}", self.name)
    }

    async fn upload(&self, deployment: &str, content: &str, info: Value) -> Value {
        self.owner.upload(&self.name, deployment, content.as_bytes(), info).await.assert(201)["package"].take()
    }

    async fn patch(&self, body: Value) {
        self.owner.patch(&self.below("/deployments/Production/release"), body).await.assert(200);
    }

    /// Waits until a device with this scene's key gets this response from the Worker and the control plane.
    async fn sees(&self, expected: Value) {
        sees(self.app, &self.key, &expected).await;
    }
}

/// `expected` is a status, or members of `update_info`. The device's bucket is 30 for v1, 31 for v2, and so on.
async fn sees(app: &EdgeApp, key: &str, expected: &Value) {
    let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0&client_unique_id=device-1");
    for base in [&app.edge.base, &app.control.base] {
        let client = Client::new(base, None);
        eventually(&format!("{expected} for {key}"), async || {
            let answer = client.get(&path).await;
            if holds(&answer, expected) { Ok(()) } else { Err(format!("{} {}", answer.status, answer.text())) }
        })
        .await;
    }
}

fn holds(answer: &Answer, expected: &Value) -> bool {
    match expected.as_object() {
        None => *expected == json!(answer.status.as_u16()),
        Some(members) => {
            answer.status == 200 && {
                let info = &answer.json()["update_info"];
                members.iter().all(|(name, value)| info[name] == *value)
            }
        }
    }
}

fn label(label: &str) -> Value {
    json!({ "is_available": true, "label": label })
}

fn nothing() -> Value {
    json!({ "is_available": false })
}

fn one() -> Value {
    json!({ "appVersion": "1.0.0" })
}

/// A key, and the final response to a device that uses it.
type FinalResponse = (String, Value);

/// Performs an operation and waits for its effect. Returns the keys to check while the Worker cannot reach the control plane, where it would find
/// what KV lacks. New keys have not even been checked before, so they are not cached either.
async fn perform(app: &EdgeApp, number: usize, operation: &str, member: &str) -> Vec<FinalResponse> {
    let scene = Scene::set(app, number).await;
    let (method, path) = operation.split_once(' ').unwrap();
    match (method, path.rsplit('/').next().unwrap()) {
        ("POST", last @ ("apps" | "packages" | "imports")) if path.contains("/imports") => return import(&scene, number, last).await,
        // The new app's deployments are created with it: they are known immediately, without releases.
        ("POST", "apps") => {
            let staging = scene.owner.deployment_key(&scene.name, "Staging").await;
            return [scene.key, staging].map(|key| (key, nothing())).into();
        }
        ("POST", "deployments") => {
            let brought = format!("brought-{number}-key");
            scene.owner.post(&scene.below("/deployments"), json!({ "name": "Brought", "key": brought })).await.assert(201);
            scene.owner.post(&scene.below("/deployments"), json!({ "name": "Made" })).await.assert(201);
            let made = scene.owner.deployment_key(&scene.name, "Made").await;
            return [brought, made].map(|key| (key, nothing())).into();
        }
        ("DELETE", "{app}" | "{deployment}") => return delete(&scene, path).await,
        ("PATCH", "{app}" | "{deployment}") | ("POST" | "PATCH" | "DELETE", "{email}") | ("POST", "accept") => {
            rename_or_hand_over(&scene, method, path).await;
        }
        ("PATCH", "release") => change(&scene, member).await,
        ("POST", "releases") => {
            scene.sees(nothing()).await;
            scene.upload("Production", "first", one()).await;
            scene.sees(label("v1")).await;
        }
        ("POST", "promotions") => {
            let source = scene.upload("Staging", "first", one()).await;
            scene.sees(nothing()).await;
            let body = json!({ "destination": "Production", "packageInfo": { "isMandatory": true } });
            scene.owner.post(&scene.below("/deployments/Staging/promotions"), body).await.assert(201);
            scene.sees(json!({ "label": "v1", "is_mandatory": true, "package_hash": source["packageHash"] })).await;
        }
        ("POST", "rollbacks") => {
            let first = scene.upload("Production", "first", one()).await;
            scene.upload("Production", "second", one()).await;
            scene.sees(label("v2")).await;
            scene.owner.post(&scene.below("/deployments/Production/rollbacks"), json!({})).await.assert(201);
            scene.sees(json!({ "label": "v3", "package_hash": first["packageHash"] })).await;
        }
        ("DELETE", "history") => {
            scene.upload("Production", "first", one()).await;
            scene.sees(label("v1")).await;
            scene.owner.delete(&scene.below("/deployments/Production/history")).await.assert_status(204);
            scene.sees(nothing()).await;
            scene.upload("Production", "second", one()).await;
            scene.sees(label("v2")).await;
        }
        _ => panic!("{operation}: perform it here"),
    }
    Vec::new()
}

/// Imports an app, and with it a package or a history. Devices see the whole history at once.
async fn import(scene: &Scene<'_>, number: usize, last: &str) -> Vec<FinalResponse> {
    let (name, key) = (format!("imported{number}"), format!("imported-{number}-key"));
    let deployment = json!({ "sourceName": "Production", "name": "Production", "key": key });
    let app = json!({ "sourceName": name, "name": name, "deployments": [deployment] });
    scene.owner.post("/v1/imports/apps", json!({ "source": "https://old.example", "app": app })).await.assert(200);
    sees(scene.app, &key, &nothing()).await;
    if last == "apps" {
        return vec![(key, nothing())];
    }
    let send = scene.owner.request(reqwest::Method::POST, &format!("/v1/apps/{name}/imports/packages")).body("first");
    let package = scene.owner.send(send).await.assert(200)["package"].take();
    sees(scene.app, &key, &nothing()).await;
    if last == "imports" {
        let release = |label: &str, is_disabled: bool| json!({ "label": label, "appVersion": "1.0.0", "package": package["sha256"], "isDisabled": is_disabled });
        let history = json!({ "releases": [release("v7", false), release("v9", true)] });
        let imported = scene.owner.post(&format!("/v1/apps/{name}/deployments/Production/imports"), history).await.assert(200);
        assert_eq!(imported["result"], "imported");
        sees(scene.app, &key, &json!({ "label": "v7", "package_hash": package["packageHash"] })).await;
    }
    Vec::new()
}

/// Each member of an update.
async fn change(scene: &Scene<'_>, member: &str) {
    let first = scene.upload("Production", "first", one()).await;
    if member == "packageHash" {
        // As in a damaged database; another change publishes it.
        let sql = "UPDATE releases SET package_hash = $2 WHERE deployment_id IN (SELECT id FROM deployments WHERE deployment_key = $1)";
        assert_eq!(scene.app.control.change(sql, &[&scene.key, &"f".repeat(64)]).await, 1);
        scene.patch(json!({ "packageInfo": { "isMandatory": true } })).await;
        scene.sees(json!({ "label": "v1", "package_hash": "f".repeat(64) })).await;
        scene.patch(json!({ "packageInfo": { "packageHash": first["packageHash"] } })).await;
        return scene.sees(json!({ "label": "v1", "package_hash": first["packageHash"] })).await;
    }
    let (info, before, value, after) = match member {
        "appVersion" => (one(), label("v2"), json!("2.x"), json!({ "label": "v1", "target_binary_range": "1.0.0" })),
        "clear" | "description" => {
            let info = json!({ "appVersion": "1.0.0", "description": "old" });
            let shown = |text: Value| json!({ "label": "v2", "description": text });
            let (value, after) = if member == "clear" { (json!(["description"]), Value::Null) } else { (json!("news"), json!("news")) };
            (info, shown(json!("old")), value, shown(after))
        }
        "isDisabled" => (one(), label("v2"), json!(true), label("v1")),
        "isMandatory" => {
            (one(), json!({ "label": "v2", "is_mandatory": false }), json!(true), json!({ "label": "v2", "is_mandatory": true }))
        }
        "rollout" => (json!({ "appVersion": "1.0.0", "rollout": 31 }), label("v1"), json!(32), label("v2")),
        _ => panic!("{member}: change it here"),
    };
    scene.upload("Production", "second", info).await;
    scene.sees(before).await;
    scene.patch(json!({ "packageInfo": { member: value } })).await;
    scene.sees(after).await;
}

/// Names and permissions do not affect devices: the key keeps working, and releases under the new name are seen.
async fn rename_or_hand_over(scene: &Scene<'_>, method: &str, path: &str) {
    scene.upload("Production", "first", one()).await;
    scene.sees(label("v1")).await;
    let other = format!("other-of-{}", scene.person);
    let new_owner = scene.app.sign_up(&other).await;
    let (mut next, mut name, mut deployment) = (scene.owner.clone(), scene.name.clone(), "Production");
    let colleague = scene.below(&format!("/collaborators/{other}@example.com"));
    match (method, path) {
        ("PATCH", "/v1/apps/{app}") => {
            name = format!("renamed-{name}");
            scene.owner.patch(&scene.below(""), json!({ "name": name })).await.assert(200);
        }
        ("PATCH", "/v1/apps/{app}/deployments/{deployment}") => {
            deployment = "Live";
            scene.owner.patch(&scene.below("/deployments/Production"), json!({ "name": deployment })).await.assert(200);
        }
        ("POST", "/v1/apps/{app}/transfer/{email}") => {
            scene.owner.post(&scene.below(&format!("/transfer/{other}@example.com")), json!({})).await.assert(201);
            name = format!("{}@example.com:{name}", scene.person);
            next = new_owner;
        }
        (_, "/v1/apps/{app}/collaborators/me/accept") => {
            // An app that was transferred: it moves to another account.
            scene.owner.post(&scene.below(&format!("/transfer/{other}@example.com")), json!({})).await.assert(201);
            let acceptance = format!("/v1/apps/{}@example.com:{name}/collaborators/me/accept", scene.person);
            name = format!("accepted-{name}");
            new_owner.post(&acceptance, json!({ "name": name })).await.assert(200);
            next = new_owner;
        }
        (_, _) => {
            scene.owner.post(&colleague, json!({ "permission": "Developer" })).await.assert(201);
            match method {
                "POST" => next = new_owner,
                "PATCH" => drop(scene.owner.patch(&colleague, json!({ "permission": "Viewer" })).await.assert(200)),
                _ => scene.owner.delete(&colleague).await.assert_status(204),
            }
        }
    }
    scene.sees(label("v1")).await;
    next.upload(&name, deployment, b"second", one()).await.assert(201);
    scene.sees(label("v2")).await;
}

/// Deletes deployments, expects their keys to be gone, reuses one of them, and returns one that stays gone.
async fn delete(scene: &Scene<'_>, path: &str) -> Vec<FinalResponse> {
    scene.upload("Production", "first", one()).await;
    scene.sees(label("v1")).await;
    let staging = scene.owner.deployment_key(&scene.name, "Staging").await;
    sees(scene.app, &staging, &nothing()).await;
    let app = if path.ends_with("{app}") {
        scene.owner.delete(&scene.below("")).await.assert_status(204);
        let body = json!({ "name": "anew", "manuallyProvisionDeployments": true });
        scene.owner.post("/v1/apps", body).await.assert(201);
        "anew".to_owned()
    } else {
        for deployment in ["Production", "Staging"] {
            scene.owner.delete(&scene.below(&format!("/deployments/{deployment}"))).await.assert_status(204);
        }
        scene.name.clone()
    };
    for key in [&scene.key, &staging] {
        sees(scene.app, key, &json!(404)).await;
    }
    let body = json!({ "name": "Again", "key": scene.key });
    scene.owner.post(&format!("/v1/apps/{app}/deployments"), body).await.assert(201);
    scene.sees(nothing()).await;
    scene.owner.upload(&app, "Again", b"again", one()).await.assert(201);
    scene.sees(label("v1")).await;
    vec![(staging, json!(404))]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_sees_the_effect_of_each_operation() {
    let mut app = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
    let mut left = Vec::new();
    for (number, (operation, member)) in TABLE.iter().enumerate() {
        left.extend(perform(&app, number, operation, member).await);
    }
    let of = |expected: &Value| left.iter().filter(|(_, left)| left == expected).count();
    assert_eq!((of(&nothing()), of(&json!(404)), left.len()), (5, 2, 7));
    for (key, _) in &left {
        app.until_pushed(key).await;
    }
    // Without the control plane only KV is available: new keys are known, deleted ones are gone, and unknown ones cannot be answered.
    app.control.stop().await;
    let ask = async |key: &str| app.anonymous().get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")).await;
    for (key, expected) in &left {
        let answer = ask(key).await;
        assert!(holds(&answer, expected), "{key} should get {expected}, but got {} {}", answer.status, answer.text());
    }
    ask("never-made-0123456789").await.refused(503);
}
