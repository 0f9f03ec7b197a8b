//! Whether a human sent a request: Cloudflare Turnstile's verifier, or one that speaks like it.
//!
//! A verifier that cannot be asked, or whose answer makes no sense, lets nobody in: that is 503 and not a refusal of this human.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::{Client, StatusCode, redirect};
use serde::{Deserialize, Serialize};
use shared::ids::RequestId;

use crate::config::outside::TurnstileConfig;
use crate::domain::error::{AppError, AppResult, Cause, Code};
use crate::infra::clock::{Clock, Dice};

/// From the first byte sent to the last received.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest token that the verifier gives out, in characters.
const LONGEST_TOKEN: usize = 2_048;
/// The verifier's answer is some hundred bytes.
const MOST_ANSWER: usize = 64 << 10;
/// Refusals that are about this service or the verifier itself and not about the token.
const OUR_FAULTS: [&str; 4] = ["missing-input-secret", "invalid-input-secret", "bad-request", "internal-error"];

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

    /// Passes when the verifier takes the token, and when challenges are off. No token, or one that the verifier refuses (a used one, too), is
    /// 403 with `challenge_required`; when the verifier cannot be asked, it is 503.
    pub async fn verify(&self, token: Option<&str>, address: IpAddr) -> AppResult<()> {
        let Some(verifier) = &self.verifier else { return Ok(()) };
        let token = token.filter(|token| !token.is_empty() && token.len() <= LONGEST_TOKEN).ok_or_else(required)?;
        let answer = verifier.ask(token, address).await.map_err(AppError::unavailable)?;
        match answer {
            Answer { success: true, .. } => Ok(()),
            Answer { error_codes, .. } => match error_codes.into_iter().find(|code| OUR_FAULTS.contains(&code.as_str())) {
                None => Err(required()),
                Some(code) => Err(AppError::unavailable(format!("the challenge's verifier says {code}"))),
            },
        }
    }
}

fn required() -> AppError {
    AppError::Coded(Code::ChallengeRequired, "a valid challengeToken is needed")
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
