//! A stolen dashboard session: creating lasting access requires a fresh proof, which the thief does not have.

use reqwest::Method;
use serde_json::{Value, json};
use tests::SessionOrigin::{CliBrowser, CliDevice, Dashboard};
use tests::people::{PASSWORD, login};
use tests::{Answer, Client, Holder, Options, TestApp};

use crate::v1::members;

const MINUTE: i64 = 60_000;
const STALE: Option<&str> = Some("reauth_required");
const LATE: Option<&str> = Some("mfa_setup_required");
const REAUTHENTICATE: &str = "/v1/auth/reauthenticate";

/// A body that cannot be parsed.
const UNREADABLE: &str = "{";

/// The owner's data, and what a thief would do with it.
struct Victim {
    app: TestApp,
    /// The stolen session.
    session: Client,
    api_key: String,
}

type Try = (Method, String, Value);

impl Victim {
    /// For `ada@example.com`, who has no second factor.
    async fn of_ada() -> Self {
        let app = TestApp::spawn_with_passkeys().await;
        app.sign_up("ada").await;
        Self::of(app).await
    }

    async fn of(app: TestApp) -> Self {
        for colleague in ["bob", "carl", "dora"] {
            app.sign_up(colleague).await;
        }
        let session = app.open_session("ada", Dashboard).await;
        session.create_app("demo").await;
        session.create_app("other").await;
        app.share("ada", "demo", "carl", "Viewer", app.clock.now().0 + 1).await;
        app.named_key("ada", "laptop").await;
        let body = json!({ "name": "ci", "scopes": ["read", "deploy"], "expires_at": at(&app, 30) });
        let api_key = session.post("/v1/api-keys", body).await.assert(201)["id"].as_str().unwrap().to_owned();
        Self { app, session, api_key }
    }

    /// Requests whose effects outlive the session, except adding the first factor and approving a CLI, which work differently with a second factor.
    fn tries(&self) -> Vec<Try> {
        let key = format!("/v1/api-keys/{}", self.api_key);
        vec![
            (Method::POST, "/v1/access-keys".to_owned(), json!({ "friendlyName": "mine" })),
            (Method::PATCH, "/v1/access-keys/laptop".to_owned(), json!({ "ttl": 3_000_i64 * 86_400_000 })),
            (Method::POST, "/v1/api-keys".to_owned(), json!({ "name": "mine", "scopes": ["deploy"] })),
            (Method::PATCH, key.clone(), json!({ "expires_at": at(&self.app, 31) })),
            (Method::PATCH, key.clone(), json!({ "expires_at": null })),
            (Method::PATCH, key, json!({ "scopes": ["read", "deploy", "apps"] })),
            (Method::POST, "/v1/apps/demo/collaborators/bob@example.com".to_owned(), json!({ "permission": "Admin" })),
            (Method::PATCH, "/v1/apps/demo/collaborators/carl@example.com".to_owned(), json!({ "permission": "Admin" })),
            (Method::POST, "/v1/apps/demo/transfer/dora@example.com".to_owned(), Value::Null),
            (Method::DELETE, "/v1/apps/other".to_owned(), Value::Null),
        ]
    }

    /// The path of a pending CLI request.
    async fn request(&self) -> String {
        let request = self.app.anonymous().post("/v1/auth/cli/device", json!({})).await.assert(201);
        format!("/v1/cli/authorizations/{}", request["authorizationId"].as_str().unwrap())
    }

    /// The same plus those for an account without a second factor.
    async fn all_tries(&self) -> Vec<Try> {
        let others = [
            (Method::POST, "/v1/mfa/totp/setup".to_owned(), json!({})),
            (Method::POST, "/v1/mfa/passkeys/register/options".to_owned(), json!({})),
            (Method::POST, format!("{}/approve", self.request().await), Value::Null),
        ];
        self.tries().into_iter().chain(others).collect()
    }

    /// All data that could have changed.
    async fn state(&self) -> Vec<String> {
        let sql = "SELECT 'key ' || friendly_name || ' ' || expires FROM access_keys UNION ALL \
            SELECT 'api key ' || name || ' ' || scopes || ' ' || COALESCE(expires_time, 0) FROM api_keys UNION ALL \
            SELECT 'role ' || account_id || ' ' || permission FROM collaborators UNION ALL SELECT 'app ' || name || ' ' || owner_id FROM apps UNION ALL \
            SELECT 'request ' || status FROM cli_authorizations UNION ALL SELECT 'set-up ' || account_id FROM authenticator_setups UNION ALL \
            SELECT 'question ' || account_id FROM passkey_challenges WHERE purpose = 'registration' UNION ALL \
            SELECT 'row ' || id FROM audit_events ORDER BY 1";
        self.app.texts(sql, &[]).await
    }
}

/// The time in so many days, in ISO 8601.
fn at(app: &TestApp, days: i64) -> String {
    app.clock.now().plus_millis(days * 86_400_000).iso8601()
}

async fn ask(client: &Client, (method, path, body): &Try) -> Answer {
    let request = client.request(method.clone(), path);
    client.send(if body.is_null() { request } else { request.json(body) }).await
}

async fn reauthenticate(client: &Client, password: &str) -> Answer {
    client.post(REAUTHENTICATE, json!({ "password": password })).await
}

/// Waits until a session created now is no longer fresh.
fn wait(app: &TestApp) {
    app.clock.advance(15 * MINUTE + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_session_cannot_create_lasting_access() {
    let victim = Victim::of_ada().await;
    wait(&victim.app);
    let tries = victim.all_tries().await;
    let before = victim.state().await;
    for attempt in &tries {
        ask(&victim.session, attempt).await.refused_with(403, STALE);
        let (method, path, mut body) = attempt.clone();
        // Other members prove nothing, and the body is not validated yet.
        if let Some(members) = body.as_object_mut() {
            members.insert("password".to_owned(), json!(PASSWORD));
            members.insert("friendlyName".to_owned(), json!(5));
            for proof in [json!({ "type": "totp", "code": "123456" }), json!("x"), json!({ "type": "recovery", "code": "x" })] {
                let mut body = body.clone();
                body["stepUp"] = proof;
                ask(&victim.session, &(method.clone(), path.clone(), body)).await.refused_with(403, STALE);
            }
        }
    }
    for path in ["/v1/access-keys", "/v1/api-keys", "/v1/apps/demo/transfer/dora@example.com", "/v1/mfa/totp/setup"] {
        let unreadable = victim.session.request(Method::POST, path).header("content-type", "application/json").body(UNREADABLE);
        victim.session.send(unreadable).await.refused_with(403, STALE);
    }
    assert_eq!(victim.state().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn entering_the_password_keeps_a_session_fresh_for_fifteen_minutes() {
    let victim = Victim::of_ada().await;
    let app = &victim.app;
    wait(app);
    let before = app.audit_rows().await;
    let answer = reauthenticate(&victim.session, PASSWORD).await.assert(200);
    assert_eq!((members(&answer), &answer["freshUntil"]), (vec!["freshUntil"], &json!(app.clock.now().0 + 15 * MINUTE)));
    let events = app.audit_since(before).await;
    assert_eq!(events.iter().map(|event| event.action.as_str()).collect::<Vec<_>>(), ["session.reauthenticate"]);
    app.clock.advance(9 * MINUTE);
    for attempt in &victim.all_tries().await {
        let answer = ask(&victim.session, attempt).await;
        assert!(answer.status.is_success(), "{}: {}", answer.asked, answer.text());
    }
    app.clock.advance(6 * MINUTE);
    victim.session.post("/v1/access-keys", json!({ "friendlyName": "in time" })).await.assert(201);
    app.clock.advance(1);
    victim.session.post("/v1/access-keys", json!({ "friendlyName": "late" })).await.refused_with(403, STALE);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_grant_no_access_need_no_proof() {
    let victim = Victim::of_ada().await;
    let (app, session, key) = (&victim.app, &victim.session, format!("/v1/api-keys/{}", victim.api_key));
    wait(app);
    for (path, body) in [
        ("/v1/access-keys/laptop", json!({ "friendlyName": "tower" })),
        ("/v1/access-keys/tower", json!({ "ttl": MINUTE })),
        (&key, json!({ "name": "builds" })),
        (&key, json!({ "expires_at": at(app, 7), "scopes": ["read"] })),
        (&key, json!({ "expires_at": at(app, 7), "scopes": ["read"] })),
        ("/v1/apps/demo/collaborators/carl@example.com", json!({ "permission": "Developer" })),
    ] {
        session.patch(path, body).await.assert(200);
    }
    session.post("/v1/apps/demo/collaborators/bob@example.com", json!({})).await.assert(201);
    // Invalid values are refused as usual.
    session.patch("/v1/access-keys/tower", json!({ "ttl": 0 })).await.refused(400);
    session.patch(&key, json!({ "scopes": ["all"] })).await.refused(400);
    session.patch("/v1/access-keys/unknown", json!({ "ttl": 3_000_i64 * 86_400_000 })).await.refused(404);
    session.patch("/v1/api-keys/unknown", json!({ "expires_at": null })).await.refused(404);
    session.post("/v1/apps/demo/collaborators/dora@example.com", json!({ "permission": "Owner" })).await.refused(400);
    session.delete("/v1/access-keys/tower").await.assert_status(204);
    session.post(&format!("{}/deny", victim.request().await), json!({})).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn programmatic_credentials_need_no_fresh_proof() {
    let victim = Victim::of_ada().await;
    let app = &victim.app;
    let clients =
        [app.open_session("ada", CliBrowser).await, app.open_session("ada", CliDevice).await, app.named_key("ada", "program").await];
    app.clock.advance(24 * 60 * MINUTE);
    for (place, client) in clients.iter().enumerate() {
        let name = format!("of program {place}");
        client.create_app(&name).await;
        client.post(&format!("/v1/apps/{name}/collaborators/bob@example.com"), json!({ "permission": "Admin" })).await.assert(201);
        client.patch(&format!("/v1/apps/{name}/collaborators/bob@example.com"), json!({ "permission": "Admin" })).await.assert(200);
        client.post(&format!("/v1/apps/{name}/transfer/dora@example.com"), json!({})).await.assert(201);
        client.create_app(&name.replace("program", "script")).await;
        client.delete(&format!("/v1/apps/{}", name.replace("program", "script"))).await.assert_status(204);
        // These sessions cannot be refreshed.
        let code = (place < 2).then_some("dashboard_session_required");
        reauthenticate(client, PASSWORD).await.refused_with(403, code);
    }
}

/// What a session without an origin can do: roles, a transfer and a deletion. Keys, factors and CLIs require a dashboard session.
fn tries_of_any_login(victim: &Victim) -> (Vec<Try>, Vec<Try>) {
    victim.tries().into_iter().partition(|(_, path, _)| path.starts_with("/v1/apps/"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_an_origin_must_be_fresh_like_a_dashboard_session() {
    let victim = Victim::of_ada().await;
    let app = &victim.app;
    let (old, later) = (app.open_session("ada", Dashboard).await, app.open_session("ada", Dashboard).await);
    app.forget_origin(&old).await;
    // An origin from a later version is also unknown.
    let hash = shared::hash::Sha256Hex::of(later.token().as_bytes()).to_string();
    assert_eq!(app.change("UPDATE access_keys SET credential_origin = 'robot' WHERE token_hash = $1", &[&hash]).await, 1);
    wait(app);
    let (open, closed) = tries_of_any_login(&victim);
    assert_eq!((open.len(), closed.len()), (4, 6));
    let before = victim.state().await;
    for client in [&old, &later] {
        for attempt in &open {
            ask(client, attempt).await.refused_with(403, STALE);
        }
        for attempt in &closed {
            ask(client, attempt).await.refused_with(403, Some("dashboard_session_required"));
        }
        // It cannot be refreshed; a user who knows the password signs in again.
        reauthenticate(client, PASSWORD).await.refused_with(403, Some("dashboard_session_required"));
    }
    assert_eq!(victim.state().await, before);
    let young = app.open_session("ada", Dashboard).await;
    app.forget_origin(&young).await;
    for attempt in &open {
        let answer = ask(&young, attempt).await;
        assert!(answer.status.is_success(), "{}: {}", answer.asked, answer.text());
    }
    // With a second factor, a proof in the request is sufficient.
    let (victim, holder) = with_factors().await;
    let old = victim.app.open_session("ada", Dashboard).await;
    victim.app.forget_origin(&old).await;
    wait(&victim.app);
    for attempt in &tries_of_any_login(&victim).0 {
        ask(&old, attempt).await.refused_with(403, STALE);
        let answer = ask(&old, &with_proof(attempt, &holder.totp_proof())).await;
        assert!(answer.status.is_success(), "{}: {}", answer.asked, answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refreshing_one_session_does_not_refresh_others() {
    let victim = Victim::of_ada().await;
    let (app, owners) = (&victim.app, victim.app.open_session("ada", Dashboard).await);
    wait(app);
    reauthenticate(&owners, PASSWORD).await.assert(200);
    let tries = victim.all_tries().await;
    let before = victim.state().await;
    for attempt in &tries {
        ask(&victim.session, attempt).await.refused_with(403, STALE);
    }
    assert_eq!(victim.state().await, before);
    // Neither does a login by the owner.
    app.log_in("ada").await.post("/v1/access-keys", json!({ "friendlyName": "laptop 2" })).await.assert(201);
    ask(&victim.session, &victim.tries()[0]).await.refused_with(403, STALE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_session_cannot_guess_the_password() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.register("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    wait(&app);
    let thief = session.from("203.0.113.7");
    for _ in 0..5 {
        reauthenticate(&thief, "wrong").await.refused_with(401, None);
    }
    // Like logins: first the address is limited, then the account, even with the correct password.
    let stopped = reauthenticate(&thief, PASSWORD).await;
    stopped.refused_with(429, None);
    assert!(stopped.json()["retryAfterSeconds"].as_i64().unwrap() > 0 && !stopped.header("retry-after").is_empty());
    thief.post("/v1/auth/login", login("ada@example.com", PASSWORD)).await.refused(429);
    for place in 0..5 {
        reauthenticate(&session.from(&format!("203.0.113.{}", 10 + place)), "wrong").await.refused_with(401, None);
    }
    reauthenticate(&session.from("198.51.100.1"), PASSWORD).await.refused_with(429, None);
    session.from("198.51.100.1").post("/v1/access-keys", json!({ "friendlyName": "x" })).await.refused_with(403, STALE);
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys WHERE reauthenticated_time IS NOT NULL").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_password_guesses_do_not_exceed_the_limit() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.register("ada").await;
    let thief = app.open_session("ada", Dashboard).await.from("203.0.113.7");
    let guesses = futures_util::future::join_all((0..12).map(|_| reauthenticate(&thief, "wrong"))).await;
    assert_eq!(guesses.iter().filter(|answer| answer.status == 401).count(), 5);
    assert_eq!(guesses.iter().filter(|answer| answer.status == 429).count(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_reauthentication_makes_a_session_fresh() {
    let app = TestApp::spawn_with_passkeys().await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    wait(&app);
    for body in [
        json!({}),
        json!({ "password": null }),
        json!({ "password": "" }),
        json!({ "password": 5 }),
        json!({ "password": "x".repeat(1_001) }),
        json!({ "stepUp": { "type": "totp", "code": "123456" } }),
        json!({ "password": PASSWORD, "stepUp": "x" }),
    ] {
        session.post(REAUTHENTICATE, body).await.refused(400);
    }
    let holder = app.with_both("bob").await;
    wait(&app);
    for body in [json!({}), json!({ "password": PASSWORD }), json!({ "stepUp": { "type": "recovery_code", "code": holder.codes[0] } })] {
        holder.session.post(REAUTHENTICATE, body).await.refused_with(403, Some("step_up_required"));
    }
    let wrong = json!({ "type": "totp", "code": holder.wrong_code() });
    holder.session.post(REAUTHENTICATE, json!({ "stepUp": wrong })).await.refused_with(403, Some("step_up_required"));
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys WHERE reauthenticated_time IS NOT NULL").await, 0);
}

/// `ada@example.com` with a passkey and an authenticator app, and her session.
async fn with_factors() -> (Victim, Holder) {
    let app = TestApp::spawn_with_passkeys().await;
    let holder = app.with_both("ada").await;
    (Victim::of(app).await, holder)
}

/// The same request with a proof.
fn with_proof((method, path, body): &Try, proof: &Value) -> Try {
    let mut body = if body.is_null() { json!({}) } else { body.clone() };
    body["stepUp"] = proof.clone();
    (method.clone(), path.clone(), body)
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_with_a_second_factor_must_prove_it_in_each_request() {
    let (victim, holder) = with_factors().await;
    wait(&victim.app);
    let before = victim.state().await;
    for attempt in &victim.tries() {
        ask(&victim.session, attempt).await.refused_with(403, STALE);
        for proof in [json!({ "type": "recovery_code", "code": holder.codes[0] }), json!({ "type": "password", "code": PASSWORD })] {
            ask(&victim.session, &with_proof(attempt, &proof)).await.refused_with(403, STALE);
        }
    }
    assert_eq!(victim.state().await, before);
    for attempt in &victim.tries() {
        let answer = ask(&victim.session, &with_proof(attempt, &holder.totp_proof())).await;
        assert!(answer.status.is_success(), "{}: {}", answer.asked, answer.text());
    }
    // Each proof worked for one request only.
    victim.session.post("/v1/access-keys", json!({ "friendlyName": "more" })).await.refused_with(403, STALE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_works_for_one_request_and_wrong_proofs_are_counted() {
    let (victim, mut holder) = with_factors().await;
    wait(&victim.app);
    let make =
        async |proof: &Value, name: &str| victim.session.post("/v1/access-keys", json!({ "friendlyName": name, "stepUp": proof })).await;
    let proof = holder.totp_proof();
    make(&proof, "first").await.assert(201);
    make(&proof, "second").await.refused_with(403, STALE);
    // A passkey response to another session's challenge is invalid.
    let passkey = holder.passkey_proof().await;
    make(&passkey, "second").await.refused_with(403, STALE);
    let options = victim.session.post("/v1/mfa/step-up/options", json!({})).await.assert(200)["options"].clone();
    let passkey = json!({ "type": "passkey", "response": holder.authenticator.assert(&options) });
    make(&passkey, "second").await.assert(201);
    make(&passkey, "third").await.refused_with(403, STALE);
    let wrong = json!({ "type": "totp", "code": holder.wrong_code() });
    for _ in 0..7 {
        make(&wrong, "third").await.refused_with(403, STALE);
    }
    make(&holder.totp_proof(), "third").await.refused_with(429, None);
    holder.session.post(REAUTHENTICATE, json!({ "stepUp": holder.totp_proof() })).await.refused_with(429, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_factor_makes_its_session_fresh_but_approves_no_cli() {
    let (victim, mut holder) = with_factors().await;
    wait(&victim.app);
    victim.session.post(REAUTHENTICATE, json!({ "stepUp": holder.totp_proof() })).await.assert(200);
    for attempt in &victim.tries() {
        let answer = ask(&victim.session, attempt).await;
        assert!(answer.status.is_success(), "{}: {}", answer.asked, answer.text());
    }
    // This requires a login.
    let approve = format!("{}/approve", victim.request().await);
    victim.session.post(&approve, json!({ "stepUp": holder.totp_proof() })).await.refused_with(403, STALE);
    holder.session.post("/v1/access-keys", json!({ "friendlyName": "other session" })).await.refused_with(403, STALE);
    let proof = holder.passkey_proof().await;
    holder.session.post(REAUTHENTICATE, json!({ "stepUp": proof })).await.assert(200);
    holder.session.post("/v1/access-keys", json!({ "friendlyName": "other session" })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_that_started_in_time_can_finish() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    let bob = app.without_factor("bob").await;
    app.clock.advance(14 * MINUTE);
    let (totp, options) = (bob.set_up_totp().await, ada.registration_options().await);
    app.clock.advance(3 * MINUTE);
    ada.session.post("/v1/mfa/passkeys/register/options", json!({})).await.refused_with(403, STALE);
    bob.session.post("/v1/mfa/totp/setup", json!({})).await.refused_with(403, STALE);
    let response = ada.authenticator.register(&options);
    ada.session.post("/v1/mfa/passkeys/register/verify", json!({ "response": response })).await.assert(200);
    bob.session.post("/v1/mfa/totp/confirm", json!({ "code": totp.code(app.clock.now()) })).await.assert(200);
    // Another factor can be set up without a proof, and is confirmed with a proof of the first.
    ada.set_up_totp().await;
    bob.registration_options().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_started_with_a_second_factor_cannot_become_the_only_one() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut owner = app.with_passkey("ada").await;
    let mut thief = app.holder("ada").await;
    wait(&app);
    // No proof is required here, since the confirmation requires one.
    let (totp, options) = (thief.set_up_totp().await, thief.registration_options().await);
    let (id, proof) = (owner.passkeys().await[0]["id"].as_str().unwrap().to_owned(), owner.passkey_proof().await);
    owner.session.delete_with(&format!("/v1/mfa/passkeys/{id}"), json!({ "stepUp": proof })).await.assert(200);
    let code = json!({ "code": totp.code(app.clock.now()) });
    thief.session.post("/v1/mfa/totp/confirm", code).await.refused_with(403, STALE);
    let response = json!({ "response": thief.authenticator.register(&options) });
    thief.session.post("/v1/mfa/passkeys/register/verify", response.clone()).await.refused_with(403, STALE);
    assert_eq!(app.number("SELECT (SELECT COUNT(*) FROM authenticators) + (SELECT COUNT(*) FROM passkeys)").await, 0);
    // Nothing was consumed: a user who knows the password can continue.
    thief.session.reauthenticate().await;
    thief.session.post("/v1/mfa/passkeys/register/verify", response).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn guards_are_checked_in_order() {
    let victim = Victim::of_ada().await;
    let (app, create) = (&victim.app, |client: &Client| {
        let (client, body) = (client.clone(), json!({ "friendlyName": "" }));
        async move { client.post("/v1/access-keys", body).await }
    });
    let (cli, named) = (app.open_session("ada", CliBrowser).await, app.named_key("ada", "program").await);
    let viewer = app.open_session("carl", Dashboard).await;
    create(&victim.session).await.refused_with(400, None);
    wait(app);
    create(&app.anonymous()).await.refused_with(401, None);
    create(&named).await.refused_with(403, None);
    create(&cli).await.refused_with(403, Some("dashboard_session_required"));
    create(&victim.session).await.refused_with(403, STALE);
    // An unknown or inaccessible app is 404 before any proof.
    victim.session.delete("/v1/apps/unknown").await.refused_with(404, None);
    viewer.delete("/v1/apps/ada@example.com:demo").await.refused_with(403, None);
    app.miss_mfa_deadline("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    wait(app);
    create(&app.anonymous()).await.refused_with(401, None);
    create(&session).await.refused_with(403, LATE);
    session.post(&format!("{}/approve", victim.request().await), json!({})).await.refused_with(403, LATE);
    // Operations that create no credential require only the proof.
    session.delete("/v1/apps/other").await.refused_with(403, STALE);
    session.post("/v1/mfa/totp/setup", json!({})).await.refused_with(403, STALE);
    reauthenticate(&session, PASSWORD).await.assert(200);
    create(&session).await.refused_with(403, LATE);
    session.post("/v1/mfa/totp/setup", json!({})).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_mfa_deadline_an_api_keys_expiration_cannot_change() {
    let victim = Victim::of_ada().await;
    let (app, key) = (&victim.app, format!("/v1/api-keys/{}", victim.api_key));
    let end = victim.session.get("/v1/api-keys").await.assert(200)["apiKeys"][0]["expires_at"].clone();
    app.miss_mfa_deadline("ada").await;
    let session = app.open_session("ada", Dashboard).await;
    for body in [
        json!({ "expires_at": at(app, 1) }),
        json!({ "expires_at": at(app, 100) }),
        json!({ "expires_at": null }),
        json!({ "scopes": ["apps", "read", "deploy"] }),
        json!({ "scopes": ["read"], "expires_at": at(app, 1), "name": 5 }),
    ] {
        session.patch(&key, body).await.refused_with(403, LATE);
    }
    let kept = session.get("/v1/api-keys").await.assert(200)["apiKeys"][0].clone();
    assert_eq!((&kept["expires_at"], kept["scopes"].as_array().unwrap().len()), (&end, 2));
    // Renaming, narrowing the scopes and resending the same expiration still work.
    session.patch(&key, json!({ "name": "builds", "scopes": ["read"] })).await.assert(200);
    session.patch(&key, json!({ "expires_at": end })).await.assert(200);
    session.patch(&key, json!({ "name": "" })).await.refused_with(400, None);
}
