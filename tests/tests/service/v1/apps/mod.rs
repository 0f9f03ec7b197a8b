//! `/v1/apps`: apps and their names, access to them, and their resources.

mod audit;
mod audit_details;
mod bare_names;
mod collaborators;
mod creation;
mod data_after_deletion;
mod deployments;
mod name_rules;
mod renaming_and_deletion;
mod roles;
mod transfer;

use serde_json::{Value, json};
use tests::{Answer, Client, TestApp};

/// Adds `<name>@example.com` to an app in a role.
pub(crate) async fn add(manager: &Client, app: &str, name: &str, role: &str) {
    manager.post(&format!("/v1/apps/{app}/collaborators/{name}@example.com"), json!({ "permission": role })).await.assert(201);
}

/// Transfers an app to `<name>@example.com`.
pub(crate) async fn transfer(owner: &Client, app: &str, name: &str) -> Answer {
    owner.send(owner.request(reqwest::Method::POST, &format!("/v1/apps/{app}/transfer/{name}@example.com"))).await
}

/// Accepts an app for the client.
pub(crate) async fn accept(client: &Client, app: &str, body: Value) -> Answer {
    client.post(&format!("/v1/apps/{app}/collaborators/me/accept"), body).await
}

/// The app that a name means to a client, by the ID of its deployment Production.
pub(crate) async fn meaning(client: &Client, name: &str) -> Option<String> {
    let answer = client.get(&format!("/v1/apps/{name}/deployments/Production")).await;
    match answer.status.as_u16() {
        404 => None,
        _ => Some(answer.assert(200)["deployment"]["id"].as_str().unwrap().to_owned()),
    }
}

/// The names by which a client's apps are listed.
pub(crate) async fn names(client: &Client) -> Vec<String> {
    let apps = client.get("/v1/apps").await.assert(200);
    apps["apps"].as_array().unwrap().iter().map(|app| app["name"].as_str().unwrap().to_owned()).collect()
}

/// The response to a check with this key by a device without an update.
async fn check(app: &TestApp, key: &str) -> Answer {
    app.anonymous().get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")).await
}

/// The response to a report by a device that runs a release.
async fn report(app: &TestApp, key: &str, device: &str, label: &str) -> Answer {
    let body = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": device, "label": label, "status": "DeploymentSucceeded" });
    app.anonymous().post("/v1/public/svc/report_status/deploy", body).await
}

/// The roles on an app by account name, as the client sees them.
pub(crate) async fn roles(client: &Client, app: &str) -> Value {
    let listed = client.get(&format!("/v1/apps/{app}/collaborators")).await.assert(200);
    let roles = listed["collaborators"].as_object().unwrap();
    roles.iter().map(|(email, one)| (email.strip_suffix("@example.com").unwrap().to_owned(), one["permission"].clone())).collect()
}

/// Releases new contents.
pub(crate) async fn release(client: &Client, app: &str, deployment: &str, content: &str) -> Answer {
    client.upload(app, deployment, content.as_bytes(), json!({ "appVersion": "1.0.0" })).await
}
