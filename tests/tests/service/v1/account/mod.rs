//! The caller's own account: read, rename, change the password, delete.

mod sessions;

use reqwest::Method;
use serde_json::{Value, json};
use tests::SessionOrigin::{CliBrowser, Dashboard};
use tests::people::{PASSWORD, limits, login};
use tests::{Answer, Client, Options, TestApp};

const OTHER: &str = "quite another passphrase of hers";

/// Ada, with an access key `test`, and a dashboard session of hers.
async fn ada() -> (TestApp, Client) {
    ada_with(Options::default()).await
}

async fn ada_with(options: Options) -> (TestApp, Client) {
    let app = TestApp::spawn_with(options.with("TRUSTED_PROXIES", "127.0.0.1")).await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    (app, session)
}

async fn change(client: &Client, current: &str, new: &str) -> Answer {
    client.patch("/v1/account", json!({ "currentPassword": current, "password": new })).await
}

async fn close(client: &Client, password: &str) -> Answer {
    client.delete_with("/v1/account", json!({ "password": password })).await
}

/// The members named in a refusal, in order.
fn names(refusal: &str) -> Vec<&str> {
    refusal.split("; ").filter_map(|fault| fault.split_once(": ").map(|(name, _)| name)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_shown_as_it_is() {
    let (app, session) = ada_with(Options::default().with("UPLOAD_URL", "https://uploads.example.com")).await;
    let mut account = json!({
        "email": "ada@example.com", "name": null, "createdTime": app.clock.now().0, "emailVerified": true, "mfaEnabled": false,
        "linkedProviders": [], "limits": limits(25, 90, 209_715_200),
        "uploadUrl": "https://uploads.example.com",
    });
    assert_eq!(session.get("/v1/account").await.assert(200), json!({ "account": account }));
    let sql = "UPDATE accounts SET max_api_keys = 1, retention_days = 2, max_upload_bytes = 3, name = $1";
    app.change(sql, &["Ada"]).await;
    account["limits"] = limits(1, 2, 3);
    account["name"] = json!("Ada");
    assert_eq!(session.get("/v1/account").await.assert(200), json!({ "account": account }));
    let plain = TestApp::spawn().await;
    let key = plain.sign_up("ada").await;
    assert_eq!(key.get("/v1/account").await.assert(200)["account"]["uploadUrl"], plain.base);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_of_new_accounts_are_settings() {
    let options =
        Options::default().with("LIMIT_MAX_API_KEYS", "3").with("LIMIT_RETENTION_DAYS", "7").with("LIMIT_MAX_UPLOAD_BYTES", "1KiB");
    let app = TestApp::spawn_with(options).await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    assert_eq!(ada.get("/v1/account").await.assert(200)["account"]["limits"], limits(3, 7, 1_024));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_can_be_updated_alone() {
    let (app, session) = ada().await;
    let longest = "ü".repeat(255);
    for name in ["Ada", "Ada Lovelace <script>", "Ада 🚀", longest.as_str()] {
        let answer = session.patch("/v1/account", json!({ "name": name })).await.assert(200);
        assert_eq!(answer["account"]["name"], name);
        assert_eq!(session.get("/v1/account").await.json(), answer);
    }
    // Null and unknown members are absent.
    for body in [
        json!({}),
        json!({ "name": null, "password": null, "currentPassword": null, "stepUp": null }),
        json!({ "email": "eve@example.com" }),
    ] {
        let account = session.patch("/v1/account", body).await.assert(200)["account"].clone();
        assert_eq!((&account["name"], &account["email"]), (&json!(longest), &json!("ada@example.com")));
    }
    app.try_log_in("ada", PASSWORD).await.assert(200);
    assert!(app.mails_to("ada@example.com").await.is_empty(), "a rename sends no notice");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_member_of_an_update_is_named_and_nothing_changes() {
    let (app, session) = ada().await;
    let sound = json!({ "currentPassword": PASSWORD, "password": OTHER, "name": "Ada" });
    let with = |more: &[(&str, Value)]| {
        let mut body = sound.clone();
        for (name, value) in more {
            body[*name] = value.clone();
        }
        body
    };
    let wrong_names =
        [json!(""), json!("x".repeat(256)), json!("a\0b"), json!("a\nb"), json!("\u{7f}"), json!("\u{85}"), json!(1), json!([]), json!({})];
    for name in wrong_names {
        let refusal = session.patch("/v1/account", with(&[("name", name)])).await.refused(400);
        assert!(names(&refusal) == ["name"], "{refusal}");
    }
    let guessable = ["short", "elevenchars", "passwordpassword", "ada@example.com", "adaadaadaada", "aaaaaaaaaaaaaaaaaaaa"];
    for password in guessable.map(|text| json!(text)).into_iter().chain([json!("x".repeat(1_001)), json!(""), json!(7), json!(["x"])]) {
        let refusal = session.patch("/v1/account", with(&[("password", password)])).await.refused(400);
        assert!(names(&refusal) == ["password"], "{refusal}");
    }
    for current in [json!(null), json!(""), json!(true), json!("x".repeat(1_001))] {
        let refusal = session.patch("/v1/account", with(&[("currentPassword", current)])).await.refused(400);
        assert!(names(&refusal) == ["currentPassword"], "{refusal}");
    }
    let all = with(&[("name", json!(1)), ("password", json!("short")), ("currentPassword", json!(null))]);
    let refusal = session.patch("/v1/account", all).await.refused(400);
    assert_eq!(names(&refusal), ["name", "password", "currentPassword"]);
    assert_eq!(session.get("/v1/account").await.json()["account"]["name"], Value::Null);
    app.try_log_in("ada", PASSWORD).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_not_an_object_or_too_large_is_refused() {
    let (_app, session) = ada().await;
    for method in [Method::PATCH, Method::DELETE] {
        let send = async |kind: &str, body: Vec<u8>| {
            session.send(session.request(method.clone(), "/v1/account").header("content-type", kind).body(body)).await
        };
        let twice = br#"{"password":"a","password":"b"}"#;
        for body in [&b"{"[..], b"[]", b"null", b"\"x\"", b"7", b"\xff\xfe", b"{\"name\":\"\xff\"}", b"{\"password\":\"a\nb\"}", twice] {
            send("application/json", body.to_vec()).await.refused(400);
        }
        // An empty body is an empty object: nothing to change, and no password to delete the account with.
        let answer = send("application/json", Vec::new()).await;
        assert_eq!(answer.status.as_u16(), if method == Method::PATCH { 200 } else { 400 }, "{}", answer.text());
        let mut large = br#"{"password":"x"}"#.to_vec();
        large.resize(10_241, b' ');
        send("application/json", large.clone()).await.refused(413);
        send("text/plain", b"{}".to_vec()).await.refused(415);
        large.truncate(10_240);
        let answer = send("application/json", large).await;
        assert!([400, 401].contains(&answer.status.as_u16()), "it is parsed, and the password is wrong: {}", answer.text());
    }
    session.get("/v1/account").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_revokes_every_session() {
    let (app, session) = ada().await;
    let key = app.sign_up("bob").await;
    let (other, cli, bob) =
        (app.open_session("ada", Dashboard).await, app.open_session("ada", CliBrowser).await, app.open_session("bob", Dashboard).await);
    let old = app.open_session("ada", Dashboard).await;
    app.forget_origin(&old).await;
    session.post("/v1/auth/forgot-password", json!({ "email": "ada@example.com" })).await.assert(202);
    let reset = app.last_mail_to("ada@example.com").await.token();

    let body = json!({ "currentPassword": PASSWORD, "password": OTHER, "name": "Ada" });
    let answer = session.from("203.0.113.7").patch("/v1/account", body).await.assert(200);
    assert_eq!(answer["account"]["name"], "Ada");
    session.get("/v1/authenticated").await.assert(200);
    for ended in [other, cli, old] {
        ended.get("/v1/authenticated").await.refused(401);
    }
    for stays in [key, bob] {
        stays.get("/v1/authenticated").await.assert(200);
    }
    session.post("/v1/auth/reset-password", json!({ "token": reset, "password": "a third passphrase for her" })).await.refused(400);
    app.try_log_in("ada", PASSWORD).await.refused(401);
    app.try_log_in("ada", OTHER).await.assert(200);

    let notice = app.last_mail_to("ada@example.com").await;
    for part in [&notice.text, &notice.html] {
        assert!(part.contains("203.0.113.7") && part.contains("test"), "the client address, and the remaining key: {part}");
        assert!(!part.contains(OTHER) && !part.contains("#token="), "{part}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn access_keys_survive_a_new_password_and_are_listed_in_the_mail() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    let sql = "UPDATE access_keys SET friendly_name = $1 WHERE NOT is_session";
    app.change(sql, &["<b>build & deploy</b>"]).await;
    change(&session, PASSWORD, OTHER).await.assert(200);
    key.get("/v1/authenticated").await.assert(200);
    let notice = app.last_mail_to("ada@example.com").await;
    assert!(notice.text.contains("<b>build & deploy</b>"), "{}", notice.text);
    assert!(!notice.html.contains("<b>build"), "{}", notice.html);
    assert!(!notice.text.contains("Login-"), "sessions are not keys: {}", notice.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_current_password_is_a_failed_login() {
    let (app, session) = ada().await;
    for number in 0..5 {
        let answer =
            if number % 2 == 0 { change(&session, "not her password", OTHER).await } else { close(&session, "not her password").await };
        answer.refused(401);
        assert_eq!((answer.json().get("code"), answer.optional_header("www-authenticate")), (None, None));
    }
    // The address has reached its limit of failures, here and at login, and the correct password gets the same response.
    for refused in [change(&session, PASSWORD, OTHER).await, close(&session, PASSWORD).await, app.try_log_in("ada", PASSWORD).await] {
        refused.refused(429);
        assert_eq!(
            (refused.header("retry-after").as_str(), &refused.json()["retryAfterSeconds"]),
            ("900", &json!(900)),
            "{}",
            refused.asked
        );
    }
    session.get("/v1/authenticated").await.assert(200);
    // Changes without a password are not limited by it.
    session.patch("/v1/account", json!({ "name": "Ada" })).await.assert(200);
    // Other addresses can continue until the account has ten failures.
    for address in ["203.0.113.1", "203.0.113.1", "203.0.113.1", "203.0.113.1", "203.0.113.2"] {
        change(&session.from(address), "not her password", OTHER).await.refused(401);
    }
    let stopped = change(&session.from("203.0.113.3"), PASSWORD, OTHER).await;
    stopped.refused(429);
    assert_eq!(stopped.json()["retryAfterSeconds"], 3_600);
    app.clock.advance(3_600_000);
    change(&session.from("203.0.113.3"), PASSWORD, OTHER).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_refused_before_the_password_check_is_not_counted() {
    let (_app, session) = ada().await;
    for _ in 0..12 {
        change(&session, "not her password", "short").await.refused(400);
    }
    change(&session, PASSWORD, OTHER).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_concurrent_password_changes_one_wins_and_one_mail_is_sent() {
    let (app, session) = ada().await;
    let second = app.open_session("ada", Dashboard).await;
    let answers =
        futures_util::future::join(change(&session, PASSWORD, OTHER), change(&second, PASSWORD, "a third passphrase for her")).await;
    let statuses = [answers.0.status.as_u16(), answers.1.status.as_u16()];
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 401, 409].contains(status)), "{statuses:?}");
    assert_eq!(app.mails_to("ada@example.com").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_owns_apps_cannot_be_deleted() {
    let (app, session) = ada().await;
    let (key, _) = session.create_app("demo").await;
    let refusal = close(&session, PASSWORD).await.refused(409);
    assert!(refusal.contains("apps"), "{refusal}");
    session.get("/v1/apps/demo").await.assert(200);
    assert!(app.mails_to("ada@example.com").await.is_empty());
    // Another user's shared app does not prevent it.
    let bob = app.sign_up("bob").await;
    bob.create_app("shared").await;
    app.share("bob", "shared", "ada", "Developer", 1).await;
    app.free_key(&key).await;
    app.change("DELETE FROM apps WHERE name = $1", &["demo"]).await;
    close(&session, PASSWORD).await.assert(204);
    assert_eq!(bob.get("/v1/apps/shared").await.assert(200)["app"]["collaborators"].as_object().unwrap().len(), 1);
    // The key of its deployment stays taken.
    let taken = json!({ "name": "mine", "key": key });
    bob.post("/v1/apps/shared/deployments", taken).await.refused(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_an_account_deletes_all_its_credentials() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let session = app.log_in("ada").await;
    let (cli, other) = (app.open_session("ada", CliBrowser).await, app.open_session("ada", Dashboard).await);
    for (body, names) in [(json!({}), "password"), (json!({ "password": null }), "password"), (json!({ "password": 7 }), "password")] {
        assert!(session.delete_with("/v1/account", body).await.refused(400).contains(names));
    }
    close(&session, "not her password").await.refused(401);
    let answer = close(&session, PASSWORD).await;
    answer.assert(204);
    assert!(answer.body.is_empty());
    for client in [&session, &cli, &other] {
        client.get("/v1/authenticated").await.refused(401);
    }
    close(&session, PASSWORD).await.refused(401);
    app.try_log_in("ada", PASSWORD).await.refused(401);
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys").await, 0);
    let mails = app.mails_to("ada@example.com").await;
    let notice = mails.last().unwrap();
    assert!(notice.text.contains("127.0.0.1"), "{}", notice.text);
    // The address is free for a new account.
    app.register("ada").await;
    let session = app.log_in("ada").await;
    session.get("/v1/account").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_an_account_cancels_its_password_reset() {
    let (app, session) = ada().await;
    session.post("/v1/auth/forgot-password", json!({ "email": "ada@example.com" })).await.assert(202);
    let token = app.last_mail_to("ada@example.com").await.token();
    close(&session, PASSWORD).await.assert(204);
    session.post("/v1/auth/reset-password", json!({ "token": token, "password": OTHER })).await.refused(400);
    assert_eq!(app.number("SELECT COUNT(*) FROM password_resets").await, 0);
    app.anonymous().post("/v1/auth/login", login("ada@example.com", OTHER)).await.refused(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_created_during_account_deletion_is_kept_or_not_created() {
    let (app, session) = ada().await;
    let new = json!({ "name": "demo" });
    let (closed, made) = futures_util::future::join(close(&session, PASSWORD), session.post("/v1/apps", new)).await;
    let left = (app.number("SELECT COUNT(*) FROM accounts").await, app.number("SELECT COUNT(*) FROM apps").await);
    match (closed.status.as_u16(), made.status.as_u16()) {
        (409, 201) => assert_eq!(left, (1, 1)),
        (204, 401 | 409) => assert_eq!(left, (0, 0)),
        other => panic!("{other:?}: {} {}", closed.text(), made.text()),
    }
}
