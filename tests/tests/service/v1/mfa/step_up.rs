//! Fresh proofs: what requires them, what is refused, and that each works once.

use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::{Answer, Client, Forgery, Holder, Options, SessionOrigin, TestApp};

use crate::v1::mfa::{MINUTE, forgeries, members, needs_step_up};

const OTHER: &str = "quite another passphrase of hers";

/// The operations that require a proof.
const GUARDED: [&str; 7] = ["totp", "passkey", "codes", "password", "remove totp", "remove passkey", "account"];

/// Requests the operation with this proof; `session` belongs to the holder's account.
async fn ask(holder: &Holder, session: &Client, what: &str, proof: Value) -> Answer {
    match what {
        "totp" => {
            let answer = session.post("/v1/mfa/totp/setup", json!({})).await.assert(200);
            let code = tests::Totp::new(answer["secret"].as_str().unwrap()).code(holder.now());
            session.post("/v1/mfa/totp/confirm", json!({ "code": code, "stepUp": proof })).await
        }
        "passkey" => {
            let options = session.post("/v1/mfa/passkeys/register/options", json!({})).await.assert(200)["options"].clone();
            let response = tests::Authenticator::new(tests::second_factors::ORIGIN).register(&options);
            session.post("/v1/mfa/passkeys/register/verify", json!({ "response": response, "stepUp": proof })).await
        }
        "codes" => session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await,
        "password" => {
            let body = json!({ "currentPassword": PASSWORD, "password": OTHER, "stepUp": proof });
            session.patch("/v1/account", body).await
        }
        "remove totp" => session.delete_with("/v1/mfa/totp", json!({ "stepUp": proof })).await,
        "remove passkey" => {
            let id = holder.passkeys().await[0]["id"].as_str().unwrap().to_owned();
            session.delete_with(&format!("/v1/mfa/passkeys/{id}"), json!({ "stepUp": proof })).await
        }
        _ => session.delete_with("/v1/account", json!({ "password": PASSWORD, "stepUp": proof })).await,
    }
}

async fn with_ada() -> (TestApp, Holder) {
    let options = Options::default().with_passkeys().with("LIMIT_MFA_ATTEMPTS", "1000/15m");
    let app = TestApp::spawn_among_strangers(options).await;
    let ada = app.with_both("ada").await;
    (app, ada)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_options_list_the_accounts_passkeys() {
    let (app, ada) = with_ada().await;
    let answer = ada.session.post("/v1/mfa/step-up/options", json!({})).await.assert(200);
    assert_eq!(members(&answer), ["options"]);
    let options = &answer["options"];
    assert_eq!((&options["rpId"], &options["userVerification"]), (&json!("updraft.example.com"), &json!("required")));
    assert_eq!(options["allowCredentials"][0]["id"], ada.authenticator.id());
    // Without a passkey there are no options.
    app.with_totp("bob").await.session.post("/v1/mfa/step-up/options", json!({})).await.refused_with(409, None);
    app.without_factor("dan").await.session.post("/v1/mfa/step-up/options", json!({})).await.refused_with(409, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn guarded_changes_require_a_proof() {
    let (app, mut ada) = with_ada().await;
    let before = (ada.mfa().await, ada.passkeys().await);
    let options = ada.step_up_options().await;
    let unverified = ada.authenticator.assert_but(&options, &Forgery::NotVerified);
    let proofs = [
        Value::Null,
        json!({ "type": "totp", "code": ada.wrong_code() }),
        json!({ "type": "totp", "code": ada.codes[0] }),
        json!({ "type": "recovery_code", "code": ada.codes[0] }),
        json!({ "type": "password", "code": PASSWORD }),
        json!({ "type": "passkey", "response": unverified }),
    ];
    for what in GUARDED {
        for proof in &proofs {
            let rows = app.audit_changes().await;
            let answer = ask(&ada, &ada.session, what, proof.clone()).await;
            assert_eq!(answer.status, 403, "{what} {proof}: {}", answer.text());
            needs_step_up(&answer);
            let added = app.audit_changes().await - rows;
            assert!(added <= 1, "{what} {proof}: at most the setup is audited");
        }
    }
    assert_eq!((ada.mfa().await, ada.passkeys().await), before);
    app.pend("ada").await.recovery(&ada.codes[0]).await.assert(200);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn either_factor_is_accepted_as_proof() {
    for kind in ["totp", "passkey"] {
        for what in GUARDED {
            let (_app, mut ada) = with_ada().await;
            let proof = if kind == "totp" { ada.totp_proof() } else { ada.passkey_proof().await };
            let answer = ask(&ada, &ada.session, what, proof).await;
            assert_eq!(answer.status, if what == "account" { 204 } else { 200 }, "{what} by {kind}: {}", answer.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_forged_response_is_refused() {
    let (_app, mut ada) = with_ada().await;
    for forgery in
        [forgeries(), vec![Forgery::FlippedBit, Forgery::OtherKey, Forgery::Counter(0), Forgery::User("AAAA".to_owned())]].concat()
    {
        let options = ada.step_up_options().await;
        let response = ada.authenticator.assert_but(&options, &forgery);
        let answer = ask(&ada, &ada.session, "codes", json!({ "type": "passkey", "response": response })).await;
        assert_eq!(answer.status, 403, "{forgery:?}: {}", answer.text());
        needs_step_up(&answer);
        let response = ada.authenticator.assert(&options);
        needs_step_up(&ask(&ada, &ada.session, "codes", json!({ "type": "passkey", "response": response })).await);
    }
    let proof = ada.passkey_proof().await;
    ask(&ada, &ada.session, "codes", proof).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_works_once_for_its_session_within_five_minutes() {
    let (app, mut ada) = with_ada().await;
    let mut bob = app.with_passkey("bob").await;
    let proof = ada.passkey_proof().await;
    ask(&ada, &ada.session, "codes", proof.clone()).await.assert(200);
    for what in ["codes", "totp", "password"] {
        needs_step_up(&ask(&ada, &ada.session, what, proof.clone()).await);
    }
    // Challenges of another session, another account, another purpose, and from before.
    let other = app.open_session("ada", SessionOrigin::Dashboard).await;
    let proof = ada.passkey_proof().await;
    needs_step_up(&ask(&ada, &other, "codes", proof).await);
    let mut of_bob = bob.step_up_options().await;
    of_bob["allowCredentials"] = json!([]);
    let response = ada.authenticator.assert(&of_bob);
    needs_step_up(&ask(&ada, &ada.session, "codes", json!({ "type": "passkey", "response": response })).await);
    needs_step_up(&ask(&bob, &bob.session, "codes", json!({ "type": "passkey", "response": response })).await);
    let options = app.pend("ada").await.options().await.assert(200)["options"].clone();
    let response = ada.authenticator.assert(&options);
    needs_step_up(&ask(&ada, &ada.session, "codes", json!({ "type": "passkey", "response": response })).await);
    let older = ada.passkey_proof().await;
    let newer = ada.passkey_proof().await;
    needs_step_up(&ask(&ada, &ada.session, "codes", older).await);
    drop(newer);
    let late = ada.passkey_proof().await;
    app.clock.advance(5 * MINUTE);
    needs_step_up(&ask(&ada, &ada.session, "codes", late).await);
    let in_time = ada.passkey_proof().await;
    app.clock.advance(5 * MINUTE - 1);
    ask(&ada, &ada.session, "codes", in_time).await.assert(200);
    // Another user's passkey signs her challenge.
    let mut options = ada.step_up_options().await;
    options["allowCredentials"] = json!([]);
    let response = bob.authenticator.assert(&options);
    needs_step_up(&ask(&ada, &ada.session, "codes", json!({ "type": "passkey", "response": response })).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_can_send_a_code_but_cannot_request_a_challenge() {
    let (app, ada) = with_ada().await;
    let cli = app.open_session("ada", SessionOrigin::CliBrowser).await;
    cli.post("/v1/mfa/step-up/options", json!({})).await.refused_with(403, Some("dashboard_session_required"));
    let proof = ada.totp_proof();
    ask(&ada, &cli, "codes", proof).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_proof_is_an_invalid_body() {
    let (_app, ada) = with_ada().await;
    for proof in [
        json!("123456"),
        json!(1),
        json!([]),
        json!({}),
        json!({ "type": 1 }),
        json!({ "type": "totp" }),
        json!({ "type": "totp", "code": "" }),
        json!({ "type": "passkey", "response": 1 }),
    ] {
        let refusal = ask(&ada, &ada.session, "codes", proof.clone()).await.refused(400);
        assert!(refusal.starts_with("stepUp: "), "{proof}: {refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_second_factors_a_proof_is_not_required_and_ignored() {
    let app = TestApp::spawn_with_passkeys().await;
    let dan = app.without_factor("dan").await;
    let proof = json!({ "type": "totp", "code": "123456" });
    let body = json!({ "currentPassword": PASSWORD, "password": OTHER, "stepUp": proof });
    dan.session.patch("/v1/account", body).await.assert(200);
    dan.session.delete_with("/v1/account", json!({ "password": OTHER, "stepUp": proof })).await.assert(204);
    // Changing the name requires no proof.
    let ada = app.with_totp("ada").await;
    ada.session.patch("/v1/account", json!({ "name": "Ada" })).await.assert(200);
    ada.session.patch("/v1/account", json!({ "name": "Ada", "stepUp": null })).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_with_a_proof_is_a_failed_login() {
    let (app, ada) = with_ada().await;
    let proof = ada.totp_proof();
    let body = json!({ "currentPassword": "not her password", "password": OTHER, "stepUp": proof });
    ada.session.patch("/v1/account", body).await.refused_with(401, None);
    let body = json!({ "password": "not her password", "stepUp": proof });
    ada.session.delete_with("/v1/account", body).await.refused_with(401, None);
    // The refused request did not consume the proof.
    app.pend("ada").await.totp(&ada.code_now()).await.assert(200);
}
