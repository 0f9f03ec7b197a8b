//! Recent metrics: what each minute's reports have changed.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shared::ids::ReportId;
use tests::random::Random;
use tests::reports::{Counts, report};
use tests::{Client, TestApp};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// A server, the owner of the app `demo` whose deployment Staging has two releases, and Staging's key.
async fn prepared() -> (TestApp, Client, String) {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    for content in ["one", "two"] {
        let info = json!({ "appVersion": "1.0.0" });
        ada.upload("demo", "Staging", content.as_bytes(), info).await.assert(201);
    }
    // The beginning of a quarter of an hour.
    app.clock.advance(15 * MINUTE - app.clock.now().0 % (15 * MINUTE));
    (app, ada, staging)
}

async fn recent(client: &Client, query: &str) -> Value {
    client.get(&format!("/v1/apps/demo/deployments/Staging/metrics/recent{query}")).await.assert(200)
}

/// The sums of all points.
fn sums(answer: &Value) -> Counts {
    let mut sums = Counts::new();
    for point in answer["points"].as_array().unwrap() {
        for (place, counts) in tests::reports::read(&point["labels"]) {
            let sum = sums.entry(place).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    sums.retain(|_, counts| *counts != [0; 4]);
    sums
}

/// The counters, without those at zero.
async fn counters(client: &Client) -> Counts {
    let mut counts = client.counts("demo", "Staging").await;
    counts.retain(|_, counts| *counts != [0; 4]);
    counts
}

/// The points by minutes since `start`.
fn points(answer: &Value, start: i64) -> BTreeMap<i64, Counts> {
    let points = answer["points"].as_array().unwrap();
    points.iter().map(|point| ((point["time"].as_i64().unwrap() - start) / MINUTE, tests::reports::read(&point["labels"]))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sums_are_the_changes_of_the_counters() {
    let (app, ada, key) = prepared().await;
    let mut random = Random::new(20);
    let mut delivered = Vec::<Value>::new();
    for round in 0..30 {
        app.clock.advance(i64::try_from(random.below(15)).unwrap() * MINUTE);
        let now = app.clock.now();
        let mut batch = Vec::new();
        for number in 0..12 {
            let id = ReportId::v7(now, [round, number, 0, 0, 0, 0, 0, 0, 0, 0]).to_string();
            // The Queue can deliver late, and in any order.
            let received = now.0 - i64::try_from(random.below(30)).unwrap() * MINUTE;
            let device = format!("phone-{}", random.below(8));
            let device = random.chance(90).then_some(device.as_str());
            let (event, place) = *random.one_of(&[
                ("downloaded", "v1"),
                ("installed", "v1"),
                ("failed", "v2"),
                ("downloaded", "v2"),
                ("installed", "v2"),
                ("binary", "1.0.0"),
                ("binary", "2.0.0"),
            ]);
            batch.push(report(&id, received, &key, device, event, place));
        }
        // Some arrive twice.
        batch.extend((!delivered.is_empty() && random.chance(50)).then(|| random.one_of(&delivered).clone()));
        app.deliver(&batch).await;
        delivered.extend(batch);
        let answer = recent(&ada, "?minutes=2880").await;
        assert_eq!(sums(&answer), counters(&ada).await, "{answer}");
    }
    // Shorter steps say the same.
    for minutes in [600, 1_000] {
        assert_eq!(sums(&recent(&ada, &format!("?minutes={minutes}")).await), counters(&ada).await, "{minutes} minutes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_belongs_to_the_minute_of_receipt() {
    let (app, ada, key) = prepared().await;
    let start = app.clock.now().0;
    app.clock.advance(10 * MINUTE + 59_999);
    let id = |number: u8| ReportId::v7(app.clock.now(), [number; 10]).to_string();
    app.deliver(&[
        report(&id(1), start + 3 * MINUTE, &key, Some("a"), "installed", "v1"),
        report(&id(2), start + 5 * MINUTE, &key, Some("b"), "installed", "v1"),
        report(&id(3), start + 5 * MINUTE + 59_999, &key, None, "downloaded", "v2"),
    ])
    .await;
    app.deliver(&[report(&id(4), start + 7 * MINUTE, &key, Some("a"), "installed", "v2")]).await;
    let answer = recent(&ada, "").await;
    assert_eq!((&answer["to"], &answer["from"]), (&json!(start + 11 * MINUTE), &json!(start - 49 * MINUTE)));
    assert_eq!(answer["stepMinutes"], 1);
    let counts = |list: &[(&str, [i64; 4])]| list.iter().map(|(place, counts)| ((*place).to_owned(), *counts)).collect::<Counts>();
    let expected = BTreeMap::from([
        (3, counts(&[("v1", [1, 0, 1, 0])])),
        (5, counts(&[("v1", [1, 0, 1, 0]), ("v2", [0, 1, 0, 0])])),
        (7, counts(&[("v1", [-1, 0, 0, 0]), ("v2", [1, 0, 1, 0])])),
    ]);
    assert_eq!(points(&answer, start), expected);

    let five = recent(&ada, "?minutes=121").await;
    assert_eq!(five["stepMinutes"], 5);
    let expected = BTreeMap::from([(0, counts(&[("v1", [1, 0, 1, 0])])), (5, counts(&[("v1", [0, 0, 1, 0]), ("v2", [1, 1, 1, 0])]))]);
    assert_eq!(points(&five, start), expected);
    let quarter = recent(&ada, "?minutes=2880").await;
    assert_eq!(quarter["stepMinutes"], 15);
    assert_eq!(quarter["from"].as_i64().unwrap() % (15 * MINUTE), 0);
    assert_eq!(points(&quarter, start), BTreeMap::from([(0, counts(&[("v1", [1, 0, 2, 0]), ("v2", [1, 1, 1, 0])]))]));
    // A minute that is over a minute ago is not in the last minute.
    app.clock.advance(MINUTE);
    assert_eq!(recent(&ada, "?minutes=1").await["points"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleared_history_has_no_recent_changes() {
    let (app, ada, key) = prepared().await;
    let id = |number: u8| ReportId::v7(app.clock.now(), [number; 10]).to_string();
    app.deliver(&[report(&id(1), app.clock.now().0, &key, Some("a"), "installed", "v1")]).await;
    assert!(!sums(&recent(&ada, "").await).is_empty());
    ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert_status(204);
    assert_eq!(recent(&ada, "?minutes=2880").await["points"], json!([]));
    // The binary of the same device counts again, and leaves nothing that is gone.
    app.deliver(&[report(&id(2), app.clock.now().0, &key, Some("a"), "binary", "1.0.0")]).await;
    assert_eq!(sums(&recent(&ada, "").await), counters(&ada).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn minutes_are_kept_for_two_days() {
    let (app, ada, key) = prepared().await;
    let id = |number: u8| ReportId::v7(app.clock.now(), [number; 10]).to_string();
    let start = app.clock.now().0;
    app.deliver(&[report(&id(1), start, &key, Some("a"), "installed", "v1")]).await;
    app.clock.advance(47 * HOUR + 59 * MINUTE);
    assert_eq!(sums(&recent(&ada, "?minutes=2880").await), counters(&ada).await);
    // Counted, but too old to be shown by the minute.
    app.clock.advance(17 * MINUTE);
    app.deliver(&[report(&id(2), start, &key, Some("b"), "downloaded", "v2")]).await;
    assert_eq!(counters(&ada).await["v2"], [0, 1, 0, 0]);
    assert_eq!(recent(&ada, "?minutes=2880").await["points"], json!([]));
    assert_eq!(app.number("SELECT COUNT(*) FROM metric_minutes").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_range_is_a_whole_number_of_minutes() {
    let (_app, ada, _) = prepared().await;
    for query in ["?minutes=0", "?minutes=2881", "?minutes=-1", "?minutes=%2B5", "?minutes=1.0", "?minutes=x", "?minutes=1&minutes=2"] {
        let refused = ada.get(&format!("/v1/apps/demo/deployments/Staging/metrics/recent{query}")).await.refused(400);
        assert!(refused.contains("minutes"), "{query}: {refused}");
    }
    assert_eq!(recent(&ada, "?minutes=").await["points"], json!([]));
    ada.get("/v1/apps/demo/deployments/Nothing/metrics/recent").await.refused(404);
}
