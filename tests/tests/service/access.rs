//! Access control: every operation of the OpenAPI document, called with every kind of credential and role, compared with one table. Every change
//! writes exactly one audit row.

mod audit_row_fails;
mod codepush;
mod revoked_during_request;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use control::testing::server::PERMISSIONS;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use tests::people::{PASSWORD, login};
use tests::second_factors::ORIGIN;
use tests::{Answer, Authenticator, Client, Device, Holder, Options, SessionOrigin, TestApp};

/// Who may use an operation.
#[derive(Clone, Copy, Debug)]
enum Who {
    /// Everyone.
    Open,
    /// Any valid credential.
    Any,
    /// Any but an API key without the scope `apps`.
    Creator,
    /// Any but an API key.
    NotApiKey,
    /// Any session.
    Login,
    /// Any session, but only a CLI session finds what it requests.
    CommandLine,
    /// Dashboard sessions. Other sessions get a specific error code, keys a plain refusal.
    Dashboard,
    /// The same, but keys also get the specific error code.
    DashboardAlone,
    /// Collaborators of an app in one of these roles; API keys with one of these scopes.
    App { roles: &'static [&'static str], scopes: &'static [&'static str] },
    /// Collaborators in one of these roles for other collaborators; for themselves, everyone with the permission of this name. No API keys.
    AppOrOneself { roles: &'static [&'static str], of_oneself: &'static str },
}

const ALL_SCOPES: &[&str] = &["read", "deploy", "apps"];
const ROLES: &[&str] = &["Owner", "Admin", "Developer", "Viewer"];
const READ_APP: Who = Who::App { roles: ROLES, scopes: ALL_SCOPES };
const RELEASE: Who = Who::App { roles: &["Owner", "Admin", "Developer"], scopes: &["deploy"] };
const OWN: Who = Who::App { roles: &["Owner"], scopes: &[] };
const SHARE: Who = Who::App { roles: &["Owner", "Admin"], scopes: &[] };
const REMOVE: Who = Who::AppOrOneself { roles: &["Owner", "Admin"], of_oneself: "collaborators.leave" };
const ACCEPT: Who = Who::App { roles: ROLES, scopes: &[] };
const MANAGE: Who = Who::App { roles: &["Owner", "Admin"], scopes: &["apps"] };

/// An operation, who may use it, and the status on success.
type Row = (&'static str, Who, u16);

/// The table. It has exactly one row for each operation in the document.
const TABLE: &[Row] = &[
    ("GET /v1/health", Who::Open, 200),
    ("GET /v1/openapi.json", Who::Open, 200),
    ("GET /v1/docs", Who::Open, 200),
    ("GET /v1/docs/assets/{file}", Who::Open, 200),
    ("POST /v1/auth/register", Who::Open, 202),
    ("POST /v1/auth/verify-email", Who::Open, 200),
    ("POST /v1/auth/resend-verification", Who::Open, 202),
    ("POST /v1/auth/forgot-password", Who::Open, 202),
    ("POST /v1/auth/reset-password", Who::Open, 200),
    ("POST /v1/auth/login", Who::Open, 200),
    ("POST /v1/auth/reauthenticate", Who::Dashboard, 200),
    ("POST /v1/auth/cli/authorizations", Who::Open, 201),
    ("POST /v1/auth/cli/device", Who::Open, 201),
    ("POST /v1/auth/cli/token", Who::Open, 200),
    ("GET /v1/cli/authorizations/{authorization}", Who::Dashboard, 200),
    ("POST /v1/cli/authorizations/{authorization}/approve", Who::Dashboard, 200),
    ("POST /v1/cli/authorizations/{authorization}/deny", Who::Dashboard, 200),
    ("POST /v1/cli/authorizations/resolve", Who::Dashboard, 200),
    ("GET /v1/cli/devices", Who::Login, 200),
    ("DELETE /v1/cli/devices/current", Who::CommandLine, 204),
    ("DELETE /v1/cli/devices/{credential}", Who::Login, 204),
    ("POST /v1/auth/mfa/totp", Who::Open, 200),
    ("POST /v1/auth/mfa/recovery", Who::Open, 200),
    ("POST /v1/auth/mfa/options", Who::Open, 200),
    ("POST /v1/auth/mfa/verify", Who::Open, 200),
    ("POST /v1/auth/passkey/options", Who::Open, 200),
    ("POST /v1/auth/passkey/verify", Who::Open, 200),
    ("GET /v1/mfa", Who::Login, 200),
    ("POST /v1/mfa/totp/setup", Who::Dashboard, 200),
    ("POST /v1/mfa/totp/confirm", Who::Dashboard, 200),
    ("DELETE /v1/mfa/totp", Who::Login, 200),
    ("POST /v1/mfa/step-up/options", Who::Dashboard, 200),
    ("POST /v1/mfa/passkeys/register/options", Who::Dashboard, 200),
    ("POST /v1/mfa/passkeys/register/verify", Who::Dashboard, 200),
    ("GET /v1/mfa/passkeys", Who::Login, 200),
    ("PATCH /v1/mfa/passkeys/{passkey}", Who::Login, 200),
    ("DELETE /v1/mfa/passkeys/{passkey}", Who::Login, 200),
    ("POST /v1/mfa/recovery-codes", Who::Login, 200),
    ("GET /v1/authenticated", Who::Any, 200),
    ("GET /v1/account", Who::Any, 200),
    ("PATCH /v1/account", Who::Dashboard, 200),
    ("DELETE /v1/account", Who::Dashboard, 204),
    ("GET /v1/account/sessions", Who::Login, 200),
    ("DELETE /v1/account/sessions", Who::Login, 200),
    ("DELETE /v1/account/sessions/current", Who::Login, 204),
    ("DELETE /v1/sessions/{source}", Who::Login, 204),
    ("GET /v1/access-keys", Who::NotApiKey, 200),
    ("POST /v1/access-keys", Who::Dashboard, 201),
    ("GET /v1/access-keys/{key}", Who::Login, 200),
    ("PATCH /v1/access-keys/{key}", Who::Login, 200),
    ("DELETE /v1/access-keys/{key}", Who::NotApiKey, 204),
    ("GET /v1/api-keys", Who::NotApiKey, 200),
    ("POST /v1/api-keys", Who::DashboardAlone, 201),
    ("PATCH /v1/api-keys/{key}", Who::Dashboard, 200),
    ("DELETE /v1/api-keys/{key}", Who::Login, 204),
    ("GET /v1/apps", Who::Any, 200),
    ("POST /v1/apps", Who::Creator, 201),
    ("GET /v1/apps/{app}", READ_APP, 200),
    ("PATCH /v1/apps/{app}", MANAGE, 200),
    ("DELETE /v1/apps/{app}", OWN, 204),
    ("POST /v1/apps/{app}/transfer/{email}", OWN, 201),
    ("GET /v1/apps/{app}/collaborators", READ_APP, 200),
    ("POST /v1/apps/{app}/collaborators/{email}", SHARE, 201),
    ("PATCH /v1/apps/{app}/collaborators/{email}", SHARE, 200),
    ("DELETE /v1/apps/{app}/collaborators/{email}", REMOVE, 204),
    ("POST /v1/apps/{app}/collaborators/me/accept", ACCEPT, 200),
    ("GET /v1/apps/{app}/audit", MANAGE, 200),
    ("GET /v1/apps/{app}/deployments", READ_APP, 200),
    ("POST /v1/apps/{app}/deployments", MANAGE, 201),
    ("GET /v1/apps/{app}/deployments/{deployment}", READ_APP, 200),
    ("PATCH /v1/apps/{app}/deployments/{deployment}", MANAGE, 200),
    ("DELETE /v1/apps/{app}/deployments/{deployment}", MANAGE, 204),
    ("DELETE /v1/apps/{app}/deployments/{deployment}/history", MANAGE, 204),
    ("POST /v1/apps/{app}/deployments/{deployment}/releases", RELEASE, 201),
    ("GET /v1/apps/{app}/deployments/{deployment}/releases", READ_APP, 200),
    ("GET /v1/apps/{app}/deployments/{deployment}/releases/{label}", READ_APP, 200),
    ("GET /v1/apps/{app}/deployments/{deployment}/releases/{label}/diffs", READ_APP, 200),
    ("PATCH /v1/apps/{app}/deployments/{deployment}/release", RELEASE, 200),
    ("POST /v1/apps/{app}/deployments/{deployment}/promotions", RELEASE, 201),
    ("POST /v1/apps/{app}/deployments/{deployment}/rollbacks", RELEASE, 201),
    ("GET /v1/apps/{app}/deployments/{deployment}/history", READ_APP, 200),
    ("GET /v1/apps/{app}/deployments/{deployment}/explain", READ_APP, 200),
    ("GET /v1/apps/{app}/deployments/{deployment}/metrics", READ_APP, 200),
    ("GET /v1/apps/{app}/deployments/{deployment}/metrics/history", READ_APP, 200),
    ("GET /v1/apps/{app}/deployments/{deployment}/metrics/recent", READ_APP, 200),
    ("GET /v1/apps/{app}/deployments/{deployment}/metrics/imported", READ_APP, 200),
    ("POST /v1/imports/check", Who::NotApiKey, 200),
    ("POST /v1/imports/apps", Who::NotApiKey, 200),
    ("POST /v1/apps/{app}/imports/packages", OWN, 200),
    ("POST /v1/apps/{app}/deployments/{deployment}/imports", OWN, 200),
    ("GET /v1/public/svc/update_check", Who::Open, 200),
    ("POST /v1/public/svc/report_status/deploy", Who::Open, 200),
    ("POST /v1/public/svc/report_status/download", Who::Open, 200),
    ("GET /v0.1/public/svc/update_check", Who::Open, 200),
    ("POST /v0.1/public/svc/report_status/deploy", Who::Open, 200),
    ("POST /v0.1/public/svc/report_status/download", Who::Open, 200),
    ("GET /updateCheck", Who::Open, 200),
    ("POST /reportStatus/deploy", Who::Open, 200),
    ("POST /reportStatus/download", Who::Open, 200),
    ("GET /v1/public/svc/bundles/{blob}", Who::Open, 200),
];

/// Whether an operation changes something that is audited. Not audited: device reports, requests for passkey challenges, resolving a user code, and what
/// prepares an import.
fn is_change(operation: &str) -> bool {
    let is_report = operation.to_lowercase().replace('_', "").contains("/reportstatus/");
    let only_finds = ["POST /v1/cli/authorizations/resolve", "POST /v1/imports/check"].contains(&operation);
    let only_waits = operation.ends_with("/imports/packages");
    !operation.starts_with("GET ") && !is_report && !only_finds && !only_waits && !operation.ends_with("/options")
}

/// A caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    Nobody,
    /// A dashboard session of an account without access to the app.
    Stranger,
    /// A dashboard session of the owner, or of a collaborator in this role.
    Role(&'static str),
    CliBrowser,
    CliDevice,
    SessionWithoutOrigin,
    NamedKey,
    ApiKey(&'static [&'static str]),
    /// An expired session or API key.
    Expired(&'static str),
    /// A revoked session or API key.
    Revoked(&'static str),
    /// Text that cannot be a credential.
    Malformed,
}

const CREDENTIALS: &[Caller] = &[
    Caller::Nobody,
    Caller::Role("Owner"),
    Caller::CliBrowser,
    Caller::CliDevice,
    Caller::SessionWithoutOrigin,
    Caller::NamedKey,
    Caller::ApiKey(&["deploy"]),
    Caller::ApiKey(&["read"]),
    Caller::ApiKey(&["apps"]),
    Caller::ApiKey(ALL_SCOPES),
];

/// Callers with an invalid credential.
const INVALID: &[Caller] =
    &[Caller::Expired("session"), Caller::Expired("API key"), Caller::Revoked("session"), Caller::Revoked("API key"), Caller::Malformed];

/// One of each kind of credential.
const KINDS: &[Caller] = &[
    Caller::Nobody,
    Caller::Role("Owner"),
    Caller::CliBrowser,
    Caller::CliDevice,
    Caller::SessionWithoutOrigin,
    Caller::NamedKey,
    Caller::ApiKey(ALL_SCOPES),
    Caller::Expired("session"),
    Caller::Revoked("API key"),
    Caller::Malformed,
];

/// Further callers for operations on apps.
const OTHERS: &[Caller] = &[Caller::Stranger, Caller::Role("Admin"), Caller::Role("Developer"), Caller::Role("Viewer")];

/// The expected outcome: success, or a refusal with status and code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Done,
    Refused(u16, Option<&'static str>),
}

const PLAINLY: Expected = Expected::Refused(403, None);
const TOLD: Expected = Expected::Refused(403, Some("dashboard_session_required"));

/// The permissions granted to exactly these roles, and to API keys with any of exactly these scopes.
fn permissions(roles: &[&str], scopes: &[&str]) -> impl Iterator<Item = &'static str> {
    PERMISSIONS.iter().filter_map(move |(name, held_by, by)| {
        let held_by: BTreeSet<_> = held_by.iter().map(|role| role.as_str()).collect();
        let by: BTreeSet<_> = by.iter().map(|scope| scope.as_str()).collect();
        (held_by == roles.iter().copied().collect() && by == scopes.iter().copied().collect()).then_some(*name)
    })
}

impl Who {
    fn callers(self) -> Vec<Caller> {
        match self {
            Self::Open => KINDS.to_vec(),
            Self::App { .. } | Self::AppOrOneself { .. } => [CREDENTIALS, INVALID, OTHERS].concat(),
            _ => [CREDENTIALS, INVALID].concat(),
        }
    }

    #[expect(clippy::match_same_arms, reason = "the order of refusals is the one in this file")]
    fn expects(self, caller: Caller) -> Expected {
        let has_scope = |scopes: &[&str], held: &[&str]| held.iter().any(|scope| scopes.contains(scope));
        if let Self::AppOrOneself { roles, .. } = self {
            // The operation concerns another collaborator.
            return Self::App { roles, scopes: &[] }.expects(caller);
        }
        match (self, caller) {
            (Self::Open, _) => Expected::Done,
            (_, Caller::Nobody | Caller::Expired(_) | Caller::Revoked(_) | Caller::Malformed) => Expected::Refused(401, None),
            (Self::App { .. }, Caller::Stranger) => Expected::Refused(404, None),
            (Self::App { roles, .. }, Caller::Role(role)) if !roles.contains(&role) => PLAINLY,
            (Self::App { scopes, .. }, Caller::ApiKey(held)) if !has_scope(scopes, held) => PLAINLY,
            (Self::Creator, Caller::ApiKey(held)) if !held.contains(&"apps") => PLAINLY,
            (Self::NotApiKey | Self::Login | Self::CommandLine | Self::Dashboard, Caller::ApiKey(_)) => PLAINLY,
            (Self::Login | Self::CommandLine | Self::Dashboard, Caller::NamedKey) => PLAINLY,
            (Self::CommandLine, Caller::Role(_) | Caller::SessionWithoutOrigin) => Expected::Refused(404, None),
            (Self::Dashboard, Caller::CliBrowser | Caller::CliDevice | Caller::SessionWithoutOrigin) => TOLD,
            (Self::DashboardAlone, Caller::Role(_)) => Expected::Done,
            (Self::DashboardAlone, _) => TOLD,
            _ => Expected::Done,
        }
    }

    /// Whether the document describes this access: nothing for public operations, and for apps a permission with these roles and scopes.
    fn is_called(self, guards: &Value) -> bool {
        let words = |words: &[&str]| json!([{ "bearer": words }]);
        match self {
            Self::Open => *guards == json!([]),
            Self::Any => *guards == words(&[]),
            Self::Creator => *guards == words(&["apps.create"]),
            Self::NotApiKey => *guards == words(&["not an API key"]),
            Self::Login | Self::CommandLine => *guards == words(&["login session"]),
            Self::Dashboard | Self::DashboardAlone => *guards == words(&["dashboard session"]),
            Self::App { roles, scopes } => permissions(roles, scopes).any(|name| *guards == words(&[name])),
            Self::AppOrOneself { roles, of_oneself } => {
                let is_everybodys = permissions(ROLES, &[]).any(|name| name == of_oneself);
                let either = |name| json!([{ "bearer": [name] }, { "bearer": [of_oneself] }]);
                is_everybodys && permissions(roles, &[]).any(|name| *guards == either(name))
            }
        }
    }
}

/// A service with every feature, and limits high enough for many requests from one address.
async fn prepared() -> TestApp {
    TestApp::spawn_with(Options::default().with_passkeys().with("LIMIT_CLI_STARTS", "1000/10m")).await
}

/// The data for one request: an owner with an access key, and the resources in the path.
struct Scene<'a> {
    app: &'a TestApp,
    operation: &'static str,
    name: String,
    owner: Client,
    /// The owner with second factors, if the operation concerns them.
    holder: Option<Holder>,
}

impl<'a> Scene<'a> {
    async fn set(app: &'a TestApp, operation: &'static str, number: usize) -> Self {
        let name = format!("owner{number}");
        // All requests come from one address and would reach its limits.
        app.change("DELETE FROM limit_counts", &[]).await;
        let owner = app.sign_up(&name).await;
        let scene = Self { app, operation, name, owner, holder: None };
        if scene.operation.contains("{app}") && scene.operation.contains("/imports") {
            scene.owner.post("/v1/imports/apps", imported("demo", &scene.name)).await.assert(200);
        } else if scene.operation.contains("{app}") {
            scene.owner.create_app("demo").await;
        }
        scene.release_twice_before(&["{label}", "/diffs", "/release", "/promotions", "/rollbacks"]).await;
        scene
    }

    /// Releases twice if the operation's path ends with one of these.
    async fn release_twice_before(&self, ends: &[&str]) {
        if ends.iter().any(|end| self.operation.ends_with(end)) {
            for content in [b"first", b"other"] {
                self.owner.upload("demo", "Staging", content, json!({ "appVersion": "1.0.0" })).await.assert(201);
            }
        }
    }

    fn email(&self) -> String {
        format!("{}@example.com", self.name)
    }

    async fn client(&self, caller: Caller) -> Client {
        let session = async |origin| self.app.open_session(&self.name, origin).await;
        match caller {
            Caller::Nobody => self.app.anonymous(),
            Caller::Role("Owner") => session(SessionOrigin::Dashboard).await,
            Caller::CliBrowser => session(SessionOrigin::CliBrowser).await,
            Caller::CliDevice => session(SessionOrigin::CliDevice).await,
            Caller::NamedKey => self.owner.clone(),
            Caller::ApiKey(scopes) => self.app.api_key(&self.name, scopes).await,
            Caller::Expired(kind) => {
                let sql = [
                    "UPDATE access_keys SET expires = created_time WHERE token_hash = $1",
                    "UPDATE api_keys SET expires_time = created_time WHERE key_hash = $1",
                ];
                self.invalid(kind, sql).await
            }
            Caller::Revoked(kind) => {
                let sql = [
                    "DELETE FROM access_keys WHERE token_hash = $1",
                    "UPDATE api_keys SET revoked_time = created_time WHERE key_hash = $1",
                ];
                self.invalid(kind, sql).await
            }
            Caller::Malformed => self.app.anonymous().with_token(Some("svc_ss_%00'; --".to_owned())),
            Caller::SessionWithoutOrigin => {
                let old = session(SessionOrigin::Dashboard).await;
                self.app.forget_origin(&old).await;
                old
            }
            Caller::Stranger | Caller::Role(_) => {
                let other = format!("other-of-{}", self.name);
                self.app.sign_up(&other).await;
                if let Caller::Role(role) = caller {
                    self.app.share(&self.name, "demo", &other, role, self.app.clock.now().0 + 1).await;
                }
                self.app.open_session(&other, SessionOrigin::Dashboard).await
            }
        }
    }

    /// A client whose credential works until these statements run.
    async fn invalid(&self, kind: &str, sql: [&'static str; 2]) -> Client {
        let client = match kind {
            "session" => self.app.open_session(&self.name, SessionOrigin::Dashboard).await,
            _ => self.app.api_key(&self.name, ALL_SCOPES).await,
        };
        client.get("/v1/authenticated").await.assert(200);
        let hash = Sha256Hex::of(client.token().as_bytes()).to_string();
        assert_eq!(self.app.change(sql[0], &[&hash]).await + self.app.change(sql[1], &[&hash]).await, 1);
        client
    }

    /// A request that succeeds for authorized callers.
    async fn question(&mut self, client: &Client) -> reqwest::RequestBuilder {
        let (method, path) = self.operation.split_once(' ').unwrap();
        let path = path.replace("{app}", "demo").replace("{deployment}", "Staging").replace("{label}", "v1");
        let path = match path.split_once('{') {
            None => path,
            Some((before, rest)) => format!("{before}{}{}", self.last_segment().await, rest.split_once('}').unwrap().1),
        };
        let query = if path.to_lowercase().replace('_', "").ends_with("/updatecheck") {
            format!("?deployment_key={}&app_version=1.0.0", self.deployment_key().await)
        } else if path.ends_with("/explain") {
            "?appVersion=1.0.0".to_owned()
        } else {
            String::new()
        };
        let request = client.request(method.parse::<Method>().unwrap(), &format!("{path}{query}"));
        if self.operation.starts_with("POST ") && self.operation.ends_with("/releases") {
            let info = Part::text(json!({ "appVersion": "1.0.0" }).to_string());
            return request.multipart(Form::new().part("package", Part::bytes(b"script".to_vec())).part("packageInfo", info));
        }
        if self.operation.ends_with("/imports/packages") {
            return request.header("content-type", "application/octet-stream").body("script");
        }
        match self.body(client).await {
            Some(body) => request.json(&body),
            None => request,
        }
    }

    /// The value of the last path parameter.
    async fn last_segment(&mut self) -> String {
        let (_, rest) = self.operation.split_once("/v1/").unwrap();
        match rest.split('/').next().unwrap() {
            "apps" => {
                let colleague = format!("colleague-of-{}", self.name);
                self.app.sign_up(&colleague).await;
                if self.operation.contains("/collaborators/") && !self.operation.starts_with("POST ") {
                    self.app.share(&self.name, "demo", &colleague, "Viewer", self.app.clock.now().0 + 1).await;
                }
                format!("{colleague}@example.com")
            }
            "access-keys" => {
                self.app.named_key(&self.name, "target").await;
                "target".to_owned()
            }
            "api-keys" => {
                let session = self.app.open_session(&self.name, SessionOrigin::Dashboard).await;
                let made = session.post("/v1/api-keys", json!({ "name": "target", "scopes": ["read", "deploy"] })).await.assert(201);
                made["id"].as_str().unwrap().to_owned()
            }
            "cli" if self.operation.contains("/authorizations/") => {
                self.begin_device().await["authorizationId"].as_str().unwrap().to_owned()
            }
            "cli" => {
                let machine = self.app.open_session(&self.name, SessionOrigin::CliBrowser).await;
                let listed = machine.get("/v1/cli/devices").await.assert(200)["devices"].as_array().unwrap().clone();
                let own = listed.iter().find(|device| device["isCurrent"] == true).unwrap();
                own["credentialId"].as_str().unwrap().to_owned()
            }
            "sessions" => {
                self.app.open_session_of(&self.name, SessionOrigin::CliBrowser, "192.0.2.7", &Device::default()).await;
                "192.0.2.7".to_owned()
            }
            "mfa" => self.with_factors().await.passkeys().await[0]["id"].as_str().unwrap().to_owned(),
            "docs" => {
                let page = self.app.anonymous().get("/v1/docs").await.text();
                page.split("/v1/docs/assets/").nth(1).unwrap().split('"').next().unwrap().to_owned()
            }
            "public" => {
                let key = self.deployment_key().await;
                let answer = self.app.anonymous().get(&format!("/updateCheck?deploymentKey={key}&appVersion=1.0.0")).await.assert(200);
                let url = answer["updateInfo"]["downloadURL"].as_str().unwrap().to_owned();
                url.rsplit('/').next().unwrap().to_owned()
            }
            other => panic!("{other}: add a value for the path parameter of {} here", self.operation),
        }
    }

    /// The response to starting a CLI login with a code.
    async fn begin_device(&self) -> Value {
        self.app.anonymous().post("/v1/auth/cli/device", json!({})).await.assert(201)
    }

    /// The key of a deployment that has a release.
    async fn deployment_key(&self) -> String {
        let (_, key) = self.owner.create_app("of devices").await;
        self.owner.upload("of devices", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
        key
    }

    /// The owner with a passkey and an authenticator app.
    async fn with_factors(&mut self) -> &mut Holder {
        if self.holder.is_none() {
            let mut holder = self.app.holder(&self.name).await;
            holder.enrol_passkey(None).await.assert(200);
            holder.enrol_totp().await.assert(200);
            self.holder = Some(holder);
        }
        self.holder.as_mut().unwrap()
    }

    /// A body that completes a login with a second factor, or changes a factor.
    async fn factor_body(&mut self, client: &Client) -> Value {
        let (app, name, operation) = (self.app, self.name.clone(), self.operation);
        match operation {
            "POST /v1/mfa/totp/confirm" => {
                let holder = app.holder(&name).await;
                return json!({ "code": holder.set_up_totp().await.code(app.clock.now()) });
            }
            "POST /v1/mfa/passkeys/register/verify" => {
                // A caller without access to the options cannot complete the registration either.
                let asked = client.post("/v1/mfa/passkeys/register/options", json!({})).await;
                let is_asked = asked.status.is_success();
                let response = if is_asked { Authenticator::new(ORIGIN).register(&asked.json()["options"]) } else { json!({}) };
                return json!({ "response": response });
            }
            "POST /v1/mfa/totp/setup" | "POST /v1/mfa/passkeys/register/options" | "POST /v1/auth/passkey/options" => return json!({}),
            _ => {}
        }
        let holder = self.with_factors().await;
        let pending = app.pend(&name).await;
        match operation {
            "POST /v1/auth/mfa/totp" => json!({ "pendingToken": pending.token, "code": holder.code() }),
            "POST /v1/auth/mfa/recovery" => json!({ "pendingToken": pending.token, "code": holder.codes[0] }),
            "POST /v1/auth/mfa/options" => json!({ "pendingToken": pending.token }),
            "POST /v1/auth/mfa/verify" => {
                let options = pending.options().await.assert(200)["options"].clone();
                json!({ "pendingToken": pending.token, "response": holder.authenticator.assert(&options) })
            }
            "POST /v1/auth/passkey/verify" => {
                let asked = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
                json!({ "challengeId": asked["challengeId"], "response": holder.authenticator.assert(&asked["options"]) })
            }
            "PATCH /v1/mfa/passkeys/{passkey}" => json!({ "name": "renamed" }),
            "POST /v1/mfa/step-up/options" => json!({}),
            _ => json!({ "stepUp": holder.totp_proof() }),
        }
    }

    async fn body(&mut self, client: &Client) -> Option<Value> {
        if is_of_factors(path_of(self.operation)) {
            return if self.operation.starts_with("GET ") { None } else { Some(self.factor_body(client).await) };
        }
        let new = format!("new-{}", self.email());
        let register = async || {
            self.app.anonymous().post("/v1/auth/register", login(&new, PASSWORD)).await.assert(202);
        };
        Some(match self.operation {
            "POST /v1/auth/register" => login(&new, PASSWORD),
            "POST /v1/auth/verify-email" => {
                register().await;
                json!({ "token": self.app.last_mail_to(&new).await.token() })
            }
            "POST /v1/auth/resend-verification" => {
                register().await;
                json!({ "email": new })
            }
            "POST /v1/auth/forgot-password" => json!({ "email": self.email() }),
            "POST /v1/auth/reset-password" => {
                self.app.anonymous().post("/v1/auth/forgot-password", json!({ "email": self.email() })).await.assert(202);
                let token = self.app.last_mail_to(&self.email()).await.token();
                json!({ "token": token, "password": "another long passphrase nobody guesses" })
            }
            "POST /v1/auth/login" => login(&self.email(), PASSWORD),
            "POST /v1/auth/cli/authorizations" => {
                let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
                json!({ "codeChallenge": challenge, "codeChallengeMethod": "S256", "redirectUri": "http://127.0.0.1:49152/" })
            }
            "POST /v1/auth/cli/device" => json!({ "deviceName": "laptop" }),
            "POST /v1/auth/cli/token" => {
                let (begun, session) = (self.begin_device().await, self.app.open_session(&self.name, SessionOrigin::Dashboard).await);
                let approve = format!("/v1/cli/authorizations/{}/approve", begun["authorizationId"].as_str().unwrap());
                session.post(&approve, json!({})).await.assert(200);
                json!({ "grantType": "device_code", "deviceCode": begun["deviceCode"] })
            }
            "POST /v1/cli/authorizations/resolve" => json!({ "userCode": self.begin_device().await["userCode"] }),
            "PATCH /v1/account" => json!({ "name": "Ada" }),
            "POST /v1/auth/reauthenticate" | "DELETE /v1/account" => json!({ "password": PASSWORD }),
            "POST /v1/access-keys" => json!({ "friendlyName": "new" }),
            "PATCH /v1/access-keys/{key}" => json!({ "friendlyName": "renamed" }),
            "POST /v1/api-keys" => json!({ "name": "new", "scopes": ["read"] }),
            "PATCH /v1/api-keys/{key}" => json!({ "scopes": ["read"] }),
            "POST /v1/apps"
            | "PATCH /v1/apps/{app}"
            | "POST /v1/apps/{app}/deployments"
            | "PATCH /v1/apps/{app}/deployments/{deployment}" => json!({ "name": "new" }),
            "POST /v1/imports/check" => json!({ "source": "https://old.example", "apps": [imported("new", &self.name)["app"]] }),
            "POST /v1/imports/apps" => imported("new", &self.name),
            "POST /v1/apps/{app}/deployments/{deployment}/imports" => {
                json!({ "releases": [], "counts": { "v1": { "active": 1, "downloaded": 1, "installed": 1, "failed": 0 } } })
            }
            "PATCH /v1/apps/{app}/collaborators/{email}" => json!({ "permission": "Admin" }),
            "PATCH /v1/apps/{app}/deployments/{deployment}/release" => json!({ "packageInfo": { "isMandatory": true } }),
            "POST /v1/apps/{app}/deployments/{deployment}/promotions" => json!({ "destination": "Production" }),
            report if report.to_lowercase().replace('_', "").contains("/reportstatus/") => {
                json!({ "deployment_key": self.deployment_key().await, "app_version": "1.0.0", "label": "v1", "client_unique_id": "device" })
            }
            _ => return None,
        })
    }
}

/// An app to import.
fn imported(name: &str, owner: &str) -> Value {
    let key = format!("key-of-{owner}-0123");
    let deployment = json!({ "sourceName": "Staging", "name": "Staging", "key": key });
    json!({ "source": "https://old.example", "app": { "sourceName": name, "name": name, "deployments": [deployment] } })
}

/// `METHOD path` of every operation in the document.
fn operations(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths
        .iter()
        .flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase())));
    all.collect()
}

/// Operations that are missing in the document or in the table.
fn differences(document: &Value, table: &[Row]) -> Vec<String> {
    let (documented, known) = (operations(document), table.iter().map(|(operation, ..)| (*operation).to_owned()).collect::<BTreeSet<_>>());
    let without_row = documented.difference(&known).map(|operation| format!("{operation} has no row"));
    let without_operation = known.difference(&documented).map(|operation| format!("the row {operation} is of no operation"));
    without_row.chain(without_operation).collect()
}

/// The documented changes that did not write exactly one audit row.
fn unnoted(document: &Value, noted: &BTreeSet<String>) -> Vec<String> {
    operations(document).into_iter().filter(|operation| is_change(operation) && !noted.contains(operation)).collect()
}

/// Calls every matching row with every caller. Each successful change must write exactly one audit row, every other request none. The refusals are
/// stored in the snapshot of this name.
async fn walk(area: &str, belongs: impl Fn(&str) -> bool) {
    let app = prepared().await;
    let mut refusals = String::new();
    let document = app.anonymous().get("/v1/openapi.json").await.assert(200);
    let (mut noted, mut number) = (BTreeSet::new(), 0);
    for (operation, who, status) in &rows_of(&belongs) {
        let mut rows = BTreeSet::new();
        for caller in who.callers() {
            number += 1;
            let mut scene = Scene::set(&app, operation, number).await;
            let client = scene.client(caller).await;
            let question = scene.question(&client).await;
            let before = app.audit_changes().await;
            let answer = client.send(question).await;
            let added = app.audit_changes().await - before;
            validate(operation, caller, who.expects(caller), *status, &answer);
            is_documented(&document, operation, &answer);
            if who.expects(caller) == Expected::Done {
                rows.insert(added);
            } else {
                let mut body = answer.json();
                body.as_object_mut().unwrap().remove("requestId");
                writeln!(refusals, "{operation}, {caller:?}: {} {body}", answer.status.as_u16()).unwrap();
                assert_eq!(added, 0, "{operation} by {caller:?} was refused but audited");
            }
        }
        assert_eq!(rows, BTreeSet::from([i64::from(is_change(operation))]), "{operation}: audit rows for each success");
        if is_change(operation) {
            noted.insert((*operation).to_owned());
        }
    }
    insta::assert_snapshot!(format!("refusals_of_{area}"), refusals);
    let missing = unnoted(&document, &noted).into_iter().filter(|operation| belongs(path_of(operation)));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<String>::new(), "changes without exactly one audit row");
}

fn path_of(operation: &str) -> &str {
    operation.split_once(' ').unwrap().1
}

fn validate(operation: &str, caller: Caller, expected: Expected, done: u16, answer: &Answer) {
    let code = |answer: &Answer| answer.json().get("code").and_then(Value::as_str).map(str::to_owned);
    match expected {
        Expected::Done => assert_eq!(answer.status.as_u16(), done, "{operation} by {caller:?}: {}", answer.text()),
        Expected::Refused(status, with) => {
            assert_eq!(answer.status.as_u16(), status, "{operation} by {caller:?}: {}", answer.text());
            assert_eq!(code(answer).as_deref(), with, "{operation} by {caller:?}: {}", answer.text());
        }
    }
}

/// The document contains this status and body type.
fn is_documented(document: &Value, operation: &str, answer: &Answer) {
    let (method, path) = operation.split_once(' ').unwrap();
    let status = answer.status.as_u16().to_string();
    let described = &document["paths"][path][method.to_lowercase()]["responses"][&status];
    assert!(described.is_object(), "{operation} returned {status}, which is not documented");
    let kind = answer.optional_header("content-type").map(|kind| kind.split(';').next().unwrap().to_owned());
    let kinds: Option<Vec<&str>> =
        described.get("content").map(|content| content.as_object().unwrap().keys().map(String::as_str).collect());
    assert_eq!(kind.as_deref().map(|kind| vec![kind]), kinds, "{operation}, {status}: the content type");
}

fn rows_of(belongs: impl Fn(&str) -> bool) -> Vec<Row> {
    TABLE.iter().copied().filter(|(operation, ..)| belongs(path_of(operation))).collect()
}

fn is_of_account(path: &str) -> bool {
    ["/v1/account", "/v1/authenticated", "/v1/sessions", "/v1/auth/reauthenticate"].iter().any(|start| path.starts_with(start))
}

fn is_of_keys(path: &str) -> bool {
    path.starts_with("/v1/access-keys") || path.starts_with("/v1/api-keys")
}

fn is_of_factors(path: &str) -> bool {
    ["/v1/mfa", "/v1/auth/mfa", "/v1/auth/passkey"].iter().any(|start| path.starts_with(start))
}

fn is_of_apps(path: &str) -> bool {
    path.starts_with("/v1/apps") || path.starts_with("/v1/imports")
}

fn is_of_cli(path: &str) -> bool {
    path.starts_with("/v1/cli/")
}

fn is_of_devices(path: &str) -> bool {
    path.contains("/public/svc/") || path.starts_with("/updateCheck") || path.starts_with("/reportStatus")
}

// Several tests instead of one, so that they run in parallel. Every path belongs to one of them.

#[tokio::test(flavor = "multi_thread")]
async fn account_operations_follow_the_access_table() {
    walk("accounts", is_of_account).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_operations_follow_the_access_table() {
    walk("keys", is_of_keys).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_factor_operations_follow_the_access_table() {
    walk("second_factors", is_of_factors).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_operations_follow_the_access_table() {
    walk("apps", is_of_apps).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cli_operations_follow_the_access_table() {
    walk("cli", is_of_cli).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn device_operations_follow_the_access_table() {
    walk("devices", is_of_devices).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_other_operations_follow_the_access_table() {
    walk("all_others", |path| {
        let areas = [is_of_account, is_of_keys, is_of_factors, is_of_apps, is_of_cli, is_of_devices];
        !areas.into_iter().any(|is_of| is_of(path))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_has_a_row() {
    let app = TestApp::spawn().await;
    let document = app.anonymous().get("/v1/openapi.json").await.assert(200);
    assert_eq!(differences(&document, TABLE), Vec::<String>::new());
    assert_eq!(TABLE.len(), operations(&document).len(), "each operation has one row");
    // The document describes the same access as the table.
    for (operation, who, _) in TABLE {
        let (method, path) = operation.split_once(' ').unwrap();
        let guards = &document["paths"][path][method.to_lowercase()]["security"];
        assert!(who.is_called(guards), "{operation} is {who:?} in the table, but {guards} in the document");
    }
    // Each permission belongs to some operation, except the one that only reveals hidden members of responses.
    let text = document["paths"].to_string();
    let unused = PERMISSIONS.iter().map(|(name, ..)| *name).filter(|name| !text.contains(&json!({ "bearer": [name] }).to_string()));
    assert_eq!(unused.collect::<Vec<_>>(), ["deploymentKeys.read"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unlisted_operation_fails_both_checks() {
    let mut document = control::testing::server::document("http://localhost");
    let noted = operations(&document);
    assert_eq!((differences(&document, TABLE), unnoted(&document, &noted)), (Vec::new(), Vec::new()));
    document["paths"]["/v1/planted"] = json!({ "post": {} });
    assert_eq!(differences(&document, TABLE), ["POST /v1/planted has no row"]);
    assert_eq!(unnoted(&document, &noted), ["POST /v1/planted"]);
    let (without, gone) = (TABLE.len() - 1, TABLE.last().unwrap().0);
    assert!(differences(&document, &TABLE[..without]).contains(&format!("{gone} has no row")));
}
