//! What an intruder leaves behind in an account: a reset can revoke keys, but keeps factors.

use control::testing::mail::{Kind, Mail};
use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::{Answer, Client, Holder, Options, TestApp};

const NEW: &str = "quite another phrase for the gate";
const DAY: i64 = 86_400_000;

struct World {
    app: TestApp,
    ada: Holder,
    key: Client,
    api_key: Client,
    bobs: Client,
}

/// An account with keys and factors, and an unrelated account.
async fn world() -> World {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_totp("ada").await;
    ada.enrol_passkey(Some("<b>Blue</b> key")).await.assert(200);
    let (key, api_key) = (app.named_key("ada", "laptop <i>").await, app.api_key("ada", &["read"]).await);
    let bobs = app.sign_up("bob").await;
    World { app, ada, key, api_key, bobs }
}

async fn token(app: &TestApp) -> String {
    app.anonymous().post("/v1/auth/forgot-password", json!({ "email": "ada@example.com" })).await.assert(202);
    app.last_mail_to("ada@example.com").await.token()
}

async fn reset(app: &TestApp, more: Value) -> Answer {
    let mut body = more;
    body["token"] = json!(token(app).await);
    body["password"] = json!(NEW);
    app.anonymous().post("/v1/auth/reset-password", body).await
}

/// The factors are unchanged.
async fn has_factors(world: &World) {
    let pending = world.app.try_log_in("ada", NEW).await.assert(200);
    assert_eq!(pending["methods"], json!(["passkey", "totp", "recovery_code"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_can_revoke_every_key_but_no_second_factor() {
    let world = world().await;
    let rows = world.app.audit_rows().await;
    reset(&world.app, json!({ "revokeKeys": true })).await.assert(200);
    for ended in [&world.key, &world.api_key, &world.ada.session] {
        ended.get("/v1/authenticated").await.refused(401);
    }
    world.bobs.get("/v1/authenticated").await.assert(200);
    let mail = world.app.last_mail_to("ada@example.com").await;
    assert!(mail.text.contains("All access keys and API keys of your account were revoked."), "{}", mail.text);
    assert!(!mail.text.contains("laptop") && mail.text.contains("- Authenticator app\n- Passkey <b>Blue</b> key\n- 10 recovery codes\n"));
    let trail = world.app.audit_since(rows).await;
    // One row each for the request and the reset, and one for the use of the API key, identified by its public part.
    let actions: Vec<&str> = trail.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["password.forgot", "password.reset", "credential.fail"]);
    assert!(format!("{:?}", trail[1]).contains("revokedKeys"), "{:?}", trail[1]);
    has_factors(&world).await;
    assert_eq!(world.app.number("SELECT COUNT(*) FROM api_keys WHERE revoked_time IS NOT NULL").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_keeps_keys_by_default_and_lists_them() {
    for more in [json!({}), json!({ "revokeKeys": false }), json!({ "revokeKeys": null })] {
        let world = world().await;
        reset(&world.app, more).await.assert(200);
        for stays in [&world.key, &world.api_key, &world.bobs] {
            stays.get("/v1/authenticated").await.assert(200);
        }
        let mail = world.app.last_mail_to("ada@example.com").await;
        assert!(mail.text.contains("- test\n- laptop <i>\n- test\n"), "{}", mail.text);
        assert!(mail.text.contains("- Passkey <b>Blue</b> key\n") && !mail.html.contains("<b>Blue"), "{}", mail.text);
        has_factors(&world).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_that_is_refused_revokes_nothing() {
    let world = world().await;
    let token = token(&world.app).await;
    for (body, name) in [
        (json!({ "token": token, "password": "short", "revokeKeys": true }), "password"),
        (json!({ "token": "unknown", "password": NEW, "revokeKeys": true }), "token"),
        (json!({ "token": token, "password": NEW, "revokeKeys": "yes" }), "revokeKeys"),
    ] {
        let refusal = world.app.anonymous().post("/v1/auth/reset-password", body).await.refused(400);
        assert!(refusal.contains(&format!("{name}: ")), "{refusal}");
    }
    for stays in [&world.key, &world.api_key] {
        stays.get("/v1/authenticated").await.assert(200);
    }
    world.app.try_log_in("ada", PASSWORD).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_offers_revoking_keys_and_shows_what_remains() {
    let world = world().await;
    let mut reader = world.app.reader();
    let page = reader.open("/dashboard/reset-password").await;
    assert!(!page.form().fields.contains_key("revokeKeys"), "the box is not checked");
    let page = reader.send(&page.form().with(&[("token", &token(&world.app).await), ("password", NEW)])).await.has_status(200);
    let page = page.shows("Password changed").shows("laptop &#60;i&#62;").shows("Passkey &#60;b&#62;Blue&#60;/b&#62; key");
    assert!(!page.html().contains("was revoked"), "{}", page.html());
    world.key.get("/v1/authenticated").await.assert(200);

    let mut form = reader.open("/dashboard/reset-password").await.form();
    form = form.with(&[("token", &token(&world.app).await), ("password", "short")]);
    form.fields.insert("revokeKeys".to_owned(), "on".to_owned());
    // After a refusal the box is still checked.
    let form = reader.send(&form).await.has_status(400).form();
    assert!(form.fields.contains_key("revokeKeys"));
    let page = reader.send(&form.with(&[("password", PASSWORD)])).await.has_status(200).shows("All access keys and API keys were revoked.");
    assert!(!page.html().contains("laptop") && page.html().contains("Two-factor authentication is still on"), "{}", page.html());
    world.key.get("/v1/authenticated").await.refused(401);
    world.api_key.get("/v1/authenticated").await.refused(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_requested_before_a_password_change_is_never_mailed() {
    let app = TestApp::spawn_with(Options::default()).await;
    app.register("ada").await;
    let session = app.log_in("ada").await;
    // The sender gets to it a day later.
    let later = "UPDATE outbox SET next_attempt_time = next_attempt_time + 86400000 WHERE kind = NEW.kind AND key = NEW.key;";
    app.whenever("AFTER INSERT ON outbox FOR EACH ROW", later).await;
    app.anonymous().post("/v1/auth/forgot-password", json!({ "email": "ada@example.com" })).await.assert(202);
    app.clock.advance(1);
    session.patch("/v1/account", json!({ "currentPassword": PASSWORD, "password": NEW })).await.assert(200);
    app.clock.advance(DAY);
    let subjects: Vec<String> = app.mails_to("ada@example.com").await.into_iter().map(|mail| mail.subject).collect();
    assert_eq!(subjects, ["Verify your email address", "Your password was changed"]);
    assert_eq!(app.number("SELECT COUNT(*) FROM password_resets").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_queued_before_an_update_is_still_sent() {
    let app = TestApp::spawn().await;
    let stored = json!({ "to": "ada@example.com", "kind": { "PasswordReset": { "time": 0, "address": "192.0.2.7", "keys": ["ci"] } } });
    let mail: Mail = serde_json::from_value(stored).unwrap();
    assert!(matches!(&mail.kind, Kind::PasswordReset(_)));
    crate::mail::send(&app.state(), "ada@example.com", mail.kind).await;
    assert!(app.last_mail_to("ada@example.com").await.text.contains("- ci\n"));
}
