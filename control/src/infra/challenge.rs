//! Human verification with Cloudflare Turnstile, or a verifier with the same API.
//!
//! It fails closed: if the verifier is unreachable or its answer is invalid, the response is 503, not a failed verification.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::{Client, StatusCode, redirect};
use serde::{Deserialize, Serialize};
use shared::ids::RequestId;

use crate::infra::clock::{Clock, Entropy};
use crate::infra::error::{Cause, Error};

/// From the first byte sent to the last received.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length of a token, in characters.
const MAX_TOKEN_LENGTH: usize = 2_048;
/// Maximum size of the verifier's answer, in bytes. It usually has a few hundred.
const MAX_ANSWER_BYTES: usize = 64 << 10;
/// Error codes that are about this service or the verifier, and not about the token.
const SERVICE_ERRORS: [&str; 4] = ["missing-input-secret", "invalid-input-secret", "bad-request", "internal-error"];

/// The configuration of human verification.
#[derive(Clone)]
pub struct TurnstileConfig {
    /// The secret that authenticates this service to the verifier.
    pub secret: String,
    /// The public key with which pages render the challenge.
    pub site_key: String,
    /// The verifier's URL.
    pub url: String,
    /// The URL of the script that renders the challenge on pages.
    pub script: String,
}

impl std::fmt::Debug for TurnstileConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TurnstileConfig").field("site_key", &self.site_key).field("url", &self.url).finish_non_exhaustive()
    }
}

/// The client of the verifier, if one is configured.
#[derive(Debug)]
pub struct Challenge {
    verifier: Option<Verifier>,
}

#[derive(Debug)]
struct Verifier {
    http: Client,
    config: TurnstileConfig,
    clock: Clock,
    entropy: Entropy,
}

#[derive(Serialize)]
struct VerifyRequest<'q> {
    secret: &'q str,
    response: &'q str,
    remoteip: IpAddr,
    idempotency_key: RequestId,
}

#[derive(Deserialize)]
struct Answer {
    success: bool,
    #[serde(default, rename = "error-codes")]
    error_codes: Vec<String>,
}

impl Challenge {
    /// A client for this configuration; without one, human verification is off. A rustls crypto provider must be installed.
    pub fn new(config: Option<TurnstileConfig>, clock: Clock, entropy: Entropy) -> Result<Self, Cause> {
        let Some(config) = config else { return Ok(Self { verifier: None }) };
        // No proxy from the environment, and no redirect: the secret goes to the configured address and nowhere else.
        let http = Client::builder().no_proxy().redirect(redirect::Policy::none()).timeout(TIMEOUT).build()?;
        Ok(Self { verifier: Some(Verifier { http, config, clock, entropy }) })
    }

    /// Whether human verification is on.
    pub fn is_on(&self) -> bool {
        self.verifier.is_some()
    }

    /// Whether this token is valid. True if human verification is off; false for a missing token, or one that the verifier refuses, such as a used one.
    /// Fails if the verifier is unavailable.
    pub async fn verify(&self, token: Option<&str>, address: IpAddr) -> Result<bool, Error> {
        let Some(verifier) = &self.verifier else { return Ok(true) };
        let Some(token) = token.filter(|token| !token.is_empty() && token.len() <= MAX_TOKEN_LENGTH) else { return Ok(false) };
        let answer = verifier.ask(token, address).await.map_err(Error::Unavailable)?;
        match answer {
            Answer { success: true, .. } => Ok(true),
            Answer { error_codes, .. } => match error_codes.into_iter().find(|code| SERVICE_ERRORS.contains(&code.as_str())) {
                None => Ok(false),
                Some(code) => Err(Error::unavailable(format!("the challenge verifier returned the error {code}"))),
            },
        }
    }
}

impl Verifier {
    async fn ask(&self, token: &str, address: IpAddr) -> Result<Answer, Cause> {
        let idempotency_key = RequestId::v7(self.clock.now(), self.entropy.bytes()?);
        let question = VerifyRequest { secret: &self.config.secret, response: token, remoteip: address, idempotency_key };
        let mut response = self.http.post(&self.config.url).form(&question).send().await.map_err(reqwest::Error::without_url)?;
        if response.status() != StatusCode::OK {
            return Err(format!("the challenge verifier returned status {}", response.status().as_u16()).into());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ANSWER_BYTES {
                return Err("the answer of the challenge verifier is too large".into());
            }
        }
        serde_json::from_slice(&body).map_err(|_| "the answer of the challenge verifier is invalid".into())
    }
}
