//! The first step: a command line, which has no credential yet, starts a request.

use serde_json::json;
use shared::Invalid;
use shared::ids::CliAuthorizationId;
use shared::time::UnixMillis;

use super::repo::{self, NewAuthorizationRow, NewWay};
use super::request::Mode;
use super::user_code::UserCode;
use crate::domain::audit::{Action, Actor, ClientAddress, Event};
use crate::domain::change::Change;
use crate::domain::context::Context;
use crate::domain::credentials::session::Device;
use crate::domain::credentials::token::PlainToken;
use crate::domain::error::{Error, Result};
use crate::domain::limits::{Limit, admit_stranger};

/// The longest state, in characters.
const LONGEST_STATE: usize = 512;

/// The longest text that a command line says of itself, in characters.
const LONGEST_LABEL: usize = 255;

/// How many user codes are tried. Each is another request's once in millions of times.
const TRIES: usize = 5;

/// A request that was started.
#[derive(Debug)]
pub struct Started {
    /// Its id.
    pub id: CliAuthorizationId,
    /// Until when it can be decided on.
    pub expires: UnixMillis,
}

/// A request that was started by a device.
#[derive(Debug)]
pub struct StartedDevice {
    /// The request.
    pub request: Started,
    /// What the command line polls with, shown once.
    pub device_code: PlainToken,
    /// What the user copies.
    pub user_code: UserCode,
}

/// A request through a browser on the same machine. It cannot be printed, for the sake of the state.
pub struct BrowserRequest<'a> {
    /// The hash of the verifier, which [`super::proof::judge_challenge`] let pass.
    pub code_challenge: &'a str,
    /// Where the browser takes the code, which [`super::redirect::judge`] let pass.
    pub redirect_uri: &'a str,
    /// What the command line wants to see again, which [`judge_state`] let pass.
    pub state: Option<&'a str>,
    /// What the command line says of itself, each a text that [`judge_label`] gave.
    pub device: Device,
}

/// Starts a request through a browser on the same machine. Errors: 429.
pub async fn by_browser(app: &Context, from: ClientAddress, new: &BrowserRequest<'_>) -> Result<Started> {
    admit_stranger(app, from, Limit::CliStarts, app.settings.limits.cli.starts).await?;
    let mut change = Change::begin(app, Actor::stranger(from)).await?;
    let way = NewWay::Browser { code_challenge: new.code_challenge, redirect_uri: new.redirect_uri, state: new.state };
    let started = insert(&mut change, from, way, &new.device).await?;
    let request = started.ok_or_else(|| Error::internal("the id of a command line's request was another one's"))?;
    finish(change, &request, Mode::Pkce).await?;
    Ok(request)
}

/// Starts a request by a code that the user copies, of a command line that says this of itself, each a text that [`judge_label`] gave. Errors: 429.
pub async fn by_device(app: &Context, from: ClientAddress, device: &Device) -> Result<StartedDevice> {
    admit_stranger(app, from, Limit::CliStarts, app.settings.limits.cli.starts).await?;
    let mut change = Change::begin(app, Actor::stranger(from)).await?;
    let device_code = PlainToken::code(&app.dice)?;
    for _ in 0..TRIES {
        let user_code = UserCode::random(&app.dice)?;
        let way = NewWay::Device { device_code: &device_code.hash(), user_code: &user_code };
        if let Some(request) = insert(&mut change, from, way, device).await? {
            finish(change, &request, Mode::Device).await?;
            return Ok(StartedDevice { request, device_code, user_code });
        }
    }
    Err(Error::unavailable("every user code that was tried is another request's"))
}

/// Stores a request; none when what it is found by is another one's.
async fn insert(tx: &mut Change<'_>, from: ClientAddress, way: NewWay<'_>, device: &Device) -> Result<Option<Started>> {
    let (app, now) = (tx.context(), tx.now());
    let id = CliAuthorizationId::v4(app.dice.bytes()?);
    let expires = now.plus_millis(app.settings.limits.cli.request);
    let row = NewAuthorizationRow { id: &id, way, device, created_by: &from.0.to_string(), created: now, expires };
    let is_stored = repo::insert(tx, &row).await? > 0;
    Ok(is_stored.then_some(Started { id, expires }))
}

async fn finish(change: Change<'_>, request: &Started, mode: Mode) -> Result<()> {
    change.commit(Event::new(Action::StartCliAuthorization, &request.id).with(json!({ "mode": mode.as_str() }))).await
}

/// What a command line may want to see again.
pub fn judge_state(state: &str) -> Result<&str, Invalid> {
    if state.chars().count() <= LONGEST_STATE && !state.chars().any(char::is_control) {
        Ok(state)
    } else {
        Err(Invalid::from("must be at most 512 characters, none of them control characters"))
    }
}

/// A text for people who decide by it: nothing in it may be invisible to them. An empty one says nothing.
pub fn judge_label(text: &str) -> Result<Option<String>, Invalid> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Ok(None);
    }
    shared::text::name(text, LONGEST_LABEL).map(|name| Some(name.into_owned()))
}
