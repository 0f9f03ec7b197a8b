//! Passkeys: added by the browser, renamed, removed.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use shared::ids::PasskeyId;
use shared::text::isolate;

use super::{Change, last, recovery, removed};
use crate::domain::access::DashboardSession;
use crate::domain::audit::ClientAddress;
use crate::domain::error::{AppError, AppResult};
use crate::domain::login::fresh;
use crate::domain::second_factors::passkeys::{repo, service};
use crate::http::AppState;
use crate::http::api::passkeys::NewPasskey;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::reauthenticate;
use crate::http::dashboard::sign_in::{Asked, next_of};
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
    Field::text("name", "Name").value(name).hint("So that you know it again, such as the name of the device.")
}

fn new_form(sent: &Fields) -> Form {
    Form::of([name_field(sent.text("name")).optional()])
}

async fn step_up_of(app: &AppState, session: &DashboardSession) -> AppResult<StepUp> {
    Ok(StepUp::of(app, session).await?.before_another())
}

pub(in crate::http::dashboard) async fn show_new(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    RawQuery(query): RawQuery,
) -> AppResult<Response> {
    let Asked { next, .. } = Asked::of(&frame, query.as_deref());
    let (form, step_up) = (new_form(&Fields::default()), step_up_of(&app, &session).await?);
    form.page(&New { frame: &frame, form: &form, step_up: &step_up, next })
}

/// Asks what a new passkey is to be made by.
pub(in crate::http::dashboard) async fn options(State(app): State<AppState>, session: DashboardSession) -> AppResult<Response> {
    let asked = service::ask(&app, &session).await;
    step_up::asked(asked.map(|options| json!({ "options": options })))
}

pub(in crate::http::dashboard) async fn add(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    from: ClientAddress,
    sent: Fields,
) -> AppResult<Response> {
    if sent.text("response").is_empty() {
        // The script, which was told that the session is too old to begin, sends what was typed, to have it back with a fresh session.
        fresh::check_first_factor(&mut app.db.read().await?, &app, &session).await?;
        if reauthenticate::is_answer(&sent) {
            let (form, step_up) = (new_form(&sent), step_up_of(&app, &session).await?);
            return form.page(&New { frame: &frame, form: &form, step_up: &step_up, next: next_of(&frame, &sent) });
        }
    }
    let response = serde_json::from_value(Value::Object(step_up::answer(sent.text("response")))).map_err(AppError::internal)?;
    let new = NewPasskey { response, name: sent.optional_member("name"), step_up: step_up::member(&sent)? };
    let next = next_of(&frame, &sent);
    match service::add(&app, &session, from, &new).await {
        Ok(added) => match added.codes {
            Some(codes) => recovery::shown(&frame, codes, true, next),
            None => frame.redirect_saying("/security", &Flash::good(format!("The passkey {} was added.", isolate(&added.passkey.name)))),
        },
        Err(error) => {
            let mut step_up = step_up_of(&app, &session).await?;
            let form = match error {
                // What the browser sent is nothing that anybody could mend by hand.
                AppError::Invalid(errors) if errors.is_about("response") => {
                    let text = "The passkey was not accepted, or that took too long. Try again.";
                    new_form(&sent).refuse_saying(StatusCode::BAD_REQUEST, text)
                }
                error => step_up.refuse(new_form(&sent), &sent, error)?,
            };
            form.page(&New { frame: &frame, form: &form, step_up: &step_up, next })
        }
    }
}

/// One of the caller's passkeys.
async fn find(app: &AppState, session: &DashboardSession, id: &PasskeyId) -> AppResult<repo::PasskeyRow> {
    let mut tx = app.db.read().await?;
    let found = service::list(&mut tx, session).await?.into_iter().find(|row| row.id == *id);
    found.ok_or(AppError::NotFound("passkey"))
}

pub(in crate::http::dashboard) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    PasskeyPath(id): PasskeyPath,
) -> AppResult<Response> {
    let passkey = find(&app, &session, &id).await?;
    let form = Form::of([name_field(&passkey.name)]);
    form.page(&Rename { frame: &frame, form: &form, page: page(&id), name: &passkey.name })
}

fn page(id: &PasskeyId) -> String {
    format!("/security/passkeys/{id}")
}

pub(in crate::http::dashboard) async fn rename(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    from: ClientAddress,
    PasskeyPath(id): PasskeyPath,
    sent: Fields,
) -> AppResult<Response> {
    match service::rename(&app, &session, from, &id, &sent.member("name")).await {
        Ok(passkey) => frame.redirect_saying("/security", &Flash::good(format!("The passkey is called {} now.", isolate(&passkey.name)))),
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
        title: format!("Remove the passkey {}", isolate(&passkey.name)),
        text: "It signs nobody in any more. Your device may go on offering it until you delete it there as well.",
        warning: last(step_up),
        button: "Remove it",
        is_removal: true,
    }
}

pub(in crate::http::dashboard) async fn show_removal(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    PasskeyPath(id): PasskeyPath,
) -> AppResult<Response> {
    let passkey = find(&app, &session, &id).await?;
    let (form, step_up) = (Form::default(), StepUp::of(&app, &session).await?);
    form.page(&removal(&frame, &form, &step_up, &passkey))
}

pub(in crate::http::dashboard) async fn remove(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    from: ClientAddress,
    PasskeyPath(id): PasskeyPath,
    sent: Fields,
) -> AppResult<Response> {
    let passkey = find(&app, &session, &id).await?;
    let proof = step_up::member(&sent)?;
    match service::remove(&app, &session, from, &id, step_up::proof(&proof)?.as_ref()).await {
        Ok(are_on) => removed(&frame, &format!("The passkey {}", isolate(&passkey.name)), are_on),
        Err(error) => {
            let mut step_up = StepUp::of(&app, &session).await?;
            let form = step_up.refuse(Form::default(), &sent, error)?;
            form.page(&removal(&frame, &form, &step_up, &passkey))
        }
    }
}
