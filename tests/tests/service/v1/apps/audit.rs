//! The audit trail: one row for each change and none for anything else, who may read it, and that edits are detected.

use control::testing::audit::{ChainFault, EventRow, KnownHead};
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use tests::SessionOrigin::{CliBrowser, Dashboard};
use tests::people::PASSWORD;
use tests::{Answer, Bundle, Client, Dialect, Options, TestApp};

const OTHER: &str = "quite another phrase for the gate";

/// The one row added by `changing`, whose response must have this status.
async fn one(app: &TestApp, status: u16, changing: impl Future<Output = Answer>) -> (EventRow, Value) {
    let before = app.audit_rows().await;
    let answer = changing.await.assert(status);
    let mut rows = app.audit_since(before).await;
    assert_eq!(rows.len(), 1, "{rows:#?}");
    (rows.remove(0), answer)
}

/// Action, kind of object and kind of credential of the one row added by `changing`.
async fn noted(app: &TestApp, status: u16, changing: impl Future<Output = Answer>) -> [String; 3] {
    let (row, _) = one(app, status, changing).await;
    [row.action, row.object_kind, row.credential_kind]
}

/// Expects that no row is added.
async fn unnoted(app: &TestApp, status: u16, asking: impl Future<Output = Answer>) {
    let before = app.audit_rows().await;
    asking.await.assert_status(status);
    assert_eq!(app.audit_since(before).await, []);
}

async fn events(client: &Client, query: &str) -> Value {
    client.get(&format!("/v1/apps/demo/audit{query}")).await.assert(200)
}

fn actions(page: &Value) -> Vec<&str> {
    page["events"].as_array().unwrap().iter().map(|event| event["action"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_unauthenticated_change_adds_one_row() {
    let app = TestApp::spawn().await;
    let nobody = app.anonymous();
    let email = json!({ "email": "ada@example.com" });
    let registering = json!({ "email": "ada@example.com", "password": PASSWORD });
    let post = async |path: &str, body: &Value| nobody.post(path, body.clone()).await;
    let none = |action: &str, object: &str| [action.to_owned(), object.to_owned(), "none".to_owned()];
    assert_eq!(noted(&app, 202, post("/v1/auth/register", &registering)).await, none("registration.request", "email"));
    assert_eq!(noted(&app, 202, post("/v1/auth/resend-verification", &email)).await, none("registration.resend", "email"));
    let token = json!({ "token": app.last_mail_to("ada@example.com").await.token() });
    let (row, _) = one(&app, 200, post("/v1/auth/verify-email", &token)).await;
    let ada = app.account_of("ada").await;
    assert_eq!((row.action.as_str(), row.object_id.as_str(), row.account_id), ("account.create", ada.as_str(), None));
    // For an address with or without an account, the trail reveals no more than the response.
    assert_eq!(noted(&app, 202, post("/v1/auth/register", &registering)).await, none("registration.request", "email"));
    for path in ["/v1/auth/resend-verification", "/v1/auth/forgot-password"] {
        noted(&app, 202, post(path, &json!({ "email": "nobody@example.com" }))).await;
    }
    // The limit is three emails an hour per address.
    app.clock.advance(3_600_000);
    assert_eq!(noted(&app, 202, post("/v1/auth/forgot-password", &email)).await, none("password.forgot", "email"));
    let reset = json!({ "token": app.last_mail_to("ada@example.com").await.token(), "password": OTHER });
    let (row, _) = one(&app, 200, post("/v1/auth/reset-password", &reset)).await;
    assert_eq!((row.action.as_str(), row.object_id.as_str(), row.account_id.as_ref()), ("password.reset", ada.as_str(), Some(&ada)));
    let (row, _) = one(&app, 200, app.try_log_in("ada", OTHER)).await;
    assert_eq!((row.action.as_str(), row.object_kind.as_str(), row.account_id.as_ref()), ("session.create", "session", Some(&ada)));
    assert_eq!((row.credential_id, row.client_address.as_deref()), (None, Some("127.0.0.1")));
    assert_eq!(app.texts("SELECT id FROM access_keys", &[]).await, [row.object_id]);
    // Refusals change no audited data.
    assert_eq!(noted(&app, 401, app.try_log_in("ada", "not the password of anybody")).await, none("login.fail", "account"));
    unnoted(&app, 401, app.try_log_in("nobody", "not the password of anybody")).await;
    unnoted(&app, 400, post("/v1/auth/reset-password", &reset)).await;
    unnoted(&app, 400, post("/v1/auth/verify-email", &token)).await;
    unnoted(&app, 400, post("/v1/auth/register", &email)).await;
    app.verify_audit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_authenticated_change_adds_one_row() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    let dashboard = app.open_session("ada", Dashboard).await;
    let of = |action: &str, object: &str, by: &str| [action, object, by].map(str::to_owned);
    let renaming = dashboard.patch("/v1/account", json!({ "name": "Ada" }));
    assert_eq!(noted(&app, 200, renaming).await, of("account.update", "account", "dashboard_session"));
    let (row, made) = one(&app, 201, dashboard.post("/v1/access-keys", json!({ "friendlyName": "mine" }))).await;
    assert_eq!(row.action, "access_key.create");
    let named = dashboard.with_token(Some(made["accessKey"]["name"].as_str().unwrap().to_owned()));
    let renaming = dashboard.patch("/v1/access-keys/mine", json!({ "friendlyName": "ours" }));
    assert_eq!(noted(&app, 200, renaming).await, of("access_key.update", "access_key", "dashboard_session"));
    let new = json!({ "name": "robot", "scopes": ["deploy", "apps"] });
    let (row, made) = one(&app, 201, dashboard.post("/v1/api-keys", new)).await;
    assert_eq!((row.action.as_str(), row.object_id.as_str()), ("api_key.create", made["id"].as_str().unwrap()));
    let robot = dashboard.with_token(Some(made["key"].as_str().unwrap().to_owned()));
    let path = format!("/v1/api-keys/{}", row.object_id);

    let (app_row, _) = one(&app, 201, robot.post("/v1/apps", json!({ "name": "demo" }))).await;
    assert_eq!(app_row.app_id.as_ref().map(ToString::to_string), Some(app_row.object_id.clone()));
    assert_eq!((app_row.credential_kind.as_str(), app_row.credential_id.as_ref()), ("api_key", Some(&row.object_id)));
    let deploying = named.post("/v1/apps/demo/deployments", json!({ "name": "Beta" }));
    assert_eq!(noted(&app, 201, deploying).await, of("deployment.create", "deployment", "access_key"));
    let bundle = Bundle::script("one").0;
    let info = json!({ "appVersion": "1.0.0" });
    let (row, _) = one(&app, 201, robot.upload("demo", "Beta", &bundle, info.clone())).await;
    assert_eq!((row.action.as_str(), row.app_id), ("release.upload", app_row.app_id));
    assert_eq!(serde_json::from_str::<Value>(&row.details).unwrap(), json!({ "deployment": "Beta", "label": "v1", "appVersion": "1.0.0" }));

    unnoted(&app, 409, robot.upload("demo", "Beta", &bundle, info)).await;
    unnoted(&app, 409, robot.post("/v1/apps", json!({ "name": "demo" }))).await;
    unnoted(&app, 400, robot.post("/v1/apps/demo/deployments", json!({ "name": "" }))).await;
    unnoted(&app, 404, robot.post("/v1/apps/other/deployments", json!({ "name": "Beta" }))).await;
    unnoted(&app, 403, key.patch("/v1/account", json!({ "name": "Eve" }))).await;
    for path in ["/v1/account", "/v1/apps", "/v1/apps/demo", "/v1/apps/demo/audit", "/v1/account/sessions", "/v1/access-keys"] {
        unnoted(&app, 200, dashboard.get(path)).await;
    }

    assert_eq!(
        noted(&app, 200, dashboard.patch(&path, json!({ "name": "droid" }))).await,
        of("api_key.update", "api_key", "dashboard_session")
    );
    assert_eq!(noted(&app, 204, dashboard.delete(&path)).await, of("api_key.revoke", "api_key", "dashboard_session"));
    assert_eq!(noted(&app, 204, named.delete("/v1/access-keys/ours")).await, of("access_key.delete", "access_key", "access_key"));
    let command_line = app.open_session("ada", CliBrowser).await;
    assert_eq!(noted(&app, 204, command_line.delete("/v1/account/sessions/current")).await, of("session.end", "session", "cli_browser"));
    let ending = dashboard.delete("/v1/account/sessions?keepCurrent=true");
    assert_eq!(noted(&app, 200, ending).await, of("sessions.end", "account", "dashboard_session"));
    unnoted(&app, 404, dashboard.delete("/v1/sessions/somewhere")).await;
    assert_eq!(noted(&app, 204, dashboard.delete("/v1/sessions/127.0.0.1")).await, of("sessions.end", "account", "dashboard_session"));
    app.verify_audit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_trail_contains_no_secrets_or_email_addresses() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let session = app.log_in("ada").await;
    let key = session.post("/v1/access-keys", json!({ "friendlyName": "mine" })).await.assert(201)["accessKey"]["name"].clone();
    let api_key = session.post("/v1/api-keys", json!({ "name": "robot", "scopes": ["read"] })).await.assert(201)["key"].clone();
    let (production, staging) = session.create_app("demo").await;
    session
        .upload("demo", "Staging", &Bundle::script("one").0, json!({ "appVersion": "1.0.0", "description": "whispered" }))
        .await
        .assert(201);
    session.patch("/v1/account", json!({ "currentPassword": PASSWORD, "password": OTHER })).await.assert(200);
    let text = app.audit_text().await;
    let hash = |raw: &str| shared::hash::Sha256Hex::of(raw.as_bytes()).to_string();
    let raw = [session.token(), key.as_str().unwrap(), api_key.as_str().unwrap(), &production, &staging, PASSWORD, OTHER];
    for secret in raw {
        assert!(!text.contains(secret) && !text.contains(&hash(secret)), "{secret}: {text}");
    }
    for private in ["argon2", "ada@example.com", "whispered"] {
        assert!(!text.contains(private), "{private}: {text}");
    }
    assert!(text.contains(&hash("ada@example.com")), "unauthenticated requests are audited with the hash of the address");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apps_events_are_listed_newest_first_with_actor_and_action() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("other").await;
    ada.create_app("demo").await;
    app.clock.advance(1_000);
    let made = ada.upload("demo", "Staging", &Bundle::script("one").0, json!({ "appVersion": "^1.0.0" })).await.assert(201);
    let page = events(&ada, "").await;
    assert_eq!((actions(&page), &page["nextCursor"]), (vec!["release.upload", "app.create"], &Value::Null));
    let (id, label) = (app.texts("SELECT id FROM releases", &[]).await.remove(0), &made["package"]["label"]);
    let credential = app.texts("SELECT id FROM access_keys", &[]).await.remove(0);
    let first = &page["events"][0];
    assert_eq!(
        *first,
        json!({
            "id": first["id"], "time": app.clock.now().0, "account": { "id": app.account_of("ada").await, "email": "ada@example.com" },
            "credential": { "kind": "access_key", "id": credential }, "clientAddress": "127.0.0.1", "action": "release.upload",
            "object": { "kind": "release", "id": id }, "details": { "deployment": "Staging", "label": label, "appVersion": "^1.0.0" },
        })
    );
    assert_eq!(page["events"][1]["details"], json!({ "name": "demo", "hasNoDeployments": false }));
}

#[tokio::test(flavor = "multi_thread")]
async fn paging_is_stable_while_events_are_added() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for number in 0..26 {
        ada.post("/v1/apps/demo/deployments", json!({ "name": format!("d{number}") })).await.assert(201);
    }
    let all = events(&ada, "?limit=100").await;
    assert_eq!((actions(&all).len(), &all["nextCursor"]), (27, &Value::Null));
    assert_eq!(actions(&events(&ada, "").await).len(), 25);
    let (mut seen, mut query) = (Vec::new(), "?limit=10".to_owned());
    loop {
        let page = events(&ada, &query).await;
        seen.extend(page["events"].as_array().unwrap().clone());
        ada.post("/v1/apps/demo/deployments", json!({ "name": format!("later{}", seen.len()) })).await.assert(201);
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        query = format!("?limit=10&cursor={cursor}");
    }
    assert_eq!(Value::from(seen), all["events"]);
    // A page that ends exactly with the first event has no next page.
    let newest = events(&ada, "?limit=1").await["nextCursor"].as_str().unwrap().to_owned();
    let rest = events(&ada, &format!("?limit=29&cursor={newest}")).await;
    assert_eq!((actions(&rest).len(), &rest["nextCursor"]), (29, &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_query_is_refused_with_every_error() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.create_app("other").await;
    let elsewhere = ada.get("/v1/apps/other/audit").await.assert(200)["events"][0]["id"].as_str().unwrap().to_owned();
    let elsewhere = format!("cursor={elsewhere}");
    let limits =
        ["limit=0", "limit=101", "limit=256", "limit=-1", "limit=+5", "limit=5.0", "limit=ten", "limit=5&limit=5", "limit=&limit=5"];
    let cursors = ["cursor=x", "cursor=%00", "cursor=&%63ursor=", elsewhere.as_str()];
    for query in limits.iter().chain(&cursors) {
        let refusal = ada.get(&format!("/v1/apps/demo/audit?{query}")).await.refused(400);
        assert!(refusal.starts_with(query.split_once('=').unwrap().0), "{query}: {refusal}");
    }
    let refusal = ada.get("/v1/apps/demo/audit?limit=0&cursor=x").await.refused(400);
    assert!(refusal.contains("limit: ") && refusal.contains("cursor: "), "{refusal}");
    // Empty and unknown parameters are ignored.
    for query in ["limit=&cursor=&more=1&more=2", "limit=007", "limit=100"] {
        ada.get(&format!("/v1/apps/demo/audit?{query}")).await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_managers_of_an_app_can_read_its_audit_trail() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for (name, role, status) in [("bob", "Admin", 200), ("cleo", "Developer", 403), ("dan", "Viewer", 403)] {
        let client = app.sign_up(name).await;
        app.share("ada", "demo", name, role, app.clock.now().0).await;
        client.get("/v1/apps/demo/audit").await.assert_status(status);
    }
    app.sign_up("eve").await.get("/v1/apps/demo/audit").await.refused(404);
    app.anonymous().get("/v1/apps/demo/audit").await.refused(401);
    let dashboard = app.open_session("ada", Dashboard).await;
    for (scope, status) in [("apps", 200), ("deploy", 403), ("read", 403)] {
        let new = json!({ "name": scope, "scopes": [scope] });
        let key = dashboard.post("/v1/api-keys", new).await.assert(201)["key"].as_str().unwrap().to_owned();
        dashboard.with_token(Some(key)).get("/v1/apps/demo/audit").await.assert_status(status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_rows_survive_the_deletion_of_the_account() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let bob = app.sign_up("bob").await;
    app.share("ada", "demo", "bob", "Admin", app.clock.now().0).await;
    bob.post("/v1/apps/demo/deployments", json!({ "name": "Beta" })).await.assert(201);
    let id = app.account_of("bob").await;
    let dashboard = app.open_session("bob", Dashboard).await;
    let (row, _) = one(&app, 204, dashboard.delete_with("/v1/account", json!({ "password": PASSWORD }))).await;
    assert_eq!((row.action.as_str(), row.account_id.as_ref()), ("account.delete", Some(&id)));
    assert_eq!(events(&ada, "").await["events"][0]["account"], json!({ "id": id, "email": null }));
    app.verify_audit().await.unwrap();
}

/// A trail of six rows.
async fn six() -> (TestApp, Vec<EventRow>) {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["a", "b", "c", "d", "e"] {
        ada.post("/v1/apps", json!({ "name": name })).await.assert(201);
    }
    let rows = app.audit_trail().await;
    let unbroken = app.verify_audit().await.unwrap();
    assert_eq!((rows.len(), unbroken.rows, &unbroken.head), (6, 6, &rows[5].hash));
    (app, rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_any_column_is_detected() {
    let (app, rows) = six().await;
    let third = &rows[2];
    let edits = [
        ("UPDATE audit_events SET id = $1 WHERE seq = 3", "019a9f3e-0000-7000-8000-000000000000"),
        ("UPDATE audit_events SET time = time + CAST($1 AS BIGINT) WHERE seq = 3", "1"),
        ("UPDATE audit_events SET account_id = $1 WHERE seq = 3", "019a9f3e-0000-7000-8000-000000000000"),
        ("UPDATE audit_events SET account_id = NULL WHERE seq = 3 AND $1 = $1", ""),
        ("UPDATE audit_events SET credential_id = $1 WHERE seq = 3", "019a9f3e-0000-7000-8000-000000000000"),
        ("UPDATE audit_events SET credential_kind = $1 WHERE seq = 3", "operator"),
        ("UPDATE audit_events SET client_address = $1 WHERE seq = 3", "192.0.2.1"),
        ("UPDATE audit_events SET action = $1 WHERE seq = 3", "app.delete"),
        ("UPDATE audit_events SET object_kind = $1 WHERE seq = 3", "deployment"),
        ("UPDATE audit_events SET object_id = $1 WHERE seq = 3", "019a9f3e-0000-7000-8000-000000000000"),
        ("UPDATE audit_events SET app_id = $1 WHERE seq = 3", "019a9f3e-0000-7000-8000-000000000000"),
        ("UPDATE audit_events SET details = $1 WHERE seq = 3", "{}"),
        ("UPDATE audit_events SET hash = $1 WHERE seq = 3", &rows[1].hash),
    ];
    for (edit, value) in edits {
        assert_eq!(app.change(edit, &[value]).await, 1, "{edit}");
        let found = app.verify_audit().await.expect_err(edit);
        assert!(matches!(found, ChainFault::Changed(3, _)), "{edit}: {found}");
        restore(&app, third).await;
        app.verify_audit().await.unwrap();
    }
}

/// Restores a row.
async fn restore(app: &TestApp, row: &EventRow) {
    app.change("DELETE FROM audit_events WHERE seq = CAST($1 AS BIGINT)", &[&row.seq.to_string()]).await;
    let (seq, time) = (row.seq.to_string(), row.time.0.to_string());
    let sql = "INSERT INTO audit_events (seq, id, time, account_id, credential_id, credential_kind, client_address, action, object_kind, object_id, \
        app_id, details, hash) VALUES (CAST($1 AS BIGINT), $2, CAST($3 AS BIGINT), $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let values = [
        seq.as_str(),
        row.id.as_str(),
        &time,
        row.account_id.as_ref().unwrap().as_str(),
        row.credential_id.as_ref().unwrap(),
        &row.credential_kind,
        row.client_address.as_ref().unwrap(),
        &row.action,
        &row.object_kind,
        &row.object_id,
        row.app_id.as_ref().unwrap().as_str(),
        &row.details,
        &row.hash,
    ];
    assert_eq!(app.change(sql, &values).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_swapped_and_added_rows_are_detected() {
    let (app, rows) = six().await;
    app.change("DELETE FROM audit_events WHERE seq = 4", &[]).await;
    assert_eq!(app.verify_audit().await, Err(ChainFault::Missing(4)));
    restore(&app, &rows[3]).await;
    // Two rows are swapped, including their hashes.
    for (from, to) in [("3", "99"), ("4", "3"), ("99", "4")] {
        app.change("UPDATE audit_events SET seq = CAST($2 AS BIGINT) WHERE seq = CAST($1 AS BIGINT)", &[from, to]).await;
    }
    assert_eq!(app.verify_audit().await, Err(ChainFault::Changed(3, rows[3].id.clone())));
    app.change("DELETE FROM audit_events WHERE seq IN (3, 4)", &[]).await;
    for row in &rows[2..4] {
        restore(&app, row).await;
    }
    app.verify_audit().await.unwrap();
    // The first and the last row.
    app.change("DELETE FROM audit_events WHERE seq = 1", &[]).await;
    assert_eq!(app.verify_audit().await, Err(ChainFault::Missing(1)));
    let (app, rows) = six().await;
    app.change("DELETE FROM audit_events WHERE seq = 6", &[]).await;
    assert_eq!(app.verify_audit().await, Err(ChainFault::Missing(6)));
    restore(&app, &rows[5]).await;
    app.change("UPDATE audit_head SET seq = 5", &[]).await;
    assert_eq!(app.verify_audit().await, Err(ChainFault::Head(6)));
    app.change("UPDATE audit_head SET seq = 6, hash = $1", &[&rows[4].hash]).await;
    assert_eq!(app.verify_audit().await, Err(ChainFault::Head(6)));
    app.change("DELETE FROM audit_head", &[]).await;
    assert_eq!(app.verify_audit().await, Err(ChainFault::Head(6)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_before_the_first_is_detected() {
    for place in ["0", "-1", "-9000000000000000000"] {
        let (app, rows) = six().await;
        let copy = "INSERT INTO audit_events SELECT CAST($1 AS BIGINT), 'planted', time, account_id, credential_id, credential_kind, \
            client_address, action, object_kind, object_id, app_id, details, hash FROM audit_events WHERE seq = 6";
        app.change(copy, &[place]).await;
        let found = app.verify_audit().await.unwrap_err();
        assert!(matches!(&found, ChainFault::Inserted(seq, _) if seq.to_string() == place), "{place}: {found}, of {} rows", rows.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_head_detects_truncated_and_rebuilt_chains() {
    let (app, rows) = six().await;
    let kept = |seq: usize| KnownHead { rows: rows[seq - 1].seq, hash: Sha256Hex::try_from(rows[seq - 1].hash.as_str()).unwrap() };
    for seq in 1..=6 {
        assert!(app.verify_audit_since(&kept(seq)).await.is_ok(), "{seq}");
    }
    let other = KnownHead { rows: 4, ..kept(5) };
    assert_eq!(app.verify_audit_since(&other).await, Err(ChainFault::Rebuilt(4)));
    // The chain is truncated and its head reset: it is consistent, but lacks the saved head.
    app.change("DELETE FROM audit_events WHERE seq > 3", &[]).await;
    app.change("UPDATE audit_head SET seq = 3, hash = $1", &[&rows[2].hash]).await;
    assert!(app.verify_audit().await.is_ok());
    assert_eq!(app.verify_audit_since(&kept(6)).await, Err(ChainFault::Missing(4)));
    // It grows to the old length.
    let ada = app.sign_up("grace").await;
    for name in ["one", "two", "three", "four"] {
        ada.create_app(name).await;
    }
    assert!(app.verify_audit().await.is_ok());
    assert_eq!(app.verify_audit_since(&kept(6)).await, Err(ChainFault::Rebuilt(6)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_rolled_back_if_its_row_cannot_be_written() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    app.change("DELETE FROM audit_head", &[]).await;
    ada.post("/v1/apps", json!({ "name": "demo" })).await.refused(500);
    assert_eq!(app.number("SELECT COUNT(*) FROM apps").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_changes_leave_an_unbroken_chain() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_UPLOADS_AT_ONCE", "50")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let dashboard = app.open_session("ada", Dashboard).await;
    let before = app.audit_rows().await;
    let under_way: Vec<_> = (0..50)
        .map(|number| {
            let (ada, dashboard, nobody) = (ada.clone(), dashboard.clone(), app.anonymous());
            tokio::spawn(async move {
                match number % 6 {
                    0 => ada.post("/v1/apps", json!({ "name": format!("app{number}") })).await,
                    1 => ada.post("/v1/apps/demo/deployments", json!({ "name": format!("d{number}") })).await,
                    2 => {
                        let info = json!({ "appVersion": "1.0.0" });
                        ada.upload("demo", "Staging", &Bundle::script(&format!("bundle {number}")).0, info).await
                    }
                    3 => dashboard.post("/v1/access-keys", json!({ "friendlyName": format!("key{number}") })).await,
                    4 => dashboard.patch("/v1/account", json!({ "name": format!("Ada {number}") })).await,
                    _ => nobody.post("/v1/auth/resend-verification", json!({ "email": "nobody@example.com" })).await,
                }
            })
        })
        .collect();
    let mut done = 0;
    for change in under_way {
        let status = change.await.unwrap().status;
        // Beyond five an hour, emails are refused.
        assert!(status.is_success() || status.as_u16() == 429, "{status}");
        done += i64::from(status.is_success());
    }
    assert!(done >= 45, "{done}");
    let rows = app.audit_since(before).await;
    assert_eq!(i64::try_from(rows.len()).unwrap(), done);
    assert_eq!(app.verify_audit().await.unwrap().rows, before + done);
    if app.db().dialect() == Dialect::Postgres {
        // Only PostgreSQL runs transactions concurrently. Without retries, there was no deadlock.
        assert_eq!(app.number("SELECT CAST(deadlocks AS BIGINT) FROM pg_stat_database WHERE datname = current_database()").await, 0);
    }
}
