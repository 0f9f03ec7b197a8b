//! Words refusals: what happened, what to do next, and the exit code.

use reqwest::StatusCode;
use serde::Deserialize;

use super::retry::wait_asked;
use super::{Client, RawAnswer};
use crate::error::{Error, Kind, Refusal};

/// The API's error envelope.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    error: String,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    request_id: Option<String>,
}

/// The error of a refused request.
pub(super) fn error(client: &Client, path: &str, answer: &RawAnswer) -> Error {
    let Ok(envelope) = serde_json::from_slice::<Envelope>(&answer.body) else {
        return foreign(client, answer);
    };
    let refusal = Refusal { status: answer.status.as_u16(), code: envelope.code, request_id: envelope.request_id };
    let code = refusal.code.clone();
    let (kind, next) = match answer.status {
        StatusCode::UNAUTHORIZED => (Kind::NotSignedIn, sign_in_again(client)),
        StatusCode::FORBIDDEN => (Kind::Failed, forbidden(client, code.as_deref(), &envelope.error)),
        StatusCode::NOT_FOUND => (Kind::NotFound, not_found(path)),
        StatusCode::CONFLICT => {
            (Kind::Conflict, "Look at what the server has, then change the command. --help shows what it accepts.".to_owned())
        }
        StatusCode::PAYLOAD_TOO_LARGE => (Kind::Failed, "Make it smaller, or ask your administrator for a higher limit.".to_owned()),
        StatusCode::TOO_MANY_REQUESTS => (Kind::Failed, wait(answer)),
        status if status.is_server_error() => {
            (Kind::Unreachable, "Try again later. If it persists, give your administrator the request ID.".to_owned())
        }
        _ => (Kind::Failed, "Correct the command, then try again. --help shows what it accepts.".to_owned()),
    };
    let what = match answer.status {
        StatusCode::UNAUTHORIZED => format!("{} does not accept your credential: it is wrong, expired or revoked", client.url()),
        _ => envelope.error,
    };
    Error { kind, what, next, answer: Some(refusal) }
}

/// When to try again, as the server says in `Retry-After`. A quota has none, because waiting does not help.
fn wait(answer: &RawAnswer) -> String {
    let Some(wait) = wait_asked(answer, true) else {
        return "Delete what you no longer need, or ask your administrator for a higher limit.".to_owned();
    };
    let (count, unit) = match wait.as_secs() {
        seconds @ 0..60 => (seconds.max(1), "second"),
        seconds @ 60..7_200 => (seconds.div_ceil(60), "minute"),
        seconds => (seconds.div_ceil(3_600), "hour"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("Try again in {count} {unit}{plural}.")
}

fn sign_in_again(client: &Client) -> String {
    match &client.credential {
        Some(credential) if credential.is_from_environment => "Set UPDRAFT_TOKEN to a key that is valid.".to_owned(),
        _ => format!("Run `updraft login --server {}`.", client.url()),
    }
}

fn forbidden(client: &Client, code: Option<&str>, text: &str) -> String {
    let is_from_environment = client.credential.as_ref().is_some_and(|credential| credential.is_from_environment);
    let sign_in = if is_from_environment { "Unset UPDRAFT_TOKEN and run `updraft login`" } else { "Run `updraft login`" };
    match code {
        Some("dashboard_session_required") => "Do this on the dashboard: `updraft open`.".to_owned(),
        Some("mfa_setup_required") => "Set up two-factor authentication first: `updraft open security`.".to_owned(),
        Some("reauth_required" | "step_up_required") => "Sign in on the dashboard again and do it there: `updraft open`.".to_owned(),
        _ if text.ends_with("use a login session") => format!("{sign_in}: only the credential of a sign-in can do this."),
        _ if text.ends_with("use a login session or an access key") => {
            format!("{sign_in}, or set UPDRAFT_TOKEN to an access key: an API key cannot do this.")
        }
        _ if text.contains("suspended") => "Ask your administrator.".to_owned(),
        _ => "Ask an owner or admin of the app for the role, or use a credential with the scope.".to_owned(),
    }
}

fn not_found(path: &str) -> String {
    let segments: Vec<&str> = path.split(['/', '?']).collect();
    match segments.get(2).copied() {
        Some("apps") if matches!(segments.get(6), Some(&("releases" | "release"))) => {
            "Run `updraft release list` to see the labels.".to_owned()
        }
        Some("apps") if segments.get(4) == Some(&"deployments") => "Run `updraft deployment list` to see the deployments.".to_owned(),
        Some("apps") => "Run `updraft app list` to see your apps.".to_owned(),
        Some("access-keys") => "Run `updraft access-key list` to see your keys.".to_owned(),
        Some("api-keys") => "Run `updraft api-key list` to see your keys.".to_owned(),
        Some("sessions") => "Run `updraft session list` to see the sources.".to_owned(),
        Some("cli") => "Run `updraft device list` to see the devices.".to_owned(),
        _ => "Run `updraft doctor`: the server may be older than this CLI.".to_owned(),
    }
}

/// The error of an answer that is not from this API, such as a proxy's.
fn foreign(client: &Client, answer: &RawAnswer) -> Error {
    let refusal = Refusal { status: answer.status.as_u16(), code: None, request_id: None };
    let kind = match answer.status {
        StatusCode::UNAUTHORIZED => Kind::NotSignedIn,
        StatusCode::NOT_FOUND => Kind::NotFound,
        StatusCode::CONFLICT => Kind::Conflict,
        status if status.is_client_error() => Kind::Failed,
        _ => Kind::Unreachable,
    };
    let what = format!("{} answered {} without an explanation", client.url(), answer.status);
    let next = "Check that the URL is that of an Updraft server: `updraft doctor`.".to_owned();
    Error { kind, what, next, answer: Some(refusal) }
}
