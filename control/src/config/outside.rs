//! Other services: Workers KV, the mail server, the human-verification challenge.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use percent_encoding::percent_decode_str;
use reqwest::Url;
use shared::time::parse_duration;

use super::error::ConfigError;
use super::values::{address, secret_address};
use crate::infra::challenge::TurnstileConfig;
use crate::infra::kv::KvConfig;
use crate::infra::loopback::is_loopback;
use crate::infra::mail::{MailConfig, SmtpConfig, SmtpTls};

/// Cloudflare's verifier of challenges.
const VERIFIER: &str = "https://challenges.cloudflare.com/turnstile/v0/siteverify";
/// Cloudflare's script for pages.
const SCRIPT: &str = "https://challenges.cloudflare.com/turnstile/v0/api.js";

/// Where snapshots are pushed for the edge.
#[derive(Args)]
#[command(next_help_heading = "Workers KV")]
pub(super) struct Kv {
    /// Workers KV's REST address up to and without /storage/kv; snapshots are pushed there
    #[arg(long, env = "UPDRAFT_KV_API", value_name = "URL", value_parser = secret_address)]
    kv_api: Option<String>,
    /// The Cloudflare account's id, when the address ends with /accounts
    #[arg(long, env = "UPDRAFT_KV_ACCOUNT", value_name = "ID")]
    kv_account: Option<String>,
    /// The KV namespace's id
    #[arg(long, env = "UPDRAFT_KV_NAMESPACE", value_name = "ID")]
    kv_namespace: Option<String>,
    /// An API token that may edit Workers KV
    #[arg(long, env = "UPDRAFT_KV_TOKEN", hide = true)]
    kv_token: Option<String>,
}

impl Kv {
    /// The whole of it, or nothing without an address.
    pub(super) fn config(self) -> Result<Option<KvConfig>, ConfigError> {
        let Some(api) = self.kv_api else { return Ok(None) };
        let needed = |name: &'static str, value: Option<String>| {
            let reason = "is needed when UPDRAFT_KV_API is set; any text serves wrangler's local API";
            value.ok_or_else(|| ConfigError::setting(name, reason))
        };
        let (namespace, token) = (needed("KV_NAMESPACE", self.kv_namespace)?, needed("KV_TOKEN", self.kv_token)?);
        if !namespace.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
            return Err(ConfigError::setting("KV_NAMESPACE", "must be a namespace id"));
        }
        // The base address may name the account itself or leave it to KV_ACCOUNT.
        let api = match self.kv_account {
            Some(account) if api.ends_with("/accounts") => format!("{api}/{account}"),
            None if api.ends_with("/accounts") => {
                return Err(ConfigError::setting("KV_ACCOUNT", "is needed when UPDRAFT_KV_API ends with /accounts"));
            }
            _ => api,
        };
        Ok(Some(KvConfig { api, namespace, token }))
    }
}

/// How mails go out.
#[derive(Args)]
#[command(next_help_heading = "Mail")]
pub struct Mail {
    /// The mail server, smtp://user:password@host:port or smtps://…; mails become files in the data folder when not set
    #[arg(long, env = "UPDRAFT_SMTP_URL", hide = true, value_parser = smtp)]
    pub smtp_url: Option<SmtpConfig>,
    /// Whom mails are from; Updraft <no-reply@…> at the base address's host when not set
    #[arg(long, env = "UPDRAFT_MAIL_FROM", value_name = "ADDRESS")]
    pub mail_from: Option<String>,
}

/// Whether a human must prove to be one.
#[derive(Args)]
#[command(next_help_heading = "Human verification")]
pub(super) struct Challenge {
    /// The secret of the human-verification challenge, which is on when this and the site key are set
    #[arg(long, env = "UPDRAFT_TURNSTILE_SECRET", hide = true)]
    turnstile_secret: Option<String>,
    /// The challenge's public key, for pages
    #[arg(long, env = "UPDRAFT_TURNSTILE_SITE_KEY", value_name = "KEY")]
    turnstile_site_key: Option<String>,
    /// Where the challenge's tokens are verified
    #[arg(long, env = "UPDRAFT_TURNSTILE_URL", value_name = "URL", default_value = VERIFIER, value_parser = secret_address)]
    turnstile_url: String,
    /// The script that shows the challenge on pages
    #[arg(long, env = "UPDRAFT_TURNSTILE_SCRIPT", value_name = "URL", default_value = SCRIPT, value_parser = address)]
    turnstile_script: String,
}

impl Mail {
    /// Mails are from the base address's host, unless told otherwise.
    pub(super) fn config(self, base_url: &str) -> Result<MailConfig, ConfigError> {
        let from = self.mail_from.unwrap_or_else(|| {
            let url = Url::parse(base_url).ok();
            // No mail address ends in a bare IP address.
            let domain = url.as_ref().and_then(Url::domain).unwrap_or("localhost");
            format!("Updraft <no-reply@{domain}>")
        });
        let wrong = |_| ConfigError::setting("MAIL_FROM", "must be an address such as Updraft <no-reply@example.com>");
        Ok(MailConfig { from: from.parse().map_err(wrong)?, smtp: self.smtp_url })
    }
}

/// Reads a mail server's address. Its text is never part of an error: it holds a password.
fn smtp(text: &str) -> Result<SmtpConfig, &'static str> {
    const FORM: &str = "must be smtp://user:password@host:port or smtps://…, with user, password and port as needed";
    let url = Url::parse(text).map_err(|_| FORM)?;
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or(FORM)?;
    let is_implicit = match url.scheme() {
        "smtp" => false,
        "smtps" => true,
        _ => return Err(FORM),
    };
    if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
        return Err(FORM);
    }
    let decoded = |part: &str| percent_decode_str(part).decode_utf8().map(std::borrow::Cow::into_owned).map_err(|_| FORM);
    let credentials = match (url.username(), url.password()) {
        ("", None) => None,
        (user, Some(password)) if !user.is_empty() => Some((decoded(user)?, decoded(password)?)),
        _ => return Err("needs both a user and a password, or neither"),
    };
    let mut tls = match (is_implicit, &credentials) {
        (true, _) => SmtpTls::Implicit,
        // Mails carry tokens: whoever is on the way must not be able to hide that the server offers encryption.
        (false, _) if !is_loopback(host) => SmtpTls::Required,
        (false, _) => SmtpTls::Offered,
    };
    let (mut tls_ca, mut timeout) = (None, Duration::from_secs(30));
    for (name, value) in url.query_pairs() {
        match (name.as_ref(), value.as_ref()) {
            ("tls", "required") if !is_implicit => tls = SmtpTls::Required,
            ("tls", "off") if !is_implicit && (credentials.is_none() || is_loopback(host)) => tls = SmtpTls::Off,
            ("tls", "off") => return Err("tls=off would send the password in the clear"),
            ("tls_ca", path) if !path.is_empty() => tls_ca = Some(PathBuf::from(path)),
            ("timeout", text) => {
                let millis = parse_duration(text).ok().filter(|millis| (100..=300_000).contains(millis));
                timeout =
                    millis.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis).ok_or("timeout must be 100ms to 5m")?;
            }
            _ => {
                return Err("knows tls=required, tls=off, tls_ca=/path/of/authorities.pem and timeout=30s behind the question mark");
            }
        }
    }
    let host = host.trim_matches(['[', ']']).to_owned();
    Ok(SmtpConfig { host, port: url.port().unwrap_or(if is_implicit { 465 } else { 587 }), credentials, tls, tls_ca, timeout })
}

impl Challenge {
    /// The whole of it, or nothing: half a challenge would be noticed only by those who get in.
    pub(super) fn config(self) -> Result<Option<TurnstileConfig>, ConfigError> {
        let (url, script) = (self.turnstile_url, self.turnstile_script);
        match (self.turnstile_secret, self.turnstile_site_key) {
            (None, None) => Ok(None),
            (Some(secret), Some(site_key)) => Ok(Some(TurnstileConfig { secret, site_key, url, script })),
            (None, Some(_)) => Err(ConfigError::setting("TURNSTILE_SECRET", "is needed when UPDRAFT_TURNSTILE_SITE_KEY is set")),
            (Some(_), None) => Err(ConfigError::setting("TURNSTILE_SITE_KEY", "is needed when UPDRAFT_TURNSTILE_SECRET is set")),
        }
    }
}
