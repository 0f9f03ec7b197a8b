//! The range of days: query parameters, defaults and clamping.

use serde_json::{Value, json};
use shared::time::UtcDay;
use tests::{Client, TestApp};

use crate::v1::apps::deployments::metrics::{days_later, history, install, prepared, round, today, whole};

const PATH: &str = "/v1/apps/demo/deployments/Staging/metrics/history";

/// Fifty days, each with one more installation.
async fn fifty_days() -> (TestApp, Client, UtcDay, UtcDay) {
    let (app, ada, staging) = prepared(1).await;
    let first = today(&app);
    for number in 0..50 {
        install(&app, &staging, &format!("device {number}"), "v1").await;
        round(&app).await;
        if number < 49 {
            days_later(&app, 1);
        }
    }
    let last = today(&app);
    (app, ada, first, last)
}

/// The range in a response, its number of days, and the first day's installations and delta.
fn outline(answer: &Value) -> (String, String, usize, Value, Value) {
    let text = |name: &str| answer[name].as_str().unwrap().to_owned();
    let first = &answer["days"][0]["labels"]["v1"];
    (text("from"), text("to"), answer["days"].as_array().unwrap().len(), first["installed"].clone(), first["installedDelta"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_defaults_to_thirty_days_and_is_clamped_to_available_days() {
    let (app, ada, first, last) = fifty_days().await;
    let at = |offset: i64| first.plus_days(offset).to_string();
    let (distant_past, distant_future) = ("0001-01-01", "9999-12-31");
    for (query, from, to, days) in [
        (String::new(), 20, 49, 30),
        ("?".to_owned(), 20, 49, 30),
        ("?from=&to=".to_owned(), 20, 49, 30),
        ("?unknown=1&From=x".to_owned(), 20, 49, 30),
        (format!("?from={}", at(40)), 40, 49, 10),
        (format!("?from={}", at(1)), 1, 49, 49),
        (format!("?to={}", at(40)), 11, 40, 30),
        (format!("?to={}", at(5)), 0, 5, 6),
        (format!("?from={}&to={}", at(7), at(7)), 7, 7, 1),
        (format!("?to={}&from={}", at(9), at(7)), 7, 9, 3),
        (format!("?from={distant_past}&to={distant_future}"), 0, 49, 50),
        (format!("?from={}&to={distant_future}", at(48)), 48, 49, 2),
        (format!("?from={distant_past}&to={}", at(1)), 0, 1, 2),
        // Ranges entirely outside are clamped to the nearest end.
        (format!("?from={distant_past}&to=0001-12-31"), 0, 0, 1),
        (format!("?from={}&to={}", at(-10), at(-1)), 0, 0, 1),
        (format!("?from={}&to={distant_future}", at(50)), 49, 49, 1),
        (format!("?from={}", at(50)), 49, 49, 1),
        (format!("?to={distant_past}"), 0, 0, 1),
        (format!("?to={distant_future}"), 20, 49, 30),
    ] {
        let answer = ada.get(&format!("{PATH}{query}")).await.assert(200);
        let delta = if from == 0 { json!(null) } else { json!(1) };
        assert_eq!(outline(&answer), (at(from), at(to), days, json!(from + 1), delta), "{query}");
        assert_eq!(answer["historyStartsAt"], at(0), "{query}");
        let dates: Vec<&str> = answer["days"].as_array().unwrap().iter().map(|day| day["date"].as_str().unwrap()).collect();
        assert!(dates.is_sorted(), "{dates:?}");
        assert_eq!(dates.first().copied(), Some(at(from).as_str()), "{query}");
    }
    assert_eq!(last, first.plus_days(49));
    // The response has exactly these members.
    let answer = whole(&ada).await;
    let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(&answer), ["days", "from", "historyStartsAt", "to"]);
    assert_eq!(members(&answer["days"][0]), ["date", "labels"]);
    let values = ["active", "downloaded", "downloadedDelta", "failed", "failedDelta", "installed", "installedDelta"];
    assert_eq!(members(&answer["days"][0]["labels"]["v1"]), values);
    // The percent-encoded form is equivalent, and so is a trailing slash.
    let query = format!("?from={}&to={}", at(7).replace('-', "%2D"), at(8));
    assert_eq!(outline(&ada.get(&format!("{PATH}/{query}")).await.assert(200)).2, 2);
    drop(app);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_dates_are_refused_naming_each() {
    let (app, ada, _) = prepared(1).await;
    let refused = async |query: &str| ada.get(&format!("{PATH}{query}")).await.refused(400);
    let rule = "must be a date such as 2026-01-31";
    for wrong in [
        "2026-02-30",
        "2026-13-01",
        "2026-00-01",
        "2026-01-00",
        "2026-1-1",
        "01-01-2026",
        "2026-01-01T00:00:00Z",
        "20260101",
        "today",
        "0",
        "-1",
        "+026-01-01",
        "%32026-01-01x",
        "%00",
        "%F0%9F%98%80",
        "2026-01-01,2026-01-02",
        "null",
    ] {
        assert_eq!(refused(&format!("?from={wrong}")).await, format!("from: {rule}"), "{wrong}");
        assert_eq!(refused(&format!("?to={wrong}")).await, format!("to: {rule}"), "{wrong}");
        assert_eq!(refused(&format!("?from={wrong}&to=2026-01-01")).await, format!("from: {rule}"), "{wrong}");
        assert_eq!(refused(&format!("?from={wrong}&to={wrong}")).await, format!("from: {rule}; to: {rule}"), "{wrong}");
    }
    assert_eq!(refused("?from=2026-01-02&to=2026-01-01").await, "from: must not be after to");
    assert_eq!(refused("?from=2026-01-01&from=2026-01-01").await, "from: must be given only once");
    assert_eq!(refused("?to=&to=2026-01-01").await, "to: must be given only once");
    assert_eq!(refused("?from=9999-12-31&to=9999-12-30").await, "from: must not be after to");
    ada.get(&format!("{PATH}?from=2026-01-01&to=2026-01-01")).await.assert(200);
    // Access is checked first.
    let bob = app.sign_up("bob").await;
    bob.get(&format!("{PATH}?from=x")).await.refused(404);
    app.anonymous().get(&format!("{PATH}?from=x")).await.refused(401);
    ada.get("/v1/apps/demo/deployments/Absent/metrics/history").await.refused(404);
    ada.get("/v1/apps/absent/deployments/Staging/metrics/history").await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_days_the_response_is_empty() {
    let (app, ada, staging) = prepared(1).await;
    install(&app, &staging, "a", "v1").await;
    let today = today(&app);
    let empty = |from: UtcDay, to: UtcDay| json!({ "from": from.to_string(), "to": to.to_string(), "historyStartsAt": null, "days": [] });
    for deployment in ["Staging", "Production"] {
        let ask = async |query: &str| history(&ada, "demo", deployment, query).await;
        assert_eq!(ask("").await, empty(today.plus_days(-29), today));
        assert_eq!(ask("?from=0001-01-01&to=9999-12-31").await, empty(today.plus_days(-89), today));
        assert_eq!(ask("?to=2001-01-01").await, empty(today.plus_days(-89), today.plus_days(-89)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everyone_who_can_read_counts_can_read_their_history() {
    let (app, ada, staging) = prepared(1).await;
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    let expected = whole(&ada).await;
    app.sign_up("bob").await;
    app.share("ada", "demo", "bob", "Viewer", 1).await;
    let bob = app.named_key("bob", "key").await;
    assert_eq!(history(&bob, "ada@example.com:demo", "Staging", "?from=1970-01-01").await, expected);
    for scope in ["read", "deploy", "apps"] {
        assert_eq!(whole(&app.api_key("ada", &[scope]).await).await, expected, "{scope}");
    }
    let document = app.anonymous().get("/v1/openapi.json").await.assert(200);
    let operation = &document["paths"]["/v1/apps/{app}/deployments/{deployment}/metrics/history"]["get"];
    assert_eq!(operation["security"], json!([{ "bearer": ["metrics.read"] }]));
    let parameters = operation["parameters"].as_array().unwrap();
    let query: Vec<&Value> = parameters.iter().filter(|parameter| parameter["in"] == "query").collect();
    assert_eq!(query.iter().map(|parameter| parameter["name"].as_str().unwrap()).collect::<Vec<_>>(), ["from", "to"]);
    assert!(query.iter().all(|parameter| parameter["schema"]["format"] == "date" && parameter["required"] == false), "{query:?}");
    assert!(operation["responses"]["400"].is_object());
}
