//! API keys: for programs, cut down to scopes.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use super::cli::Obstacle;
use super::confirm::Question;
use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use super::keys::{Made, SHOWN_DAY};
use super::until;
use super::view::{self, day, moment};
use crate::app::AppState;
use crate::auth::api_keys::http::{ApiKeyPatch, NewApiKey};
use crate::auth::api_keys::repo::{self, ApiKey};
use crate::auth::api_keys::service;
use crate::auth::scope::{Scope, ScopeSet};
use crate::auth::{DashboardSession, DashboardSessionAlone, NewCredentials};
use crate::db::ReadTx;
use crate::error::{AppError, AppResult};
use crate::web::{ClientAddress, KeyPath, Member, Nullable};

/// An API key, as pages show it.
pub(super) struct Shown {
    pub(super) page: String,
    pub(super) name: String,
    pub(super) prefix: String,
    pub(super) scopes: String,
    pub(super) used: String,
    pub(super) until: String,
    pub(super) is_revoked: bool,
    pub(super) is_over: bool,
}

/// The account's API keys, revoked ones last.
pub(super) async fn list(tx: &mut ReadTx, frame: &Frame, session: &DashboardSession) -> AppResult<Vec<Shown>> {
    let mut keys = repo::list(tx, session.account()).await?;
    keys.sort_by_key(|key| key.revoked_time.is_some());
    let shown = |key: ApiKey| -> AppResult<Shown> {
        Ok(Shown {
            page: frame.path(&page_of(key.id.as_str())),
            scopes: key.scopes()?.names().join(", "),
            used: key.last_used_time.map_or_else(|| "not yet".to_owned(), moment),
            until: key.expires_time.map_or_else(|| "no end".to_owned(), day),
            is_revoked: key.revoked_time.is_some(),
            is_over: !key.is_alive(frame.now()),
            name: key.name,
            prefix: key.key_prefix,
        })
    };
    keys.into_iter().map(shown).collect()
}

fn page_of(id: &str) -> String {
    format!("/keys/api/{id}")
}

/// A scope as a box to tick.
struct Choice {
    /// The field's name.
    name: &'static str,
    scope: &'static str,
    text: &'static str,
    is_ticked: bool,
}

fn choices(is_ticked: impl Fn(Scope, &str) -> bool) -> Vec<Choice> {
    let choice = |scope: Scope| {
        let (name, text) = match scope {
            Scope::Deploy => ("scopeDeploy", "release: upload, promote, roll back"),
            Scope::Read => ("scopeRead", "look at apps, releases and metrics"),
            Scope::Apps => ("scopeApps", "make and manage apps and deployments"),
        };
        Choice { name, scope: scope.as_str(), text, is_ticked: is_ticked(scope, name) }
    };
    Scope::ALL.into_iter().map(choice).collect()
}

fn sent_choices(sent: &Fields) -> Vec<Choice> {
    choices(|_, name| sent.has(name))
}

fn choices_of(scopes: ScopeSet) -> Vec<Choice> {
    choices(|scope, _| scopes.has(scope))
}

/// The ticked scopes as services take them.
fn scopes(choices: &[Choice]) -> AppResult<Member> {
    let names: Vec<&str> = choices.iter().filter(|choice| choice.is_ticked).map(|choice| choice.scope).collect();
    serde_json::from_value(json!(names)).map_err(AppError::internal)
}

/// The end of a day as services take it; none when no day is given.
fn expiry(day: &str) -> AppResult<Member> {
    if day.is_empty() {
        return Ok(Member::default());
    }
    let end = until::end_of(day).map_err(|fault| AppError::Invalid(format!("expires_at: {fault}")))?;
    Ok(Member::from(end.iso8601().as_str()))
}

#[derive(Template)]
#[template(path = "dashboard/api_key.html")]
struct KeyPage<'p> {
    frame: &'p Frame,
    form: &'p Form,
    name: Field,
    end: Field,
    /// What is wrong with the choice.
    fault: Option<String>,
    choices: Vec<Choice>,
    obstacle: Option<Obstacle>,
    /// Where it is sent.
    page: String,
    /// The key when there is one already.
    key: Option<Existing<'p>>,
}

/// A key that is changed.
struct Existing<'p> {
    name: &'p str,
    /// The day that the form was shown with at first.
    shown_day: String,
    /// The scopes that the form was shown with at first.
    shown_scopes: String,
}

/// The field with the scopes that a form was shown with at first.
const SHOWN_SCOPES: &str = "shownScopes";

/// The ticked scopes as one text.
fn text_of(choices: &[Choice]) -> String {
    let ticked: Vec<&str> = choices.iter().filter(|choice| choice.is_ticked).map(|choice| choice.scope).collect();
    ticked.join(" ")
}

impl<'p> KeyPage<'p> {
    fn new(frame: &'p Frame, form: &'p Form, choices: Vec<Choice>) -> Self {
        let (name, end, fault) = (form.field("name"), form.field("expires_at"), form.field("scopes").error);
        Self { frame, form, name, end, fault, choices, obstacle: None, page: frame.path("/keys/api/new"), key: None }
    }
}

fn key_form(name: &str, day: &str) -> Form {
    let name = Field::text("name", "Name").hint("So that you know it again, such as the program that it is for.").value(name);
    let end = Field { hint: "To the end of that day, in UTC; without a day it has no end.", ..until::field("expires_at", day) };
    Form::of([name, Field::text("scopes", "What it may do"), end.optional()])
}

/// Says at each field what is wrong with it; of the boxes, in words of the page.
fn refuse(form: Form, error: AppError) -> AppResult<Form> {
    let mut form = form.refuse(error)?;
    for field in form.fields.iter_mut().filter(|field| field.name == "scopes" && field.error.is_some()) {
        field.error = Some("Choose what it may do: one or more.".to_owned());
    }
    Ok(form)
}

pub(super) async fn show_new(frame: Frame, _session: DashboardSession, right: Result<NewCredentials, AppError>) -> AppResult<Response> {
    let obstacle = right.err().map(|error| Obstacle::of(&frame, error, frame.here())).transpose()?;
    let form = key_form("", "");
    form.page(&KeyPage { obstacle, ..KeyPage::new(&frame, &form, sent_choices(&Fields::default())) })
}

pub(super) async fn make(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSessionAlone,
    right: NewCredentials,
    from: ClientAddress,
    sent: Fields,
) -> AppResult<Response> {
    let choices = sent_choices(&sent);
    let made = match expiry(sent.text("expires_at")) {
        Ok(expires_at) => {
            let new = NewApiKey { name: sent.member("name"), scopes: scopes(&choices)?, expires_at };
            service::create(&app, &session, right, from, &new).await
        }
        Err(error) => Err(error),
    };
    match made {
        Ok((key, token)) => {
            let text = "It can do what its scopes allow, on the apps that you reach: keep it like a password.";
            view::page(&Made { frame: &frame, name: &key.name, key: token.reveal(), text })
        }
        Err(error) => {
            let form = refuse(key_form(sent.text("name"), sent.text("expires_at")), error)?;
            form.page(&KeyPage::new(&frame, &form, choices))
        }
    }
}

async fn find(app: &AppState, session: &DashboardSession, id: &str) -> AppResult<ApiKey> {
    let found = repo::find(&mut app.db.read().await?, session.account(), id).await?;
    found.ok_or(AppError::NotFound("API key"))
}

fn day_of(key: &ApiKey) -> String {
    key.expires_time.map(until::shown).unwrap_or_default()
}

pub(super) async fn show_one(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    KeyPath(id): KeyPath,
) -> AppResult<Response> {
    let key = find(&app, &session, &id).await?;
    let form = key_form(&key.name, &day_of(&key));
    let (page, choices) = (frame.path(&page_of(&id)), choices_of(key.scopes()?));
    let existing = Existing { name: &key.name, shown_day: day_of(&key), shown_scopes: text_of(&choices) };
    form.page(&KeyPage { page, key: Some(existing), ..KeyPage::new(&frame, &form, choices) })
}

pub(super) async fn change(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    from: ClientAddress,
    KeyPath(id): KeyPath,
    sent: Fields,
) -> AppResult<Response> {
    let key = find(&app, &session, &id).await?;
    let (choices, day) = (sent_choices(&sent), sent.text("expires_at"));
    // What is as it was shown changes nothing, whatever it has become meanwhile; a day then leaves the time of day as it was, too.
    let same_scopes = sent.get(SHOWN_SCOPES) == Some(text_of(&choices).as_str());
    let expiry = if sent.get(SHOWN_DAY) == Some(day) { Ok(Nullable::Absent) } else { expiry(day).map(Nullable::Given) };
    let changed = match expiry {
        Ok(expires_at) => {
            let scopes = if same_scopes { Member::default() } else { scopes(&choices)? };
            let patch = ApiKeyPatch { name: sent.member("name"), scopes, expires_at };
            service::update(&app, &session, from, &id, &patch).await
        }
        Err(error) => Err(error),
    };
    match changed {
        Ok(key) => frame.redirect_saying("/keys", &Flash::good(format!("The API key {} is changed.", key.name))),
        Err(error) => {
            let form = refuse(key_form(sent.text("name"), day), error)?;
            let page = frame.path(&page_of(&id));
            let (shown_day, shown_scopes) = (sent.text(SHOWN_DAY).to_owned(), sent.text(SHOWN_SCOPES).to_owned());
            let existing = Existing { name: &key.name, shown_day, shown_scopes };
            form.page(&KeyPage { page, key: Some(existing), ..KeyPage::new(&frame, &form, choices) })
        }
    }
}

pub(super) async fn show_revocation(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    KeyPath(id): KeyPath,
) -> AppResult<Response> {
    let key = find(&app, &session, &id).await?;
    let question = Question {
        frame: &frame,
        page: frame.path(&format!("{}/revoke", page_of(&id))),
        title: format!("Revoke the API key {}?", key.name),
        text: "Whatever uses it is refused at once, and it cannot be brought back. It stays in the list.",
        button: "Revoke it",
        back: "/keys",
    };
    question.ask()
}

pub(super) async fn revoke(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    from: ClientAddress,
    KeyPath(id): KeyPath,
) -> AppResult<Response> {
    let key = find(&app, &session, &id).await?;
    service::revoke(&app, &session, from, &id).await?;
    frame.redirect_saying("/keys", &Flash::good(format!("The API key {} is revoked.", key.name)))
}
