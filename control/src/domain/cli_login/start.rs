//! The first step: a command line, which has no credential yet, starts a request.

use axum::http::HeaderMap;
use serde_json::json;
use shared::ids::CliAuthorizationId;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use super::repo::{self, NewAuthorizationRow, NewWay};
use super::request::Mode;
use super::user_code::UserCode;
use super::{proof, redirect};
use crate::domain::audit::{self, Action, Actor, ClientAddress, Event};
use crate::domain::context::Context;
use crate::domain::credentials::session::Device;
use crate::domain::credentials::token::PlainToken;
use crate::domain::error::{AppError, AppResult};
use crate::domain::limits::Limit;
use crate::domain::registration::service::admit;
use crate::http::api::cli_login::{NewBrowserAuthorization, NewDeviceAuthorization};
use crate::http::extract::Member;
use crate::infra::db::WriteTx;

/// The header that holds the command line's version, where the body does not.
const VERSION: &str = "X-Svc-CLI-Version";

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

/// What a command line says of itself.
#[derive(Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) device_id: &'a Member,
    pub(crate) device_name: &'a Member,
    pub(crate) client_name: &'a Member,
    pub(crate) client_version: &'a Member,
    pub(crate) client_platform: &'a Member,
}

/// Starts a request through a browser on the same machine. Errors: 400, 429.
pub async fn by_browser(app: &Context, from: ClientAddress, headers: &HeaderMap, new: &NewBrowserAuthorization) -> AppResult<Started> {
    let mut errors = FieldErrors::default();
    let code_challenge = errors.take("codeChallenge", new.code_challenge.text().and_then(proof::judge_challenge));
    let method = errors.take("codeChallengeMethod", new.code_challenge_method.text().and_then(proof::judge_method));
    let redirect_uri = errors.take("redirectUri", new.redirect_uri.text().and_then(redirect::judge));
    let state = errors.take("state", judge_state(&new.state));
    let device = judge_device(&mut errors, new.said(), headers);
    let (Some(code_challenge), Some(()), Some(redirect_uri), Some(state), Some(device)) =
        (code_challenge, method, redirect_uri, state, device)
    else {
        return Err(errors.into());
    };
    admit(app, from, Limit::CliStarts, app.settings.limits.cli.starts).await?;
    let mut tx = app.db.write().await?;
    let way = NewWay::Browser { code_challenge, redirect_uri, state };
    let started = insert(&mut tx, app, from, way, &device).await?;
    let request = started.ok_or_else(|| AppError::internal("the id of a command line's request was another one's"))?;
    finish(tx, app, from, &request, Mode::Pkce).await?;
    Ok(request)
}

/// Starts a request by a code that the user copies. Errors: 400, 429.
pub async fn by_device(app: &Context, from: ClientAddress, headers: &HeaderMap, new: &NewDeviceAuthorization) -> AppResult<StartedDevice> {
    let mut errors = FieldErrors::default();
    let Some(device) = judge_device(&mut errors, new.said(), headers) else { return Err(errors.into()) };
    admit(app, from, Limit::CliStarts, app.settings.limits.cli.starts).await?;
    let mut tx = app.db.write().await?;
    let device_code = PlainToken::code(&app.dice)?;
    for _ in 0..TRIES {
        let user_code = UserCode::random(&app.dice)?;
        let way = NewWay::Device { device_code: &device_code.hash(), user_code: &user_code };
        if let Some(request) = insert(&mut tx, app, from, way, &device).await? {
            finish(tx, app, from, &request, Mode::Device).await?;
            return Ok(StartedDevice { request, device_code, user_code });
        }
    }
    Err(AppError::unavailable("every user code that was tried is another request's"))
}

/// Stores a request; none when what it is found by is another one's.
async fn insert(tx: &mut WriteTx, app: &Context, from: ClientAddress, way: NewWay<'_>, device: &Device) -> AppResult<Option<Started>> {
    let (id, now) = (CliAuthorizationId::v4(app.dice.bytes()?), app.now());
    let expires = now.plus_millis(app.settings.limits.cli.request);
    let row = NewAuthorizationRow { id: &id, way, device, created_by: &from.0.to_string(), created: now, expires };
    let is_stored = repo::insert(tx, &row).await? > 0;
    Ok(is_stored.then_some(Started { id, expires }))
}

async fn finish(mut tx: WriteTx, app: &Context, from: ClientAddress, request: &Started, mode: Mode) -> AppResult<()> {
    let event = Event::new(Action::StartCliAuthorization, &request.id).with(json!({ "mode": mode.as_str() }));
    audit::note(&mut tx, &Actor::stranger(from), event, &app.dice, app.now()).await?;
    tx.commit().await?;
    Ok(())
}

fn judge_state(member: &Member) -> Result<Option<&str>, Invalid> {
    let state = member.optional_text()?;
    let is_sound = |state: &str| state.chars().count() <= LONGEST_STATE && !state.chars().any(char::is_control);
    if state.is_none_or(is_sound) {
        Ok(state)
    } else {
        Err(Invalid::from("must be at most 512 characters, none of them control characters"))
    }
}

fn judge_device(errors: &mut FieldErrors, said: Said<'_>, headers: &HeaderMap) -> Option<Device> {
    let mut label = |name: &'static str, member: &Member| errors.take(name, member.optional_text().and_then(judge_label));
    let id = label("deviceId", said.device_id);
    let name = label("deviceName", said.device_name);
    let client_name = label("clientName", said.client_name);
    let client_version = label("clientVersion", said.client_version);
    let client_platform = label("clientPlatform", said.client_platform);
    let client_version = match client_version {
        Some(None) => errors.take(VERSION, version(headers)),
        judged => judged,
    };
    Some(Device { id: id?, name: name?, client_name: client_name?, client_version: client_version?, client_platform: client_platform? })
}

fn version(headers: &HeaderMap) -> Result<Option<String>, Invalid> {
    let Some(value) = headers.get(VERSION) else { return Ok(None) };
    judge_label(Some(value.to_str().map_err(|_| Invalid::from("must be ASCII text"))?))
}

/// A text for people who decide by it: nothing in it may be invisible to them. An empty one says nothing.
fn judge_label(text: Option<&str>) -> Result<Option<String>, Invalid> {
    let text = text.unwrap_or_default().trim_matches(' ');
    if text.is_empty() {
        return Ok(None);
    }
    shared::text::name(text, LONGEST_LABEL).map(|name| Some(name.into_owned()))
}
