//! The number of SQL statements per request: independent of the length of lists, and of other apps.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};
use tests::output::Output;
use tests::{Answer, Client, Device, Options, SessionOrigin, TestApp, logged};

/// Every list and every page with several entries, with a path that shows fifty.
const PATHS: [&str; 35] = [
    "/v1/apps",
    "/v1/apps/demo",
    "/v1/apps/demo/audit?limit=100",
    "/v1/apps/demo/collaborators",
    "/v1/apps/demo/deployments",
    "/v1/apps/demo/deployments/Production/history",
    "/v1/apps/demo/deployments/Production/releases?limit=100",
    "/v1/access-keys",
    "/v1/account/sessions",
    "/v1/api-keys",
    "/v1/cli/devices",
    "/v1/mfa/passkeys",
    "/dashboard",
    "/dashboard/apps/demo",
    "/dashboard/apps/demo/activity",
    "/dashboard/apps/demo/collaborators",
    "/dashboard/apps/demo/deployments/Production",
    "/dashboard/apps/demo/deployments/Production/metrics",
    "/dashboard/apps/demo/deployments/Production/releases/v1",
    "/dashboard/apps/demo/deployments/Production/releases/v1/contents",
    "/dashboard/apps/demo/deployments/Production/releases/v1/edit",
    "/dashboard/apps/demo/deployments/Production/releases/v1/promote",
    "/dashboard/apps/demo/deployments/Production/rollback",
    "/dashboard/apps/demo/deployments/Production/upload",
    "/dashboard/apps/demo/delete",
    "/dashboard/apps/demo/settings",
    "/dashboard/apps/demo/transfer",
    "/dashboard/account",
    "/dashboard/usage",
    "/dashboard/account/delete",
    "/dashboard/cli/key?hostname=laptop",
    "/dashboard/keys",
    "/dashboard/security",
    "/dashboard/security/passkeys/00000000-0000-7000-8000-000000000001",
    "/dashboard/sessions",
];

/// Pages that read a list without showing it, or only a page of it.
const SHOW_LESS: [&str; 13] = [
    "/dashboard/apps/demo/delete",
    "/dashboard/apps/demo/deployments/Production/upload",
    "/dashboard/apps/demo/settings",
    "/dashboard/apps/demo/transfer",
    "/dashboard/apps/demo/deployments/Production",
    "/dashboard/apps/demo/deployments/Production/metrics",
    "/dashboard/apps/demo/deployments/Production/releases/v1",
    "/dashboard/apps/demo/deployments/Production/releases/v1/contents",
    "/dashboard/apps/demo/deployments/Production/releases/v1/edit",
    "/dashboard/apps/demo/deployments/Production/releases/v1/promote",
    "/dashboard/apps/demo/deployments/Production/rollback",
    "/dashboard/cli/key?hostname=laptop",
    "/dashboard/security/passkeys/00000000-0000-7000-8000-000000000001",
];

/// The maximum number of statements of a page of the dashboard.
const MOST: usize = 40;

/// The cost of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    statements: usize,
    /// The returned rows.
    rows: u64,
}

/// The response to this dashboard session, which pages identify by its cookie.
async fn get(session: &Client, path: &str) -> Answer {
    let answer = if path.starts_with("/v1/") {
        session.get(path).await
    } else {
        let browser = session.with_token(None);
        browser.send(browser.request(Method::GET, path).header("cookie", format!("updraft={}", session.token()))).await
    };
    answer.assert_status(200);
    answer
}

/// The database cost of this request. Jobs run concurrently, so the minimum of several requests counts.
async fn cost(log: &Output, session: &Client, path: &str) -> Cost {
    let mut least = Cost { statements: usize::MAX, rows: u64::MAX };
    for _ in 0..5 {
        let before = log.lines().len();
        get(session, path).await;
        let lines = log.lines();
        let parsed = lines[before..].iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let asked: Vec<Value> = parsed.filter(|line| line["target"] == "sqlx::query").collect();
        least.statements = least.statements.min(asked.len());
        least.rows = least.rows.min(asked.iter().map(|line| line["fields"]["rows_returned"].as_u64().unwrap()).sum());
    }
    assert!(least.statements > 0, "no statement was logged for {path}");
    least
}

/// The length of the longest list.
fn longest(value: &Value) -> usize {
    match value {
        Value::Array(all) => all.iter().map(longest).max().unwrap_or(0).max(all.len()),
        Value::Object(all) => all.values().map(longest).max().unwrap_or(0).max(all.len()),
        _ => 0,
    }
}

fn entries(answer: &Answer) -> usize {
    let text = answer.text();
    serde_json::from_str(&text).map_or_else(|_| text.matches("<tr").count().max(text.matches("<li").count()), |value| longest(&value))
}

/// Adds one entry to every list: resources of Ada, of her app `demo`, and shares.
async fn one_more(app: &TestApp, ada: &Client, session: &Client, number: usize) {
    let name = format!("more {number}");
    ada.post("/v1/apps", json!({ "name": name })).await.assert(201);
    ada.upload("demo", "Production", name.as_bytes(), json!({ "appVersion": "*" })).await.assert(201);
    ada.post("/v1/apps/demo/deployments", json!({ "name": name })).await.assert(201);
    ada.upload("demo", &name, b"one", json!({ "appVersion": "*" })).await.assert(201);
    let other = format!("other{number}");
    app.sign_up(&other).await.post("/v1/apps", json!({ "name": other })).await.assert(201);
    app.share("ada", "demo", &other, "Developer", 1).await;
    app.share(&other, &other, "ada", "Viewer", i64::try_from(number).unwrap()).await;
    app.named_key("ada", &name).await;
    session.post("/v1/api-keys", json!({ "name": name, "scopes": ["read"] })).await.assert(201);
    app.open_session("ada", SessionOrigin::Dashboard).await;
    app.open_session_of("ada", SessionOrigin::CliBrowser, "127.0.0.1", &Device::default()).await;
    let passkey = "INSERT INTO passkeys (id, account_id, credential_id, credential, name, is_backup_eligible, is_backed_up, transports, counter, \
        created_time, last_used_time) SELECT $1, id, $1, '{}', $1, FALSE, FALSE, '[\"usb\"]', 0, 0, 0 FROM accounts WHERE email = $2";
    assert_eq!(app.change(passkey, &[&format!("00000000-0000-7000-8000-{number:012}"), "ada@example.com"]).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_statements_does_not_grow_with_the_list() {
    let log = logged::listen("sqlx::query=debug");
    let options = Options::default().with("LIMIT_UPLOADS", "200/15m").with("LIMIT_ACCOUNT_UPLOADS", "200/15m");
    let app = TestApp::spawn_with(options.with("LIMIT_DEPLOYMENTS", "100").with("LIMIT_MAX_API_KEYS", "100")).await;
    let ada = app.sign_up("ada").await;
    let session = app.open_session("ada", SessionOrigin::Dashboard).await;
    ada.create_app("demo").await;
    one_more(&app, &ada, &session, 1).await;
    let mut for_one = BTreeMap::new();
    for path in PATHS {
        for_one.insert(path, cost(&log, &session, path).await);
    }

    for number in 2..=50 {
        one_more(&app, &ada, &session, number).await;
    }
    let mut dearer = Vec::new();
    for path in PATHS {
        let shown = entries(&get(&session, path).await);
        assert!(shown >= 50 || SHOW_LESS.contains(&path), "{path} shows {shown} entries");
        let (one, fifty) = (for_one[path].statements, cost(&log, &session, path).await.statements);
        assert!(fifty < MOST, "{path}: {fifty} statements");
        // The statements of jobs during each of the five requests are fewer than this.
        if fifty >= one + 5 {
            dearer.push(format!("{path}: {one} statements for one, {fifty} for fifty"));
        }
    }
    assert!(dearer.is_empty(), "{dearer:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_one_app_does_not_read_others() {
    let log = logged::listen("sqlx::query=debug");
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("own").await;
    for name in ["accepted", "long"] {
        bob.create_app(name).await;
        app.share("bob", name, "ada", "Developer", 1).await;
    }
    app.change("UPDATE collaborators SET accepted_time = NULL WHERE app_id IN (SELECT id FROM apps WHERE name = $1)", &["long"]).await;
    let paths =
        [("own", "own"), ("accepted", "accepted"), ("bob@example.com:long", "bob@example.com:long"), ("ada@example.com:own", "own")];
    let mut alone = BTreeMap::new();
    for (path, name) in paths {
        let path = format!("/v1/apps/{path}");
        assert_eq!(get(&ada, &path).await.json()["app"]["name"], name);
        alone.insert(path.clone(), cost(&log, &ada, &path).await);
    }

    for number in 0..49 {
        let name = format!("more {number}");
        for client in [&ada, &bob] {
            client.post("/v1/apps", json!({ "name": name })).await.assert(201);
        }
        app.share("bob", &name, "ada", "Developer", 2).await;
    }
    for (path, alone) in alone {
        let among_others = cost(&log, &ada, &path).await;
        assert!(
            among_others.statements < alone.statements + 5 && among_others.rows < alone.rows + 5,
            "{path}: {alone:?}, {among_others:?}"
        );
    }
}
