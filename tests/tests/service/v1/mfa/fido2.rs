//! Interoperability with another implementation (fido2): it checks our options and our soft authenticator, and our server accepts its client's
//! responses.

use serde_json::json;
use tests::fido2::Fido2;
use tests::second_factors::ORIGIN;
use tests::{Forgery, TestApp};

#[tokio::test(flavor = "multi_thread")]
async fn the_fido2_client_works_with_our_server() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut fido2 = Fido2::start(ORIGIN);
    let ada = app.without_factor("ada").await;
    let response = fido2.create(&ada.registration_options().await).await;
    assert!(response.is_object(), "our options are refused");
    let answer = ada.session.post("/v1/mfa/passkeys/register/verify", json!({ "response": response })).await.assert(200);
    assert_eq!((&answer["passkey"]["deviceType"], &answer["passkey"]["backedUp"]), (&json!("singleDevice"), &json!(false)));

    let pending = app.pend("ada").await;
    let options = pending.options().await.assert(200)["options"].clone();
    pending.verify(&fido2.get(&options).await).await.assert(200);

    let asked = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
    let body = json!({ "challengeId": asked["challengeId"], "response": fido2.get(&asked["options"]).await });
    app.anonymous().post("/v1/auth/passkey/verify", body).await.assert(200);

    // It refuses to create a second passkey on the same authenticator.
    let refused = fido2.ask(json!({ "do": "create", "options": ada.registration_options().await })).await;
    assert!(refused["refused"].as_str().unwrap().contains("CREDENTIAL_EXCLUDED"), "{refused}");

    let proof = json!({ "type": "passkey", "response": fido2.get(&ada.step_up_options().await).await });
    ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await.assert(200);

    // It does not respond to a page of another origin.
    let mut evil = Fido2::start("https://evil.example.com");
    let refused = evil.ask(json!({ "do": "create", "options": ada.registration_options().await })).await;
    assert!(refused["refused"].is_string(), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fido2_server_accepts_the_same_responses() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut fido2 = Fido2::start(ORIGIN);
    let mut ada = app.without_factor("ada").await;
    let options = ada.registration_options().await;
    let response = ada.authenticator.register(&options);
    let registered = fido2.registered(&options, &response).await;
    // Present, verified, with a credential.
    assert_eq!((&registered["flags"], &registered["counter"]), (&json!(0x45), &json!(1)), "{registered}");
    ada.session.post("/v1/mfa/passkeys/register/verify", json!({ "response": response })).await.assert(200);

    for counter in 2..4 {
        let pending = app.pend("ada").await;
        let options = pending.options().await.assert(200)["options"].clone();
        let response = ada.authenticator.assert(&options);
        let asserted = fido2.asserted(&options, &response, &registered["credential"]).await;
        assert_eq!((&asserted["flags"], &asserted["counter"]), (&json!(0x05), &json!(counter)), "{asserted}");
        pending.verify(&response).await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fido2_server_refuses_the_same_forgeries() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut fido2 = Fido2::start(ORIGIN);
    let mut ada = app.without_factor("ada").await;
    let both = [
        Forgery::Origin("https://evil.example.com"),
        Forgery::RpId("evil.example.com"),
        Forgery::Challenge("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned()),
        Forgery::OtherCeremony,
        Forgery::NotVerified,
        Forgery::NotPresent,
    ];
    let options = ada.registration_options().await;
    for forgery in &both {
        let response = ada.authenticator.clone().register_but(&options, forgery);
        assert!(fido2.registered(&options, &response).await["refused"].is_string(), "{forgery:?}");
    }
    let response = ada.authenticator.register(&options);
    let credential = fido2.registered(&options, &response).await["credential"].clone();
    ada.session.post("/v1/mfa/passkeys/register/verify", json!({ "response": response })).await.assert(200);
    let options = ada.step_up_options().await;
    for forgery in both.iter().chain(&[Forgery::FlippedBit, Forgery::OtherKey]) {
        let response = ada.authenticator.assert_but(&options, forgery);
        assert!(fido2.asserted(&options, &response, &credential).await["refused"].is_string(), "{forgery:?}");
    }
    let response = ada.authenticator.assert(&options);
    assert_eq!(fido2.asserted(&options, &response, &credential).await["flags"], 0x05);
}
