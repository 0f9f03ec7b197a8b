//! Passkeys: adding one through the browser, renaming, removal.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use shared::ids::PasskeyId;
use shared::text::isolate;
use shared::{FieldErrors, Invalid};

use super::{Change, recovery, removal_warning, removed};
use crate::domain::access::DashboardSession;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::second_factors;
use crate::domain::second_factors::passkeys::service::NewPasskey;
use crate::domain::second_factors::passkeys::{repo, service};
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::reauthenticate;
use crate::http::dashboard::sign_in::{SignInQuery, next_of};
use crate::http::dashboard::step_up::{self, StepUp};
use crate::http::extract::PasskeyPath;

#[derive(Template)]
#[template(path = "dashboard/passkey_new.html")]
struct New<'p> {
    frame: &'p Frame,
    form: &'p Form,
    step_up: &'p StepUp,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "dashboard/passkey.html")]
struct Rename<'p> {
    frame: &'p Frame,
    form: &'p Form,
    page: String,
    name: &'p str,
}

fn name_field(name: &str) -> Field {
    Field::text("name", "Name").value(name).hint("Helps you recognize it, such as the name of the device.")
}

fn new_form(sent: &Fields) -> Form {
    Form::of([name_field(sent.text("name")).optional()])
}

async fn step_up_of(app: &AppState, session: &DashboardSession) -> Result<StepUp> {
    Ok(StepUp::of(app, session).await?.before_another())
}

pub(super) async fn show_new(State(app): State<AppState>, frame: Frame, session: DashboardSession, query: SignInQuery) -> Result<Response> {
    let (form, step_up) = (new_form(&Fields::default()), step_up_of(&app, &session).await?);
    form.page(&New { frame: &frame, form: &form, step_up: &step_up, next: query.next })
}

/// Returns the options for a new passkey.
pub(super) async fn options(State(app): State<AppState>, session: DashboardSession) -> Result<Response> {
    let options = service::ask(&app, &session).await;
    step_up::options_response(options.map(|options| json!({ "options": options })))
}

pub(super) async fn add(State(app): State<AppState>, frame: Frame, session: DashboardSession, sent: Fields) -> Result<Response> {
    if sent.text("response").is_empty() {
        // The session was too old to begin, so the script sends the form; after reauthentication, the form comes back with its input.
        second_factors::check_first(&mut app.db.read().await?, &app, &session).await?;
        if reauthenticate::is_answer(&sent) {
            let (form, step_up) = (new_form(&sent), step_up_of(&app, &session).await?);
            return form.page(&New { frame: &frame, form: &form, step_up: &step_up, next: next_of(&frame, &sent) });
        }
    }
    let next = next_of(&frame, &sent);
    match service::add(&app, &session, read(&sent)).await {
        Ok(added) => match added.codes {
            Some(codes) => recovery::shown(&frame, codes, true, next),
            None => {
                frame.redirect_with_flash("/security", &Flash::good(format!("The passkey {} was added.", isolate(&added.passkey.name))))
            }
        },
        Err(error) => {
            let mut step_up = step_up_of(&app, &session).await?;
            let form = match error {
                // Nobody can correct by hand what the browser sent.
                Error::Invalid(errors) if errors.is_about("response") => {
                    let text = "The passkey was not accepted, or the request timed out. Try again.";
                    new_form(&sent).refuse_with_text(StatusCode::BAD_REQUEST, text)
                }
                error => step_up.refuse(new_form(&sent), &sent, error)?,
            };
            form.page(&New { frame: &frame, form: &form, step_up: &step_up, next })
        }
    }
}

fn read(sent: &Fields) -> Result<NewPasskey, FieldErrors> {
    let mut errors = FieldErrors::default();
    let response = errors.take("response", step_up::answer(sent.text("response")).new_passkey());
    let name = Some(sent.text("name").trim()).filter(|name| !name.is_empty());
    let name = errors.take("name", name.map(str::parse).transpose());
    match (response, name) {
        (Some(response), Some(name)) => Ok(NewPasskey { response, name, proof: step_up::proof(sent) }),
        _ => Err(errors),
    }
}

/// One of the caller's passkeys.
async fn find(app: &AppState, session: &DashboardSession, id: &PasskeyId) -> Result<repo::PasskeyRow> {
    let mut tx = app.db.read().await?;
    let found = service::list(&mut tx, session).await?.into_iter().find(|row| row.id == *id);
    found.ok_or(Error::NotFound(Thing::Passkey))
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    PasskeyPath(id): PasskeyPath,
) -> Result<Response> {
    let passkey = find(&app, &session, &id).await?;
    let form = Form::of([name_field(&passkey.name)]);
    form.page(&Rename { frame: &frame, form: &form, page: page(&id), name: &passkey.name })
}

fn page(id: &PasskeyId) -> String {
    format!("/security/passkeys/{id}")
}

pub(super) async fn rename(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    PasskeyPath(id): PasskeyPath,
    sent: Fields,
) -> Result<Response> {
    let renamed = match sent.get("name").ok_or(Invalid::REQUIRED).and_then(str::parse) {
        Ok(name) => service::rename(&app, &session, &id, &name).await,
        Err(error) => Err(Error::invalid("name", error)),
    };
    match renamed {
        Ok(passkey) => {
            frame.redirect_with_flash("/security", &Flash::good(format!("The passkey was renamed to {}.", isolate(&passkey.name))))
        }
        Err(error) => {
            let form = Form::of([name_field(sent.text("name"))]).refuse(error)?;
            let passkey = find(&app, &session, &id).await?;
            form.page(&Rename { frame: &frame, form: &form, page: page(&id), name: &passkey.name })
        }
    }
}

fn removal<'p>(frame: &'p Frame, form: &'p Form, step_up: &'p StepUp, passkey: &repo::PasskeyRow) -> Change<'p> {
    Change {
        frame,
        form,
        step_up,
        page: frame.path(&format!("{}/remove", page(&passkey.id))),
        title: format!("Remove the passkey {}?", isolate(&passkey.name)),
        text: "You will no longer be able to sign in with it. Your device may offer it until you delete it there as well.",
        warning: removal_warning(step_up),
        button: "Remove passkey",
        is_removal: true,
    }
}

pub(super) async fn show_removal(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    PasskeyPath(id): PasskeyPath,
) -> Result<Response> {
    let passkey = find(&app, &session, &id).await?;
    let (form, step_up) = (Form::default(), StepUp::of(&app, &session).await?);
    form.page(&removal(&frame, &form, &step_up, &passkey))
}

pub(super) async fn remove(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    PasskeyPath(id): PasskeyPath,
    sent: Fields,
) -> Result<Response> {
    let passkey = find(&app, &session, &id).await?;
    match service::remove(&app, &session, &id, step_up::proof(&sent).as_ref()).await {
        Ok(are_on) => removed(&frame, &format!("The passkey {}", isolate(&passkey.name)), are_on),
        Err(error) => {
            let mut step_up = StepUp::of(&app, &session).await?;
            let form = step_up.refuse(Form::default(), &sent, error)?;
            form.page(&removal(&frame, &form, &step_up, &passkey))
        }
    }
}
