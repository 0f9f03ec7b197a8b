//! The deadline to set up a second factor: shown at login, fixed once, and its restrictions.

use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::{Answer, Client, TestApp};

use crate::v1::mfa::{MINUTE, members};

const DAY: i64 = 24 * 60 * MINUTE;
const LATE: Option<&str> = Some("mfa_setup_required");

async fn make_key(session: &Client, name: &str) -> Answer {
    session.post("/v1/access-keys", json!({ "friendlyName": name })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_is_fixed_fourteen_days_after_the_first_login_without_a_factor() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    // Before the first login.
    let mfa = ada.mfa().await;
    assert_eq!((&mfa["mfaSetupRequired"], mfa.get("mfaSetupDeadline")), (&json!(true), None));
    let deadline = app.clock.now().0 + 14 * DAY;
    for _ in 0..2 {
        let login = app.try_log_in("ada", PASSWORD).await.assert(200);
        assert_eq!((&login["mfaSetupRequired"], &login["mfaSetupDeadline"]), (&json!(true), &json!(deadline)));
        let mfa = ada.mfa().await;
        assert_eq!((&mfa["mfaSetupRequired"], &mfa["mfaSetupDeadline"]), (&json!(true), &json!(deadline)));
        app.clock.advance(DAY);
    }
    ada.session.reauthenticate().await;
    ada.enrol_totp().await.assert(200);
    let mfa = ada.mfa().await;
    assert_eq!((&mfa["mfaSetupRequired"], mfa.get("mfaSetupDeadline")), (&json!(false), None));
    let login = app.pend("ada").await.totp(&ada.code()).await.assert(200);
    assert_eq!(members(&login), ["accessKey", "expires"]);
    let proof = ada.totp_proof();
    ada.session.delete_with("/v1/mfa/totp", json!({ "stepUp": proof })).await.assert(200);
    // After removing the factor, the deadline is the same.
    let login = app.try_log_in("ada", PASSWORD).await.assert(200);
    assert_eq!((&login["mfaSetupRequired"], &login["mfaSetupDeadline"]), (&json!(true), &json!(deadline)));
    assert_eq!(ada.mfa().await["mfaSetupDeadline"], deadline);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_with_a_factor_has_no_deadline_until_the_factor_is_removed() {
    let app = TestApp::spawn().await;
    let ada = app.with_totp("ada").await;
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
    app.clock.advance(20 * DAY);
    let session = app.client_of(&app.pend("ada").await.totp(&ada.code()).await.assert(200));
    make_key(&session, "first").await.assert(201);
    let proof = ada.totp_proof();
    session.delete_with("/v1/mfa/totp", json!({ "stepUp": proof })).await.assert(200);
    let login = app.try_log_in("ada", PASSWORD).await.assert(200);
    assert_eq!(login["mfaSetupDeadline"], app.clock.now().0 + 14 * DAY);
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_a_factor_lifts_the_restrictions_after_the_deadline() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    app.miss_mfa_deadline("ada").await;
    ada.session = app.log_in("ada").await;
    make_key(&ada.session, "first").await.refused_with(403, LATE);
    ada.session.post("/v1/api-keys", json!({ "name": "first", "scopes": ["read"] })).await.refused_with(403, LATE);
    // Adding a factor is still allowed.
    ada.enrol_passkey(None).await.assert(200);
    make_key(&ada.session, "first").await.assert(201);
    ada.session.post("/v1/api-keys", json!({ "name": "first", "scopes": ["read"] })).await.assert(201);
    // After removing it, the restrictions apply again.
    let id = ada.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    let proof = ada.passkey_proof().await;
    ada.session.delete_with(&format!("/v1/mfa/passkeys/{id}"), json!({ "stepUp": proof })).await.assert(200);
    make_key(&ada.session, "second").await.refused_with(403, LATE);
    (ada.totp, ada.codes) = (None, Vec::new());
    ada.enrol_totp().await.assert(200);
    make_key(&ada.session, "second").await.assert(201);
    assert_eq!(ada.mfa().await.get("mfaSetupDeadline"), None::<&Value>);
}
