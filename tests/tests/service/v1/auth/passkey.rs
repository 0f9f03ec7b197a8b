//! Signing in with a passkey alone, which counts as both factors.

use serde_json::{Value, json};
use tests::second_factors::ORIGIN;
use tests::{Answer, Authenticator, Client, Forgery, Options, TestApp};

use crate::v1::mfa::{MINUTE, forgeries, limited, members};

/// An issued challenge, and its purpose.
struct DayRange {
    client: Client,
    id: Value,
    options: Value,
}

impl DayRange {
    async fn new(app: &TestApp) -> Self {
        let client = app.anonymous();
        let answer = client.post("/v1/auth/passkey/options", json!({})).await.assert(200);
        Self { client, id: answer["challengeId"].clone(), options: answer["options"].clone() }
    }

    async fn verify(&self, response: &Value) -> Answer {
        self.client.post("/v1/auth/passkey/verify", json!({ "challengeId": self.id, "response": response })).await
    }
}

async fn sign_in(app: &TestApp, authenticator: &mut Authenticator) -> Answer {
    let asked = DayRange::new(app).await;
    asked.verify(&authenticator.assert(&asked.options)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_options_reveal_nothing_about_accounts() {
    let app = TestApp::spawn_with_passkeys().await;
    let before = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
    app.with_passkey("ada").await;
    let answer = app.anonymous().post("/v1/auth/passkey/options", json!({ "email": "ada@example.com" })).await.assert(200);
    for answer in [&before, &answer] {
        assert_eq!(members(answer), ["challengeId", "options"]);
        let options = &answer["options"];
        assert!(options["allowCredentials"].as_array().is_none_or(Vec::is_empty), "{options}");
        assert_eq!((&options["rpId"], &options["userVerification"]), (&json!("updraft.example.com"), &json!("required")));
    }
    assert_eq!(members(&before["options"]), members(&answer["options"]));
    assert_ne!(before["challengeId"], answer["challengeId"]);
    assert_ne!(before["options"]["challenge"], answer["options"]["challenge"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_signs_its_owner_in() {
    let app = TestApp::spawn_with_passkeys().await;
    let (mut ada, mut bob) = (app.with_both("ada").await, app.with_passkey("bob").await);
    for holder in [&mut ada, &mut bob] {
        app.clock.advance(MINUTE);
        let rows = app.audit_rows().await;
        let body = sign_in(&app, &mut holder.authenticator).await.assert(200);
        assert_eq!(members(&body), ["accessKey", "expires"]);
        assert_eq!(body["expires"], app.clock.now().0 + 14 * 24 * 60 * MINUTE);
        let session = app.client_of(&body);
        assert_eq!(session.get("/v1/account").await.assert(200)["account"]["email"], holder.email());
        session.post("/v1/access-keys", json!({ "friendlyName": "new" })).await.assert(201);
        let events = app.audit_since(rows).await;
        assert_eq!(events[0].action, "session.create");
        assert!(events[0].details.contains("passwordless"), "{:?}", events[0]);
        let passkey = &holder.passkeys().await[0];
        assert_ne!(passkey["lastUsedAt"], passkey["createdAt"]);
    }
    let mut synced = app.without_factor("eve").await;
    synced.authenticator = Authenticator::synced(ORIGIN);
    synced.enrol_passkey(None).await.assert(200);
    for _ in 0..2 {
        sign_in(&app, &mut synced.authenticator).await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_clears_the_accounts_failed_logins() {
    let app = TestApp::spawn_with(Options::default().with_passkeys().with("LIMIT_LOGIN_ADDRESS", "1000/1m")).await;
    let mut ada = app.with_passkey("ada").await;
    let guess = async || {
        let body = json!({ "email": "ada@example.com", "password": "not her passphrase at all" });
        app.anonymous().post("/v1/auth/login", body).await
    };
    for _ in 0..10 {
        guess().await.refused(401);
    }
    guess().await.refused(429);
    // Lockouts do not apply to passkeys, and a refused one does not clear failures.
    let asked = DayRange::new(&app).await;
    let other = DayRange::new(&app).await;
    asked.verify(&ada.authenticator.assert(&other.options)).await.refused(401);
    guess().await.refused(429);
    sign_in(&app, &mut ada.authenticator).await.assert(200);
    guess().await.refused(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_forged_response_is_refused() {
    let app = TestApp::spawn_with(Options::default().with_passkeys().with("LIMIT_POSTS", "1000/10m")).await;
    let mut ada = app.with_passkey("ada").await;
    let bob = app.with_passkey("bob").await;
    sign_in(&app, &mut ada.authenticator).await.assert(200);
    let more = vec![
        Forgery::FlippedBit,
        Forgery::OtherKey,
        Forgery::Counter(1),
        Forgery::Counter(0),
        Forgery::Credential(bob.authenticator.id()),
        Forgery::Credential("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned()),
        Forgery::Credential(String::new()),
        Forgery::User(bob.authenticator.user()),
        Forgery::User("AAAA".to_owned()),
        Forgery::NoUser,
        Forgery::OtherEligibility,
    ];
    for forgery in [forgeries(), more].concat() {
        let asked = DayRange::new(&app).await;
        let answer = asked.verify(&ada.authenticator.assert_but(&asked.options, &forgery)).await;
        assert_eq!(answer.status, 401, "{forgery:?}: {}", answer.text());
        answer.refused_with(401, None);
        let answer = asked.verify(&ada.authenticator.assert(&asked.options)).await;
        assert_eq!(answer.status, 401, "the challenge was used, {forgery:?}: {}", answer.text());
    }
    sign_in(&app, &mut ada.authenticator).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_is_used_once_within_five_minutes() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_passkey("ada").await;
    let (first, second) = (DayRange::new(&app).await, DayRange::new(&app).await);
    let response = ada.authenticator.assert(&first.options);
    second.verify(&response).await.refused_with(401, None);
    first.verify(&response).await.assert(200);
    first.verify(&response).await.refused_with(401, None);
    let (late, in_time) = (DayRange::new(&app).await, DayRange::new(&app).await);
    app.clock.advance(5 * MINUTE - 1);
    in_time.verify(&ada.authenticator.assert(&in_time.options)).await.assert(200);
    app.clock.advance(1);
    late.verify(&ada.authenticator.assert(&late.options)).await.refused_with(401, None);
    // A challenge for another purpose.
    let mut asked = DayRange::new(&app).await;
    asked.options["challenge"] = ada.step_up_options().await["challenge"].clone();
    asked.verify(&ada.authenticator.assert(&asked.options)).await.refused_with(401, None);
    let mut asked = DayRange::new(&app).await;
    let pending = app.pend("ada").await.options().await.assert(200);
    asked.options["challenge"] = pending["options"]["challenge"].clone();
    asked.verify(&ada.authenticator.assert(&asked.options)).await.refused_with(401, None);
    for id in ["", "x", "0192f7a0-0000-7000-8000-000000000000"] {
        let mut asked = DayRange::new(&app).await;
        let response = ada.authenticator.assert(&asked.options);
        asked.id = json!(id);
        asked.verify(&response).await.refused_with(if id.is_empty() { 400 } else { 401 }, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unregistered_passkey_cannot_sign_in() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    // A passkey that was created but never registered.
    let mut stranger = Authenticator::new(ORIGIN);
    stranger.register(&ada.registration_options().await);
    let unknown = sign_in(&app, &mut stranger).await.refused(401);
    // A deleted passkey, and one of a deleted account.
    let id = ada.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    let proof = ada.totp_proof();
    ada.session.delete_with(&format!("/v1/mfa/passkeys/{id}"), json!({ "stepUp": proof })).await.assert(200);
    assert_eq!(sign_in(&app, &mut ada.authenticator).await.refused(401), unknown);
    let mut bob = app.with_passkey("bob").await;
    let body = json!({ "password": tests::people::PASSWORD, "stepUp": bob.passkey_proof().await });
    bob.session.delete_with("/v1/account", body).await.assert(204);
    assert_eq!(sign_in(&app, &mut bob.authenticator).await.refused(401), unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_bodies_are_refused() {
    let app = TestApp::spawn_with_passkeys().await;
    let post = async |path: &str, body: Value| app.anonymous().post(path, body).await;
    let refusal = post("/v1/auth/passkey/verify", json!({ "challengeId": 1, "response": [] })).await.refused(400);
    assert!(refusal.contains("challengeId: ") && refusal.contains("response: "), "{refusal}");
    post("/v1/auth/passkey/verify", json!({})).await.refused(400);
    post("/v1/auth/passkey/options", json!([])).await.refused(400);
    let refusal = post("/v1/auth/passkey/verify", json!({ "challengeId": "", "response": {} })).await.refused(400);
    assert_eq!(refusal, "challengeId: must not be empty");
    // Any object is an assertion, and this one failed.
    let asked = DayRange::new(&app).await;
    asked.verify(&json!({ "id": "AAAA" })).await.refused_with(401, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn unauthenticated_requests_are_rate_limited() {
    let app = TestApp::spawn_among_strangers(Options::default().with_passkeys().with("LIMIT_POSTS", "3/10m")).await;
    let stranger = app.stranger("198.51.100.1");
    for _ in 0..3 {
        stranger.post("/v1/auth/passkey/options", json!({})).await.assert(200);
    }
    assert_eq!(limited(&stranger.post("/v1/auth/passkey/options", json!({})).await), 600);
    let body = json!({ "challengeId": "x", "response": { "id": "AAAA" } });
    assert_eq!(limited(&stranger.post("/v1/auth/passkey/verify", body).await), 600);
    app.stranger("198.51.100.2").post("/v1/auth/passkey/options", json!({})).await.assert(200);
}
