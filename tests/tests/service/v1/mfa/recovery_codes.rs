//! Recovery codes: their format, uses, and replacement.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::{Options, TestApp};

use crate::v1::mfa::{members, needs_step_up, texts};

fn is_code(code: &str) -> bool {
    let groups: Vec<&str> = code.split('-').collect();
    let is_group = |group: &&str| group.len() == 4 && group.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'));
    groups.len() == 4 && groups.iter().all(is_group)
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_ten_recovery_codes_of_eighty_bits() {
    let app = TestApp::spawn_with_passkeys().await;
    let (ada, bob) = (app.with_totp("ada").await, app.with_passkey("bob").await);
    let all: BTreeSet<&String> = ada.codes.iter().chain(&bob.codes).collect();
    assert_eq!(all.len(), 20, "all are different");
    assert!(all.iter().all(|code| is_code(code)), "{all:?}");
    let stored = app.texts("SELECT code_hash FROM recovery_codes", &[]).await;
    assert_eq!(stored.len(), 20);
    let raw = |code: &str| code.replace('-', "");
    assert!(!stored.iter().any(|stored| all.iter().any(|code| stored.contains(&raw(code)) || stored.contains(code.as_str()))));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_recovery_code_works_once_regardless_of_formatting() {
    let app = TestApp::spawn().await;
    let ada = app.with_totp("ada").await;
    let typed = [
        ada.codes[0].clone(),
        ada.codes[1].to_uppercase(),
        ada.codes[2].replace('-', ""),
        ada.codes[3].replace('-', " "),
        format!("  {} ", ada.codes[4].replace('-', " - ")),
    ];
    for (used, code) in typed.iter().enumerate() {
        let answer = app.pend("ada").await.recovery(code).await.assert(200);
        assert_eq!(members(&answer), ["accessKey", "expires", "recoveryCodesRemaining"]);
        assert_eq!(answer["recoveryCodesRemaining"], 9 - used);
        assert_eq!(ada.mfa().await["recoveryCodesRemaining"], 9 - used);
        app.pend("ada").await.recovery(&ada.codes[used]).await.refused_with(401, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recovery_codes_are_not_offered_after_the_last_is_used() {
    let app = TestApp::spawn().await;
    let ada = app.with_totp("ada").await;
    for code in &ada.codes {
        let pending = app.pend("ada").await;
        assert_eq!(pending.methods, ["totp", "recovery_code"]);
        pending.recovery(code).await.assert(200);
    }
    let pending = app.pend("ada").await;
    assert_eq!(pending.methods, ["totp"]);
    pending.recovery(&ada.codes[0]).await.refused(401);
    let mfa = ada.mfa().await;
    assert_eq!((&mfa["mfaEnabled"], &mfa["recoveryCodesRemaining"], &mfa["methods"]), (&json!(true), &json!(0), &json!(["totp"])));
    // New ones can be created.
    let proof = ada.totp_proof();
    let answer = ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await.assert(200);
    app.pend("ada").await.recovery(texts(&answer["recoveryCodes"])[9]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_and_other_accounts_recovery_codes_are_refused() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MFA_ATTEMPTS", "100/15m")).await;
    let ada = app.with_totp("ada").await;
    let bob = app.with_totp("bob").await;
    let mut near = ada.codes[0].clone();
    near.replace_range(0..1, if near.starts_with('a') { "b" } else { "a" });
    for code in [near.as_str(), &bob.codes[0], "aaaa-aaaa-aaaa-aaaa", "0000-0000-0000-0000", &ada.codes[0][..14], &ada.code(), "ü"] {
        app.pend("ada").await.recovery(code).await.refused_with(401, None);
    }
    // A recovery code is not accepted as a code of the app.
    app.pend("ada").await.totp(&ada.codes[0]).await.refused_with(401, None);
    app.pend("ada").await.recovery(&ada.codes[0]).await.assert(200);
    app.pend("bob").await.recovery(&bob.codes[0]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_recovery_codes_are_replaced_with_a_proof() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    for body in [json!({}), json!({ "stepUp": null }), json!({ "stepUp": { "type": "recovery_code", "code": ada.codes[0] } })] {
        needs_step_up(&ada.session.post("/v1/mfa/recovery-codes", body).await);
    }
    needs_step_up(
        &ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": { "type": "password", "code": tests::people::PASSWORD } })).await,
    );
    let old = ada.codes.clone();
    for proof in [ada.totp_proof(), ada.passkey_proof().await] {
        let answer = ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await;
        assert_eq!(members(&answer.assert(200)), ["recoveryCodes"]);
        let before = ada.codes.clone();
        ada.keep_codes(&answer);
        assert!(ada.codes.len() == 10 && ada.codes.iter().all(|code| is_code(code) && !before.contains(code)), "{:?}", ada.codes);
    }
    app.pend("ada").await.recovery(&old[0]).await.refused(401);
    app.pend("ada").await.recovery(&ada.codes[0]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_recovery_codes_without_a_factor() {
    let app = TestApp::spawn().await;
    let ada = app.without_factor("ada").await;
    for body in [json!({}), json!({ "stepUp": { "type": "totp", "code": "123456" } })] {
        ada.session.post("/v1/mfa/recovery-codes", body).await.refused_with(409, None);
    }
    ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": 7 })).await.refused_with(400, None);
    assert_eq!(ada.mfa().await["recoveryCodesRemaining"], 0);
    let body: Value = json!({ "pendingToken": "svc_pl_x", "code": "aaaa-aaaa-aaaa-aaaa" });
    app.anonymous().post("/v1/auth/mfa/recovery", body).await.refused_with(401, None);
}
