//! Turning second factors on and off: each transition and its effects.

use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::second_factors::ORIGIN;
use tests::{Answer, Authenticator, Holder, SessionOrigin, TestApp};

use crate::v1::mfa::{MINUTE, members, texts};

async fn delete_passkey(ada: &mut Holder, place: usize, proof: Value) -> Answer {
    let id = ada.passkeys().await[place]["id"].as_str().unwrap().to_owned();
    ada.session.delete_with(&format!("/v1/mfa/passkeys/{id}"), json!({ "stepUp": proof })).await
}

/// Whether second factors are on, according to the account, its factors and a login.
async fn is_on(app: &TestApp, ada: &Holder) -> bool {
    let said = [
        ada.mfa().await["mfaEnabled"].clone(),
        ada.session.get("/v1/account").await.assert(200)["account"]["mfaEnabled"].clone(),
        json!(app.try_log_in(&ada.name, PASSWORD).await.assert(200).get("mfaRequired").is_some()),
    ];
    assert!(said.iter().all(|on| *on == said[0]), "{said:?}");
    said[0].as_bool().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_passkey_turns_on_second_factors() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    assert!(!is_on(&app, &ada).await);
    let expected = json!({
        "mfaEnabled": false, "methods": [], "passkeys": 0, "recoveryCodesRemaining": 0, "mfaSetupRequired": true,
        "mfaSetupDeadline": ada.mfa().await["mfaSetupDeadline"],
    });
    assert_eq!(ada.mfa().await, expected);
    let answer = ada.enrol_passkey(None).await.assert(200);
    assert_eq!((&answer["mfaEnabled"], texts(&answer["recoveryCodes"]).len()), (&json!(true), 10));
    assert!(is_on(&app, &ada).await);
    let expected = json!({
        "mfaEnabled": true, "methods": ["passkey", "recovery_code"], "passkeys": 1, "recoveryCodesRemaining": 10, "mfaSetupRequired": false,
    });
    assert_eq!(ada.mfa().await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_authenticator_app_turns_on_second_factors() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    ada.set_up_totp().await;
    assert!(!is_on(&app, &ada).await, "an unconfirmed factor does not count");
    let answer = ada.enrol_totp().await.assert(200);
    assert_eq!((&answer["mfaEnabled"], texts(&answer["recoveryCodes"]).len()), (&json!(true), 10));
    assert!(is_on(&app, &ada).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_further_factor_changes_nothing_else() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_passkey("ada").await;
    let codes = ada.codes.clone();
    let pending = app.pend("ada").await;
    assert_eq!(members(&ada.enrol_totp().await.assert(200)), ["mfaEnabled"]);
    ada.authenticator = Authenticator::synced(ORIGIN);
    assert_eq!(members(&ada.enrol_passkey(None).await.assert(200)), ["mfaEnabled", "passkey"]);
    let mfa = ada.mfa().await;
    assert_eq!((&mfa["passkeys"], &mfa["recoveryCodesRemaining"]), (&json!(2), &json!(10)));
    pending.recovery(&codes[0]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_passkey_keeps_second_factors_on_while_another_remains() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_passkey("ada").await;
    let codes = ada.codes.clone();
    // The second is proven with the first.
    app.clock.advance(MINUTE);
    let proof = ada.passkey_proof().await;
    ada.authenticator = Authenticator::synced(ORIGIN);
    let options = ada.registration_options().await;
    let response = ada.authenticator.register(&options);
    ada.session.post("/v1/mfa/passkeys/register/verify", json!({ "response": response, "stepUp": proof })).await.assert(200);
    let pending = app.pend("ada").await;
    let proof = ada.passkey_proof().await;
    assert_eq!(delete_passkey(&mut ada, 0, proof).await.assert(200)["mfaEnabled"], true);
    assert!(is_on(&app, &ada).await);
    assert_eq!(ada.mfa().await["recoveryCodesRemaining"], 10);
    pending.recovery(&codes[0]).await.assert(200);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_the_last_passkey_keeps_second_factors_on_with_an_authenticator_app() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    let pending = app.pend("ada").await;
    let proof = ada.totp_proof();
    assert_eq!(delete_passkey(&mut ada, 0, proof).await.assert(200)["mfaEnabled"], true);
    assert!(is_on(&app, &ada).await);
    let mfa = ada.mfa().await;
    assert_eq!(
        (&mfa["passkeys"], &mfa["recoveryCodesRemaining"], &mfa["methods"]),
        (&json!(0), &json!(10), &json!(["totp", "recovery_code"]))
    );
    pending.totp(&ada.code()).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_the_last_passkey_turns_off_second_factors_and_deletes_their_data() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_passkey("ada").await;
    let codes = ada.codes.clone();
    // An unconfirmed factor does not count.
    let unconfirmed = ada.set_up_totp().await;
    let (first, second) = (app.pend("ada").await, app.pend("ada").await);
    let options = second.options().await.assert(200)["options"].clone();
    let proof = ada.passkey_proof().await;
    let answer = delete_passkey(&mut ada, 0, proof).await.assert(200);
    assert_eq!((members(&answer), &answer["mfaEnabled"]), (vec!["message", "mfaEnabled"], &json!(false)));
    assert!(!is_on(&app, &ada).await);
    assert_eq!(app.number("SELECT COUNT(*) FROM recovery_codes").await, 0);
    assert_eq!(app.number("SELECT COUNT(*) FROM recovery_keys").await, 0);
    first.recovery(&codes[0]).await.refused_with(401, None);
    second.verify(&ada.authenticator.assert(&options)).await.refused_with(401, None);
    let session = app.try_log_in("ada", PASSWORD).await.assert(200);
    assert_eq!(members(&session), ["accessKey", "expires", "mfaSetupDeadline", "mfaSetupRequired"]);
    // The session continues, and nothing requires a proof any more; earlier proofs no longer work.
    ada.session.post("/v1/mfa/recovery-codes", json!({})).await.refused_with(409, None);
    let answer = ada.session.post("/v1/mfa/totp/confirm", json!({ "code": unconfirmed.code(app.clock.now()) })).await.assert(200);
    let new = texts(&answer["recoveryCodes"]);
    assert!(new.len() == 10 && new.iter().all(|code| !codes.iter().any(|old| old == code)));
    app.pend("ada").await.recovery(&codes[1]).await.refused(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_the_authenticator_app_as_last_factor_turns_off_second_factors() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_totp("ada").await;
    let pending = app.pend("ada").await;
    let proof = ada.totp_proof();
    let answer = ada.session.delete_with("/v1/mfa/totp", json!({ "stepUp": proof })).await.assert(200);
    assert_eq!(answer["mfaEnabled"], false);
    assert!(!is_on(&app, &ada).await);
    pending.recovery(&ada.codes[0]).await.refused_with(401, None);
    pending.totp(&ada.code()).await.refused_with(401, None);
    // On again with the other kind, and new recovery codes.
    let old = ada.codes.clone();
    (ada.totp, ada.codes) = (None, Vec::new());
    ada.enrol_passkey(None).await.assert(200);
    assert!(is_on(&app, &ada).await);
    // The earlier pending login was canceled: the new factors do not complete it.
    pending.recovery(&ada.codes[1]).await.refused_with(401, None);
    app.pend("ada").await.recovery(&old[0]).await.refused(401);
    app.pend("ada").await.recovery(&ada.codes[1]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_sessions_and_keys_are_kept() {
    let app = TestApp::spawn_with_passkeys().await;
    let key = app.sign_up("ada").await;
    let before = app.open_session("ada", SessionOrigin::CliBrowser).await;
    let mut ada = app.holder("ada").await;
    ada.enrol_totp().await.assert(200);
    for client in [&key, &before, &ada.session] {
        client.get("/v1/authenticated").await.assert(200);
    }
}
