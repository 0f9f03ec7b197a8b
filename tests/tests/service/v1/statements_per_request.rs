//! How many statements a request costs: as many for a long list as for a short one.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::output::Output;
use tests::{Client, Options, TestApp, logged};

/// The statements that the database was given for this request. Jobs ask beside it: of several requests, the one with the fewest counts.
async fn statements(log: &Output, client: &Client, path: &str) -> usize {
    let mut fewest = usize::MAX;
    for _ in 0..5 {
        let before = log.lines().len();
        client.get(path).await.assert(200);
        let lines = log.lines();
        let parsed = lines[before..].iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        fewest = fewest.min(parsed.filter(|line| line["target"] == "sqlx::query").count());
    }
    fewest
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_takes_no_more_statements_for_many_than_for_one() {
    let log = logged::listen("sqlx::query=debug");
    let options = Options::default().with("LIMIT_UPLOADS", "200/15m").with("LIMIT_ACCOUNT_UPLOADS", "200/15m");
    let app = TestApp::spawn_with(options.with("LIMIT_DEPLOYMENTS", "100")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "*" })).await.assert(201);
    let paths = [
        "/v1/apps",
        "/v1/apps/demo",
        "/v1/apps/demo/deployments",
        "/v1/apps/demo/deployments/Production/releases",
        "/v1/apps/demo/deployments/Production/history",
        "/v1/apps/demo/collaborators",
        "/v1/access-keys",
    ];
    let mut for_one = BTreeMap::new();
    for path in paths {
        for_one.insert(path, statements(&log, &ada, path).await);
    }
    assert!(for_one.values().all(|count| *count > 0), "nothing was heard: {for_one:?}");

    for number in 1..50 {
        ada.create_app(&format!("app {number}")).await;
        ada.upload("demo", "Production", format!("{number}").as_bytes(), json!({ "appVersion": "*" })).await.assert(201);
        let name = format!("deployment {number}");
        ada.post("/v1/apps/demo/deployments", json!({ "name": name })).await.assert(201);
        ada.upload("demo", &name, b"one", json!({ "appVersion": "*" })).await.assert(201);
    }
    for path in paths {
        let (one, fifty) = (for_one[path], statements(&log, &ada, path).await);
        // What jobs ask beside a slow request is less than one statement more for each of the fifty.
        assert!(fifty < one + 25, "{path}: {one} statements for one, {fifty} for fifty");
    }
}
