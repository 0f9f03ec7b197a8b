//! Logins completed with a passkey, and every assertion that is refused.

use serde_json::{Value, json};
use tests::second_factors::{ORIGIN, Pending};
use tests::{Authenticator, Forgery, Holder, Options, TestApp};

use crate::v1::mfa::{MINUTE, forgeries, members};

async fn with_ada() -> (TestApp, Holder) {
    let app = TestApp::spawn_with_passkeys().await;
    let ada = app.with_passkey("ada").await;
    (app, ada)
}

async fn options_of(pending: &Pending) -> Value {
    pending.options().await.assert(200)["options"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_options_list_the_accounts_passkeys() {
    let (app, mut ada) = with_ada().await;
    app.with_passkey("bob").await;
    let answer = app.pend("ada").await.options().await.assert(200);
    assert_eq!(members(&answer), ["options"]);
    let options = &answer["options"];
    assert_eq!((&options["rpId"], &options["userVerification"]), (&json!("updraft.example.com"), &json!("required")));
    let allowed = options["allowCredentials"].as_array().unwrap();
    assert_eq!(allowed.len(), 1);
    assert_eq!((&allowed[0]["id"], &allowed[0]["type"]), (&json!(ada.authenticator.id()), &json!("public-key")));
    assert!(options["timeout"].as_u64().is_some_and(|timeout| timeout <= 300_000), "{options}");
    // Without a passkey there are no options.
    app.with_totp("dan").await;
    app.pend("dan").await.options().await.refused_with(409, None);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_completes_the_login_and_updates_the_passkey() {
    let (app, mut ada) = with_ada().await;
    app.clock.advance(MINUTE);
    let session = app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
    app.client_of(&session).get("/v1/authenticated").await.assert(200);
    let passkey = &ada.passkeys().await[0];
    assert_ne!(passkey["lastUsedAt"], passkey["createdAt"]);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_forged_response_is_refused() {
    let app = TestApp::spawn_with(Options::default().with_passkeys().with("LIMIT_MFA_ATTEMPTS", "1000/15m")).await;
    let mut ada = app.with_passkey("ada").await;
    let bob = app.with_passkey("bob").await;
    let more = vec![
        Forgery::FlippedBit,
        Forgery::OtherKey,
        Forgery::Counter(1),
        Forgery::Counter(0),
        Forgery::Credential(bob.authenticator.id()),
        Forgery::Credential("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned()),
        Forgery::Credential(String::new()),
        Forgery::User(bob.authenticator.user()),
        Forgery::OtherEligibility,
    ];
    for forgery in [forgeries(), more].concat() {
        let pending = app.pend("ada").await;
        let options = options_of(&pending).await;
        let answer = pending.verify(&ada.authenticator.assert_but(&options, &forgery)).await;
        assert_eq!(answer.status, 401, "{forgery:?}: {}", answer.text());
        answer.refused_with(401, None);
        // A failed challenge cannot be retried, even with a valid response.
        let answer = pending.verify(&ada.authenticator.assert(&options)).await;
        assert_eq!(answer.status, 401, "{forgery:?}: {}", answer.text());
    }
    // The user handle is optional if the account is known.
    let pending = app.pend("ada").await;
    let options = options_of(&pending).await;
    pending.verify(&ada.authenticator.assert_but(&options, &Forgery::NoUser)).await.assert(200);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_response_is_refused() {
    let app = TestApp::spawn_with(Options::default().with_passkeys().with("LIMIT_MFA_ATTEMPTS", "1000/15m")).await;
    let mut ada = app.with_passkey("ada").await;
    for (path, value) in [
        ("/response/signature", json!("")),
        ("/response/signature", json!("AAAA")),
        ("/response/signature", json!(1)),
        ("/response/authenticatorData", json!("")),
        ("/response/authenticatorData", json!("AAAA")),
        ("/response/clientDataJSON", json!("e30")),
        ("/response/clientDataJSON", json!("no base64url!")),
        ("/response/userHandle", json!(1)),
        ("/rawId", json!("AAAA")),
        ("/type", json!("password")),
        ("/response", json!({})),
    ] {
        let pending = app.pend("ada").await;
        let options = options_of(&pending).await;
        let mut response = ada.authenticator.assert(&options);
        *response.pointer_mut(path).unwrap() = value.clone();
        // Any object is an attempt, and this one failed.
        let answer = pending.verify(&response).await;
        assert_eq!(answer.status, 401, "{path} {value}: {}", answer.text());
        answer.refused_with(401, None);
    }
    app.pend("ada").await.verify(&json!({})).await.refused_with(401, None);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_works_once_for_one_pending_login_within_five_minutes() {
    let (app, mut ada) = with_ada().await;
    let mut bob = app.with_passkey("bob").await;
    // Without a challenge.
    let (first, second) = (app.pend("ada").await, app.pend("ada").await);
    let options = options_of(&first).await;
    second.verify(&ada.authenticator.assert(&options)).await.refused_with(401, None);
    // It belongs to another login of the same user, with its own token.
    let response = ada.authenticator.assert(&options);
    first.verify(&response).await.assert(200);
    let third = app.pend("ada").await;
    third.verify(&response).await.refused_with(401, None);
    options_of(&third).await;
    third.verify(&response).await.refused_with(401, None);
    // A newer challenge invalidates the older one.
    let older = options_of(&third).await;
    let newer = options_of(&third).await;
    third.verify(&ada.authenticator.assert(&older)).await.refused_with(401, None);
    // A challenge for another purpose.
    app.clock.advance(15 * MINUTE);
    let pending = app.pend("ada").await;
    let mut for_step_up = options_of(&pending).await;
    for_step_up["challenge"] = ada.step_up_options().await["challenge"].clone();
    pending.verify(&ada.authenticator.assert(&for_step_up)).await.refused_with(401, None);
    let mut for_registration = options_of(&pending).await;
    for_registration["challenge"] = ada.registration_options().await["challenge"].clone();
    pending.verify(&ada.authenticator.assert(&for_registration)).await.refused_with(401, None);
    let mut for_passwordless = options_of(&pending).await;
    let passwordless = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
    for_passwordless["challenge"] = passwordless["options"]["challenge"].clone();
    pending.verify(&ada.authenticator.assert(&for_passwordless)).await.refused_with(401, None);
    // Another user's passkey with a valid signature.
    let mut foreign = options_of(&pending).await;
    foreign["allowCredentials"] = json!([]);
    pending.verify(&bob.authenticator.assert(&foreign)).await.refused_with(401, None);
    // A challenge that expired with its login, and one in its last moment.
    let late = app.pend("ada").await;
    app.clock.advance(1);
    let pending = app.pend("ada").await;
    let (over, in_time) = (options_of(&late).await, options_of(&pending).await);
    app.clock.advance(5 * MINUTE - 1);
    late.verify(&ada.authenticator.assert(&over)).await.refused_with(401, None);
    pending.verify(&ada.authenticator.assert(&in_time)).await.assert(200);
    drop(newer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decreasing_signature_counter_is_refused() {
    let (app, mut ada) = with_ada().await;
    let mut stolen = ada.authenticator.clone();
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
    // The copy has an older counter: before the last value, then equal to it.
    app.pend("ada").await.passkey(&mut stolen).await.refused_with(401, None);
    app.pend("ada").await.passkey(&mut stolen).await.refused_with(401, None);
    // A step-up detects it, too.
    let options = ada.step_up_options().await;
    let proof = json!({ "type": "passkey", "response": ada.authenticator.assert_but(&options, &Forgery::Counter(2)) });
    crate::v1::mfa::needs_step_up(&ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_without_a_signature_counter_keeps_working() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    ada.authenticator = Authenticator::synced(ORIGIN);
    ada.enrol_passkey(None).await.assert(200);
    for is_backed_up in [true, false, true] {
        ada.authenticator.set_backed_up(is_backed_up);
        app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
        let passkey = &ada.passkeys().await[0];
        assert_eq!((&passkey["deviceType"], &passkey["backedUp"]), (&json!("multiDevice"), &json!(is_backed_up)));
    }
    // Once it counts, it must keep counting.
    let pending = app.pend("ada").await;
    let options = options_of(&pending).await;
    pending.verify(&ada.authenticator.assert_but(&options, &Forgery::Counter(7))).await.assert(200);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.refused(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_of_several_passkeys_works_except_a_deleted_one() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    let mut first = ada.authenticator.clone();
    ada.authenticator = Authenticator::synced(ORIGIN);
    ada.enrol_passkey(Some("second")).await.assert(200);
    app.pend("ada").await.passkey(&mut first).await.assert(200);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
    // It is deleted while a login is pending.
    let pending = app.pend("ada").await;
    let options = options_of(&pending).await;
    let id = ada.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    let proof = ada.totp_proof();
    ada.session.delete_with(&format!("/v1/mfa/passkeys/{id}"), json!({ "stepUp": proof })).await.assert(200);
    let mut of_first = options.clone();
    of_first["allowCredentials"] = json!([{ "id": first.id(), "type": "public-key" }]);
    pending.verify(&first.assert(&of_first)).await.refused_with(401, None);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
}
