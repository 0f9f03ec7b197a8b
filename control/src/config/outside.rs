//! Who is spoken to outside: the mail server, the human-verification challenge.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::Url;
use shared::time::parse_duration;

use super::error::ConfigError;
use super::settings::Settings;
use crate::infra::challenge::TurnstileConfig;
use crate::infra::loopback::is_loopback;
use crate::infra::mail::{MailConfig, SmtpConfig, SmtpTls};

pub(super) fn mail(settings: &Settings<'_>, base_url: &str) -> Result<MailConfig, ConfigError> {
    let from = settings.optional("MAIL_FROM").unwrap_or_else(|| {
        let url = Url::parse(base_url).ok();
        // No mail address ends in a bare IP address.
        let domain = url.as_ref().and_then(Url::domain).unwrap_or("localhost");
        format!("Updraft <no-reply@{domain}>")
    });
    let from = from.parse().map_err(|_| ConfigError::setting("MAIL_FROM", "must be an address such as Updraft <no-reply@example.com>"))?;
    let smtp = settings.optional("SMTP_URL").map(|text| smtp(&text)).transpose()?;
    Ok(MailConfig { from, smtp })
}

/// Reads a mail server's address. Its text is never part of an error: it holds a password.
pub fn smtp(text: &str) -> Result<SmtpConfig, ConfigError> {
    let wrong = |reason: &str| ConfigError::setting("SMTP_URL", reason);
    let form = || wrong("must be smtp://user:password@host:port or smtps://…, with user, password and port as needed");
    let url = Url::parse(text).map_err(|_| form())?;
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(form)?;
    let is_implicit = match url.scheme() {
        "smtp" => false,
        "smtps" => true,
        _ => return Err(form()),
    };
    if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
        return Err(form());
    }
    let decoded = |part: &str| percent_decode_str(part).decode_utf8().map(std::borrow::Cow::into_owned).map_err(|_| form());
    let credentials = match (url.username(), url.password()) {
        ("", None) => None,
        (user, Some(password)) if !user.is_empty() => Some((decoded(user)?, decoded(password)?)),
        _ => return Err(wrong("needs both a user and a password, or neither")),
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
            ("tls", "off") => return Err(wrong("tls=off would send the password in the clear")),
            ("tls_ca", path) if !path.is_empty() => tls_ca = Some(PathBuf::from(path)),
            ("timeout", text) => {
                let millis = parse_duration(text).ok().filter(|millis| (100..=300_000).contains(millis));
                timeout = millis
                    .and_then(|millis| u64::try_from(millis).ok())
                    .map(Duration::from_millis)
                    .ok_or_else(|| wrong("timeout must be 100ms to 5m"))?;
            }
            _ => {
                return Err(wrong("knows tls=required, tls=off, tls_ca=/path/of/authorities.pem and timeout=30s behind the question mark"));
            }
        }
    }
    let host = host.trim_matches(['[', ']']).to_owned();
    Ok(SmtpConfig { host, port: url.port().unwrap_or(if is_implicit { 465 } else { 587 }), credentials, tls, tls_ca, timeout })
}

pub(super) fn turnstile(settings: &Settings<'_>) -> Result<Option<TurnstileConfig>, ConfigError> {
    let url = settings.secret_address("TURNSTILE_URL")?.unwrap_or_else(|| settings.text("TURNSTILE_URL"));
    let script = settings.address("TURNSTILE_SCRIPT")?.unwrap_or_else(|| settings.text("TURNSTILE_SCRIPT"));
    match (settings.optional("TURNSTILE_SECRET"), settings.optional("TURNSTILE_SITE_KEY")) {
        (None, None) => Ok(None),
        (Some(secret), Some(site_key)) => Ok(Some(TurnstileConfig { secret, site_key, url, script })),
        (None, Some(_)) => Err(ConfigError::setting("TURNSTILE_SECRET", "is needed when UPDRAFT_TURNSTILE_SITE_KEY is set")),
        (Some(_), None) => Err(ConfigError::setting("TURNSTILE_SITE_KEY", "is needed when UPDRAFT_TURNSTILE_SECRET is set")),
    }
}
