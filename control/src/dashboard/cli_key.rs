//! A key to paste, for command lines that cannot be let in and ask for an access key instead.

use std::collections::HashSet;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::cli::Obstacle;
use super::fields::Fields;
use super::form::{Field, Form};
use super::frame::Frame;
use super::view::{self, day};
use crate::app::AppState;
use crate::auth::keys::http::NewAccessKey;
use crate::auth::keys::service;
use crate::auth::{DashboardSession, NewCredentials, NotApiKey};
use crate::error::{AppError, AppResult};
use crate::web::{ClientAddress, Member};

/// The longest name of a machine, in characters (RFC 1035 section 2.3.4 has 63 for each of its parts).
const LONGEST: usize = 64;

#[derive(Template)]
#[template(path = "dashboard/cli_key.html")]
struct KeyPage<'p> {
    frame: &'p Frame,
    form: &'p Form,
    hostname: &'p str,
    days: i64,
    obstacle: Option<Obstacle>,
}

/// It has no `Debug`: the raw key is in it.
#[derive(Template)]
#[template(path = "dashboard/cli_key_made.html")]
struct KeyMade<'p> {
    frame: &'p Frame,
    name: &'p str,
    key: &'p str,
    until: String,
    server: &'p str,
}

/// A machine's name as somebody wrote it into an address; nothing when it does not look like one, for the page would say it in a sentence of its own.
fn hostname_of(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ' ');
    let name = text.trim();
    if name.len() <= LONGEST && name.chars().all(is_plain) { name.to_owned() } else { String::new() }
}

fn key_form(name: &str) -> Form {
    Form::of([Field::text("friendlyName", "Name of the key").hint("So that you know it when you see your keys.").value(name)])
}

/// The machine's name, or that with a number, so that no key of the account has it.
async fn free_name(app: &AppState, caller: &NotApiKey, hostname: &str) -> AppResult<String> {
    let keys = service::list(&mut app.db.read().await?, app, caller).await?;
    let taken: HashSet<&str> = keys.iter().map(|key| key.friendly_name.as_str()).collect();
    if matches!(hostname, "" | "." | "..") || !taken.contains(hostname) {
        return Ok(hostname.to_owned());
    }
    let mut names = (2..=taken.len() + 2).map(|number| format!("{hostname} {number}"));
    Ok(names.find(|name| !taken.contains(name.as_str())).unwrap_or_default())
}

const DAYS: i64 = service::DEFAULT_TTL / 86_400_000;

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: Result<NewCredentials, AppError>,
    caller: NotApiKey,
    RawQuery(query): RawQuery,
) -> AppResult<Response> {
    let mut pairs = form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes());
    let hostname = pairs.find(|(name, _)| name == "hostname").map(|(_, hostname)| hostname_of(&hostname)).unwrap_or_default();
    let obstacle = right.err().map(|error| Obstacle::of(&frame, error, frame.here())).transpose()?;
    let form = key_form(&free_name(&app, &caller, &hostname).await?);
    form.page(&KeyPage { frame: &frame, form: &form, hostname: &hostname, days: DAYS, obstacle })
}

pub(super) async fn make(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    right: NewCredentials,
    from: ClientAddress,
    sent: Fields,
) -> AppResult<Response> {
    let none = Member::default;
    let new = NewAccessKey { name: none(), friendly_name: sent.member("friendlyName"), description: none(), ttl: none() };
    match service::add(&app, &session, right, from, &new).await {
        Ok((key, token)) => {
            let (name, until, server) = (&key.friendly_name, day(key.expires), &app.config.base_url);
            view::page(&KeyMade { frame: &frame, name, key: token.reveal(), until, server })
        }
        Err(error) => {
            let form = key_form(sent.text("friendlyName")).refuse(error)?;
            let hostname = hostname_of(sent.text("hostname"));
            form.page(&KeyPage { frame: &frame, form: &form, hostname: &hostname, days: DAYS, obstacle: None })
        }
    }
}
