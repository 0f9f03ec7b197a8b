//! Access keys: created on the dashboard, used as bearer tokens, identified by friendlyName.

use serde_json::{Value, json};
use tests::SessionOrigin::{CliBrowser, Dashboard};
use tests::{Client, Device, TestApp};

use crate::v1::{members, segment};

const KEYS: &str = "/v1/access-keys";
const DAY: i64 = 86_400_000;
const LAST_EXPIRY: i64 = 253_402_300_799_999;

fn path(name: &str) -> String {
    format!("{KEYS}/{}", segment(name))
}

/// The friendly names that a client lists, in order.
async fn listed(client: &Client) -> Vec<String> {
    let answer = client.get(KEYS).await.assert(200);
    answer["accessKeys"].as_array().unwrap().iter().map(|key| key["friendlyName"].as_str().unwrap().to_owned()).collect()
}

/// Creates a key and returns a client that uses it.
async fn make(app: &TestApp, session: &Client, name: &str, ttl: i64) -> Client {
    let made = session.post(KEYS, json!({ "friendlyName": name, "ttl": ttl })).await.assert(201);
    app.anonymous().with_token(Some(made["accessKey"]["name"].as_str().unwrap().to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_created_used_renamed_extended_and_expires() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let answer = session.post(KEYS, json!({ "friendlyName": "build server", "ttl": DAY })).await;
    let made = answer.assert(201);
    assert_eq!((members(&made), answer.header("location")), (vec!["accessKey"], "/v1/access-keys/build%20server".to_owned()));
    let (now, raw) = (app.clock.now().0, made["accessKey"]["name"].as_str().unwrap().to_owned());
    let expected = json!({
        "friendlyName": "build server", "description": "build server", "createdBy": "127.0.0.1", "createdTime": now, "expires": now + DAY,
        "isSession": false,
    });
    let mut without_name = made["accessKey"].clone();
    assert_eq!(without_name.as_object_mut().unwrap().remove("name"), Some(json!(raw)));
    assert_eq!(without_name, expected);
    assert!(raw.starts_with("svc_ak_") && raw.len() == 7 + 43, "256 bits");
    // Read by name, without the raw key; in the list it is hidden.
    assert_eq!(session.get(&answer.header("location")).await.assert(200), json!({ "accessKey": expected }));
    let list = session.get(KEYS).await;
    assert_eq!(list.json()["accessKeys"][1]["name"], "(hidden)");
    assert!(!list.text().contains(&raw));

    let key = app.anonymous().with_token(Some(raw));
    key.get("/v1/authenticated").await.assert(200);
    app.clock.advance(DAY / 2);
    let renamed = session.patch(&path("build server"), json!({ "friendlyName": "ci" })).await.assert(200);
    assert_eq!((&renamed["accessKey"]["friendlyName"], &renamed["accessKey"]["expires"]), (&json!("ci"), &json!(now + DAY)));
    assert_eq!(renamed["accessKey"].get("name"), None);
    session.get(&path("build server")).await.refused(404);
    key.get("/v1/authenticated").await.assert(200);
    // A new lifetime starts now; it is not added to the old expiration.
    session.reauthenticate().await;
    let patched = session.patch(&path("ci"), json!({ "ttl": DAY })).await.assert(200);
    assert_eq!(patched["accessKey"]["expires"], now + DAY / 2 + DAY);
    app.clock.advance(DAY - 1);
    key.get("/v1/authenticated").await.assert(200);
    app.clock.advance(1);
    key.get("/v1/authenticated").await.refused(401);
    // The owner still has it, and a new lifetime makes it work again.
    assert!(listed(&session).await.contains(&"ci".to_owned()));
    session.reauthenticate().await;
    session.patch(&path("ci"), json!({ "ttl": 1_000 })).await.assert(200);
    key.get("/v1/authenticated").await.assert(200);
    let gone = session.delete(&path("ci")).await;
    gone.assert(204);
    assert!(gone.body.is_empty());
    key.get("/v1/authenticated").await.refused(401);
    session.delete(&path("ci")).await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_cannot_choose_the_raw_key_or_its_origin() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    for name in [json!("mine"), json!(""), json!(7), json!({})] {
        let text = session.post(KEYS, json!({ "friendlyName": "a", "name": name })).await.refused(400);
        assert!(text.starts_with("name: "), "{text}");
    }
    assert_eq!(listed(&session).await.len(), 2, "the first key and the session");
    session.patch(&path("test"), json!({ "friendlyName": "a", "name": "mine" })).await.refused(400);
    // Null is absent, and createdBy is always ignored.
    for created_by in [json!("10.0.0.1"), json!(7), json!({}), json!(null)] {
        let name = format!("by {created_by}");
        let body = json!({ "friendlyName": name, "name": null, "createdBy": created_by, "description": "another text" });
        let made = session.post(KEYS, body).await.assert(201);
        assert_eq!((&made["accessKey"]["createdBy"], &made["accessKey"]["description"]), (&json!("127.0.0.1"), &json!(name)));
    }
    let patched = session.patch(&path("test"), json!({ "createdBy": 7, "description": "another text" })).await.assert(200);
    assert_eq!((&patched["accessKey"]["createdBy"], &patched["accessKey"]["friendlyName"]), (&json!("127.0.0.1"), &json!("test")));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_keys_and_sessions_are_unique_per_account() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    app.sign_up("bob").await;
    let (ada, bob) = (app.open_session("ada", Dashboard).await, app.open_session("bob", Dashboard).await);
    ada.post(KEYS, json!({ "friendlyName": "ci" })).await.assert(201);
    bob.post(KEYS, json!({ "friendlyName": "ci" })).await.assert(201);
    ada.post(KEYS, json!({ "friendlyName": "ci" })).await.refused_with(409, None);
    ada.patch(&path("test"), json!({ "friendlyName": "ci" })).await.refused_with(409, None);
    ada.patch(&path("ci"), json!({ "friendlyName": "ci" })).await.assert(200);
    let session = listed(&ada).await.into_iter().find(|name| name.starts_with("Login-")).unwrap();
    ada.post(KEYS, json!({ "friendlyName": session })).await.refused_with(409, None);
    ada.patch(&path(&session), json!({ "friendlyName": "ci" })).await.refused_with(409, None);
    // An expired key still exists; after its deletion the name is free.
    app.clock.advance(61 * DAY);
    let ada = app.open_session("ada", Dashboard).await;
    ada.post(KEYS, json!({ "friendlyName": "ci" })).await.refused_with(409, None);
    ada.delete(&path("ci")).await.assert(204);
    ada.post(KEYS, json!({ "friendlyName": "ci" })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_keys_with_one_name_only_one_is_created() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let under_way: Vec<_> = (0..20)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.post(KEYS, json!({ "friendlyName": "ci" })).await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for answer in under_way {
        statuses.push(answer.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (201, &[409; 19][..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_keys_concurrently_renamed_to_each_others_name_keep_their_names() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    for name in ["a", "b"] {
        make(&app, &session, name, DAY).await;
    }
    for round in 0..50 {
        let rename = async |from: &str, to: &str| session.patch(&path(from), json!({ "friendlyName": to })).await.status.as_u16();
        let statuses = <[u16; 2]>::from(futures_util::future::join(rename("a", "b"), rename("b", "a")).await);
        assert!(statuses.iter().all(|status| [200, 404, 409].contains(status)), "round {round}: {statuses:?}");
        let names = listed(&session).await;
        assert!(["a", "b"].iter().all(|name| names.iter().filter(|known| known == name).count() == 1), "round {round}: {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_returns_the_updated_key_despite_concurrent_renames() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let (a, b) = (path("a"), path("b"));
    for round in 0..30_i64 {
        // Whichever key is called `a` at that moment gets the new expiration.
        let (ttl, name) = (1_000 + round, format!("away {round}"));
        make(&app, &session, "a", DAY).await;
        make(&app, &session, "b", 2 * DAY).await;
        let (prolong, away, into) = (
            session.patch(&a, json!({ "ttl": ttl })),
            session.patch(&a, json!({ "friendlyName": name })),
            session.patch(&b, json!({ "friendlyName": "a" })),
        );
        let ((prolonged, away), into) = futures_util::future::join(futures_util::future::join(prolong, away), into).await;
        for answer in [&prolonged, &away, &into] {
            assert!([200, 404, 409].contains(&answer.status.as_u16()), "{}", answer.text());
        }
        if prolonged.status.as_u16() == 200 {
            let key = prolonged.json()["accessKey"].clone();
            assert_eq!((&key["friendlyName"], &key["expires"]), (&json!("a"), &json!(app.clock.now().0 + ttl)), "round {round}");
        }
        for left in listed(&session).await.iter().filter(|name| ["a", "b"].contains(&name.as_str())) {
            session.delete(&path(left)).await.assert(204);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_member_is_named_at_once() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let long = "x".repeat(256);
    for name in [json!(null), json!(""), json!(long), json!(7), json!("two\nlines"), json!("nul\0"), json!("."), json!("..")] {
        let text = session.post(KEYS, json!({ "friendlyName": name, "ttl": 1 })).await.refused(400);
        assert!(text.starts_with("friendlyName: ") && !text.contains(';'), "{text}");
        if !name.is_null() {
            session.patch(&path("test"), json!({ "friendlyName": name })).await.refused(400);
        }
    }
    for ttl in [json!(0), json!(-1), json!(1.5), json!("1"), json!(true), json!(9_223_372_036_854_775_808_u64), json!(1e300), json!([])] {
        let text = session.post(KEYS, json!({ "friendlyName": "a", "ttl": ttl })).await.refused(400);
        assert!(text.starts_with("ttl: "), "{text}");
        session.patch(&path("test"), json!({ "ttl": ttl })).await.refused(400);
    }
    let text = session.post(KEYS, json!({ "name": "x", "description": 1, "ttl": 0 })).await.refused(400);
    for member in ["name: ", "friendlyName: ", "description: ", "ttl: "] {
        assert!(text.contains(member), "{text}");
    }
    for body in [json!([]), json!("x"), json!(null)] {
        session.post(KEYS, body).await.refused(400);
    }
    assert_eq!(listed(&session).await.len(), 2);
    // Valid values up to their limits.
    for (name, ttl) in [("x".repeat(255), json!(1)), ("é/ü?#%".to_owned(), json!(60.0)), (" ".to_owned(), json!(null))] {
        let answer = session.post(KEYS, json!({ "friendlyName": name, "ttl": ttl })).await;
        answer.assert(201);
        let read = session.get(&answer.header("location")).await.assert(200);
        assert_eq!(read["accessKey"]["friendlyName"], json!(name));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_expires_in_sixty_days_by_default_and_by_the_year_9999() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let now = app.clock.now().0;
    for (name, ttl, expires) in [
        ("a", json!(null), now + 60 * DAY),
        ("b", json!(1), now + 1),
        ("c", json!(i64::MAX), LAST_EXPIRY),
        ("d", json!(LAST_EXPIRY), LAST_EXPIRY),
    ] {
        let made = session.post(KEYS, json!({ "friendlyName": name, "ttl": ttl })).await.assert(201);
        assert_eq!(made["accessKey"]["expires"], expires, "{name}");
    }
    let patched = session.patch(&path("a"), json!({ "ttl": i64::MAX })).await.assert(200);
    assert_eq!(patched["accessKey"]["expires"], LAST_EXPIRY);
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_list_sessions_and_keys_but_access_keys_list_only_keys() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    app.sign_up("bob").await;
    let ended = app.open_session("ada", Dashboard).await;
    app.clock.advance(4 * DAY);
    let laptop = Device {
        id: Some("d1".to_owned()),
        name: Some("laptop".to_owned()),
        client_name: Some("cli".to_owned()),
        client_version: Some("1.2".to_owned()),
        client_platform: Some("linux-x64".to_owned()),
    };
    let session = app.open_session("ada", Dashboard).await;
    app.clock.advance(1);
    let cli = app.open_session_of("ada", CliBrowser, "192.0.2.1", &laptop).await;
    ended.get("/v1/authenticated").await.refused(401);
    for client in [&session, &cli] {
        let answer = client.get(KEYS).await.assert(200);
        assert_eq!(members(&answer), ["accessKeys"]);
        let keys = answer["accessKeys"].as_array().unwrap();
        let kinds: Vec<_> =
            keys.iter().map(|key| (key["isSession"].clone(), key["credentialOrigin"].clone(), key["name"].clone())).collect();
        assert_eq!(
            kinds,
            [
                (json!(false), Value::Null, json!("(hidden)")),
                (json!(true), json!("dashboard_session"), json!("(hidden)")),
                (json!(false), json!("cli_browser"), json!("(hidden)")),
            ],
            "oldest first"
        );
        let machine = &keys[2];
        let told = ["deviceId", "deviceName", "clientName", "clientVersion", "clientPlatform"].map(|member| machine[member].clone());
        assert_eq!(told, [json!("d1"), json!("laptop"), json!("cli"), json!("1.2"), json!("linux-x64")]);
        assert!(machine["friendlyName"].as_str().unwrap().starts_with("CLI-"));
    }
    assert_eq!(listed(&key).await, ["test"]);
    // It cannot delete a session either, or learn about one.
    let sessions = listed(&session).await;
    for name in &sessions[1..] {
        key.delete(&path(name)).await.refused_with(404, None);
    }
    cli.delete(&path(&sessions[1])).await.assert(204);
    session.get("/v1/authenticated").await.refused(401);
    let other = app.named_key("ada", "other").await;
    key.delete(&path("other")).await.assert(204);
    other.get("/v1/authenticated").await.refused(401);
    // Also itself.
    key.delete(&path("test")).await.assert(204);
    key.get("/v1/authenticated").await.refused(401);
    cli.get("/v1/authenticated").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_name_of_a_session_can_change() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let (session, cli) = (app.open_session("ada", Dashboard).await, app.open_session("ada", CliBrowser).await);
    for name in listed(&session).await.iter().filter(|name| *name != "test") {
        let before = session.get(&path(name)).await.assert(200);
        session.patch(&path(name), json!({ "ttl": DAY })).await.refused_with(409, None);
        session.patch(&path(name), json!({ "friendlyName": "x", "ttl": DAY })).await.refused_with(409, None);
        assert_eq!(session.get(&path(name)).await.assert(200), before);
        let mine = format!("mine, once {name}");
        let after = session.patch(&path(name), json!({ "friendlyName": mine })).await.assert(200);
        assert_eq!((&after["accessKey"]["expires"], &after["accessKey"]["friendlyName"]), (&before["accessKey"]["expires"], &json!(mine)));
    }
    for client in [&session, &cli] {
        client.get("/v1/authenticated").await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_credential_gets_the_right_refusal() {
    let app = TestApp::spawn().await;
    let named = app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let api = app.api_key("ada", &["deploy", "read", "apps"]).await;
    // API keys and access keys: plain refusals, regardless of the body.
    for key in [&named, &api] {
        for body in [json!({ "friendlyName": "x" }), json!([])] {
            key.post(KEYS, body.clone()).await.refused_with(403, None);
            key.patch(&path("test"), body).await.refused_with(403, None);
        }
        key.get(&path("test")).await.refused_with(403, None);
        key.get(&path("absent")).await.refused_with(403, None);
    }
    api.get(KEYS).await.refused_with(403, None);
    api.delete(&path("test")).await.refused_with(403, None);
    // Other sessions: creating and extending keys requires a dashboard session, the rest does not.
    let code = Some("dashboard_session_required");
    for (index, other) in app.other_sessions("ada").await.into_iter().enumerate() {
        other.post(KEYS, json!({ "friendlyName": "x" })).await.refused_with(403, code);
        other.post(KEYS, json!({ "name": "x" })).await.refused_with(403, code);
        other.patch(&path("test"), json!({ "ttl": 1 })).await.refused_with(403, code);
        other.patch(&path("test"), json!({ "friendlyName": "x", "ttl": "soon" })).await.refused_with(403, code);
        other.patch(&path("absent"), json!({ "ttl": 1 })).await.refused_with(403, code);
        other.get(&path("test")).await.assert(200);
        let name = format!("renamed {index}");
        session.post(KEYS, json!({ "friendlyName": "spare" })).await.assert(201);
        other.patch(&path("spare"), json!({ "friendlyName": name, "ttl": null })).await.assert(200);
        other.delete(&path(&name)).await.assert(204);
    }
    app.anonymous().get(KEYS).await.refused(401);
    app.anonymous().post(KEYS, json!({ "name": "x" })).await.refused(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_another_account_are_inaccessible() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    app.sign_up("bob").await;
    // Created later, so that the order is known.
    app.clock.advance(1);
    app.named_key("ada", "ci").await;
    let bob = app.open_session("bob", Dashboard).await;
    for name in ["ci", "absent", "%00", "%FF"] {
        let path = format!("{KEYS}/{name}");
        bob.get(&path).await.refused(404);
        bob.patch(&path, json!({ "friendlyName": "mine" })).await.refused(404);
        bob.patch(&path, json!({ "ttl": 1 })).await.refused(404);
        bob.delete(&path).await.refused(404);
    }
    assert_eq!(listed(&key).await, ["test", "ci"]);
    assert_eq!(listed(&bob).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_mfa_deadline_keys_cannot_be_created_or_extended() {
    let app = TestApp::spawn().await;
    let named = app.sign_up("ada").await;
    app.miss_mfa_deadline("ada").await;
    let (session, cli) = (app.open_session("ada", Dashboard).await, app.open_session("ada", CliBrowser).await);
    let code = Some("mfa_setup_required");
    session.post(KEYS, json!({ "friendlyName": "x" })).await.refused_with(403, code);
    session.post(KEYS, json!({ "name": "x" })).await.refused_with(403, code);
    session.patch(&path("test"), json!({ "ttl": 1 })).await.refused_with(403, code);
    session.patch(&path("test"), json!({ "friendlyName": "x", "ttl": 1 })).await.refused_with(403, code);
    // Other refusals come first.
    cli.post(KEYS, json!({ "friendlyName": "x" })).await.refused_with(403, Some("dashboard_session_required"));
    cli.patch(&path("test"), json!({ "ttl": 1 })).await.refused_with(403, Some("dashboard_session_required"));
    named.post(KEYS, json!({ "friendlyName": "x" })).await.refused_with(403, None);
    // The rest still works.
    session.patch(&path("test"), json!({ "friendlyName": "x" })).await.assert(200);
    session.get(&path("x")).await.assert(200);
    named.get("/v1/apps").await.assert(200);
    session.delete(&path("x")).await.assert(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_mfa_deadline_a_key_can_still_be_created() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    app.miss_mfa_deadline("ada").await;
    app.clock.advance(-1);
    let session = app.open_session("ada", Dashboard).await;
    session.post(KEYS, json!({ "friendlyName": "x" })).await.assert(201);
    app.clock.advance(1);
    session.post(KEYS, json!({ "friendlyName": "y" })).await.refused_with(403, Some("mfa_setup_required"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_notified_of_created_and_deleted_keys() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let key = make(&app, &session, "<b>build</b> server", DAY).await;
    let mail = app.last_mail_to("ada@example.com").await;
    assert_eq!(mail.subject, "An access key was created");
    assert!(mail.text.contains("<b>build</b> server") && mail.text.contains("127.0.0.1"), "{}", mail.text);
    assert!(!mail.text.contains(key.token()) && !mail.html.contains("<b>build"), "{}", mail.html);
    session.delete(&path("<b>build</b> server")).await.assert(204);
    assert_eq!(app.last_mail_to("ada@example.com").await.subject, "An access key was deleted");
}
