//! Whether a human sent a request: Cloudflare Turnstile's verifier, or one that speaks like it.
//!
//! A verifier that cannot be asked, or whose answer makes no sense, lets nobody in: that is 503 and not a refusal of this human.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::{Client, StatusCode, redirect};
use serde::{Deserialize, Serialize};
use shared::ids::RequestId;

use crate::infra::clock::{Clock, Dice};
use crate::infra::error::{Cause, Error};

/// From the first byte sent to the last received.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest token that the verifier gives out, in characters.
const LONGEST_TOKEN: usize = 2_048;
/// The verifier's answer is some hundred bytes.
const MOST_ANSWER: usize = 64 << 10;
/// Refusals that are about this service or the verifier itself and not about the token.
const OUR_FAULTS: [&str; 4] = ["missing-input-secret", "invalid-input-secret", "bad-request", "internal-error"];

/// The human-verification challenge.
#[derive(Clone)]
pub struct TurnstileConfig {
    /// The secret that the verifier knows this service by.
    pub secret: String,
    /// What pages show the challenge with; public.
    pub site_key: String,
    /// The verifier's address.
    pub url: String,
    /// The address of the script that shows the challenge on pages.
    pub script: String,
}

impl std::fmt::Debug for TurnstileConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TurnstileConfig").field("site_key", &self.site_key).field("url", &self.url).finish_non_exhaustive()
    }
}

/// The way to the verifier, where one is configured.
#[derive(Debug)]
pub struct Challenge {
    verifier: Option<Verifier>,
}

#[derive(Debug)]
struct Verifier {
    http: Client,
    config: TurnstileConfig,
    clock: Clock,
    dice: Dice,
}

#[derive(Serialize)]
struct Question<'q> {
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
    /// On when there is a configuration. The process must have a crypto provider of rustls installed.
    pub fn new(config: Option<TurnstileConfig>, clock: Clock, dice: Dice) -> Result<Self, Cause> {
        let Some(config) = config else { return Ok(Self { verifier: None }) };
        // No proxy from the environment, and no redirect: the secret goes to the configured address and nowhere else.
        let http = Client::builder().no_proxy().redirect(redirect::Policy::none()).timeout(TIMEOUT).build()?;
        Ok(Self { verifier: Some(Verifier { http, config, clock, dice }) })
    }

    /// Whether challenges are asked for at all.
    pub fn is_on(&self) -> bool {
        self.verifier.is_some()
    }

    /// Whether somebody with this token passes: when the verifier takes it, and when challenges are off. Nobody passes without one, or with one that the
    /// verifier refuses, such as a used one. Errors: the verifier cannot be asked.
    pub async fn verify(&self, token: Option<&str>, address: IpAddr) -> Result<bool, Error> {
        let Some(verifier) = &self.verifier else { return Ok(true) };
        let Some(token) = token.filter(|token| !token.is_empty() && token.len() <= LONGEST_TOKEN) else { return Ok(false) };
        let answer = verifier.ask(token, address).await.map_err(Error::Unavailable)?;
        match answer {
            Answer { success: true, .. } => Ok(true),
            Answer { error_codes, .. } => match error_codes.into_iter().find(|code| OUR_FAULTS.contains(&code.as_str())) {
                None => Ok(false),
                Some(code) => Err(Error::unavailable(format!("the challenge's verifier says {code}"))),
            },
        }
    }
}

impl Verifier {
    async fn ask(&self, token: &str, address: IpAddr) -> Result<Answer, Cause> {
        let idempotency_key = RequestId::v7(self.clock.now(), self.dice.bytes()?);
        let question = Question { secret: &self.config.secret, response: token, remoteip: address, idempotency_key };
        let mut response = self.http.post(&self.config.url).form(&question).send().await.map_err(reqwest::Error::without_url)?;
        if response.status() != StatusCode::OK {
            return Err(format!("the challenge's verifier answers with status {}", response.status().as_u16()).into());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_ANSWER {
                return Err("the challenge's verifier answers without end".into());
            }
        }
        serde_json::from_slice(&body).map_err(|_| "the challenge's verifier answers with nonsense".into())
    }
}
