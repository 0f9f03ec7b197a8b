//! Visibility of secrets: only the exchange returns the credential, and only hashes are stored.

use serde_json::json;
use shared::hash::Sha256Hex;
use tests::{Answer, Dialect, TestApp};

use super::participants::{Ceremony, CliFlow, ada_with, approve, authorized_devices, deny, many, on_redirect, read, resolve, signed_in};

/// Every response of a flow, by the name of the request.
#[derive(Default)]
struct Answers(Vec<(&'static str, Answer)>);

impl Answers {
    fn add(&mut self, name: &'static str, answer: Answer) -> Answer {
        self.0.push((name, answer.clone()));
        answer
    }

    /// The names of the responses that contain this text in headers or body, without duplicates.
    fn that_hold(&self, text: &str) -> Vec<&'static str> {
        let holds = |answer: &Answer| answer.text().contains(text) || format!("{:?}", answer.headers).contains(text);
        let mut names: Vec<&str> = self.0.iter().filter(|(_, answer)| holds(answer)).map(|(name, _)| *name).collect();
        names.dedup();
        names
    }
}

/// Every request about a login and its credential.
async fn look_around(app: &TestApp, answers: &mut Answers, client: &tests::Client, ceremony: &Ceremony) {
    answers.add("read", read(client, ceremony.id()).await);
    for path in ["/v1/cli/devices", "/v1/account", "/v1/account/sessions", "/v1/access-keys", "/v1/api-keys", "/v1/authenticated"] {
        answers.add("other", client.get(path).await);
    }
    for device in authorized_devices(client).await {
        let id = device["credentialId"].as_str().unwrap();
        answers.add("other", client.get(&format!("/v1/access-keys/CLI-{id}")).await);
    }
    answers.add("other", app.anonymous().get("/v1/openapi.json").await);
    answers.add("other", app.anonymous().get(&format!("/dashboard/cli/authorize/{}", ceremony.id())).await);
}

/// The stored data, as text.
async fn stored(app: &mut TestApp) -> String {
    let postgres = [
        "SELECT CAST(row_to_json(t) AS TEXT) FROM cli_authorizations t",
        "SELECT CAST(row_to_json(t) AS TEXT) FROM access_keys t",
        "SELECT CAST(row_to_json(t) AS TEXT) FROM audit_events t",
        "SELECT CAST(row_to_json(t) AS TEXT) FROM limit_counts t",
        "SELECT CAST(row_to_json(t) AS TEXT) FROM outbox t",
    ];
    let mut text = String::new();
    match app.db().dialect() {
        Dialect::Postgres => {
            for sql in postgres {
                text.extend(app.texts(sql, &[]).await);
            }
        }
        Dialect::Sqlite => {
            // After shutdown, everything is in the file.
            app.stop().await;
            text = String::from_utf8_lossy(&std::fs::read(app.folder().join("updraft.db")).unwrap()).into_owned();
            app.start().await;
        }
    }
    assert!(text.contains("cli_browser") && text.contains("203.0.113.7"), "this is the stored data");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_exchange_returns_the_credential() {
    let (mut app, dashboard) = ada_with(many()).await;
    let cli = app.anonymous().from("203.0.113.7");
    let mut answers = Answers::default();
    let mut browser = Ceremony::begin_with(CliFlow::Browser, &cli, &json!({ "state": "state-of-the-browser" })).await;
    let mut device = Ceremony::begin(CliFlow::Device, &cli).await;
    let (verifier, device_code, user_code) = (
        browser.grant["codeVerifier"].as_str().unwrap().to_owned(),
        device.grant["deviceCode"].as_str().unwrap().to_owned(),
        device.user_code().to_owned(),
    );
    answers.add("resolve", resolve(&dashboard, &user_code).await);
    answers.add("poll", device.exchange().await);
    for ceremony in [&browser, &device] {
        look_around(&app, &mut answers, &dashboard, ceremony).await;
    }
    let approved = answers.add("approve", approve(&dashboard, browser.id()).await).assert(200);
    let code = on_redirect(&approved, "code").unwrap();
    browser.grant["code"] = json!(code);
    answers.add("approve", approve(&dashboard, device.id()).await).assert(200);
    answers.add("approve again", approve(&dashboard, browser.id()).await).refused(409);
    for ceremony in [&browser, &device] {
        look_around(&app, &mut answers, &dashboard, ceremony).await;
    }
    let mut tokens = Vec::new();
    for ceremony in [&mut browser, &mut device] {
        let given = answers.add("exchange", ceremony.exchange().await);
        ceremony.cli = signed_in(&cli, &given);
        tokens.push(ceremony.cli.token().to_owned());
    }
    for ceremony in [&browser, &device] {
        look_around(&app, &mut answers, &dashboard, ceremony).await;
        look_around(&app, &mut answers, &ceremony.cli, ceremony).await;
    }
    let stored = stored(&mut app).await;
    answers.add("exchange again", device.exchange().await).refused(400);
    answers.add("exchange again", browser.exchange().await).refused(400);
    answers.add("end", device.cli.delete("/v1/cli/devices/current").await);
    let refused = Ceremony::begin_with(CliFlow::Browser, &cli, &json!({ "state": "state-of-the-denied" })).await;
    answers.add("deny", deny(&dashboard, refused.id()).await).assert(200);
    look_around(&app, &mut answers, &dashboard, &refused).await;

    for token in &tokens {
        assert_eq!(answers.that_hold(token), ["exchange"]);
        let hash = Sha256Hex::of(token.as_bytes()).to_string();
        assert!(answers.that_hold(&hash).is_empty() && stored.contains(&hash));
    }
    assert_eq!(answers.that_hold(&code), ["approve"]);
    assert_eq!(answers.that_hold("state-of-the-browser"), ["approve"]);
    assert_eq!(answers.that_hold("state-of-the-denied"), ["deny"]);
    for secret in [&verifier, &device_code, &user_code] {
        assert_eq!(answers.that_hold(secret), Vec::<&str>::new());
    }
    assert!(!browser.started.to_string().contains(&verifier));

    let mails: String = app.written_mails().into_iter().map(|mail| mail.source).collect();
    let trail = app.audit_text().await;
    for secret in tokens.iter().chain([&verifier, &code, &device_code]) {
        assert!(!stored.contains(secret), "only hashes of secrets are stored");
        assert!(!mails.contains(secret) && !trail.contains(secret));
    }
    for secret in [user_code.as_str(), &user_code.replace('-', ""), "state-of-the", "127.0.0.1:49152"] {
        assert!(!trail.contains(secret), "{secret} is in the audit trail");
    }
    for hash in [&code, &device_code].map(|secret| Sha256Hex::of(secret.as_bytes()).to_string()) {
        assert!(stored.contains(&hash));
    }
    app.verify_audit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_adds_one_audit_row_and_requests_without_effect_none() {
    let (app, dashboard) = ada_with(many()).await;
    let rows = async || app.audit_rows().await;
    for flow in super::participants::CLI_FLOWS {
        let before = rows().await;
        let mut ceremony = Ceremony::begin(flow, &app.anonymous()).await;
        assert_eq!(rows().await, before + 1, "{flow:?} was started");
        read(&dashboard, ceremony.id()).await.assert(200);
        if flow == CliFlow::Device {
            resolve(&dashboard, ceremony.user_code()).await.assert(200);
            resolve(&dashboard, "BCDF-GHJK").await.refused(404);
            ceremony.exchange().await.refused(400);
        }
        assert_eq!(rows().await, before + 1, "nothing has changed");
        ceremony.approve(&dashboard).await;
        assert_eq!(rows().await, before + 2);
        approve(&dashboard, ceremony.id()).await.refused(409);
        assert_eq!(rows().await, before + 2);
        let device = signed_in(&ceremony.cli, &ceremony.exchange().await);
        assert_eq!(rows().await, before + 3);
        device.delete("/v1/cli/devices/current").await.assert(204);
        assert_eq!(rows().await, before + 4);
        let denied = Ceremony::begin(flow, &app.anonymous()).await;
        deny(&dashboard, denied.id()).await.assert(200);
        deny(&dashboard, denied.id()).await.refused(409);
        assert_eq!(rows().await, before + 6);
        let told: Vec<_> = app.audit_since(before).await.into_iter().map(|row| (row.credential_kind, row.account_id.is_some())).collect();
        let (none, here) = (("none".to_owned(), false), ("dashboard_session".to_owned(), true));
        assert_eq!((&told[0], &told[1], &told[4], &told[5]), (&none, &here, &none, &here), "who did it");
        assert!(
            told[2].1 && told[3] == ((if flow == CliFlow::Browser { "cli_browser" } else { "cli_device" }).to_owned(), true),
            "{told:?}"
        );
    }
    // A reused code revokes the credential, once.
    let mut ceremony = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
    ceremony.log_in(&dashboard).await;
    // Each further use is a failure of the account, without a change.
    let before = app.audit_changes().await;
    for _ in 0..3 {
        ceremony.exchange().await.refused(400);
        assert_eq!(app.audit_changes().await, before + 1);
    }
    app.verify_audit().await.unwrap();
}
