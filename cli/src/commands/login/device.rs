//! Signing in with a code that is entered in a browser on any device (RFC 8628).

use std::time::Duration;

use reqwest::{Method, StatusCode};
use shared::api::Field;
use shared::api::cli_login::{CliCredential, CliDeviceAuthorization, CliExchange, CliTokenError, CliTokenProblem};

use super::machine::Machine;
use crate::client::{Client, RawAnswer};
use crate::clock;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::progress::Progress;
use crate::output::terminal;

/// How many polls in a row may get no answer.
const MAX_FAILURES: u32 = 5;

/// Prints the code and waits until it is approved.
pub(super) async fn sign_in(context: &Context, client: &Client, machine: Machine) -> Result<CliCredential> {
    let started = client.post::<CliDeviceAuthorization>("/v1/auth/cli/device", &machine.device_request()).await?.value;
    // Not messages but what has to be known to go on: printed even if quiet.
    let style = terminal::stderr_style();
    terminal::line(&format!("Your code: {}", style.bold(&started.user_code)));
    terminal::line(&format!("Open {} in a browser on any device and enter it.", style.bold(&started.verification_uri)));
    let progress = Progress::spinner(context, "Waiting for approval (Ctrl-C to cancel)");
    let body = CliExchange {
        grant_type: Field::from("device_code".to_owned()),
        device_code: Field::from(started.device_code),
        ..CliExchange::default()
    };
    let mut interval = Duration::from_secs(u64::try_from(started.interval).unwrap_or(5).clamp(1, 60));
    let mut failures = 0;
    // Ends with the authorization: then the server answers `expired_token`.
    loop {
        clock::wait(interval).await;
        match client.raw(Method::POST, "/v1/auth/cli/token", |request| request.json(&body)).await {
            Ok(answer) if answer.status == StatusCode::OK => {
                drop(progress);
                return Ok(client.read(&answer)?.value);
            }
            Ok(answer) => match problem(client, &answer)? {
                CliTokenError::AuthorizationPending => failures = 0,
                CliTokenError::SlowDown => interval += Duration::from_secs(5),
                error => return Err(refused(error)),
            },
            // The answer was lost. Polling again is harmless.
            Err(error) => {
                failures += 1;
                if failures >= MAX_FAILURES {
                    return Err(error);
                }
            }
        }
    }
}

/// Why nothing was exchanged. Errors: any other answer.
pub(super) fn problem(client: &Client, answer: &RawAnswer) -> Result<CliTokenError> {
    if answer.status == StatusCode::BAD_REQUEST {
        return Ok(client.read::<CliTokenProblem>(answer)?.value.error);
    }
    let next = "Try again later: `updraft login`.";
    Err(Error::new(Kind::Unreachable, format!("{} answered {} while you signed in", client.url(), answer.status), next))
}

/// Words a refusal that is final.
pub(super) fn refused(error: CliTokenError) -> Error {
    let again = "Run `updraft login` again.";
    match error {
        CliTokenError::AccessDenied => {
            Error::failed("the sign-in was denied on the dashboard", "Run `updraft login` again and press Approve.")
        }
        CliTokenError::ExpiredToken => Error::failed("the sign-in expired before it was approved", again),
        CliTokenError::InvalidGrant => Error::failed("the server no longer knows this sign-in", again),
        _ => {
            Error::failed(format!("the server refused the sign-in: {}", error.as_str()), "Update the CLI, then run `updraft login` again.")
        }
    }
}
