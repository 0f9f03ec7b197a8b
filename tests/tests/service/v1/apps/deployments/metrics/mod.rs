//! Daily history: its days, their values, and which of them are shown.
//!
//! The job's interval is an hour of real time, so it never runs on its own during a test; tests run it with [`round`].

mod days;
mod failures;
mod forty_days_against_the_model;
mod model;
mod query;
mod renaming_and_deletion;
mod replicas;
mod retention;

use control::testing::jobs;
use serde_json::{Value, json};
use shared::time::UtcDay;
use tests::{Client, TestApp};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// Runs the job once without failures.
async fn round(app: &TestApp) {
    assert_eq!(jobs::history_round(&app.state()).await, 0, "the job failed");
}

/// The clock's day.
fn today(app: &TestApp) -> UtcDay {
    app.clock.now().utc_day()
}

/// Sets the clock to this many milliseconds after midnight of a day.
fn go_to(app: &TestApp, day: UtcDay, millis: i64) {
    app.clock.advance(day.0 * DAY + millis - app.clock.now().0);
}

/// Sets the clock to nine in the morning, this many days later (negative: earlier), and returns the day.
fn days_later(app: &TestApp, days: i64) -> UtcDay {
    let day = today(app).plus_days(days);
    go_to(app, day, 9 * HOUR);
    day
}

/// A server at nine in the morning, and a client with the app `demo` whose deployment Staging has this many releases; Staging's key.
async fn prepared(releases: u32) -> (TestApp, Client, String) {
    let app = TestApp::spawn().await;
    days_later(&app, 1);
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    for number in 1..=releases {
        release(&ada, "demo", &number.to_string()).await;
    }
    (app, ada, staging)
}

/// Releases new contents in Staging, and returns the label.
async fn release(client: &Client, app: &str, content: &str) -> String {
    let made = client.upload(app, "Staging", content.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201);
    made["package"]["label"].as_str().unwrap().to_owned()
}

/// A device reports that it runs a release, and the clock advances by a millisecond.
async fn install(app: &TestApp, key: &str, device: &str, label: &str) {
    let body = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": device, "label": label, "status": "DeploymentSucceeded" });
    app.anonymous().post("/v1/public/svc/report_status/deploy", body).await.assert(200);
    app.clock.advance(1);
}

/// The history of a deployment for a query.
async fn history(client: &Client, app: &str, deployment: &str, query: &str) -> Value {
    client.get(&format!("/v1/apps/{app}/deployments/{deployment}/metrics/history{query}")).await.assert(200)
}

/// The complete history of `demo`'s Staging.
async fn whole(client: &Client) -> Value {
    history(client, "demo", "Staging", "?from=1970-01-01").await
}

/// A label's values on a day: active, downloaded, installed, failed, and the deltas of the last three.
fn values(now: [i64; 4], deltas: Option<[i64; 3]>) -> Value {
    let [active, downloaded, installed, failed] = now;
    let delta = |index: usize| deltas.map(|deltas| deltas[index]);
    json!({
        "active": active, "downloaded": downloaded, "installed": installed, "failed": failed,
        "downloadedDelta": delta(0), "installedDelta": delta(1), "failedDelta": delta(2),
    })
}

/// A day's entry.
fn day<const N: usize>(date: UtcDay, labels: [(&str, Value); N]) -> Value {
    let labels: serde_json::Map<String, Value> = labels.into_iter().map(|(label, values)| (label.to_owned(), values)).collect();
    json!({ "date": date.to_string(), "labels": labels })
}

/// Every stored day, with all its columns.
async fn stored(app: &TestApp) -> Vec<String> {
    let sql = "SELECT deployment_id || ' ' || CAST(epoch AS TEXT) || ' ' || CAST(day AS TEXT) || ' ' || CAST(first_day AS TEXT) || ' ' || labels || ' ' || \
        COALESCE(binaries, '') || ' ' || CASE WHEN is_closed THEN 'closed' ELSE 'open' END FROM metric_days ORDER BY deployment_id, epoch, day";
    app.texts(sql, &[]).await
}
