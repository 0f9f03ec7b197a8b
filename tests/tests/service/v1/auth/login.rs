//! Logging in.

use serde_json::json;
use tests::SessionOrigin::{CliBrowser, Dashboard};
use tests::people::{PASSWORD, login};
use tests::{Options, TestApp};

use crate::v1::members;

const DAY: i64 = 86_400_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_login_returns_a_dashboard_session_and_a_fixed_mfa_deadline() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let now = app.clock.now().0;
    let first = app.try_log_in("ada", PASSWORD).await.assert(200);
    assert_eq!(members(&first), ["accessKey", "expires", "mfaSetupDeadline", "mfaSetupRequired"]);
    assert_eq!((&first["mfaSetupRequired"], &first["mfaSetupDeadline"]), (&json!(true), &json!(now + 14 * DAY)));
    assert_eq!(first["expires"], now + 14 * DAY);
    let key = first["accessKey"].as_str().unwrap();
    assert!(key.starts_with("svc_ss_") && key.len() == 7 + 43, "{key}");

    app.clock.advance(DAY);
    let second = app.try_log_in("ada", PASSWORD).await.assert(200);
    assert_eq!((&second["mfaSetupDeadline"], &second["expires"]), (&json!(now + 14 * DAY), &json!(now + 15 * DAY)));
    assert_ne!(second["accessKey"], first["accessKey"]);
    for answer in [first, second] {
        let session = app.anonymous().with_token(Some(answer["accessKey"].as_str().unwrap().to_owned()));
        let sessions = session.get("/v1/account/sessions").await.assert(200);
        let current = sessions["sessions"].as_array().unwrap().iter().find(|one| one["isCurrent"] == true).unwrap().clone();
        assert_eq!((&current["credentialOrigin"], &current["createdBy"]), (&json!("dashboard_session"), &json!("127.0.0.1")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn email_addresses_are_case_insensitive_and_passwords_are_not() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    for email in ["ada@example.com", "ADA@EXAMPLE.COM", "\t Ada@Example.com \n"] {
        app.anonymous().post("/v1/auth/login", login(email, PASSWORD)).await.assert(200);
    }
    for password in [PASSWORD.to_uppercase(), format!("{PASSWORD} "), format!(" {PASSWORD}")] {
        app.try_log_in("ada", &password).await.refused(401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_and_an_unknown_address_get_the_same_response() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut answers = Vec::new();
    for name in ["ada", "nobody"] {
        let answer = app.try_log_in(name, "wrong").await;
        answer.refused(401);
        let mut body = answer.json();
        assert_eq!(members(&body), ["error", "requestId"]);
        body["requestId"] = json!("");
        let mut names: Vec<_> = answer.headers.keys().map(|name| name.as_str().to_owned()).collect();
        names.sort();
        answers.push((body, names));
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unverified_address_is_revealed_only_with_its_newest_password() {
    let app = TestApp::spawn().await;
    let another = "quite another phrase for the gate";
    for password in [PASSWORD, another] {
        app.anonymous().post("/v1/auth/register", json!({ "email": "ada@example.com", "password": password })).await.assert(202);
    }
    let answer = app.try_log_in("ada", another).await;
    answer.refused(403);
    assert_eq!(members(&answer.json()), ["error", "requestId"]);
    app.try_log_in("ada", PASSWORD).await.refused(401);
    app.try_log_in("ada", "wrong").await.refused(401);
    // After the address gets an account, pending registrations get the same response; otherwise they would reveal when.
    let token = app.mails_to("ada@example.com").await[0].token();
    app.anonymous().post("/v1/auth/verify-email", json!({ "token": token })).await.assert(200);
    app.try_log_in("ada", another).await.refused(403);
    app.try_log_in("ada", PASSWORD).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hash_with_older_parameters_is_upgraded_at_the_next_login() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    // argon2id of "correct horse" with 9,216 KiB and four passes, another of OWASP's choices.
    let older = "$argon2id$v=19$m=9216,t=4,p=1$BwcHBwcHBwcHBwcHBwcHBw$V+rT5hcuzyi+G+Fn551Bgqkk1kS04qIeTRxpXQs/XkE";
    assert_eq!(app.change("UPDATE accounts SET password_hash = $1", &[older]).await, 1);
    let hash = async || app.texts("SELECT password_hash FROM accounts", &[]).await.remove(0);
    app.try_log_in("ada", "wrong").await.refused(401);
    assert_eq!(hash().await, older);
    // Concurrent logins: each uses the new hash or the old one.
    let logins: Vec<_> = (0..4)
        .map(|_| {
            let client = app.anonymous();
            tokio::spawn(async move { client.post("/v1/auth/login", login("ada@example.com", "correct horse")).await.status.as_u16() })
        })
        .collect();
    for login in logins {
        assert_eq!(login.await.unwrap(), 200);
    }
    assert!(hash().await.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash().await);
    app.try_log_in("ada", "correct horse").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_correct_logins_do_not_limit_each_other() {
    let app = TestApp::spawn_with(Options::default()).await;
    app.register("ada").await;
    let logins: Vec<_> = (0..20)
        .map(|_| {
            let client = app.anonymous();
            tokio::spawn(async move { client.post("/v1/auth/login", login("ada@example.com", PASSWORD)).await.status.as_u16() })
        })
        .collect();
    for login in logins {
        assert_eq!(login.await.unwrap(), 200);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys WHERE credential_origin = 'dashboard_session'").await, 20);
    assert_eq!(app.number("SELECT COUNT(*) FROM limit_counts WHERE name LIKE 'login%'").await, 0, "a success leaves no counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_a_hundred_dashboard_sessions_the_oldest_is_revoked() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let cli = app.open_session("ada", CliBrowser).await;
    let oldest = app.open_session("ada", Dashboard).await;
    app.clock.advance(1);
    let second = app.open_session("ada", Dashboard).await;
    app.clock.advance(1);
    for _ in 0..98 {
        app.open_session("ada", Dashboard).await;
    }
    oldest.get("/v1/authenticated").await.assert(200);
    let newest = app.log_in("ada").await;
    oldest.get("/v1/authenticated").await.refused(401);
    for stays in [cli, second, newest] {
        stays.get("/v1/authenticated").await.assert(200);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys WHERE credential_origin = 'dashboard_session'").await, 100);
}
