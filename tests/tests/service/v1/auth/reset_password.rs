//! Password resets.

use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::wait::until;
use tests::{Answer, SessionOrigin, TestApp};

const HOUR: i64 = 3_600_000;

const NEW: &str = "quite another phrase for the gate";

async fn forget(app: &TestApp, email: &str) -> Value {
    app.anonymous().post("/v1/auth/forgot-password", json!({ "email": email })).await.assert(202)
}

/// Requests a reset for `<name>@example.com` and returns the token in the email.
async fn token(app: &TestApp, name: &str) -> String {
    let email = format!("{name}@example.com");
    forget(app, &email).await;
    let mails = app.mails_to(&email).await;
    // A warning about earlier events may be sent after it.
    let mail = mails.iter().rfind(|mail| mail.text.contains("#token=")).expect("an email with a token");
    assert!(mail.link().starts_with(&format!("{}/dashboard/reset-password#token=", app.base)), "{}", mail.link());
    mail.token()
}

async fn reset(app: &TestApp, token: &str, password: &str) -> Answer {
    app.anonymous().post("/v1/auth/reset-password", json!({ "token": token, "password": password })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_revokes_every_session_and_lists_the_remaining_keys() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    let sessions = [
        app.open_session("ada", SessionOrigin::Dashboard).await,
        app.open_session("ada", SessionOrigin::CliBrowser).await,
        app.open_session("ada", SessionOrigin::CliDevice).await,
    ];
    let bob = app.sign_up("bob").await;
    let bobs = app.open_session("bob", SessionOrigin::Dashboard).await;
    let answer = reset(&app, &token(&app, "ada").await, NEW).await.assert(200);
    assert_eq!(crate::v1::members(&answer), ["message"]);
    for session in &sessions {
        session.get("/v1/authenticated").await.refused(401);
    }
    for client in [&key, &bob, &bobs] {
        client.get("/v1/authenticated").await.assert(200);
    }
    app.try_log_in("ada", NEW).await.assert(200);
    let notice = app.last_mail_to("ada@example.com").await;
    for said in ["test", "127.0.0.1"] {
        assert!(notice.text.contains(said) && notice.html.contains(said), "{said}: {}", notice.text);
    }
    assert!(!notice.source.contains("#token="));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_works_once_and_invalidates_the_others() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    app.clock.advance(HOUR);
    let (first, second) = (token(&app, "ada").await, token(&app, "ada").await);
    reset(&app, &second, NEW).await.assert(200);
    for used in [&first, &second] {
        let refusal = reset(&app, used, "a third phrase that is long enough").await.refused(400);
        assert!(refusal.starts_with("token: "), "{refusal}");
    }
    app.try_log_in("ada", PASSWORD).await.refused(401);
    app.try_log_in("ada", NEW).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_resets_one_succeeds() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    app.clock.advance(HOUR);
    let tokens = [token(&app, "ada").await, token(&app, "ada").await];
    let attempts: Vec<_> = (0..6)
        .map(|number| {
            let body = json!({ "token": tokens[number % 2], "password": format!("{NEW} {number}") });
            let client = app.anonymous();
            tokio::spawn(async move { client.post("/v1/auth/reset-password", body).await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for attempt in attempts {
        statuses.push(attempt.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400, 400, 400, 400, 400]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_expires_after_an_hour_and_is_deleted() {
    let mut app = TestApp::spawn().await;
    app.register("ada").await;
    let (old, timely) = (token(&app, "ada").await, token(&app, "ada").await);
    app.clock.advance(HOUR - 1);
    reset(&app, &timely, "short").await.refused(400);
    app.clock.advance(1);
    reset(&app, &old, NEW).await.refused(400);
    app.log_in("ada").await;
    app.stop().await;
    app.start().await;
    until("the resets are deleted", async || (app.number("SELECT COUNT(*) FROM password_resets").await == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_password_keeps_the_token_valid() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let token = token(&app, "ada").await;
    for password in ["short", "passwordpassword", "ada@example.com", "ada@example.com1"] {
        let refusal = reset(&app, &token, password).await.refused(400);
        assert!(refusal.starts_with("password: ") && !refusal.contains("token: "), "{password}: {refusal}");
    }
    let refusal = reset(&app, "unknown", "short").await.refused(400);
    assert!(refusal.contains("token: ") && refusal.contains("password: "), "both at once: {refusal}");
    app.log_in("ada").await;
    reset(&app, &token, NEW).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_response_does_not_reveal_whether_an_account_exists() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    app.anonymous().post("/v1/auth/register", json!({ "email": "bob@example.com", "password": PASSWORD })).await.assert(202);
    let answers = [forget(&app, "ADA@example.com ").await, forget(&app, "bob@example.com").await, forget(&app, "nobody@example.com").await];
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    // A pending registration has no password to reset.
    for (email, mails) in [("ada@example.com", 2), ("bob@example.com", 1), ("nobody@example.com", 0)] {
        assert_eq!(app.mails_to(email).await.len(), mails, "{email}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_clears_the_accounts_failed_logins() {
    let app = TestApp::spawn_among_strangers(tests::Options::default()).await;
    app.register("ada").await;
    for number in 0..10 {
        app.stranger(&format!("203.0.113.{number}")).log_in("ada", "wrong").await.refused(401);
    }
    let ada = app.stranger("198.51.100.1");
    ada.log_in("ada", PASSWORD).await.refused(429);
    reset(&app, &token(&app, "ada").await, NEW).await.assert(200);
    ada.log_in("ada", NEW).await.assert(200);
}
