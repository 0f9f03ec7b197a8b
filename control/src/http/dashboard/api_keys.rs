//! API keys: for programs, cut down to scopes.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shared::ids::ApiKeyId;
use shared::text::isolate;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use super::cli::Obstacle;
use super::confirm::Question;
use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use super::keys::{Made, SHOWN_DAY};
use super::{until, view};
use crate::domain::access::{DashboardSession, DashboardSessionAlone, LoginSession};
use crate::domain::credentials::api_keys::repo::{self, ApiKey};
use crate::domain::credentials::scope::{Scope, ScopeSet};
use crate::domain::error::{Error, Result, Thing};
use crate::domain::keys::api_keys::{self as service, ApiKeyPatch, End, NewApiKey, judge_name};
use crate::domain::login::fresh;
use crate::domain::second_factors::NewCredentials;
use crate::http::AppState;
use crate::http::extract::KeyPath;
use crate::infra::crypto::seal;
use crate::infra::dates::{end, moment};
use crate::infra::db::ReadTx;

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
pub(super) async fn list(tx: &mut ReadTx, frame: &Frame, session: &DashboardSession) -> Result<Vec<Shown>> {
    let mut keys = repo::list(tx, session.account()).await?;
    keys.sort_by_key(|key| key.revoked_time.is_some());
    let shown = |key: ApiKey| -> Result<Shown> {
        Ok(Shown {
            page: frame.path(&page_of(key.id.as_str())),
            scopes: key.scopes()?.names().join(", "),
            used: key.last_used_time.map_or_else(|| "not yet".to_owned(), moment),
            until: until_of(&key),
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
    scope: Scope,
    text: &'static str,
    is_ticked: bool,
}

fn choices(is_ticked: impl Fn(Scope, &str) -> bool) -> Vec<Choice> {
    let choice = |scope: Scope| {
        let (name, text) = match scope {
            Scope::Deploy => ("scopeDeploy", "upload, promote and roll back releases"),
            Scope::Read => ("scopeRead", "look at apps, releases and metrics"),
            Scope::Apps => ("scopeApps", "make and manage apps and deployments"),
        };
        Choice { name, scope, text, is_ticked: is_ticked(scope, name) }
    };
    Scope::ALL.into_iter().map(choice).collect()
}

fn sent_choices(sent: &Fields) -> Vec<Choice> {
    choices(|_, name| sent.has(name))
}

fn choices_of(scopes: ScopeSet) -> Vec<Choice> {
    choices(|scope, _| scopes.has(scope))
}

fn ticked(choices: &[Choice]) -> impl Iterator<Item = Scope> {
    choices.iter().filter(|choice| choice.is_ticked).map(|choice| choice.scope)
}

/// The end of the day that a form has; never when it has none.
fn read_end(day: &str) -> Result<End> {
    if day.is_empty() {
        return Ok(End::Never);
    }
    until::end_of(day).map(End::At).map_err(|fault| Error::invalid("expires_at", fault))
}

/// The key of a form that ends so.
fn read_new(sent: &Fields, choices: &[Choice], end: End, now: UnixMillis) -> Result<NewApiKey, FieldErrors> {
    let mut errors = FieldErrors::default();
    let name = errors.take("name", sent.get("name").ok_or(Invalid::from("is needed")).and_then(judge_name));
    let scopes = errors.take("scopes", ScopeSet::of(ticked(choices)));
    let end = errors.take("expires_at", end.judge(now));
    match (name, scopes, end) {
        (Some(name), Some(scopes), Some(end)) => Ok(NewApiKey { name, scopes, end }),
        _ => Err(errors),
    }
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
    /// What makes it one key however often the form is sent; of a key that is to be made.
    once: Option<String>,
    /// Where it is sent.
    page: String,
    /// The key when there is one already.
    key: Option<Existing<'p>>,
}

/// A key that is changed.
struct Existing<'p> {
    name: &'p str,
    /// Until when it works now.
    until: String,
    /// The day that the form was shown with at first.
    shown_day: String,
    /// The scopes that the form was shown with at first.
    shown_scopes: String,
}

/// The field with the scopes that a form was shown with at first.
const SHOWN_SCOPES: &str = "shownScopes";

/// The ticked scopes as one text.
fn text_of(choices: &[Choice]) -> String {
    ticked(choices).map(Scope::as_str).collect::<Vec<_>>().join(" ")
}

impl<'p> KeyPage<'p> {
    fn new(frame: &'p Frame, form: &'p Form, choices: Vec<Choice>) -> Self {
        let (name, end, fault) = (form.field("name"), form.field("expires_at"), form.field("scopes").error);
        Self { frame, form, name, end, fault, choices, obstacle: None, once: None, page: frame.path("/keys/api/new"), key: None }
    }
}

fn key_form(name: &str, day: &str) -> Form {
    let name = Field::text("name", "Name").hint("So that you know it again, such as the program that it is for.").value(name);
    let end = Field { hint: "To the end of that day, in UTC; without a day it has no end.", ..until::field("expires_at", day) };
    Form::of([name, Field::text("scopes", "What it may do"), end.optional()])
}

/// Says at each field what is wrong with it; of the boxes, in words of the page.
fn refuse(sent: &Fields, error: Error, now: UnixMillis) -> Result<Form> {
    let day = sent.text("expires_at");
    let form = until::refuse(key_form(sent.text("name"), day), error, ("expires_at", day), now)?;
    Ok(form.in_words("scopes", "Choose what it may do: one or more."))
}

/// The field with the id of the key that a form makes, sealed for the account: nobody chooses ids, and a form that is sent again, as by loading the answer
/// again, makes no second key.
const ONCE: &str = "once";

fn purpose_of_once(session: &LoginSession) -> String {
    format!("dashboard/api-key/{}", session.account())
}

fn once(app: &AppState, session: &LoginSession) -> Result<String> {
    let id = service::new_id(app)?;
    let sealed = seal::seal(app.settings.encryption_keys.first(), &app.dice, &purpose_of_once(session), id.as_str().as_bytes())?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

/// The id that a form has. Errors: 400 when it has none that was made for it.
fn sent_id(app: &AppState, session: &LoginSession, sent: &Fields) -> Result<ApiKeyId> {
    let sealed = URL_SAFE_NO_PAD.decode(sent.text(ONCE)).ok();
    let plain = sealed.and_then(|sealed| seal::open(app.settings.encryption_keys.all(), &purpose_of_once(session), &sealed).ok());
    let id = plain.and_then(|plain| ApiKeyId::try_from(String::from_utf8(plain).ok()?).ok());
    id.ok_or_else(|| Error::Invalid(FieldErrors::of_request("This form is out of date: send it again")))
}

pub(super) async fn show_new(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    right: Result<NewCredentials, Error>,
) -> Result<Response> {
    let obstacle = right.err().map(|error| Obstacle::of(&frame, error, frame.here())).transpose()?;
    let form = key_form("", "");
    let once = Some(once(&app, &session)?);
    form.page(&KeyPage { obstacle, once, ..KeyPage::new(&frame, &form, sent_choices(&Fields::default())) })
}

pub(super) async fn make(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSessionAlone,
    right: NewCredentials,
    sent: Fields,
) -> Result<Response> {
    let fresh = fresh::prove(&app, &session, None).await?;
    let choices = sent_choices(&sent);
    let read = || {
        let (end, id) = (read_end(sent.text("expires_at"))?, sent_id(&app, &session, &sent)?);
        Result::Ok((read_new(&sent, &choices, end, app.now())?, id))
    };
    let made = match read() {
        Ok((new, id)) => service::create_once(&app, &session, (right, fresh), &new, &id).await,
        Err(error) => Err(error),
    };
    match made {
        Ok((key, token)) => {
            let text = "It can do what its scopes allow, on the apps that you reach: keep it like a password.";
            view::page(&Made { frame: &frame, name: &key.name, key: token.reveal(), text })
        }
        Err(Error::Conflict(_)) => {
            let text =
                "That form was sent before; the key that it made is in the list. It is shown once: if you did not copy it, revoke it.";
            frame.redirect_saying("/keys", &Flash::good(text))
        }
        Err(error) => {
            let form = refuse(&sent, error, app.now())?;
            let once = Some(once(&app, &session)?);
            form.page(&KeyPage { once, ..KeyPage::new(&frame, &form, choices) })
        }
    }
}

async fn find(app: &AppState, session: &DashboardSession, id: &str) -> Result<ApiKey> {
    let found = repo::find(&mut app.db.read().await?, session.account(), id).await?;
    found.ok_or(Error::NotFound(Thing::ApiKey))
}

/// Until when a key works, in words.
fn until_of(key: &ApiKey) -> String {
    key.expires_time.map_or_else(|| "no end".to_owned(), end)
}

fn day_of(key: &ApiKey) -> String {
    key.expires_time.map(until::shown).unwrap_or_default()
}

pub(super) async fn show_one(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    KeyPath(id): KeyPath,
) -> Result<Response> {
    let key = find(&app, &session, &id).await?;
    let form = key_form(&key.name, &day_of(&key));
    let (page, choices) = (frame.path(&page_of(&id)), choices_of(key.scopes()?));
    let existing = Existing { name: &key.name, until: until_of(&key), shown_day: day_of(&key), shown_scopes: text_of(&choices) };
    form.page(&KeyPage { page, key: Some(existing), ..KeyPage::new(&frame, &form, choices) })
}

/// Changes a key as a form says. What is as it was shown changes nothing, whatever it has become meanwhile; a day then leaves the time of day as it was,
/// too.
async fn update(app: &AppState, session: &DashboardSession, id: &str, sent: &Fields, choices: &[Choice]) -> Result<ApiKey> {
    let (day, now) = (sent.text("expires_at"), app.now());
    let end = if sent.get(SHOWN_DAY) == Some(day) { None } else { Some(read_end(day)?) };
    let end = end.map(|end| end.judge(now)).transpose();
    let is_same = sent.get(SHOWN_SCOPES) == Some(text_of(choices).as_str());
    let scopes = (!is_same).then(|| ScopeSet::of(ticked(choices))).transpose();
    let fresh = service::prove(app, session, id, &scopes, &end, None).await?;
    let mut errors = FieldErrors::default();
    let name = errors.take("name", sent.get("name").map(judge_name).transpose());
    let (scopes, end) = (errors.take("scopes", scopes), errors.take("expires_at", end));
    let (Some(name), Some(scopes), Some(end)) = (name, scopes, end) else { return Err(errors.into()) };
    service::update(app, session, fresh, id, &ApiKeyPatch { name, scopes, end }).await
}

pub(super) async fn change(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    KeyPath(id): KeyPath,
    sent: Fields,
) -> Result<Response> {
    let key = find(&app, &session, &id).await?;
    let choices = sent_choices(&sent);
    match update(&app, &session, &id, &sent, &choices).await {
        Ok(key) => frame.redirect_saying("/keys", &Flash::good(format!("The API key {} is changed.", isolate(&key.name)))),
        Err(error) => {
            let form = refuse(&sent, error, app.now())?;
            let page = frame.path(&page_of(&id));
            let (shown_day, shown_scopes) = (sent.text(SHOWN_DAY).to_owned(), sent.text(SHOWN_SCOPES).to_owned());
            let existing = Existing { name: &key.name, until: until_of(&key), shown_day, shown_scopes };
            form.page(&KeyPage { page, key: Some(existing), ..KeyPage::new(&frame, &form, choices) })
        }
    }
}

pub(super) async fn show_revocation(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    KeyPath(id): KeyPath,
) -> Result<Response> {
    let key = find(&app, &session, &id).await?;
    let question = Question {
        frame: &frame,
        page: frame.path(&format!("{}/revoke", page_of(&id))),
        title: format!("Revoke the API key {}?", isolate(&key.name)),
        text: "Whatever uses it is refused at once, and it cannot be brought back. It stays in the list.",
        button: "Revoke it",
        back: "/keys",
    };
    question.ask()
}

pub(super) async fn revoke(State(app): State<AppState>, frame: Frame, session: DashboardSession, KeyPath(id): KeyPath) -> Result<Response> {
    let key = find(&app, &session, &id).await?;
    service::revoke(&app, &session, &id).await?;
    frame.redirect_saying("/keys", &Flash::good(format!("The API key {} is revoked.", isolate(&key.name))))
}
