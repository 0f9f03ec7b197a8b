//! Keys: access keys, which have their owner's rights, and API keys, which are limited to scopes ([`super::api_keys`]). Only the response to the form that
//! created a key contains the raw key.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::text::isolate;
use shared::time::UnixMillis;

use super::cli::Obstacle;
use super::cli_key::friendly_name;
use super::confirm::ConfirmPage;
use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use super::prefill::Prefill;
use super::{api_keys, until, view};
use crate::domain::access::{DashboardSession, NotApiKey};
use crate::domain::credentials::access_keys::repo::Credential;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::keys::access_keys::{self as service, AccessKeyPatch, DEFAULT_TTL, NewAccessKey};
use crate::domain::second_factors::NewCredentials;
use crate::http::AppState;
use crate::http::extract::{KeyPath, encode_segment};
use crate::infra::dates::RelativeTime;

#[derive(Template)]
#[template(path = "dashboard/keys.html")]
struct KeysPage<'p> {
    frame: &'p Frame,
    access_keys: Vec<AccessKeyItem>,
    api_keys: Vec<api_keys::ApiKeyItem>,
}

/// An access key as the page shows it.
struct AccessKeyItem {
    page: String,
    name: String,
    created: RelativeTime,
    address: String,
    used: Option<RelativeTime>,
    expires: Option<RelativeTime>,
}

impl AccessKeyItem {
    fn of(frame: &Frame, key: Credential) -> Self {
        let relative = |time: UnixMillis| RelativeTime::of(time, frame.now());
        Self {
            page: frame.path(&page_of(&key.friendly_name)),
            created: relative(key.created_time),
            address: key.created_by,
            used: key.last_used_time.map(relative),
            expires: Some(relative(key.expires)),
            name: key.friendly_name,
        }
    }
}

#[derive(Template)]
#[template(path = "dashboard/key_new.html")]
struct New<'p> {
    frame: &'p Frame,
    form: &'p Form,
    obstacle: Option<Obstacle>,
}

#[derive(Template)]
#[template(path = "dashboard/key.html")]
struct Edit<'p> {
    frame: &'p Frame,
    form: &'p Form,
    page: String,
    name: &'p str,
    /// When it expires before the edit.
    expires: Option<RelativeTime>,
    /// The day that the form showed at first.
    shown_day: &'p str,
}

/// A key that was just created. Not `Debug`: it contains the raw key.
#[derive(Template)]
#[template(path = "dashboard/key_created.html")]
pub(super) struct Created<'p> {
    pub(super) frame: &'p Frame,
    pub(super) name: &'p str,
    pub(super) key: &'p str,
    /// What the key can do.
    pub(super) text: &'static str,
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, session: DashboardSession, caller: NotApiKey) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let found = service::list(&mut tx, &app, &caller).await?;
    let access_keys = found.into_iter().filter(|key| !key.kind().is_login()).map(|key| AccessKeyItem::of(&frame, key)).collect();
    let api_keys = api_keys::list(&mut tx, &frame, &session).await?;
    view::page(&KeysPage { frame: &frame, access_keys, api_keys })
}

fn page_of(name: &str) -> String {
    format!("/keys/access/{}", encode_segment(name))
}

fn name_field(name: &str) -> Field {
    Field::text("friendlyName", "Name").hint("Where you use the key, such as the name of the device.").value(name)
}

/// The field with the day that a form showed at first.
pub(super) const SHOWN_DAY: &str = "shownDay";

/// The lifetime of a key that expires at the end of this day.
fn ttl(day: &str, now: UnixMillis) -> Result<i64> {
    let ttl = until::end_of(day).map(|end| end.0 - now.0).map_err(|fault| Error::invalid("ttl", fault))?;
    if ttl > 0 { Ok(ttl) } else { Err(Error::invalid("ttl", "must be in the future")) }
}

fn read_new(sent: &Fields, now: UnixMillis) -> Result<NewAccessKey> {
    let ttl = ttl(sent.text("ttl"), now)?;
    Ok(NewAccessKey { friendly_name: friendly_name(sent)?, ttl })
}

fn new_form(name: &str, day: &str) -> Form {
    Form::of([name_field(name), until::field("ttl", day)])
}

fn refuse(sent: &Fields, error: Error, now: UnixMillis) -> Result<Form> {
    let day = sent.text("ttl");
    until::refuse(new_form(sent.text("friendlyName"), day), error, ("ttl", day), now)
}

pub(super) async fn show_new(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: Result<NewCredentials, Error>,
    prefill: Prefill,
) -> Result<Response> {
    let obstacle = right.err().map(|error| Obstacle::of(&frame, error, frame.here())).transpose()?;
    let last_day = prefill.expires(app.now()).map_or_else(|| until::shown(app.now().plus_millis(DEFAULT_TTL)), str::to_owned);
    let form = new_form(&prefill.name(service::validate_friendly_name), &last_day);
    form.page(&New { frame: &frame, form: &form, obstacle })
}

pub(super) async fn create(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    right: NewCredentials,
    sent: Fields,
) -> Result<Response> {
    match service::add(&app, &session, right, read_new(&sent, app.now()), None).await {
        Ok((key, token)) => {
            let text = "It has full access to your apps. Store it like a password.";
            view::page(&Created { frame: &frame, name: &key.friendly_name, key: token.reveal(), text })
        }
        Err(error) => {
            let form = refuse(&sent, error, app.now())?;
            form.page(&New { frame: &frame, form: &form, obstacle: None })
        }
    }
}

/// The access key with this name. Sessions have names too, but are on another page.
async fn find(app: &AppState, session: &DashboardSession, name: &str) -> Result<Credential> {
    let found = service::find(&mut app.db.read().await?, app, session, name).await?;
    Some(found).filter(|key| !key.kind().is_login()).ok_or(Error::NotFound(Thing::AccessKey))
}

pub(super) async fn show_one(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    KeyPath(name): KeyPath,
) -> Result<Response> {
    let key = find(&app, &session, &name).await?;
    let day = until::shown(key.expires);
    let form = new_form(&key.friendly_name, &day);
    let expires = Some(RelativeTime::of(key.expires, frame.now()));
    form.page(&Edit { frame: &frame, form: &form, page: page_of(&name), name: &name, expires, shown_day: &day })
}

/// Updates the key with this name from a form.
async fn update(app: &AppState, session: &DashboardSession, name: &str, sent: &Fields) -> Result<Credential> {
    let day = sent.text("ttl");
    // An untouched day changes nothing, even if the key has changed since the form was shown: any other day starts a new lifetime.
    let ttl = if sent.get(SHOWN_DAY) == Some(day) { None } else { Some(ttl(day, app.now())?) };
    let friendly_name = sent.has("friendlyName").then(|| friendly_name(sent)).transpose();
    service::update(app, session, name, AccessKeyPatch { friendly_name, ttl: Ok(ttl), proof: Ok(None) }).await
}

pub(super) async fn edit(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    KeyPath(name): KeyPath,
    sent: Fields,
) -> Result<Response> {
    let key = find(&app, &session, &name).await?;
    match update(&app, &session, &name, &sent).await {
        Ok(key) => frame.redirect_with_flash("/keys", &Flash::good(format!("The key {} was updated.", isolate(&key.friendly_name)))),
        Err(error) => {
            let form = refuse(&sent, error, app.now())?;
            let (expires, shown_day) = (Some(RelativeTime::of(key.expires, frame.now())), sent.text(SHOWN_DAY));
            form.page(&Edit { frame: &frame, form: &form, page: page_of(&name), name: &name, expires, shown_day })
        }
    }
}

pub(super) async fn show_deletion(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    KeyPath(name): KeyPath,
) -> Result<Response> {
    find(&app, &session, &name).await?;
    let question = ConfirmPage {
        frame: &frame,
        page: frame.path(&format!("{}/delete", page_of(&name))),
        title: format!("Delete the key {}?", isolate(&name)),
        text: "CLIs and programs that use it lose access immediately. You cannot undo this.",
        button: "Delete key",
        back: "/keys",
    };
    question.ask()
}

pub(super) async fn delete(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    caller: NotApiKey,
    KeyPath(name): KeyPath,
) -> Result<Response> {
    find(&app, &session, &name).await?;
    service::remove(&app, &caller, &name).await?;
    frame.redirect_with_flash("/keys", &Flash::good(format!("The key {} was deleted.", isolate(&name))))
}
