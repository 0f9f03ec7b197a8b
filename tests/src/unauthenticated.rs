//! Unauthenticated clients, each with its own address, for limits per address.

use reqwest::Method;
use serde_json::{Value, json};

use crate::people::{PASSWORD, login};
use crate::{Answer, Client, Options, TestApp};

/// A client at an address.
#[derive(Clone, Debug)]
pub struct Stranger {
    client: Client,
    address: String,
}

impl TestApp {
    /// A server that trusts the addresses its clients send, like those of a proxy.
    pub async fn spawn_among_strangers(options: Options) -> Self {
        Self::spawn_with(options.with("TRUSTED_PROXIES", "127.0.0.1")).await
    }

    /// A client at this address, for [`TestApp::spawn_among_strangers`].
    pub fn stranger(&self, address: &str) -> Stranger {
        Stranger { client: self.anonymous(), address: address.to_owned() }
    }
}

impl Stranger {
    /// POST with JSON.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.client.send(self.client.request(Method::POST, path).header("x-forwarded-for", &self.address).json(&body)).await
    }

    /// Logs in as `<name>@example.com`.
    pub async fn log_in(&self, name: &str, password: &str) -> Answer {
        self.post("/v1/auth/login", login(&format!("{name}@example.com"), password)).await
    }

    /// Logs in with a challenge token.
    pub async fn log_in_with(&self, name: &str, password: &str, challenge_token: &str) -> Answer {
        let mut body = login(&format!("{name}@example.com"), password);
        body["challengeToken"] = json!(challenge_token);
        self.post("/v1/auth/login", body).await
    }

    /// Registers `<name>@example.com` with [`PASSWORD`].
    pub async fn register(&self, name: &str) -> Answer {
        self.post("/v1/auth/register", json!({ "email": format!("{name}@example.com"), "password": PASSWORD })).await
    }

    /// Requests a password reset email for `<name>@example.com`.
    pub async fn forget(&self, name: &str) -> Answer {
        self.post("/v1/auth/forgot-password", json!({ "email": format!("{name}@example.com") })).await
    }

    /// Requests another verification email to `<name>@example.com`.
    pub async fn resend(&self, name: &str) -> Answer {
        self.post("/v1/auth/resend-verification", json!({ "email": format!("{name}@example.com") })).await
    }
}
