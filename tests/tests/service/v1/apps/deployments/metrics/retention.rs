//! Retention: days are stored as long as the app's owner may see them, plus one for the deltas of the first.

use serde_json::json;
use tests::TestApp;

use crate::v1::apps::deployments::metrics::{day, days_later, history, install, prepared, round, today, values, whole};

async fn retain(app: &TestApp, name: &str, days: i64) {
    let sql = "UPDATE accounts SET retention_days = CAST($2 AS BIGINT) WHERE email = $1";
    assert_eq!(app.change(sql, &[&format!("{name}@example.com"), &days.to_string()]).await, 1);
}

const COUNT: &str = "SELECT COUNT(*) FROM metric_days";

#[tokio::test(flavor = "multi_thread")]
async fn days_beyond_the_owners_retention_are_hidden_and_deleted() {
    let (app, ada, staging) = prepared(1).await;
    let first = today(&app);
    retain(&app, "ada", 3).await;
    for number in 0..6 {
        install(&app, &staging, &format!("device {number}"), "v1").await;
        round(&app).await;
        assert_eq!(app.number(COUNT).await, (number + 1).min(4), "on day {number}");
        let shown = whole(&ada).await;
        assert_eq!(shown["days"].as_array().unwrap().len(), usize::try_from((number + 1).min(3)).unwrap());
        assert_eq!(shown["from"], first.plus_days((number - 2).max(0)).to_string());
        // The start of the history is shown even if those days were deleted.
        assert_eq!(shown["historyStartsAt"], first.to_string());
        if number >= 3 {
            let oldest = first.plus_days(number - 2);
            let values = values([number - 1, 0, number - 1, 0], Some([0, 1, 0]));
            assert_eq!(shown["days"][0], day(oldest, [("v1", values)]), "its deltas are relative to a hidden day");
        }
        days_later(&app, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_follows_the_limit_and_the_owner() {
    let (app, ada, staging) = prepared(1).await;
    for number in 0..12 {
        install(&app, &staging, &format!("device {number}"), "v1").await;
        round(&app).await;
        if number < 11 {
            days_later(&app, 1);
        }
    }
    let days = async |client, name: &str| history(client, name, "Staging", "?from=1970-01-01").await["days"].as_array().unwrap().len();
    assert_eq!(days(&ada, "demo").await, 12);
    // A new limit applies immediately to reading, and to storage from the next round on.
    retain(&app, "ada", 8).await;
    assert_eq!((days(&ada, "demo").await, app.number(COUNT).await), (8, 12));
    round(&app).await;
    assert_eq!((days(&ada, "demo").await, app.number(COUNT).await), (8, 9));
    retain(&app, "ada", 90).await;
    assert_eq!(days(&ada, "demo").await, 9, "deleted days are not restored");

    // The app becomes bob's, who may see two days; ada becomes its admin.
    let bob = app.sign_up("bob").await;
    retain(&app, "bob", 2).await;
    ada.send(ada.request(reqwest::Method::POST, "/v1/apps/demo/transfer/bob@example.com")).await.assert(201);
    // Until bob accepts it, ada's retention applies.
    assert_eq!(days(&bob, "ada@example.com:demo").await, 9);
    bob.post("/v1/apps/ada@example.com:demo/collaborators/me/accept", json!({})).await.assert(200);
    assert_eq!((days(&bob, "demo").await, days(&ada, "bob@example.com:demo").await), (2, 2));
    round(&app).await;
    assert_eq!(app.number(COUNT).await, 3);
    // Another owner's app is unaffected.
    assert_eq!(whole(&bob).await["days"][1]["labels"]["v1"]["installed"], json!(12));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_round_deletes_any_number_of_days() {
    let (app, ada, staging) = prepared(1).await;
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    let sql = "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 400) \
        INSERT INTO metric_days (deployment_id, epoch, day, first_day, labels, is_closed) \
        SELECT deployment_id, epoch, day - number, first_day, '{}', TRUE FROM metric_days, numbers";
    assert_eq!(app.change(sql, &[]).await, 400);
    retain(&app, "ada", 10).await;
    round(&app).await;
    assert_eq!(app.number(COUNT).await, 11);
    assert_eq!(whole(&ada).await["days"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_ahead_deletes_no_history() {
    let (app, ada, staging) = prepared(1).await;
    retain(&app, "ada", 5).await;
    for number in 0..4 {
        install(&app, &staging, &format!("device {number}"), "v1").await;
        round(&app).await;
        days_later(&app, i64::from(number < 3));
    }
    let before = whole(&ada).await["days"].clone();
    assert_eq!(before.as_array().unwrap().len(), 4);
    days_later(&app, 1_000);
    round(&app).await;
    round(&app).await;
    assert_eq!(app.number(COUNT).await, 5);
    days_later(&app, -1_000);
    round(&app).await;
    assert_eq!(whole(&ada).await["days"], before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_open_day_stays_until_it_is_closed() {
    let (app, ada, staging) = prepared(1).await;
    let first = today(&app);
    retain(&app, "ada", 1).await;
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    let late = days_later(&app, 20);
    install(&app, &staging, "b", "v1").await;
    let shown = whole(&ada).await;
    assert_eq!((&shown["historyStartsAt"], &shown["days"]), (&json!(first.to_string()), &json!([])));
    round(&app).await;
    assert_eq!(whole(&ada).await["days"], json!([day(late, [("v1", values([2, 0, 2, 0], None))])]));
    assert_eq!(app.number(COUNT).await, 2, "a gap alone deletes nothing");
    let after = days_later(&app, 1);
    round(&app).await;
    assert_eq!(app.texts("SELECT CAST(day AS TEXT) FROM metric_days ORDER BY day", &[]).await, [late.0.to_string(), after.0.to_string()]);
    assert_eq!(whole(&ada).await["historyStartsAt"], first.to_string());
}
