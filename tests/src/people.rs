//! Users with accounts: registered and signed in normally, or inserted into the database where the test is about something else.

use control::testing;
use control::testing::{Device, SessionOrigin};
use serde_json::{Value, json};
use shared::ids::AccountId;

use crate::{Answer, Client, TestApp};

/// The password of every registered user.
pub const PASSWORD: &str = "a long passphrase nobody guesses";

/// Its precomputed hash, for accounts that are inserted: hashing is slow.
pub const PASSWORD_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$YxcwPQx4Ho3F4ylo9e1B4w$XXubGoQ0VEPr54ut6ZBHJ2p2WDid+DfkO6oNb2jXJVA";

/// The limits of an account in `GET /v1/account`: these three, and the default quotas.
pub fn limits(api_keys: u64, retention_days: u64, upload_bytes: u64) -> Value {
    json!({
        "maxApiKeys": api_keys, "retentionDays": retention_days, "maxUploadBytes": upload_bytes, "maxApps": 200, "maxDeploymentsPerApp": 50,
        "maxAccessKeys": 200, "maxCollaboratorsPerApp": 200, "maxStoredBytes": 50_u64 << 30,
    })
}

/// The body of a login.
pub fn login(email: &str, password: &str) -> Value {
    json!({ "email": email, "password": password })
}

impl Client {
    /// Reauthenticates this dashboard session of a user with [`PASSWORD`] and without a second factor.
    pub async fn reauthenticate(&self) {
        self.post("/v1/auth/reauthenticate", json!({ "password": PASSWORD })).await.assert(200);
    }
}

impl TestApp {
    /// Registers `<name>@example.com` with [`PASSWORD`] and verifies the address with the mailed token. Returns the address.
    pub async fn register(&self, name: &str) -> String {
        let email = format!("{name}@example.com");
        let client = self.anonymous();
        client.post("/v1/auth/register", json!({ "email": email, "password": PASSWORD })).await.assert(202);
        let token = self.last_mail_to(&email).await.token();
        client.post("/v1/auth/verify-email", json!({ "token": token })).await.assert(200);
        email
    }

    /// A dashboard session of `<name>@example.com` with [`PASSWORD`].
    pub async fn log_in(&self, name: &str) -> Client {
        let answer = self.try_log_in(name, PASSWORD).await.assert(200);
        self.anonymous().with_token(Some(answer["accessKey"].as_str().unwrap().to_owned()))
    }

    /// The response to a login of `<name>@example.com` with this password.
    pub async fn try_log_in(&self, name: &str, password: &str) -> Answer {
        self.anonymous().post("/v1/auth/login", login(&format!("{name}@example.com"), password)).await
    }

    /// A session of the existing account `<name>@example.com`, without a login.
    pub async fn open_session(&self, name: &str, origin: SessionOrigin) -> Client {
        self.open_session_of(name, origin, "127.0.0.1", &Device::default()).await
    }

    /// The same from another address, and for a CLI that describes itself.
    pub async fn open_session_of(&self, name: &str, origin: SessionOrigin, address: &str, device: &Device) -> Client {
        let account = self.account_of(name).await;
        let state = self.state();
        let token = testing::session(&state, &account, origin, address.parse().unwrap(), device).await.unwrap();
        self.anonymous().with_token(Some(token))
    }

    /// Another access key of the existing account `<name>@example.com`.
    pub async fn named_key(&self, name: &str, key: &str) -> Client {
        let account = self.account_of(name).await;
        let state = self.state();
        let mut tx = state.db.write().await.unwrap();
        let token = testing::access_key(&mut tx, &account, key, testing::ACCESS_KEY_TTL, state.now()).await.unwrap();
        tx.commit().await.unwrap();
        self.anonymous().with_token(Some(token))
    }

    /// An API key of the existing account `<name>@example.com` with these scopes.
    pub async fn api_key(&self, name: &str, scopes: &[&str]) -> Client {
        let session = self.open_session(name, SessionOrigin::Dashboard).await;
        let made = session.post("/v1/api-keys", json!({ "name": "test", "scopes": scopes })).await.assert(201);
        self.anonymous().with_token(Some(made["key"].as_str().unwrap().to_owned()))
    }

    /// Lets the MFA deadline of `<name>@example.com`, who has [`PASSWORD`], start and pass.
    pub async fn miss_mfa_deadline(&self, name: &str) {
        let deadline = self.try_log_in(name, PASSWORD).await.assert(200)["mfaSetupDeadline"].as_i64().unwrap();
        self.clock.advance(deadline + 1 - self.clock.now().0);
    }

    /// A client of the existing account `<name>@example.com` for each kind of session other than the dashboard's.
    pub async fn other_sessions(&self, name: &str) -> [Client; 3] {
        let old = self.open_session(name, SessionOrigin::Dashboard).await;
        self.forget_origin(&old).await;
        [self.open_session(name, SessionOrigin::CliBrowser).await, self.open_session(name, SessionOrigin::CliDevice).await, old]
    }

    /// Removes the origin of a client's session, as for sessions created before origins were stored.
    pub async fn forget_origin(&self, client: &Client) {
        let hash = shared::hash::Sha256Hex::of(client.token().as_bytes()).to_string();
        let sql = "UPDATE access_keys SET credential_origin = NULL, is_session = TRUE WHERE token_hash = $1";
        assert_eq!(self.change(sql, &[&hash]).await, 1);
    }

    /// The ID of the account `<name>@example.com`.
    pub async fn account_of(&self, name: &str) -> AccountId {
        let mut tx = self.db().read().await.unwrap();
        let found = testing::account_by_email(&mut tx, &format!("{name}@example.com")).await.unwrap();
        found.unwrap_or_else(|| panic!("{name} has no account"))
    }
}
