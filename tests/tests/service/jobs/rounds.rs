//! Jobs run periodically. What they do is tested elsewhere.

use std::time::Duration;

use serde_json::json;
use shared::ids::ReportId;
use tests::TestApp;
use tests::people::{PASSWORD, login};
use tests::reports::report;

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// Advances the time that jobs sleep by. It is not the clock that decides what is due. A job that is not asleep at that moment does not notice.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Lets this time pass until a job has done something: again and again, since the job may be in the middle of a round. Uses no timeout, for which the
/// time would pass as well.
async fn pass_until(what: &str, time: Duration, mut is_done: impl AsyncFnMut() -> bool) {
    for _ in 0..1_000 {
        pass(time).await;
        for _ in 0..50 {
            if is_done().await {
                return;
            }
        }
    }
    panic!("did not happen: {what}");
}

// On one thread, where that time can be advanced.
#[tokio::test]
async fn history_is_stored_every_hour() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let installed = async || {
        let answer = ada.get("/v1/apps/demo/deployments/Staging/metrics/history").await.assert(200);
        answer["days"].as_array().unwrap().last().map(|day| day["labels"]["v1"]["installed"].as_i64().unwrap())
    };
    assert_eq!(installed().await, None, "the round at startup had nothing to store");
    for number in 1..=3 {
        let now = app.clock.now();
        let id = ReportId::v7(now, [u8::try_from(number).unwrap(); 10]).to_string();
        app.deliver(&[report(&id, now.0, &staging, Some(&format!("device {number}")), "installed", "v1")]).await;
        pass_until("a round", HOUR, async || installed().await == Some(number)).await;
    }
}

#[tokio::test]
async fn expired_rows_are_deleted_every_minute() {
    const DAY: i64 = 86_400_000;
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    for number in 1..=3 {
        let now = app.clock.now();
        let id = ReportId::v7(now, [number; 10]).to_string();
        let anonymous = [report(&id, now.0, &staging, None, "downloaded", "v1")];
        app.deliver(&anonymous).await;
        app.anonymous().post("/v1/auth/register", login(&format!("bob{number}@example.com"), PASSWORD)).await.assert(202);
        let rows = async || (app.number("SELECT COUNT(*) FROM report_ids").await, app.number("SELECT COUNT(*) FROM registrations").await);
        assert_eq!(rows().await, (1, 1));
        // Repeated reports are recognized for fifteen days.
        app.clock.advance(15 * DAY);
        pass_until("a registration is deleted", MINUTE, async || rows().await.1 == 0).await;
        pass(MINUTE).await;
        app.deliver(&anonymous).await;
        assert_eq!(rows().await.0, 1);
        assert_eq!(ada.metrics("demo", "Staging").await["v1"]["downloaded"], number);
        app.clock.advance(1);
        pass_until("a report ID is deleted", MINUTE, async || rows().await.0 == 0).await;
    }
}

#[tokio::test]
async fn recent_metrics_are_deleted_after_two_days_and_an_hour() {
    const HOUR: i64 = 3_600_000;
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let rows = async || app.number("SELECT COUNT(*) FROM metric_minutes").await;
    let start = app.clock.now();
    app.clock.advance(2 * 60_000);
    for number in 0..3 {
        let id = ReportId::v7(start, [number; 10]).to_string();
        let received = start.0 + i64::from(number) * 60_000;
        app.deliver(&[report(&id, received, &staging, None, "downloaded", "v1")]).await;
    }
    assert_eq!(rows().await, 3);
    // The first minute began up to a minute before the first report.
    app.clock.advance(49 * HOUR - 2 * 60_000 - start.0 % 60_000);
    pass(MINUTE).await;
    pass(MINUTE).await;
    assert_eq!(rows().await, 3, "kept for two days, and an hour for clocks that differ");
    app.clock.advance(60_001);
    pass_until("two minutes are deleted", MINUTE, async || rows().await == 1).await;
    assert_eq!(ada.metrics("demo", "Staging").await["v1"]["downloaded"], 3);
}
