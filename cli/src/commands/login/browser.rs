//! Signing in with a browser on this machine: PKCE (RFC 7636) with a loopback redirect (RFC 8252).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Method, StatusCode};
use sha2::{Digest, Sha256};
use shared::api::Field;
use shared::api::cli_login::{CliBrowserAuthorization, CliCredential, CliExchange, CliTokenError};

use super::listener::{Callback, Listener};
use super::machine::Machine;
use super::{device, page};
use crate::client::Client;
use crate::clock;
use crate::commands::browser as desktop;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::progress::Progress;
use crate::output::terminal;

/// How long to wait for the browser. Authorizations expire after 10 minutes.
const PATIENCE: Duration = Duration::from_mins(11);

/// Opens the approval page and waits until it is approved. Falls back to a code if no browser opens.
pub(super) async fn sign_in(context: &Context, client: &Client, machine: Machine) -> Result<CliCredential> {
    let listener = Listener::bind().await?;
    let verifier = URL_SAFE_NO_PAD.encode(clock::random::<32>()?);
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
    let state = URL_SAFE_NO_PAD.encode(clock::random::<16>()?);
    let redirect_uri = listener.redirect_uri();
    let body = machine.clone().browser_request(challenge, redirect_uri.clone(), state.clone());
    let started = client.post::<CliBrowserAuthorization>("/v1/auth/cli/authorizations", &body).await?.value;
    if let Err(error) = desktop::open(&started.authorize_url) {
        Context::warn(&format!("{}: signing in with a code instead.", error.what));
        return device::sign_in(context, client, machine).await;
    }
    // Not a message but what has to be known to go on: printed even if quiet.
    terminal::line(&format!("Approve the sign-in in your browser. If it did not open, go to:\n  {}", started.authorize_url));
    let progress = Progress::spinner(context, "Waiting for approval (Ctrl-C to cancel)");
    let received = tokio::time::timeout(PATIENCE, listener.callback(&state)).await;
    drop(progress);
    let Ok((callback, connection)) = received else {
        let next = "Run `updraft login` again, or `updraft login --device` if the browser is on another machine.";
        return Err(Error::failed("the sign-in was not approved within 10 minutes", next));
    };
    let result = match callback {
        Callback::Code(code) => exchange(client, code, verifier, redirect_uri).await,
        Callback::Refused(error) if error == "access_denied" => Err(device::refused(CliTokenError::AccessDenied)),
        Callback::Refused(error) => {
            Err(Error::failed(format!("the browser came back with an error: {error}"), "Run `updraft login` again."))
        }
    };
    // The page says how it ended, so it is answered only now.
    connection.answer(&page::outcome(&result)).await;
    result
}

async fn exchange(client: &Client, code: String, verifier: String, redirect_uri: String) -> Result<CliCredential> {
    let body = CliExchange {
        grant_type: Field::from("authorization_code".to_owned()),
        code: Field::from(code),
        code_verifier: Field::from(verifier),
        redirect_uri: Field::from(redirect_uri),
        ..CliExchange::default()
    };
    let answer = client.raw(Method::POST, "/v1/auth/cli/token", |request| request.json(&body)).await?;
    if answer.status == StatusCode::OK { Ok(client.read(&answer)?.value) } else { Err(device::refused(device::problem(client, &answer)?)) }
}
