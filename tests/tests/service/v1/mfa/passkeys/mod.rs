//! The account's passkeys: list, rename, delete.

mod registration;

use serde_json::{Value, json};
use tests::second_factors::ORIGIN;
use tests::{Authenticator, Holder, SessionOrigin, TestApp};

use crate::v1::mfa::{MINUTE, members, needs_step_up};

async fn path_of(holder: &Holder, place: usize) -> String {
    format!("/v1/mfa/passkeys/{}", holder.passkeys().await[place]["id"].as_str().unwrap())
}

/// Ada with an authenticator app and two passkeys; her authenticator has the second.
async fn with_two() -> (TestApp, Holder) {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    app.clock.advance(MINUTE);
    ada.authenticator = Authenticator::synced(ORIGIN);
    ada.enrol_passkey(Some("second")).await.assert(200);
    (app, ada)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_account_has_its_own_passkeys() {
    let (app, ada) = with_two().await;
    let bob = app.with_passkey("bob").await;
    assert_eq!(app.without_factor("dan").await.passkeys().await, Vec::<Value>::new());
    assert_eq!((ada.passkeys().await.len(), bob.passkeys().await.len()), (2, 1));
    assert_eq!((&ada.mfa().await["passkeys"], &bob.mfa().await["passkeys"]), (&json!(2), &json!(1)));
    // Every login session can list them; no secrets are shown.
    let cli = app.open_session("ada", SessionOrigin::CliBrowser).await;
    let list = cli.get("/v1/mfa/passkeys").await.assert(200);
    assert_eq!(list["passkeys"], json!(ada.passkeys().await));
    for passkey in list["passkeys"].as_array().unwrap() {
        assert_eq!(members(passkey), ["backedUp", "createdAt", "deviceType", "id", "lastUsedAt", "name", "transports"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_is_renamed() {
    let (app, ada) = with_two().await;
    let path = path_of(&ada, 0).await;
    let cli = app.open_session("ada", SessionOrigin::CliDevice).await;
    for name in ["x", "Blue key", "<b>ключ</b> 🔑", &"ü".repeat(100)] {
        let answer = cli.patch(&path, json!({ "name": name })).await.assert(200);
        assert_eq!(members(&answer), ["passkey"]);
        assert_eq!(answer["passkey"]["name"], name);
        assert_eq!(ada.passkeys().await[0], answer["passkey"]);
    }
    for name in [json!(""), json!("x".repeat(101)), json!("a\nb"), json!("a\0b"), json!(1), json!(null), json!([])] {
        let refusal = ada.session.patch(&path, json!({ "name": name })).await.refused(400);
        assert!(refusal.starts_with("name: "), "{name}: {refusal}");
    }
    // It would look like another name.
    for unseen in ["\u{61c}", "\u{200b}", "\u{200f}", "\u{2028}", "\u{202e}", "\u{2060}", "\u{2069}", "\u{feff}"] {
        let refusal = ada.session.patch(&path, json!({ "name": format!("second{unseen}") })).await.refused(400);
        assert_eq!(refusal, "name: must not contain invisible characters or characters that change text direction");
    }
    ada.session.patch(&path, json!({})).await.refused(400);
    assert_eq!(ada.passkeys().await[1]["name"], "second");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_and_other_accounts_passkeys_are_not_found() {
    let (app, mut ada) = with_two().await;
    let bob = app.with_passkey("bob").await;
    let of_bob = path_of(&bob, 0).await;
    let unknown = "/v1/mfa/passkeys/0192f7a0-0000-7000-8000-000000000000".to_owned();
    for path in [of_bob, unknown, "/v1/mfa/passkeys/x".to_owned(), format!("/v1/mfa/passkeys/{}", ada.authenticator.id())] {
        ada.session.patch(&path, json!({ "name": "mine" })).await.refused_with(404, None);
        let proof = ada.totp_proof();
        ada.session.delete_with(&path, json!({ "stepUp": proof })).await.refused_with(404, None);
        // The refused request did not consume the proof.
        app.pend("ada").await.totp(&ada.code_now()).await.assert(200);
    }
    assert_eq!(bob.passkeys().await[0]["name"], "Passkey");
    let proof = ada.passkey_proof().await;
    let path = path_of(&ada, 0).await;
    ada.session.delete_with(&path, json!({ "stepUp": proof })).await.assert(200);
    let proof = ada.passkey_proof().await;
    ada.session.delete_with(&path, json!({ "stepUp": proof })).await.refused_with(404, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_is_deleted_with_a_proof() {
    let (app, mut ada) = with_two().await;
    let path = path_of(&ada, 0).await;
    needs_step_up(&ada.session.delete(&path).await);
    needs_step_up(&ada.session.delete_with(&path, json!({})).await);
    needs_step_up(&ada.session.delete_with(&path, json!({ "stepUp": null })).await);
    assert_eq!(ada.passkeys().await.len(), 2);
    // In any of the account's sessions, even with the passkey itself as proof.
    let cli = app.open_session("ada", SessionOrigin::CliBrowser).await;
    let proof = ada.totp_proof();
    let answer = cli.delete_with(&path, json!({ "stepUp": proof })).await.assert(200);
    assert_eq!(members(&answer), ["message", "mfaEnabled"]);
    assert_eq!(answer["mfaEnabled"], true);
    let proof = ada.passkey_proof().await;
    let path = path_of(&ada, 0).await;
    ada.session.delete_with(&path, json!({ "stepUp": proof })).await.assert(200);
    assert_eq!(ada.passkeys().await, Vec::<Value>::new());
    // A deleted passkey can be registered again.
    ada.enrol_passkey(None).await.assert(200);
}
