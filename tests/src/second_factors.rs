//! Users with second factors: an authenticator app, a soft authenticator, recovery codes; and pending logins.

use control::testing::{SessionOrigin, TestClock};
use serde_json::{Value, json};
use shared::time::UnixMillis;

use crate::authenticator::Authenticator;
use crate::people::{PASSWORD, login};
use crate::totp::{STEP, Totp};
use crate::{Answer, Client, Options, TestApp};

/// The dashboard URL of servers with passkeys.
pub const DASHBOARD: &str = "https://updraft.example.com/dashboard";
/// Its origin.
pub const ORIGIN: &str = "https://updraft.example.com";

/// A pending login.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Its token.
    pub token: String,
    /// Its expiration.
    pub expires: i64,
    /// The methods that can complete it.
    pub methods: Vec<String>,
    client: Client,
}

impl Pending {
    /// Parses the response to a login with the correct password.
    pub fn read(client: Client, answer: &Answer) -> Self {
        let body = answer.assert(200);
        assert_eq!(body["mfaRequired"], true, "{body}");
        let methods = body["methods"].as_array().expect("methods").iter().map(|method| method.as_str().expect("a text").to_owned());
        Self {
            token: body["pendingToken"].as_str().expect("a token").to_owned(),
            expires: body["expires"].as_i64().expect("a time"),
            methods: methods.collect(),
            client,
        }
    }

    /// Completes it with a code of an authenticator app.
    pub async fn totp(&self, code: &str) -> Answer {
        self.client.post("/v1/auth/mfa/totp", json!({ "pendingToken": self.token, "code": code })).await
    }

    /// Completes it with a recovery code.
    pub async fn recovery(&self, code: &str) -> Answer {
        self.client.post("/v1/auth/mfa/recovery", json!({ "pendingToken": self.token, "code": code })).await
    }

    /// Requests passkey options.
    pub async fn options(&self) -> Answer {
        self.client.post("/v1/auth/mfa/options", json!({ "pendingToken": self.token })).await
    }

    /// Completes it with a passkey's response.
    pub async fn verify(&self, response: &Value) -> Answer {
        self.client.post("/v1/auth/mfa/verify", json!({ "pendingToken": self.token, "response": response })).await
    }

    /// Completes it with a passkey, requesting options first.
    pub async fn passkey(&self, authenticator: &mut Authenticator) -> Answer {
        let options = self.options().await.assert(200)["options"].clone();
        self.verify(&authenticator.assert(&options)).await
    }
}

/// A user with second factors, signed in on the dashboard.
#[derive(Clone, Debug)]
pub struct Holder {
    /// `<name>@example.com` with [`PASSWORD`].
    pub name: String,
    /// The dashboard session.
    pub session: Client,
    /// The authenticator app.
    pub totp: Option<Totp>,
    /// The authenticator for passkeys.
    pub authenticator: Authenticator,
    /// The recovery codes.
    pub codes: Vec<String>,
    clock: TestClock,
}

impl Options {
    /// Sets a dashboard URL that supports passkeys.
    #[must_use]
    pub fn with_passkeys(self) -> Self {
        self.with("DASHBOARD_URL", DASHBOARD)
    }
}

impl TestApp {
    /// A server with passkeys that trusts the addresses its clients send.
    pub async fn spawn_with_passkeys() -> Self {
        Self::spawn_among_strangers(Options::default().with_passkeys()).await
    }

    /// `<name>@example.com` with an account and [`PASSWORD`] only.
    pub async fn without_factor(&self, name: &str) -> Holder {
        self.sign_up(name).await;
        self.holder(name).await
    }

    /// The existing account `<name>@example.com` without a factor, in a new session.
    pub async fn holder(&self, name: &str) -> Holder {
        let session = self.open_session(name, SessionOrigin::Dashboard).await;
        let authenticator = Authenticator::new(ORIGIN);
        Holder { name: name.to_owned(), session, totp: None, authenticator, codes: Vec::new(), clock: self.clock.clone() }
    }

    /// `<name>@example.com` with an authenticator app.
    pub async fn with_totp(&self, name: &str) -> Holder {
        let mut holder = self.without_factor(name).await;
        holder.enrol_totp().await.assert(200);
        holder
    }

    /// `<name>@example.com` with a passkey.
    pub async fn with_passkey(&self, name: &str) -> Holder {
        let mut holder = self.without_factor(name).await;
        holder.enrol_passkey(None).await.assert(200);
        holder
    }

    /// `<name>@example.com` with a passkey and then an authenticator app.
    pub async fn with_both(&self, name: &str) -> Holder {
        let mut holder = self.with_passkey(name).await;
        holder.enrol_totp().await.assert(200);
        holder
    }

    /// Logs `<name>@example.com`, who has [`PASSWORD`] and a second factor, in up to the second step.
    pub async fn pend(&self, name: &str) -> Pending {
        let client = self.anonymous();
        let answer = client.post("/v1/auth/login", login(&format!("{name}@example.com"), PASSWORD)).await;
        Pending::read(client, &answer)
    }

    /// The client of a returned session.
    pub fn client_of(&self, session: &Value) -> Client {
        self.anonymous().with_token(Some(session["accessKey"].as_str().expect("a session").to_owned()))
    }
}

impl Holder {
    /// The email address.
    pub fn email(&self) -> String {
        format!("{}@example.com", self.name)
    }

    /// The time of the server's clock.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// The authenticator app's next code. Advances the clock by a step first, so that it is unused.
    pub fn code(&self) -> String {
        self.clock.advance(STEP);
        self.code_now()
    }

    /// The authenticator app's current code, used or not.
    pub fn code_now(&self) -> String {
        self.totp.as_ref().expect("an authenticator app").code(self.clock.now())
    }

    /// A code that is wrong now and for a while.
    pub fn wrong_code(&self) -> String {
        let totp = self.totp.as_ref().expect("an authenticator app");
        let near: Vec<String> = (-4..=4).map(|steps| totp.code(UnixMillis(self.clock.now().0 + steps * STEP))).collect();
        (0..1_000_000).map(|number| format!("{number:06}")).find(|code| !near.contains(code)).expect("one of a million codes")
    }

    /// A step-up proof with the authenticator app.
    pub fn totp_proof(&self) -> Value {
        json!({ "type": "totp", "code": self.code() })
    }

    /// The options for a step-up with a passkey.
    pub async fn step_up_options(&self) -> Value {
        self.session.post("/v1/mfa/step-up/options", json!({})).await.assert(200)["options"].clone()
    }

    /// A step-up proof with the passkey.
    pub async fn passkey_proof(&mut self) -> Value {
        let options = self.step_up_options().await;
        json!({ "type": "passkey", "response": self.authenticator.assert(&options) })
    }

    /// A step-up proof with any factor; null without one.
    pub async fn proof(&mut self) -> Value {
        if self.totp.is_some() {
            self.totp_proof()
        } else if self.codes.is_empty() {
            Value::Null
        } else {
            self.passkey_proof().await
        }
    }

    /// Starts the setup of an authenticator app, which is enabled once confirmed.
    pub async fn set_up_totp(&self) -> Totp {
        let answer = self.session.post("/v1/mfa/totp/setup", json!({})).await.assert(200);
        Totp::new(answer["secret"].as_str().expect("a secret"))
    }

    /// Sets up an authenticator app and confirms it, with a proof if required. The holder uses it from then on.
    pub async fn enrol_totp(&mut self) -> Answer {
        let proof = self.proof().await;
        let totp = self.set_up_totp().await;
        let code = totp.code(self.clock.now());
        let answer = self.session.post("/v1/mfa/totp/confirm", json!({ "code": code, "stepUp": proof })).await;
        if answer.status == 200 {
            self.totp = Some(totp);
            self.keep_codes(&answer);
        }
        answer
    }

    /// The options for registering a passkey.
    pub async fn registration_options(&self) -> Value {
        self.session.post("/v1/mfa/passkeys/register/options", json!({})).await.assert(200)["options"].clone()
    }

    /// Registers a passkey of the holder's authenticator, with a proof if required.
    pub async fn enrol_passkey(&mut self, name: Option<&str>) -> Answer {
        let proof = self.proof().await;
        let options = self.registration_options().await;
        let response = self.authenticator.register(&options);
        let body = json!({ "response": response, "name": name, "stepUp": proof });
        let answer = self.session.post("/v1/mfa/passkeys/register/verify", body).await;
        self.keep_codes(&answer);
        answer
    }

    /// The passkeys as the service lists them.
    pub async fn passkeys(&self) -> Vec<Value> {
        self.session.get("/v1/mfa/passkeys").await.assert(200)["passkeys"].as_array().expect("a list").clone()
    }

    /// The state of the second factors.
    pub async fn mfa(&self) -> Value {
        self.session.get("/v1/mfa").await.assert(200)
    }

    /// Saves the recovery codes in a response.
    pub fn keep_codes(&mut self, answer: &Answer) {
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if let Some(codes) = body["recoveryCodes"].as_array() {
            self.codes = codes.iter().map(|code| code.as_str().expect("a text").to_owned()).collect();
        }
    }
}
