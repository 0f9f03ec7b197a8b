//! Counting, case by case: how reports become the displayed metrics, for every kind of client and order of arrival.

mod active_release;
mod anonymous;
mod binary_versions;
mod bytes_saved;
mod device_moves;
mod order;
mod replay_command;
mod unreadable_rows;

use serde_json::{Value, json};
use shared::ids::ReportId;
use shared::time::UnixMillis;
use tests::reports::report;
use tests::{Client, Options, TestApp};

const DEPLOY: &str = "/v1/public/svc/report_status/deploy";
const DOWNLOAD: &str = "/v1/public/svc/report_status/download";

/// A server and the owner of its apps.
struct World {
    app: TestApp,
    ada: Client,
}

impl World {
    /// Many reports come from one address, so there are no limits.
    async fn new() -> Self {
        Self::with(Options::default()).await
    }

    /// The same with further settings.
    async fn with(options: Options) -> Self {
        let any_number = "1000000/1m";
        let app = TestApp::spawn_with(
            options.with("LIMIT_REPORTS", any_number).with("LIMIT_REPORTS_ADDRESS", any_number).with("LIMIT_UPLOADS", any_number),
        )
        .await;
        let ada = app.sign_up("ada").await;
        Self { app, ada }
    }

    /// Creates an app whose two deployments have this many releases. Returns the keys of Production and Staging.
    async fn app_with(&self, name: &str, releases: u32) -> (String, String) {
        let keys = self.ada.create_app(name).await;
        for deployment in ["Production", "Staging"] {
            for number in 1..=releases {
                let content = format!("{name} {deployment} {number}");
                self.ada.upload(name, deployment, content.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201);
            }
        }
        keys
    }

    /// Sends a report as a client does, and advances the clock by a millisecond: reports are ordered by time.
    async fn send(&self, path: &str, body: Value) {
        assert_eq!(self.app.anonymous().post(path, body).await.assert(200), json!({ "status": "ok" }));
        self.app.clock.advance(1);
    }

    /// A device runs this release.
    async fn installed(&self, key: &str, client: &str, label: &str) {
        let body = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": client, "label": label, "status": "DeploymentSucceeded" });
        self.send(DEPLOY, body).await;
    }

    /// A device could not run this release.
    async fn failed(&self, key: &str, client: &str, label: &str) {
        let body = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": client, "label": label, "status": "DeploymentFailed" });
        self.send(DEPLOY, body).await;
    }

    /// A device runs this binary version.
    async fn binary(&self, key: &str, client: &str, version: &str) {
        self.send(DEPLOY, json!({ "deployment_key": key, "app_version": version, "client_unique_id": client })).await;
    }

    /// A device has downloaded this release.
    async fn downloaded(&self, key: &str, client: &str, label: &str) {
        self.send(DOWNLOAD, json!({ "deployment_key": key, "client_unique_id": client, "label": label })).await;
    }
}

/// A report as stamped by the edge, with a unique ID.
fn stamped(number: u32, received: i64, key: &str, client: Option<&str>, event: &str, place: &str) -> Value {
    report(&id(number), received, key, client, event, place)
}

/// IDs in ascending order of the numbers.
fn id(number: u32) -> String {
    let mut entropy = [0; 10];
    entropy[..4].copy_from_slice(&number.to_be_bytes());
    // Some bits of the first bytes are replaced by the UUID version, so the number is in the later ones.
    entropy[6..].copy_from_slice(&number.to_be_bytes());
    ReportId::v7(UnixMillis(1_000 + i64::from(number)), entropy).to_string()
}
