//! The participants of a flow: a CLI, and its user's browser with the dashboard.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::database::entropy;
use tests::{Answer, Client, Options, SessionOrigin, TestApp};

/// The address that the CLI listens at.
pub(crate) const REDIRECT: &str = "http://127.0.0.1:49152/callback";
/// The state that must be returned.
pub(crate) const STATE: &str = "a state of the test";

/// The flow that authorizes a CLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CliFlow {
    /// A browser on the same machine, and a redirect to the CLI.
    Browser,
    /// A browser on any machine, and a code that the user copies.
    Device,
}

/// Both flows.
pub(crate) const CLI_FLOWS: [CliFlow; 2] = [CliFlow::Browser, CliFlow::Device];

/// A proof key: the secret that a CLI keeps, and the challenge it sends first (RFC 7636).
#[derive(Clone, Debug)]
pub(crate) struct ProofKey {
    pub(crate) verifier: String,
    pub(crate) challenge: String,
}

impl ProofKey {
    pub(crate) fn new() -> Self {
        Self::of(&URL_SAFE_NO_PAD.encode([entropy(), entropy()].concat()))
    }

    pub(crate) fn of(verifier: &str) -> Self {
        Self { verifier: verifier.to_owned(), challenge: URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) }
    }
}

/// A pending CLI login.
#[derive(Clone, Debug)]
pub(crate) struct Ceremony {
    /// The CLI, without a credential.
    pub(crate) cli: Client,
    /// The response to the start.
    pub(crate) started: Value,
    /// The body of the exchange; the code is filled in after the approval.
    pub(crate) grant: Value,
}

impl Ceremony {
    /// Starts a login.
    pub(crate) async fn begin(flow: CliFlow, cli: &Client) -> Self {
        Self::begin_with(flow, cli, &json!({})).await
    }

    /// Starts a login with additional or replaced members in the body.
    pub(crate) async fn begin_with(flow: CliFlow, cli: &Client, more: &Value) -> Self {
        let key = ProofKey::new();
        let answer = start(flow, cli, &key, more).await;
        let started = answer.assert(201);
        let id = started["authorizationId"].as_str().unwrap();
        assert!(answer.header("location").ends_with(&format!("/v1/cli/authorizations/{id}")), "{}", answer.header("location"));
        let redirect = more.get("redirectUri").cloned().unwrap_or_else(|| json!(REDIRECT));
        let grant = match flow {
            CliFlow::Browser => json!({ "grantType": "authorization_code", "codeVerifier": key.verifier, "redirectUri": redirect }),
            CliFlow::Device => json!({ "grantType": "device_code", "deviceCode": started["deviceCode"] }),
        };
        Self { cli: cli.clone(), started, grant }
    }

    pub(crate) fn id(&self) -> &str {
        self.started["authorizationId"].as_str().unwrap()
    }

    /// The code that the user copies.
    pub(crate) fn user_code(&self) -> &str {
        self.started["userCode"].as_str().unwrap()
    }

    /// The user's approval.
    pub(crate) async fn approve(&mut self, dashboard: &Client) {
        let approved = approve(dashboard, self.id()).await.assert(200);
        if approved["mode"] == "pkce" {
            self.grant["code"] = json!(on_redirect(&approved, "code").unwrap());
        }
    }

    /// Exchanges the code for a credential; for a device this is a poll.
    pub(crate) async fn exchange(&self) -> Answer {
        exchange(&self.cli, &self.grant).await
    }

    /// Exchanges with one replaced member.
    pub(crate) async fn exchange_with(&self, member: &str, value: Value) -> Answer {
        let mut grant = self.grant.clone();
        grant[member] = value;
        exchange(&self.cli, &grant).await
    }

    /// Completes the login and returns the CLI with its credential.
    pub(crate) async fn log_in(&mut self, dashboard: &Client) -> Client {
        self.approve(dashboard).await;
        signed_in(&self.cli, &self.exchange().await)
    }
}

/// The request that starts a login.
pub(crate) fn starting(flow: CliFlow, cli: &Client, key: &ProofKey, more: &Value) -> reqwest::RequestBuilder {
    let (path, mut body) = match flow {
        CliFlow::Browser => (
            "/v1/auth/cli/authorizations",
            json!({ "codeChallenge": key.challenge, "codeChallengeMethod": "S256", "redirectUri": REDIRECT, "state": STATE }),
        ),
        CliFlow::Device => ("/v1/auth/cli/device", json!({})),
    };
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    cli.request(Method::POST, path).json(&body)
}

/// Starts a login.
pub(crate) async fn start(flow: CliFlow, cli: &Client, key: &ProofKey, more: &Value) -> Answer {
    cli.send(starting(flow, cli, key, more)).await
}

/// Requests the credential.
pub(crate) async fn exchange(cli: &Client, grant: &Value) -> Answer {
    cli.post("/v1/auth/cli/token", grant.clone()).await
}

/// The data of the approval page.
pub(crate) async fn read(dashboard: &Client, id: &str) -> Answer {
    dashboard.get(&format!("/v1/cli/authorizations/{id}")).await
}

/// The status on the approval page.
pub(crate) async fn status(dashboard: &Client, id: &str) -> String {
    read(dashboard, id).await.assert(200)["status"].as_str().unwrap().to_owned()
}

/// The user approves.
pub(crate) async fn approve(dashboard: &Client, id: &str) -> Answer {
    dashboard.send(dashboard.request(Method::POST, &format!("/v1/cli/authorizations/{id}/approve"))).await
}

/// The user denies.
pub(crate) async fn deny(dashboard: &Client, id: &str) -> Answer {
    dashboard.send(dashboard.request(Method::POST, &format!("/v1/cli/authorizations/{id}/deny"))).await
}

/// The user enters the code.
pub(crate) async fn resolve(dashboard: &Client, user_code: &str) -> Answer {
    dashboard.post("/v1/cli/authorizations/resolve", json!({ "userCode": user_code })).await
}

/// A parameter in the redirect to the CLI.
pub(crate) fn on_redirect(decided: &Value, name: &str) -> Option<String> {
    let (_, query) = decided["redirectUri"].as_str().unwrap().split_once('?').unwrap();
    form_urlencoded::parse(query.as_bytes()).find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

/// The CLI with the returned credential.
#[track_caller]
pub(crate) fn signed_in(cli: &Client, answer: &Answer) -> Client {
    cli.with_token(Some(answer.assert(200)["accessKey"].as_str().unwrap().to_owned()))
}

/// Expects a refusal of an exchange, whose error is a code of RFC 6749 or 8628.
#[track_caller]
pub(crate) fn refused(answer: &Answer, error: &str) {
    assert_eq!(answer.refused(400), error, "{}", answer.asked);
    assert_eq!(answer.json().as_object().unwrap().len(), 2, "{}", answer.text());
    assert_eq!(answer.header("cache-control"), "no-store");
}

/// Whether the credential works.
pub(crate) async fn is_in(client: &Client) -> bool {
    match client.get("/v1/authenticated").await.status.as_u16() {
        200 => true,
        401 => false,
        other => panic!("{other}"),
    }
}

/// The authorized devices of an account.
pub(crate) async fn authorized_devices(client: &Client) -> Vec<Value> {
    client.get("/v1/cli/devices").await.assert(200)["devices"].as_array().unwrap().clone()
}

/// The member names of an object, in order.
pub(crate) fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// A server that trusts the addresses its clients send, with Ada signed in on the dashboard.
pub(crate) async fn ada() -> (TestApp, Client) {
    ada_with(Options::default()).await
}

/// The same with other settings.
pub(crate) async fn ada_with(options: Options) -> (TestApp, Client) {
    let app = TestApp::spawn_among_strangers(options).await;
    let dashboard = person(&app, "ada").await;
    (app, dashboard)
}

/// Settings for tests that start many logins.
pub(crate) fn many() -> Options {
    Options::default().with("LIMIT_CLI_STARTS", "10000/10m")
}

/// Another user, signed in on the dashboard.
pub(crate) async fn person(app: &TestApp, name: &str) -> Client {
    app.sign_up(name).await;
    app.open_session(name, SessionOrigin::Dashboard).await
}
