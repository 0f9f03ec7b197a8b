//! Registration of passkeys: the options, the stored properties, and every forgery that is refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tests::second_factors::ORIGIN;
use tests::{Answer, Authenticator, Forgery, Holder, Options, TestApp};

use crate::v1::mfa::{MINUTE, forgeries, members, needs_step_up, texts};

async fn verify(ada: &Holder, response: &Value) -> Answer {
    ada.session.post("/v1/mfa/passkeys/register/verify", json!({ "response": response })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_options_ask_for_a_verified_resident_passkey() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    let answer = ada.session.post("/v1/mfa/passkeys/register/options", json!({})).await.assert(200);
    assert_eq!(members(&answer), ["options"]);
    let options = &answer["options"];
    assert_eq!(options["rp"]["id"], "updraft.example.com");
    assert_eq!(options["rp"]["name"], "Updraft");
    assert_eq!((&options["user"]["name"], options["user"]["displayName"].is_string()), (&json!("ada@example.com"), true));
    assert_eq!(options["authenticatorSelection"]["residentKey"], "required");
    assert_eq!(options["authenticatorSelection"]["requireResidentKey"], true);
    assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
    assert_eq!(options["attestation"].as_str().unwrap_or("none"), "none");
    assert!(options["timeout"].as_u64().is_some_and(|timeout| timeout <= 300_000), "{options}");
    assert!(options["excludeCredentials"].as_array().is_none_or(Vec::is_empty), "{options}");
    let challenge = options["challenge"].as_str().unwrap();
    assert!(challenge.len() >= 43 && challenge.len() < 100, "256 bits: {challenge}");
    assert_ne!(ada.registration_options().await["challenge"], challenge, "a different one each time");
    // The user ID does not contain an email address, and stays the same.
    let user = options["user"]["id"].as_str().unwrap().to_owned();
    ada.enrol_passkey(None).await.assert(200);
    let options = ada.registration_options().await;
    assert_eq!(options["user"]["id"], user);
    assert_eq!(options["excludeCredentials"][0]["id"], ada.authenticator.id());
    assert!(ada.authenticator.is_excluded(&options));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_is_stored_with_its_properties() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    let answer = ada.enrol_passkey(Some("Blue key")).await.assert(200);
    assert_eq!(members(&answer), ["mfaEnabled", "passkey", "recoveryCodes"]);
    assert_eq!((&answer["mfaEnabled"], texts(&answer["recoveryCodes"]).len()), (&json!(true), 10));
    let passkey = &answer["passkey"];
    assert_eq!(members(passkey), ["backedUp", "createdAt", "deviceType", "id", "lastUsedAt", "name", "transports"]);
    assert_eq!(passkey["name"], "Blue key");
    assert_eq!((&passkey["deviceType"], &passkey["backedUp"]), (&json!("singleDevice"), &json!(false)));
    assert_eq!(passkey["transports"], json!(["usb"]));
    assert_eq!(passkey["createdAt"], passkey["lastUsedAt"]);
    let created = passkey["createdAt"].as_str().unwrap();
    assert_eq!((created.len(), &created[10..11], created.ends_with('Z')), (24, "T", true), "{created}");
    assert_eq!(ada.passkeys().await, std::slice::from_ref(passkey));

    // A synced passkey without a name; a second passkey shows no recovery codes.
    app.clock.advance(MINUTE);
    ada.enrol_totp().await.assert(200);
    ada.authenticator = Authenticator::synced(ORIGIN);
    let answer = ada.enrol_passkey(None).await.assert(200);
    assert_eq!(members(&answer), ["mfaEnabled", "passkey"]);
    let passkey = &answer["passkey"];
    assert_eq!((&passkey["name"], &passkey["deviceType"], &passkey["backedUp"]), (&json!("Passkey"), &json!("multiDevice"), &json!(true)));
    assert_eq!(passkey["transports"], json!(["internal", "hybrid"]));
    let names: Vec<_> = ada.passkeys().await.iter().map(|passkey| passkey["name"].clone()).collect();
    assert_eq!(names, ["Blue key", "Passkey"], "oldest first");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_forged_response_is_refused() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    for forgery in [forgeries(), vec![Forgery::Algorithm(-8), Forgery::Algorithm(-9), Forgery::Credential(String::new())]].concat() {
        let options = ada.registration_options().await;
        let response = ada.authenticator.clone().register_but(&options, &forgery);
        let answer = verify(&ada, &response).await;
        assert_eq!(answer.status, 400, "{forgery:?}: {}", answer.text());
        answer.refused_with(400, None);
        assert_eq!(ada.passkeys().await, Vec::<Value>::new(), "{forgery:?}");
    }
    assert_eq!(ada.mfa().await["mfaEnabled"], false);
    ada.enrol_passkey(None).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_response_is_refused() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    let body = async |body: Value| ada.session.post("/v1/mfa/passkeys/register/verify", body).await;
    for response in [json!(null), json!(1), json!("x"), json!([])] {
        let refusal = body(json!({ "response": response })).await.refused(400);
        assert!(refusal.starts_with("response: "), "{refusal}");
    }
    let refusal = body(json!({ "response": [], "name": 1, "stepUp": 2 })).await.refused(400);
    assert!(["response: ", "name: ", "stepUp: "].iter().all(|name| refusal.contains(name)), "{refusal}");
    for name in [json!(""), json!("x".repeat(101)), json!("a\nb"), json!("key\u{200b}"), json!("\u{202e}yek"), json!([])] {
        let options = ada.registration_options().await;
        let response = ada.authenticator.clone().register(&options);
        let refusal = body(json!({ "response": response, "name": name })).await.refused(400);
        assert!(refusal.starts_with("name: "), "{refusal}");
    }
    for (path, value) in [
        ("/response/attestationObject", json!("AAAA")),
        ("/response/attestationObject", json!("")),
        ("/response/attestationObject", json!("not base64url!")),
        ("/response/clientDataJSON", json!("e30")),
        ("/response/clientDataJSON", json!(7)),
        ("/rawId", json!("AAAA")),
        ("/type", json!("password")),
        ("/response", json!({})),
    ] {
        let options = ada.registration_options().await;
        let mut response = ada.authenticator.clone().register(&options);
        *response.pointer_mut(path).unwrap() = value.clone();
        let answer = body(json!({ "response": response })).await;
        assert_eq!(answer.status, 400, "{path} {value}: {}", answer.text());
    }
    body(json!({ "response": {} })).await.refused(400);
    assert_eq!(ada.passkeys().await, Vec::<Value>::new());
    // Unknown members are ignored.
    let options = ada.registration_options().await;
    let mut response = ada.authenticator.register(&options);
    response["more"] = json!({ "a": 1 });
    response["response"]["publicKeyAlgorithm"] = json!(-7);
    response["response"]["publicKey"] = json!("AAAA");
    body(json!({ "response": response, "more": 1, "name": null, "stepUp": null })).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_works_once_for_one_session_and_purpose_within_five_minutes() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    let bob = app.without_factor("bob").await;
    // Without a challenge.
    let options = bob.registration_options().await;
    verify(&ada, &ada.authenticator.clone().register(&options)).await.refused(400);
    // A challenge of another session of the same account.
    let other = app.open_session("ada", tests::SessionOrigin::Dashboard).await;
    let options = ada.registration_options().await;
    let response = ada.authenticator.clone().register(&options);
    other.post("/v1/mfa/passkeys/register/verify", json!({ "response": response })).await.refused(400);
    // An older challenge.
    let older = ada.registration_options().await;
    ada.registration_options().await;
    verify(&ada, &ada.authenticator.clone().register(&older)).await.refused(400);
    // An expired challenge.
    let options = ada.registration_options().await;
    let response = ada.authenticator.clone().register(&options);
    app.clock.advance(5 * MINUTE);
    verify(&ada, &response).await.refused(400);
    // A challenge in its last moment.
    let options = ada.registration_options().await;
    let response = ada.authenticator.register(&options);
    app.clock.advance(5 * MINUTE - 1);
    verify(&ada, &response).await.assert(200);
    let proof = ada.passkey_proof().await;
    let again = json!({ "response": response, "stepUp": proof });
    ada.session.post("/v1/mfa/passkeys/register/verify", again).await.refused_with(400, None);
    // A challenge for a step-up.
    let mut options = ada.registration_options().await;
    options["challenge"] = ada.step_up_options().await["challenge"].clone();
    options["excludeCredentials"] = json!([]);
    let response = Authenticator::new(ORIGIN).register(&options);
    let proof = ada.passkey_proof().await;
    ada.session.post("/v1/mfa/passkeys/register/verify", json!({ "response": response, "stepUp": proof })).await.refused(400);
    assert_eq!(ada.passkeys().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_id_can_be_registered_only_once() {
    let app = TestApp::spawn_with_passkeys().await;
    let ada = app.with_passkey("ada").await;
    let taken = Forgery::Credential(ada.authenticator.id());
    let bob = app.without_factor("bob").await;
    let options = bob.registration_options().await;
    verify(&bob, &Authenticator::new(ORIGIN).register_but(&options, &taken)).await.refused_with(409, None);
    assert_eq!(bob.mfa().await["mfaEnabled"], false);
    let mut ada = ada;
    let proof = ada.passkey_proof().await;
    let options = ada.registration_options().await;
    let response = Authenticator::new(ORIGIN).register_but(&options, &taken);
    let again = ada.session.post("/v1/mfa/passkeys/register/verify", json!({ "response": response, "stepUp": proof })).await;
    again.refused_with(409, None);
    assert_eq!(ada.passkeys().await.len(), 1);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_id_has_at_most_1023_bytes() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    let id = |length: usize| URL_SAFE_NO_PAD.encode(vec![7; length]);
    let options = ada.registration_options().await;
    verify(&ada, &ada.authenticator.clone().register_but(&options, &Forgery::Credential(id(1_024)))).await.refused_with(400, None);
    assert_eq!(ada.passkeys().await, Vec::<Value>::new());
    let options = ada.registration_options().await;
    let response = ada.authenticator.register_but(&options, &Forgery::Credential(id(1_023)));
    verify(&ada, &response).await.assert(200);
    // It can sign in.
    let asked = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
    let response = ada.authenticator.assert_but(&asked["options"], &Forgery::Credential(id(1_023)));
    let body = json!({ "challengeId": asked["challengeId"], "response": response });
    app.anonymous().post("/v1/auth/passkey/verify", body).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_at_most_100_passkeys() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    let copy = "INSERT INTO passkeys (id, account_id, credential_id, credential, name, is_backup_eligible, is_backed_up, transports, counter, \
        created_time, last_used_time) SELECT $1, account_id, $2, credential, name, is_backup_eligible, is_backed_up, transports, counter, \
        created_time, last_used_time FROM passkeys WHERE credential_id = $3";
    let first = ada.authenticator.id();
    for number in 1..99 {
        let (id, credential) = (format!("0192f7a0-0000-7000-8000-{number:012}"), format!("copy{number:04}"));
        assert_eq!(app.change(copy, &[&id, &credential, &first]).await, 1);
    }
    ada.authenticator = Authenticator::new(ORIGIN);
    ada.enrol_passkey(Some("the hundredth")).await.assert(200);
    ada.authenticator = Authenticator::new(ORIGIN);
    ada.enrol_passkey(None).await.refused_with(409, None);
    assert_eq!(ada.passkeys().await.len(), 100);
    let proof = ada.totp_proof();
    ada.session.delete_with("/v1/mfa/passkeys/0192f7a0-0000-7000-8000-000000000001", json!({ "stepUp": proof })).await.assert(200);
    ada.enrol_passkey(None).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_another_passkey_requires_a_proof() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_totp("ada").await;
    let options = ada.registration_options().await;
    needs_step_up(&verify(&ada, &ada.authenticator.clone().register(&options)).await);
    let options = ada.registration_options().await;
    let response = ada.authenticator.clone().register(&options);
    let body = json!({ "response": response, "stepUp": { "type": "totp", "code": ada.wrong_code() } });
    needs_step_up(&ada.session.post("/v1/mfa/passkeys/register/verify", body).await);
    assert_eq!(ada.passkeys().await, Vec::<Value>::new());
    let answer = ada.enrol_passkey(None).await.assert(200);
    assert_eq!(members(&answer), ["mfaEnabled", "passkey"]);
    assert_eq!(app.pend("ada").await.methods, ["passkey", "totp", "recovery_code"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn passkeys_work_on_localhost_but_not_at_ip_addresses_or_without_tls() {
    let origin = "http://localhost:8080";
    let app = TestApp::spawn_with(Options::default().with("DASHBOARD_URL", format!("{origin}/dashboard"))).await;
    let mut ada = app.without_factor("ada").await;
    ada.authenticator = Authenticator::new(origin);
    ada.enrol_passkey(None).await.assert(200);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
    let options = app.pend("ada").await.options().await.assert(200)["options"].clone();
    assert_eq!(options["rpId"], "localhost");

    for dashboard in [
        "http://127.0.0.1:8080/dashboard",
        "https://192.0.2.1/dashboard",
        "https://[2001:db8::1]/dashboard",
        "http://updraft.example.com/dashboard",
        "http://localhost.example.com:8080/dashboard",
    ] {
        let app = TestApp::spawn_with(Options::default().with("DASHBOARD_URL", dashboard)).await;
        let bob = app.with_totp("bob").await;
        let pending = app.pend("bob").await;
        for (path, body) in [
            ("/v1/mfa/passkeys/register/options", json!({})),
            ("/v1/mfa/passkeys/register/verify", json!({ "response": {} })),
            ("/v1/auth/passkey/options", json!({})),
            ("/v1/auth/passkey/verify", json!({ "challengeId": "x", "response": {} })),
            ("/v1/auth/mfa/options", json!({ "pendingToken": pending.token })),
            ("/v1/auth/mfa/verify", json!({ "pendingToken": pending.token, "response": {} })),
            ("/v1/mfa/step-up/options", json!({})),
        ] {
            bob.session.post(path, body).await.refused_with(501, None);
        }
        assert_eq!(bob.session.get("/v1/mfa/passkeys").await.assert(200), json!({ "passkeys": [] }));
        pending.totp(&bob.code()).await.assert(200);
    }
}
