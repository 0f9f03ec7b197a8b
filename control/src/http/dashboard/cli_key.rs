//! Access keys for older CLIs, which cannot be authorized and ask for an access key.

use std::collections::HashSet;

use askama::Template;
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use shared::{FieldErrors, Invalid};

use super::cli::Obstacle;
use super::fields::Fields;
use super::form::{Field, Form};
use super::frame::Frame;
use super::view;
use crate::domain::access::{DashboardSession, NotApiKey};
use crate::domain::error::{Error, Result};
use crate::domain::keys::access_keys::{self as service, DEFAULT_TTL, NewAccessKey, validate_friendly_name};
use crate::domain::second_factors::NewCredentials;
use crate::http::AppState;
use crate::http::extract::query::parameter;
use crate::infra::dates::RelativeTime;

/// The maximum length of a hostname, in characters (RFC 1035, section 2.3.4: 63 for each label).
const MAX_HOSTNAME: usize = 64;

#[derive(Template)]
#[template(path = "dashboard/cli_key.html")]
struct KeyPage<'p> {
    frame: &'p Frame,
    form: &'p Form,
    hostname: &'p str,
    days: i64,
    obstacle: Option<Obstacle>,
}

/// Not `Debug`: it contains the raw key.
#[derive(Template)]
#[template(path = "dashboard/cli_key_created.html")]
struct KeyCreated<'p> {
    frame: &'p Frame,
    name: &'p str,
    key: &'p str,
    expires: RelativeTime,
    server: &'p str,
}

/// The hostname from a link; empty when it does not look like one, since the page quotes it in a sentence of its own.
fn hostname_of(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ' ');
    let name = text.trim();
    if name.len() <= MAX_HOSTNAME && name.chars().all(is_plain) { name.to_owned() } else { String::new() }
}

fn key_form(name: &str) -> Form {
    Form::of([Field::text("friendlyName", "Key name").hint("Helps you recognize the key in your list.").value(name)])
}

/// The key's name from a form.
pub(super) fn friendly_name(sent: &Fields) -> Result<String, FieldErrors> {
    let validated = sent.get("friendlyName").ok_or(Invalid::from("is required")).and_then(validate_friendly_name);
    validated.map_err(|fault| FieldErrors::of("friendlyName", fault))
}

/// The hostname, with a number added if a key of the account has that name already.
async fn free_name(app: &AppState, caller: &NotApiKey, hostname: &str) -> Result<String> {
    let keys = service::list(&mut app.db.read().await?, app, caller).await?;
    let taken: HashSet<&str> = keys.iter().map(|key| key.friendly_name.as_str()).collect();
    if matches!(hostname, "" | "." | "..") || !taken.contains(hostname) {
        return Ok(hostname.to_owned());
    }
    let mut names = (2..=taken.len() + 2).map(|number| format!("{hostname} {number}"));
    Ok(names.find(|name| !taken.contains(name.as_str())).unwrap_or_default())
}

const DAYS: i64 = DEFAULT_TTL / 86_400_000;

/// The paths below the server's address that CodePush CLIs open in a browser to get a key: `login`, `register` and, to add another sign-in method, `link`.
pub(super) fn logins() -> Router<AppState> {
    ["login", "register", "link"].into_iter().fold(Router::new(), |router, name| {
        router.route(&format!("/auth/{name}"), get(to_key)).route(&format!("/v1/auth/{name}"), get(to_key))
    })
}

async fn to_key(State(app): State<AppState>, RawQuery(query): RawQuery) -> Result<Response> {
    let address = format!("{}{}", app.settings.dashboard_url, page_of(&hostname_asked(query.as_deref())?));
    let location = HeaderValue::try_from(address).map_err(Error::internal)?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
}

/// The page with the hostname of a form; `None` for every other form.
pub(super) fn return_page(frame: &Frame, sent: &Fields) -> Option<String> {
    let hostname = hostname_of(sent.text("hostname"));
    (frame.is_at("/cli/key") && !hostname.is_empty()).then(|| page_of(&hostname)).map(|page| frame.path(&page))
}

fn page_of(hostname: &str) -> String {
    format!("/cli/key?{}", form_urlencoded::Serializer::new(String::new()).append_pair("hostname", hostname).finish())
}

/// The hostname in a query.
fn hostname_asked(query: Option<&str>) -> Result<String> {
    Ok(parameter(query.unwrap_or_default(), "hostname")?.map(|hostname| hostname_of(&hostname)).unwrap_or_default())
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: Result<NewCredentials, Error>,
    caller: NotApiKey,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let hostname = hostname_asked(query.as_deref())?;
    let obstacle = right.err().map(|error| Obstacle::of(&frame, error, frame.here())).transpose()?;
    let form = key_form(&free_name(&app, &caller, &hostname).await?);
    form.page(&KeyPage { frame: &frame, form: &form, hostname: &hostname, days: DAYS, obstacle })
}

pub(super) async fn create(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    right: NewCredentials,
    sent: Fields,
) -> Result<Response> {
    let new = friendly_name(&sent).map(|friendly_name| NewAccessKey { friendly_name, ttl: DEFAULT_TTL });
    match service::add(&app, &session, right, new.map_err(Error::from), None).await {
        Ok((key, token)) => {
            // CLIs append their paths to this address.
            let server = format!("{}/v1", app.settings.base_url);
            let (name, expires) = (&key.friendly_name, RelativeTime::of(key.expires, app.now()));
            view::page(&KeyCreated { frame: &frame, name, key: token.reveal(), expires, server: &server })
        }
        Err(error) => {
            let form = key_form(sent.text("friendlyName")).refuse(error)?;
            let hostname = hostname_of(sent.text("hostname"));
            form.page(&KeyPage { frame: &frame, form: &form, hostname: &hostname, days: DAYS, obstacle: None })
        }
    }
}
