//! Checks of the server: its name, the connection, its health, version and clock; and of the credential.

use reqwest::{Method, StatusCode, Url, header};
use shared::api::accounts::AccountAnswer;
use shared::api::health::{CheckResult, Checks, Health};
use shared::time::UnixMillis;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use super::report::Report;
use crate::client::{Client, RawAnswer};
use crate::clock;
use crate::commands::{credential_kind, versions, whoami};
use crate::config::server::ServerUrl;
use crate::context::{Context, Server};
use crate::error::{Error, Kind, Result};
use crate::output::times;

/// The difference between two clocks that is worth a warning, in milliseconds.
const CLOCK_TOLERANCE: i64 = 60_000;
/// How long before its expiry a credential is worth a warning, in milliseconds.
const EXPIRES_SOON: i64 = 7 * 86_400_000;

const NAME: &str = "server";
const DNS: &str = "dns";
const CONNECTION: &str = "connection";
const HEALTH: &str = "health";
const VERSION: &str = "version";
const CLOCK: &str = "clock";
const CREDENTIAL: &str = "credential";

/// Checks server and credential. Returns a client if both work.
pub(super) async fn check(context: &Context, report: &mut Report<'_>) -> Option<Client> {
    let server = match context.server() {
        Ok(server) => server,
        Err(error) => {
            report.failed(NAME, &error);
            skip(report, &[DNS, CONNECTION, HEALTH, VERSION, CLOCK, CREDENTIAL], "no server is known");
            return None;
        }
    };
    report.ok(NAME, server.url.as_str());
    match reach(context, &server.url, report).await {
        Ok(()) => credential(context, &server, report).await,
        Err(left) => {
            skip(report, left, "the server cannot be reached");
            None
        }
    }
}

fn skip(report: &mut Report<'_>, checks: &[&'static str], why: &str) {
    for check in checks {
        report.skipped(check, why);
    }
}

/// Whether requests go through a proxy, which then resolves names.
fn has_proxy(url: &Url) -> bool {
    let scheme = format!("{}_PROXY", url.scheme().to_uppercase());
    [scheme.as_str(), "ALL_PROXY"]
        .iter()
        .flat_map(|name| [(*name).to_owned(), name.to_lowercase()])
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Checks the way to the server and its health. Errors: the checks that were not made.
async fn reach(context: &Context, url: &ServerUrl, report: &mut Report<'_>) -> Result<(), &'static [&'static str]> {
    if let Err(error) = resolve(url, report).await {
        report.failed(DNS, &error);
        return Err(&[CONNECTION, HEALTH, VERSION, CLOCK, CREDENTIAL]);
    }
    let client = Client::new(context, url, None);
    let live = match &client {
        Ok(client) => client.raw(Method::GET, "/v1/health?live", |request| request).await.map(|answer| (client, answer)),
        Err(error) => Err(error.clone()),
    };
    let (client, answer) = match live {
        Ok(found) => found,
        Err(error) => {
            report.failed(CONNECTION, &connection_advice(error));
            return Err(&[HEALTH, VERSION, CLOCK, CREDENTIAL]);
        }
    };
    let how = if url.as_str().starts_with("https") { "TLS and HTTP work" } else { "HTTP works, unencrypted" };
    report.ok(CONNECTION, how);
    let Some(version) = version_of(client, &answer) else {
        let next = "Check the URL: that of the API, not of another page. A proxy or firewall may also answer in its place.";
        report
            .failed(HEALTH, &Error::new(Kind::Unreachable, format!("{url} answers {}, but not as an Updraft server", answer.status), next));
        return Err(&[VERSION, CLOCK, CREDENTIAL]);
    };
    health(client, report).await;
    match versions::difference(&version, versions::CLI) {
        None => report.ok(VERSION, format!("server {version}, CLI {}", versions::CLI)),
        Some(text) => report.warning(VERSION, text, "Bring both to the same version."),
    }
    compare_clocks(&answer, report);
    Ok(())
}

async fn resolve(url: &ServerUrl, report: &mut Report<'_>) -> Result<()> {
    let parsed = Url::parse(url.as_str()).ok();
    let Some((host, port, parsed)) = parsed.and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?, url))) else {
        report.skipped(DNS, "the URL has no host");
        return Ok(());
    };
    if has_proxy(&parsed) {
        report.skipped(DNS, "a proxy resolves it: HTTPS_PROXY or ALL_PROXY is set");
        return Ok(());
    }
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::net::lookup_host((host, port)).await.map(|mut addresses| addresses.next());
    let next = "Check the spelling of the URL, your network and its DNS.";
    match found {
        Ok(Some(address)) => {
            report.ok(DNS, format!("{host} is {}", address.ip()));
            Ok(())
        }
        Ok(None) => Err(Error::new(Kind::Unreachable, format!("{host} has no address"), next)),
        Err(error) => Err(Error::new(Kind::Unreachable, format!("{host} cannot be resolved: {error}"), next)),
    }
}

/// Advice that fits what failed.
fn connection_advice(error: Error) -> Error {
    let what = error.what.to_lowercase();
    let next = if what.contains("certificate") {
        "Give the server a certificate that this system trusts, or add its issuer to this system's certificates."
    } else if what.contains("corrupt message") || what.contains("tls") {
        "The server does not speak TLS on this port: check the URL's scheme and port."
    } else if what.contains("refused") {
        "Nothing listens there: check the port, and that the server runs."
    } else {
        "Check your network, firewall and proxy."
    };
    error.with_next(next)
}

fn version_of(client: &Client, answer: &RawAnswer) -> Option<String> {
    if answer.status != StatusCode::OK {
        return None;
    }
    client.read::<Health>(answer).ok().map(|answer| answer.value.version)
}

async fn health(client: &Client, report: &mut Report<'_>) {
    // Also 503 has the checks.
    let answer = client.raw(Method::GET, "/v1/health", |request| request).await;
    let checks = answer.and_then(|answer| client.read::<Health>(&answer)).map(|answer| answer.value.checks);
    match checks {
        Ok(Some(Checks { database: CheckResult::Failed, .. })) => report.failed(HEALTH, &unhealthy("the server's database fails")),
        Ok(Some(Checks { storage: CheckResult::Failed, .. })) => report.failed(HEALTH, &unhealthy("the server's bundle storage fails")),
        Ok(Some(Checks { edge: CheckResult::Degraded | CheckResult::Failed, .. })) => {
            report.warning(HEALTH, "the edge lags behind: devices get new releases late", "Tell your administrator if it persists.");
        }
        Ok(_) => report.ok(HEALTH, "the server works"),
        Err(error) => report.failed(HEALTH, &error),
    }
}

fn unhealthy(what: &str) -> Error {
    Error::new(Kind::Unreachable, what, "Try again later, and tell your administrator.")
}

fn compare_clocks(answer: &RawAnswer, report: &mut Report<'_>) {
    let theirs = answer.headers.get(header::DATE).and_then(|date| http_date(date.to_str().ok()?));
    let Some(theirs) = theirs else {
        return report.skipped(CLOCK, "the server does not say what time it is");
    };
    let ahead = clock::now().as_millis().saturating_sub(theirs.as_millis());
    if ahead.saturating_abs() <= CLOCK_TOLERANCE {
        return report.ok(CLOCK, "this machine and the server agree");
    }
    let direction = if ahead > 0 { "ahead of" } else { "behind" };
    let text = format!("this machine is {} {direction} the server", times::span(ahead.saturating_abs() / 1_000));
    report.warning(CLOCK, text, "Set the clock, such as with NTP: times and expiry dates are shown wrong until then.");
}

/// A `Date` header, such as `Wed, 25 Nov 2026 02:28:39 GMT`.
fn http_date(text: &str) -> Option<UnixMillis> {
    let time = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    Some(UnixMillis(time.unix_timestamp().saturating_mul(1_000)))
}

/// Checks the credential. Returns a client if it works.
async fn credential(context: &Context, server: &Server, report: &mut Report<'_>) -> Option<Client> {
    let (client, credential) = match (context.client(), Context::credential(server)) {
        (Ok(client), Ok(Some(credential))) => (client, credential),
        (Err(error), _) | (_, Err(error)) => {
            report.failed(CREDENTIAL, &error);
            return None;
        }
        // A client has a credential.
        (Ok(_), Ok(None)) => return None,
    };
    let account = match client.get::<AccountAnswer>("/v1/account").await {
        Ok(answer) => answer.value.account,
        Err(error) => {
            report.failed(CREDENTIAL, &error);
            return None;
        }
    };
    let expires = whoami::expiry(&client, &credential).await;
    let until = expires.map(|expires| format!(", expires on {}", expires.utc_date())).unwrap_or_default();
    let text = format!("{}: {}{until}", account.email, credential_kind::describe(&credential));
    if expires.is_some_and(|expires| expires.as_millis() - clock::now().as_millis() < EXPIRES_SOON) {
        report.warning(CREDENTIAL, text, "Run `updraft login` again before it expires.");
    } else {
        report.ok(CREDENTIAL, text);
    }
    Some(client)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_http_are_read() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:10 GMT"), Some(UnixMillis(10_000)));
        assert_eq!(http_date("soon"), None);
    }
}
