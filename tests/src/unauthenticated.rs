//! Unauthenticated callers: without a credential, each from an address of its own, for what is counted by address.

use reqwest::Method;
use serde_json::{Value, json};

use crate::people::{PASSWORD, login};
use crate::{Answer, Client, Options, TestApp};

/// Somebody at an address.
#[derive(Clone, Debug)]
pub struct Stranger {
    client: Client,
    address: String,
}

impl TestApp {
    /// A server that believes what its clients say of their addresses, as it would believe a proxy.
    pub async fn spawn_among_strangers(options: Options) -> Self {
        Self::spawn_with(options.with("TRUSTED_PROXIES", "127.0.0.1")).await
    }

    /// Somebody at this address, for [`TestApp::spawn_among_strangers`].
    pub fn stranger(&self, address: &str) -> Stranger {
        Stranger { client: self.anonymous(), address: address.to_owned() }
    }
}

impl Stranger {
    /// POST of JSON.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.client.send(self.client.request(Method::POST, path).header("x-forwarded-for", &self.address).json(&body)).await
    }

    /// Logs in as `<name>@example.com`.
    pub async fn log_in(&self, name: &str, password: &str) -> Answer {
        self.post("/v1/auth/login", login(&format!("{name}@example.com"), password)).await
    }

    /// Logs in with the token of a challenge.
    pub async fn log_in_with(&self, name: &str, password: &str, challenge_token: &str) -> Answer {
        let mut body = login(&format!("{name}@example.com"), password);
        body["challengeToken"] = json!(challenge_token);
        self.post("/v1/auth/login", body).await
    }

    /// Registers `<name>@example.com` with [`PASSWORD`].
    pub async fn register(&self, name: &str) -> Answer {
        self.post("/v1/auth/register", json!({ "email": format!("{name}@example.com"), "password": PASSWORD })).await
    }

    /// Asks for a mail that resets the password of `<name>@example.com`.
    pub async fn forget(&self, name: &str) -> Answer {
        self.post("/v1/auth/forgot-password", json!({ "email": format!("{name}@example.com") })).await
    }

    /// Asks for another verification mail to `<name>@example.com`.
    pub async fn resend(&self, name: &str) -> Answer {
        self.post("/v1/auth/resend-verification", json!({ "email": format!("{name}@example.com") })).await
    }
}
