//! API keys: for automation, limited to scopes.

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
use super::confirm::ConfirmPage;
use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use super::keys::{Created, SHOWN_DAY};
use super::prefill::Prefill;
use super::{until, view};
use crate::domain::access::{DashboardSession, DashboardSessionOnly, LoginSession};
use crate::domain::credentials::api_keys::repo::{self, ApiKey};
use crate::domain::credentials::scope::{Scope, ScopeSet};
use crate::domain::error::{Error, Result, Thing};
use crate::domain::keys::api_keys::{self as service, ApiKeyPatch, End, NewApiKey, validate_name};
use crate::domain::second_factors::NewCredentials;
use crate::http::AppState;
use crate::http::extract::KeyPath;
use crate::infra::crypto::seal;
use crate::infra::dates::RelativeTime;
use crate::infra::db::ReadTx;

/// An API key as pages show it.
pub(super) struct ApiKeyItem {
    pub(super) page: String,
    pub(super) name: String,
    pub(super) prefix: String,
    pub(super) scopes: String,
    pub(super) used: Option<RelativeTime>,
    pub(super) expires: Option<RelativeTime>,
    pub(super) is_revoked: bool,
}

/// The account's API keys; revoked ones come last.
pub(super) async fn list(tx: &mut ReadTx, frame: &Frame, session: &DashboardSession) -> Result<Vec<ApiKeyItem>> {
    let mut keys = repo::list(tx, session.account()).await?;
    keys.sort_by_key(|key| key.revoked_time.is_some());
    let shown = |key: ApiKey| -> Result<ApiKeyItem> {
        Ok(ApiKeyItem {
            page: frame.path(&page_of(key.id.as_str())),
            scopes: key.scopes()?.names().join(", "),
            used: key.last_used_time.map(|used| RelativeTime::of(used, frame.now())),
            expires: expiry_of(frame, &key),
            is_revoked: key.revoked_time.is_some(),
            name: key.name,
            prefix: key.key_prefix,
        })
    };
    keys.into_iter().map(shown).collect()
}

fn page_of(id: &str) -> String {
    format!("/keys/api/{id}")
}

/// A scope as a checkbox.
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
            Scope::Read => ("scopeRead", "read apps, releases and metrics"),
            Scope::Apps => ("scopeApps", "create and manage apps and deployments"),
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

/// The end of the day in a form; `Never` when the form has no day.
fn read_end(day: &str) -> Result<End> {
    if day.is_empty() {
        return Ok(End::Never);
    }
    until::end_of(day).map(End::At).map_err(|fault| Error::invalid("expires_at", fault))
}

/// The new key in a form, with this id.
fn read_new(sent: &Fields, choices: &[Choice], id: Result<ApiKeyId>, now: UnixMillis) -> Result<NewApiKey> {
    let (end, id) = (read_end(sent.text("expires_at"))?, Some(id?));
    let mut errors = FieldErrors::default();
    let name = errors.take("name", sent.get("name").ok_or(Invalid::from("is required")).and_then(validate_name));
    let scopes = errors.take("scopes", ScopeSet::of(ticked(choices)));
    let end = errors.take("expires_at", end.validate(now));
    match (name, scopes, end) {
        (Some(name), Some(scopes), Some(end)) => Ok(NewApiKey { name, scopes, end, id }),
        _ => Err(errors.into()),
    }
}

#[derive(Template)]
#[template(path = "dashboard/api_key.html")]
struct KeyPage<'p> {
    frame: &'p Frame,
    form: &'p Form,
    name: Field,
    end: Field,
    /// What is wrong with the choice of scopes.
    fault: Option<String>,
    choices: Vec<Choice>,
    obstacle: Option<Obstacle>,
    /// The idempotency value of a form for a new key.
    once: Option<String>,
    /// Where the form is sent.
    page: String,
    /// The key that is edited; `None` for a new one.
    key: Option<Existing<'p>>,
}

/// A key that is edited.
struct Existing<'p> {
    name: &'p str,
    /// When it expires before the edit.
    expires: Option<RelativeTime>,
    /// The day that the form showed at first.
    shown_day: String,
    /// The scopes that the form showed at first.
    shown_scopes: String,
}

/// The field with the scopes that a form showed at first.
const SHOWN_SCOPES: &str = "shownScopes";

/// The checked scopes as one text.
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
    let name = Field::text("name", "Name").hint("What the key is for, such as the name of the program.").value(name);
    let end = Field { hint: "The end of this day in UTC. Leave it empty for a key that never expires.", ..until::field("expires_at", day) };
    Form::of([name, Field::text("scopes", "Scopes"), end.optional()])
}

/// Shows each error at its field; the error of the checkboxes in words of this page.
fn refuse(sent: &Fields, error: Error, now: UnixMillis) -> Result<Form> {
    let day = sent.text("expires_at");
    let form = until::refuse(key_form(sent.text("name"), day), error, ("expires_at", day), now)?;
    Ok(form.in_words("scopes", "Choose at least one scope."))
}

/// The field with the id of the key that a form creates, encrypted for the account. Nobody can choose an id, and a form that is sent twice (by a reload)
/// creates one key only.
const ONCE: &str = "once";

fn purpose_of_once(session: &LoginSession) -> String {
    format!("dashboard/api-key/{}", session.account())
}

fn once(app: &AppState, session: &LoginSession) -> Result<String> {
    let id = service::new_id(app)?;
    let sealed = seal::seal(app.settings.encryption_keys.first(), &app.entropy, &purpose_of_once(session), id.as_str().as_bytes())?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

/// The key's id from a form. Errors: 400 when the form has no id that was created for this account.
fn sent_id(app: &AppState, session: &LoginSession, sent: &Fields) -> Result<ApiKeyId> {
    let sealed = URL_SAFE_NO_PAD.decode(sent.text(ONCE)).ok();
    let plain = sealed.and_then(|sealed| seal::open(app.settings.encryption_keys.all(), &purpose_of_once(session), &sealed).ok());
    let id = plain.and_then(|plain| ApiKeyId::try_from(String::from_utf8(plain).ok()?).ok());
    id.ok_or_else(|| Error::Invalid(FieldErrors::of_request("This form has expired: submit it again")))
}

pub(super) async fn show_new(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    right: Result<NewCredentials, Error>,
    prefill: Prefill,
) -> Result<Response> {
    let obstacle = right.err().map(|error| Obstacle::of(&frame, error, frame.here())).transpose()?;
    let form = key_form(&prefill.name(validate_name), prefill.expires(app.now()).unwrap_or_default());
    let once = Some(once(&app, &session)?);
    form.page(&KeyPage { obstacle, once, ..KeyPage::new(&frame, &form, choices(|scope, _| prefill.has_scope(scope))) })
}

pub(super) async fn create(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSessionOnly,
    right: NewCredentials,
    sent: Fields,
) -> Result<Response> {
    let choices = sent_choices(&sent);
    let new = read_new(&sent, &choices, sent_id(&app, &session, &sent), app.now());
    match service::create(&app, &session, right, new, None).await {
        Ok((key, token)) => {
            let text = "It has access to your apps within its scopes. Store it like a password.";
            view::page(&Created { frame: &frame, name: &key.name, key: token.reveal(), text })
        }
        Err(Error::Conflict(_)) => {
            let text =
                "You submitted this form already, and its key is in the list. A key is shown only once: if you did not copy it, revoke it.";
            frame.redirect_with_flash("/keys", &Flash::good(text))
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

/// When a key expires, if ever.
fn expiry_of(frame: &Frame, key: &ApiKey) -> Option<RelativeTime> {
    key.expires_time.map(|expires| RelativeTime::of(expires, frame.now()))
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
    let existing = Existing { name: &key.name, expires: expiry_of(&frame, &key), shown_day: day_of(&key), shown_scopes: text_of(&choices) };
    form.page(&KeyPage { page, key: Some(existing), ..KeyPage::new(&frame, &form, choices) })
}

/// Updates a key from a form. A field that still has the value it was shown with changes nothing, even if the key has changed since then. So an
/// untouched day also keeps the expiry's time of day.
async fn update(app: &AppState, session: &DashboardSession, id: &str, sent: &Fields, choices: &[Choice]) -> Result<ApiKey> {
    let (day, now) = (sent.text("expires_at"), app.now());
    let end = if sent.get(SHOWN_DAY) == Some(day) { None } else { Some(read_end(day)?) };
    let end = end.map(|end| end.validate(now)).transpose();
    let is_same = sent.get(SHOWN_SCOPES) == Some(text_of(choices).as_str());
    let scopes = (!is_same).then(|| ScopeSet::of(ticked(choices))).transpose();
    let name = sent.get("name").map(validate_name).transpose();
    service::update(app, session, id, ApiKeyPatch { name, scopes, end, proof: Ok(None) }).await
}

pub(super) async fn edit(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    KeyPath(id): KeyPath,
    sent: Fields,
) -> Result<Response> {
    let key = find(&app, &session, &id).await?;
    let choices = sent_choices(&sent);
    match update(&app, &session, &id, &sent, &choices).await {
        Ok(key) => frame.redirect_with_flash("/keys", &Flash::good(format!("The API key {} was updated.", isolate(&key.name)))),
        Err(error) => {
            let form = refuse(&sent, error, app.now())?;
            let page = frame.path(&page_of(&id));
            let (shown_day, shown_scopes) = (sent.text(SHOWN_DAY).to_owned(), sent.text(SHOWN_SCOPES).to_owned());
            let existing = Existing { name: &key.name, expires: expiry_of(&frame, &key), shown_day, shown_scopes };
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
    let question = ConfirmPage {
        frame: &frame,
        page: frame.path(&format!("{}/revoke", page_of(&id))),
        title: format!("Revoke the API key {}?", isolate(&key.name)),
        text: "Programs that use it lose access immediately. You cannot undo this. The key stays in the list.",
        button: "Revoke key",
        back: "/keys",
    };
    question.ask()
}

pub(super) async fn revoke(State(app): State<AppState>, frame: Frame, session: DashboardSession, KeyPath(id): KeyPath) -> Result<Response> {
    let key = find(&app, &session, &id).await?;
    service::revoke(&app, &session, &id).await?;
    frame.redirect_with_flash("/keys", &Flash::good(format!("The API key {} was revoked.", isolate(&key.name))))
}
