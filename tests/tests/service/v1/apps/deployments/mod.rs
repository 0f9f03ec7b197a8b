//! The rules of releases over HTTP: one file per operation. Every test has its own server, database and clock.

mod cleared_history;
mod concurrent_operations;
mod creation;
mod explain;
mod history;
mod metrics;
mod package_hashes;
mod promotions;
mod recent;
mod release;
mod releases;
mod renaming_and_deletion;
mod rollbacks;

use serde_json::{Value, json};
use tests::wait::until;
use tests::{Answer, Client, Dialect, Options, TestApp};

/// A path below a deployment of the app `demo`.
fn below(deployment: &str, rest: &str) -> String {
    format!("/v1/apps/demo/deployments/{deployment}/{rest}")
}

/// A server and the owner of its app `demo`, which has the deployments Staging and Production.
async fn prepared() -> (TestApp, Client) {
    prepared_with(Options::default()).await
}

async fn prepared_with(options: Options) -> (TestApp, Client) {
    let app = TestApp::spawn_with(options).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    (app, ada)
}

/// Uploads a release for 1.0.0 with further members of `packageInfo`, and returns it.
async fn release(client: &Client, deployment: &str, content: &str, more: Value) -> Value {
    let mut info = json!({ "appVersion": "1.0.0" });
    info.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.upload("demo", deployment, content.as_bytes(), info).await.assert(201)["package"].take()
}

async fn patch(client: &Client, deployment: &str, info: Value) -> Answer {
    client.patch(&below(deployment, "release"), json!({ "packageInfo": info })).await
}

async fn patch_of(client: &Client, deployment: &str, label: &str, info: Value) -> Answer {
    client.patch(&below(deployment, "release"), json!({ "label": label, "packageInfo": info })).await
}

/// Promotes from Staging to Production.
async fn promote(client: &Client, info: Value) -> Answer {
    client.post(&below("Staging", "promotions"), json!({ "destination": "Production", "packageInfo": info })).await
}

async fn roll_back(client: &Client, deployment: &str, target: Value) -> Answer {
    client.post(&below(deployment, "rollbacks"), json!({ "targetRelease": target })).await
}

async fn history(client: &Client, deployment: &str) -> Vec<Value> {
    client.get(&below(deployment, "history")).await.assert(200)["history"].as_array().unwrap().clone()
}

/// A release without the queries of its URLs, which are signed again every hour.
fn unsigned(mut release: Value) -> Value {
    for url in ["blobUrl", "manifestBlobUrl"] {
        let path = release[url].as_str().and_then(|url| url.split_once('?')).map(|(path, _)| path.to_owned());
        release[url] = json!(path);
    }
    release
}

fn labels(releases: &[Value]) -> Vec<&str> {
    releases.iter().map(|release| release["label"].as_str().unwrap()).collect()
}

/// All data that an operation on releases could change.
async fn state(app: &TestApp) -> [Vec<String>; 4] {
    let releases = "SELECT d.name || ' ' || CAST(r.label AS TEXT) || ' ' || r.app_version || ' ' || COALESCE(r.description, '-') || ' ' || \
        CAST(r.is_mandatory AS TEXT) || CAST(r.is_disabled AS TEXT) || ' ' || COALESCE(CAST(r.rollout AS TEXT), '-') || ' ' || r.package_hash \
        FROM releases r JOIN deployments d ON d.id = r.deployment_id ORDER BY d.name, r.label";
    [
        app.texts(releases, &[]).await,
        app.texts("SELECT CAST(last_label AS TEXT) FROM deployments ORDER BY id", &[]).await,
        app.texts("SELECT CAST(snapshot_version AS TEXT) FROM deployment_keys ORDER BY deployment_key", &[]).await,
        app.texts("SELECT hash FROM audit_events ORDER BY seq", &[]).await,
    ]
}

/// The stored data of uploads: the numbers of releases and blobs, and every file in storage. Empty folders may remain.
async fn stored(app: &TestApp) -> ([i64; 2], Vec<String>) {
    let remains = app.leftovers().await;
    let files = remains.files.into_keys().filter(|path| path.starts_with("blobs/") && !path.ends_with('/'));
    ([remains.rows[0], remains.rows[1]], files.collect())
}

/// Expects a refusal without any change, and returns its text.
async fn refused(app: &TestApp, status: u16, asking: impl Future<Output = Answer>) -> String {
    let before = state(app).await;
    let text = asking.await.refused(status);
    assert_eq!(state(app).await, before, "{text}");
    text
}

/// Waits until a transaction waits for a row lock; on SQLite a second write transaction does not even begin.
async fn until_somebody_waits(app: &TestApp) {
    if app.db().dialect() == Dialect::Postgres {
        let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        until("a waiting transaction", async || (app.number(waiting).await > 0).then_some(())).await;
    }
}

/// The details of the one audit row added by `changing`, and the response. The clock advances, so that a new snapshot version is visible.
async fn noted(app: &TestApp, status: u16, changing: impl Future<Output = Answer>) -> (String, Value, Value) {
    app.clock.advance(1_000);
    let (before, versions) = (app.audit_rows().await, state(app).await[2].clone());
    let answer = changing.await.assert(status);
    let rows = app.audit_since(before).await;
    assert_eq!(rows.len(), 1, "{rows:#?}");
    let raised = state(app).await[2].iter().zip(&versions).filter(|(new, old)| new != old).count();
    assert_eq!(raised, 1, "one deployment's snapshot is queued");
    (rows[0].action.clone(), serde_json::from_str(&rows[0].details).unwrap(), answer["package"].clone())
}
