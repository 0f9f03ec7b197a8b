//! Step one: a CLI without a credential starts a request.

use serde_json::json;
use shared::Invalid;
use shared::ids::CliAuthorizationId;
use shared::time::UnixMillis;

use super::repo::{self, NewAuthorizationRow, NewFlow};
use super::request::Mode;
use super::user_code::UserCode;
use crate::domain::access::anonymous::Anonymous;
use crate::domain::audit::{Action, ClientAddress, Event};
use crate::domain::change::Change;
use crate::domain::context::Context;
use crate::domain::credentials::session::Device;
use crate::domain::credentials::token::PlainToken;
use crate::domain::error::{Error, Result};
use crate::domain::limits::{Limit, acquire_unauthenticated};

/// The maximum length of a state, in characters.
const MAX_STATE: usize = 512;

/// The maximum length of a text by which a CLI describes itself, in characters.
const MAX_LABEL: usize = 255;

/// How many user codes are tried. One in millions is already taken.
const MAX_ATTEMPTS: usize = 5;

/// A request that was started.
#[derive(Debug)]
pub struct Started {
    /// Its ID.
    pub id: CliAuthorizationId,
    /// When it expires.
    pub expires: UnixMillis,
}

/// A request that was started in the device flow.
#[derive(Debug)]
pub struct StartedDevice {
    /// The request.
    pub request: Started,
    /// The code that the CLI polls with, shown once.
    pub device_code: PlainToken,
    /// The code that the user enters.
    pub user_code: UserCode,
}

/// A request through a browser on the same machine. It has no `Debug`, because of the state.
pub struct BrowserRequest<'a> {
    /// The hash of the verifier, checked by [`super::proof::validate_challenge`].
    pub code_challenge: &'a str,
    /// Where the browser delivers the code, checked by [`super::redirect::validate`].
    pub redirect_uri: &'a str,
    /// The state that the redirect returns to the CLI, checked by [`validate_state`].
    pub state: Option<&'a str>,
    /// How the CLI describes itself, each text returned by [`validate_label`].
    pub device: Device,
}

/// Starts a request in the authorization code flow. Errors: 429.
pub async fn by_browser(app: &Context, from: ClientAddress, new: &BrowserRequest<'_>) -> Result<Started> {
    acquire_unauthenticated(app, from, Limit::CliStarts, app.settings.limits.cli.starts).await?;
    let mut change = Anonymous::at(from).begin(app).await?;
    let flow = NewFlow::Browser { code_challenge: new.code_challenge, redirect_uri: new.redirect_uri, state: new.state };
    let started = insert(&mut change, from, flow, &new.device).await?;
    let request = started.ok_or_else(|| Error::internal("the ID of a new CLI authorization request was already taken"))?;
    finish(change, &request, Mode::Pkce).await?;
    Ok(request)
}

/// Starts a request in the device flow. Each text of `device` was returned by [`validate_label`]. Errors: 429.
pub async fn by_device(app: &Context, from: ClientAddress, device: &Device) -> Result<StartedDevice> {
    acquire_unauthenticated(app, from, Limit::CliStarts, app.settings.limits.cli.starts).await?;
    let mut change = Anonymous::at(from).begin(app).await?;
    let device_code = PlainToken::code(&app.entropy)?;
    for _ in 0..MAX_ATTEMPTS {
        let user_code = UserCode::random(&app.entropy)?;
        let flow = NewFlow::Device { device_code: &device_code.hash(), user_code: &user_code };
        if let Some(request) = insert(&mut change, from, flow, device).await? {
            finish(change, &request, Mode::Device).await?;
            return Ok(StartedDevice { request, device_code, user_code });
        }
    }
    Err(Error::unavailable("every user code that was tried is already taken"))
}

/// Inserts a request; none when its ID or user code is taken.
async fn insert(tx: &mut Change<'_>, from: ClientAddress, flow: NewFlow<'_>, device: &Device) -> Result<Option<Started>> {
    let (app, now) = (tx.context(), tx.now());
    let id = CliAuthorizationId::v4(app.entropy.bytes()?);
    let expires = now.plus_millis(app.settings.limits.cli.request);
    let row = NewAuthorizationRow { id: &id, flow, device, created_by: &from.0.to_string(), created: now, expires };
    let is_stored = repo::insert(tx, &row).await? > 0;
    Ok(is_stored.then_some(Started { id, expires }))
}

async fn finish(change: Change<'_>, request: &Started, mode: Mode) -> Result<()> {
    change.commit(Event::new(Action::StartCliAuthorization, &request.id).with(json!({ "mode": mode.as_str() }))).await
}

/// Checks a state.
pub fn validate_state(state: &str) -> Result<&str, Invalid> {
    if state.chars().count() <= MAX_STATE && !state.chars().any(char::is_control) {
        Ok(state)
    } else {
        Err(Invalid::from("must be at most 512 characters without control characters"))
    }
}

/// A label that people base their decision on, so it must not contain invisible characters. An empty one counts as absent.
pub fn validate_label(text: &str) -> Result<Option<String>, Invalid> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Ok(None);
    }
    shared::text::name(text, MAX_LABEL).map(|name| Some(name.into_owned()))
}
