//! Registrations: which become accounts.

use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::wait::until;
use tests::{Answer, Options, TestApp};

use crate::v1::members;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

const ANOTHER: &str = "quite another phrase for the gate";

/// Registers an address with a password, and returns the token in the email.
async fn registered(app: &TestApp, email: &str, password: &str) -> String {
    app.anonymous().post("/v1/auth/register", json!({ "email": email, "password": password })).await.assert(202);
    app.last_mail_to(email).await.token()
}

async fn verify(app: &TestApp, token: &str) -> Answer {
    app.anonymous().post("/v1/auth/verify-email", json!({ "token": token })).await
}

async fn resend(app: &TestApp, email: &str) -> Value {
    app.anonymous().post("/v1/auth/resend-verification", json!({ "email": email })).await.assert(202)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_becomes_an_account_when_its_token_is_used() {
    let app = TestApp::spawn().await;
    let body =
        json!({ "email": "  Ada@Example.COM ", "password": PASSWORD, "name": "Ada Lovelace", "more": "ignored", "challengeToken": null });
    let answer = app.anonymous().post("/v1/auth/register", body).await.assert(202);
    assert_eq!(members(&answer), ["message"]);
    assert_eq!(app.number("SELECT COUNT(*) FROM accounts").await, 0);
    let mail = app.last_mail_to("ada@example.com").await;
    assert!(mail.link().starts_with(&format!("{}/dashboard/verify-email#token=", app.base)), "{}", mail.link());
    assert_eq!(mail.token().len(), 43);

    let answer = verify(&app, &mail.token()).await.assert(200);
    assert_eq!(members(&answer), ["message"]);
    let account = app.log_in("ada").await.get("/v1/account").await.assert(200)["account"].clone();
    assert_eq!((account["email"].as_str(), account["name"].as_str()), (Some("ada@example.com"), Some("Ada Lovelace")));
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations WHERE NOT is_decoy").await, 0);
    // A token works once.
    let refusal = verify(&app, &mail.token()).await.refused(400);
    assert!(refusal.starts_with("token: "), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_an_account_gets_the_same_response_and_a_mail() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let register =
        async |email: &str| app.anonymous().post("/v1/auth/register", json!({ "email": email, "password": ANOTHER })).await.assert(202);
    assert_eq!(register("ada@example.com").await, register("bob@example.com").await);
    let (known, unknown) = (app.last_mail_to("ada@example.com").await, app.last_mail_to("bob@example.com").await);
    assert!(known.subject.contains("already have an account") && !known.source.contains("#token="), "{}", known.text);
    assert_ne!(known.subject, unknown.subject);
    // The earlier registrant notices no change, and the new one gets the same response.
    app.try_log_in("ada", ANOTHER).await.refused(403);
    app.try_log_in("bob", ANOTHER).await.refused(403);
    app.log_in("ada").await;
    // Ada's own registration was stored, too.
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations").await, 3);
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations WHERE is_decoy").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_registrations_the_one_whose_token_is_used_wins() {
    let app = TestApp::spawn().await;
    let first = registered(&app, "ada@example.com", PASSWORD).await;
    let second = registered(&app, "ada@example.com", ANOTHER).await;
    assert_ne!(first, second);
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations").await, 2);
    app.try_log_in("ada", ANOTHER).await.refused(403);
    verify(&app, &first).await.assert(200);
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations WHERE NOT is_decoy").await, 0);
    verify(&app, &second).await.refused(400);
    app.log_in("ada").await;
    // As before: the second registrant does not learn that the address has an account now.
    app.try_log_in("ada", ANOTHER).await.refused(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_tokens_used_concurrently_one_creates_the_account() {
    let app = TestApp::spawn().await;
    let first = registered(&app, "ada@example.com", PASSWORD).await;
    let second = registered(&app, "ada@example.com", ANOTHER).await;
    let shown = [&first, &first, &second, &second, &first, &second].map(|token| {
        let (client, body) = (app.anonymous(), json!({ "token": token }));
        tokio::spawn(async move { client.post("/v1/auth/verify-email", body).await.status.as_u16() })
    });
    let mut statuses = Vec::new();
    for answer in shown {
        statuses.push(answer.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400, 400, 400, 400, 400]);
    assert_eq!(app.number("SELECT COUNT(*) FROM accounts").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_expires_after_a_day_and_another_mail_has_a_new_one() {
    let app = TestApp::spawn().await;
    let old = registered(&app, "ada@example.com", PASSWORD).await;
    let timely = registered(&app, "bob@example.com", PASSWORD).await;
    app.clock.advance(DAY - 1);
    verify(&app, &timely).await.assert(200);
    app.clock.advance(1);
    verify(&app, &old).await.refused(400);
    resend(&app, "ada@example.com").await;
    let new = app.last_mail_to("ada@example.com").await.token();
    app.clock.advance(DAY - 1);
    verify(&app, &old).await.refused(400);
    verify(&app, &new).await.assert(200);
    app.log_in("ada").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_mail_is_for_the_newest_registration_and_invalidates_its_older_token() {
    let app = TestApp::spawn().await;
    let first = registered(&app, "ada@example.com", PASSWORD).await;
    let second = registered(&app, "ada@example.com", ANOTHER).await;
    resend(&app, "ADA@example.com").await;
    let third = app.last_mail_to("ada@example.com").await.token();
    assert!(third != first && third != second);
    verify(&app, &second).await.refused(400);
    verify(&app, &third).await.assert(200);
    app.try_log_in("ada", ANOTHER).await.assert(200);
    verify(&app, &first).await.refused(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn resending_a_mail_reveals_nothing() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    registered(&app, "bob@example.com", PASSWORD).await;
    let answers = [resend(&app, "ada@example.com").await, resend(&app, "bob@example.com").await, resend(&app, "nobody@example.com").await];
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    for (email, mails) in [("ada@example.com", 2), ("bob@example.com", 2), ("nobody@example.com", 0)] {
        assert_eq!(app.mails_to(email).await.len(), mails, "{email}");
    }
    assert_eq!(app.last_mail_to("ada@example.com").await.subject, "You already have an account");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_is_deleted_after_seven_days() {
    let mut app = TestApp::spawn_with(Options::default().with("LIMIT_VERIFY_TOKEN", "30d")).await;
    let late = registered(&app, "ada@example.com", PASSWORD).await;
    let timely = registered(&app, "bob@example.com", PASSWORD).await;
    app.clock.advance(7 * DAY - 1);
    app.try_log_in("ada", PASSWORD).await.refused(403);
    verify(&app, &timely).await.assert(200);
    app.clock.advance(1);
    app.try_log_in("ada", PASSWORD).await.refused(401);
    verify(&app, &late).await.refused(400);
    resend(&app, "ada@example.com").await;
    assert_eq!(app.mails_to("ada@example.com").await.len(), 1);
    // The job runs at startup.
    app.stop().await;
    app.start().await;
    until("the registration is deleted", async || (app.number("SELECT COUNT(*) FROM registrations").await == 0).then_some(())).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM accounts").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_registration_refuses_everyone() {
    let app = TestApp::spawn_with(Options::default().with("REGISTRATION", "closed")).await;
    let document = app.anonymous().get("/v1/openapi.json").await.assert(200);
    for path in ["register", "verify-email", "resend-verification"] {
        let path = format!("/v1/auth/{path}");
        app.anonymous().post(&path, json!({ "email": "ada@example.com", "token": "x", "password": PASSWORD })).await.refused(403);
        assert!(document["paths"][&path]["post"]["responses"].get("403").is_some(), "{path}");
    }
    for body in [json!({ "email": "ada@example.com", "password": PASSWORD }), json!({})] {
        let answer = app.anonymous().post("/v1/auth/register", body).await;
        answer.refused(403);
        assert_eq!(answer.json().get("code"), None);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations").await, 0);
    assert_eq!(app.waiting_mails().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_registration_also_refuses_pending_registrations() {
    let mut app = TestApp::spawn().await;
    let token = registered(&app, "ada@example.com", PASSWORD).await;
    app.stop().await;
    app.configure("REGISTRATION", "closed");
    app.start().await;
    let resend = async |app: &TestApp| app.anonymous().post("/v1/auth/resend-verification", json!({ "email": "ada@example.com" })).await;
    for answer in [verify(&app, &token).await, resend(&app).await] {
        answer.refused(403);
        assert_eq!(members(&answer.json()), ["error", "requestId"]);
    }
    assert_eq!(app.mails_to("ada@example.com").await.len(), 1);
    assert_eq!(app.number("SELECT COUNT(*) FROM accounts").await, 0);
    app.stop().await;
    app.configure("REGISTRATION", "open");
    app.start().await;
    verify(&app, &token).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_tokens_nor_passwords_are_stored() {
    let app = TestApp::spawn().await;
    let token = registered(&app, "ada@example.com", PASSWORD).await;
    app.register("bob").await;
    app.anonymous().post("/v1/auth/forgot-password", json!({ "email": "bob@example.com" })).await.assert(202);
    let reset = app.last_mail_to("bob@example.com").await.token();
    let mut stored = app.texts("SELECT email || token_hash || password_hash FROM registrations", &[]).await;
    stored.extend(app.texts("SELECT email || password_hash FROM accounts", &[]).await);
    stored.extend(app.texts("SELECT token_hash FROM password_resets", &[]).await);
    stored.extend(app.texts("SELECT name || subject FROM limit_counts", &[]).await);
    assert!(stored.len() >= 5, "{stored:?}");
    for text in stored {
        assert!(!text.contains(&token) && !text.contains(&reset) && !text.contains(PASSWORD), "{text}");
        assert!(!text.contains("$argon2") || text.contains("$argon2id$v=19$m=19456,t=2,p=1$"), "{text}");
        assert!(!(text.contains("mails") || text.contains("login")) || !text.contains('@'), "limits store hashes of addresses: {text}");
    }
}
