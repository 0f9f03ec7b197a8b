//! Settings of external services: Workers KV, the mail server, human verification.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use percent_encoding::percent_decode_str;
use reqwest::Url;
use shared::time::parse_duration;

use super::error::ConfigError;
use super::service::Switch;
use super::values::{address, secret_address};
use crate::infra::challenge::TurnstileConfig;
use crate::infra::kv::KvConfig;
use crate::infra::loopback::is_loopback;
use crate::infra::mail::{MailConfig, SmtpConfig, SmtpTls};
use crate::infra::s3::Credentials;
use crate::infra::storage::StorageConfig;

/// Cloudflare's endpoint that verifies challenge tokens.
const VERIFIER: &str = "https://challenges.cloudflare.com/turnstile/v0/siteverify";
/// Cloudflare's script that renders the challenge on pages.
const SCRIPT: &str = "https://challenges.cloudflare.com/turnstile/v0/api.js";

/// Where bundles are stored.
#[derive(Args)]
#[command(next_help_heading = "Bundles")]
pub(super) struct Bundles {
    /// Where bundles are stored: in the data folder, or in a bucket. Services other than AWS need the endpoint.
    /// Credentials are those of the environment, otherwise of the AWS profile, or of the machine's or the container's role
    #[arg(long, env = "UPDRAFT_STORAGE", value_name = "file|s3://BUCKET?endpoint=URL&region=NAME", default_value = "file", value_parser = StorageConfig::parse)]
    storage: StorageConfig,
    /// Verify each bundle while it is downloaded: the download ends early if the bytes are not those that were stored
    #[arg(long, env = "UPDRAFT_VERIFY_BUNDLES", default_value = "on", value_enum)]
    verify_bundles: Switch,
    /// Make diffs, so that devices download only what a release changes. off: makes no more, and keeps those that exist
    #[arg(long, env = "UPDRAFT_DIFFS", default_value = "on", value_enum)]
    diffs: Switch,
    /// ID of the access key for the bucket
    #[arg(long, env = "AWS_ACCESS_KEY_ID", hide = true)]
    aws_access_key_id: Option<String>,
    /// Secret of the access key for the bucket. Required if `AWS_ACCESS_KEY_ID` is set
    #[arg(long, env = "AWS_SECRET_ACCESS_KEY", hide = true)]
    aws_secret_access_key: Option<String>,
    /// Token of the session that the access key belongs to, if it is a temporary one
    #[arg(long, env = "AWS_SESSION_TOKEN", hide = true)]
    aws_session_token: Option<String>,
}

impl Bundles {
    /// Whether bundles are verified while they are downloaded.
    pub(super) fn verifies(&self) -> bool {
        self.verify_bundles == Switch::On
    }

    /// Whether diffs are made.
    pub(super) fn makes_diffs(&self) -> bool {
        self.diffs == Switch::On
    }

    /// The backend. Credentials without a bucket are those of other programs.
    pub(super) fn config(self) -> Result<StorageConfig, ConfigError> {
        if matches!(self.storage, StorageConfig::Folder) {
            return Ok(StorageConfig::Folder);
        }
        let credentials = match (self.aws_access_key_id, self.aws_secret_access_key) {
            (Some(id), Some(secret)) => Some(Credentials::new(id, secret, self.aws_session_token)),
            (None, None) => None,
            _ => return Err(ConfigError::setting("STORAGE", "needs both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither")),
        };
        Ok(self.storage.with(credentials))
    }
}

/// Where snapshots are pushed for the edge.
#[derive(Args)]
#[command(next_help_heading = "Workers KV")]
pub(super) struct Kv {
    /// URL of the Workers KV REST API, without /storage/kv. If set, snapshots are pushed there for the edge
    #[arg(long, env = "UPDRAFT_KV_API", value_name = "URL", value_parser = secret_address)]
    kv_api: Option<String>,
    /// ID of the Cloudflare account. Required if `UPDRAFT_KV_API` ends with /accounts
    #[arg(long, env = "UPDRAFT_KV_ACCOUNT", value_name = "ID")]
    kv_account: Option<String>,
    /// ID of the KV namespace. Required if `UPDRAFT_KV_API` is set
    #[arg(long, env = "UPDRAFT_KV_NAMESPACE", value_name = "ID")]
    kv_namespace: Option<String>,
    /// Cloudflare API token with permission to edit Workers KV. Required if `UPDRAFT_KV_API` is set
    #[arg(long, env = "UPDRAFT_KV_TOKEN", hide = true)]
    kv_token: Option<String>,
}

impl Kv {
    /// The KV configuration; `None` without a URL.
    pub(super) fn config(self) -> Result<Option<KvConfig>, ConfigError> {
        let Some(api) = self.kv_api else { return Ok(None) };
        let needed = |name: &'static str, value: Option<String>| {
            let reason = "is required when UPDRAFT_KV_API is set; wrangler's local API accepts any text";
            value.ok_or_else(|| ConfigError::setting(name, reason))
        };
        let (namespace, token) = (needed("KV_NAMESPACE", self.kv_namespace)?, needed("KV_TOKEN", self.kv_token)?);
        if !namespace.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
            return Err(ConfigError::setting("KV_NAMESPACE", "must be a namespace ID: letters, digits, dashes and underscores"));
        }
        // The URL may include the account, or leave it to KV_ACCOUNT.
        let api = match self.kv_account {
            Some(account) if api.ends_with("/accounts") => format!("{api}/{account}"),
            None if api.ends_with("/accounts") => {
                return Err(ConfigError::setting("KV_ACCOUNT", "is required when UPDRAFT_KV_API ends with /accounts"));
            }
            _ => api,
        };
        Ok(Some(KvConfig { api, namespace, token }))
    }
}

/// How emails are sent.
#[derive(Args)]
#[command(next_help_heading = "Mail")]
pub struct Mail {
    /// URL of the mail server, smtp://user:password@host:port or smtps://…; if not set, emails are written to files in the data folder
    #[arg(long, env = "UPDRAFT_SMTP_URL", hide = true, value_parser = smtp)]
    pub smtp_url: Option<SmtpConfig>,
    /// Sender of emails. Defaults to Updraft <no-reply@HOST>, with the host of `UPDRAFT_BASE_URL`
    #[arg(long, env = "UPDRAFT_MAIL_FROM", value_name = "ADDRESS")]
    pub mail_from: Option<String>,
}

/// The human-verification challenge.
#[derive(Args)]
#[command(next_help_heading = "Human verification")]
pub(super) struct Challenge {
    /// Secret key of Cloudflare Turnstile. Human verification is on if this and `UPDRAFT_TURNSTILE_SITE_KEY` are set
    #[arg(long, env = "UPDRAFT_TURNSTILE_SECRET", hide = true)]
    turnstile_secret: Option<String>,
    /// Site key of Cloudflare Turnstile. Human verification is on if this and `UPDRAFT_TURNSTILE_SECRET` are set
    #[arg(long, env = "UPDRAFT_TURNSTILE_SITE_KEY", value_name = "KEY")]
    turnstile_site_key: Option<String>,
    /// URL that verifies challenge tokens
    #[arg(long, env = "UPDRAFT_TURNSTILE_URL", value_name = "URL", default_value = VERIFIER, value_parser = secret_address)]
    turnstile_url: String,
    /// URL of the script that renders the challenge on pages
    #[arg(long, env = "UPDRAFT_TURNSTILE_SCRIPT", value_name = "URL", default_value = SCRIPT, value_parser = address)]
    turnstile_script: String,
}

impl Mail {
    /// The mail configuration. The sender defaults to an address at the base URL's host.
    pub(super) fn config(self, base_url: &str) -> Result<MailConfig, ConfigError> {
        let from = self.mail_from.unwrap_or_else(|| {
            let url = Url::parse(base_url).ok();
            // A bare IP address is not valid as the domain of an email address.
            let domain = url.as_ref().and_then(Url::domain).unwrap_or("localhost");
            format!("Updraft <no-reply@{domain}>")
        });
        let wrong = |_| ConfigError::setting("MAIL_FROM", "must be an address such as Updraft <no-reply@example.com>");
        Ok(MailConfig { from: from.parse().map_err(wrong)?, smtp: self.smtp_url })
    }
}

/// Parses a mail server's URL. Errors never repeat it, because it contains a password.
fn smtp(text: &str) -> Result<SmtpConfig, &'static str> {
    const FORM: &str = "must be smtp://user:password@host:port or smtps://…; user, password and port are optional";
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
        _ => return Err("must have both a user and a password, or neither"),
    };
    let mut tls = match (is_implicit, &credentials) {
        (true, _) => SmtpTls::Implicit,
        // Emails carry tokens: an attacker on the network must not be able to strip the server's STARTTLS offer.
        (false, _) if !is_loopback(host) => SmtpTls::Required,
        (false, _) => SmtpTls::Offered,
    };
    let (mut tls_ca, mut timeout) = (None, Duration::from_secs(30));
    for (name, value) in url.query_pairs() {
        match (name.as_ref(), value.as_ref()) {
            ("tls", "required") if !is_implicit => tls = SmtpTls::Required,
            ("tls", "off") if !is_implicit && (credentials.is_none() || is_loopback(host)) => tls = SmtpTls::Off,
            ("tls", "off") => return Err("must not have tls=off: the password would be sent unencrypted"),
            ("tls_ca", path) if !path.is_empty() => tls_ca = Some(PathBuf::from(path)),
            ("timeout", text) => {
                let millis = parse_duration(text).ok().filter(|millis| (100..=300_000).contains(millis));
                timeout =
                    millis.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis).ok_or("timeout must be 100ms to 5m")?;
            }
            _ => {
                return Err("accepts only tls=required, tls=off, tls_ca=/path/to/ca.pem and timeout=30s as query parameters");
            }
        }
    }
    let host = host.trim_matches(['[', ']']).to_owned();
    Ok(SmtpConfig { host, port: url.port().unwrap_or(if is_implicit { 465 } else { 587 }), credentials, tls, tls_ca, timeout })
}

impl Challenge {
    /// The challenge's configuration. With only one of the two keys the challenge would not protect anything, and nobody would notice.
    pub(super) fn config(self) -> Result<Option<TurnstileConfig>, ConfigError> {
        let (url, script) = (self.turnstile_url, self.turnstile_script);
        match (self.turnstile_secret, self.turnstile_site_key) {
            (None, None) => Ok(None),
            (Some(secret), Some(site_key)) => Ok(Some(TurnstileConfig { secret, site_key, url, script })),
            (None, Some(_)) => Err(ConfigError::setting("TURNSTILE_SECRET", "is required when UPDRAFT_TURNSTILE_SITE_KEY is set")),
            (Some(_), None) => Err(ConfigError::setting("TURNSTILE_SITE_KEY", "is required when UPDRAFT_TURNSTILE_SECRET is set")),
        }
    }
}
