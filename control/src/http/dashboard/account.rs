//! Account settings: name, password, deletion.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use shared::Invalid;

use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use super::session;
use super::shared_apps::{self, SharedApps};
use super::step_up::{self, StepUp};
use super::view;
use crate::domain::access::{DashboardSession, apps};
use crate::domain::accounts::Password;
use crate::domain::accounts::repo::AccountRow;
use crate::domain::accounts::service::validate_name;
use crate::domain::error::{Error, Result};
use crate::domain::profile::service::{self, AccountChange, PasswordChange, Profile};
use crate::http::AppState;
use crate::infra::dates::RelativeTime;

#[derive(Template)]
#[template(path = "dashboard/account.html")]
struct AccountPage<'p> {
    frame: &'p Frame,
    form: &'p Form,
    account: &'p AccountRow,
    has_second_factor: bool,
    created: RelativeTime,
    largest: String,
    shared: SharedApps,
}

#[derive(Template)]
#[template(path = "dashboard/account_password.html")]
struct NewPassword<'p> {
    frame: &'p Frame,
    form: &'p Form,
    step_up: &'p StepUp,
    email: &'p str,
}

#[derive(Template)]
#[template(path = "dashboard/account_delete.html")]
struct Deletion<'p> {
    frame: &'p Frame,
    form: &'p Form,
    step_up: &'p StepUp,
    email: &'p str,
    /// The account's apps, which block the deletion.
    apps: Vec<String>,
}

fn name_form(name: &str) -> Form {
    Form::of([Field::text("name", "Your name")
        .hint("Only you see it, in the menu of these pages. Others see your email address.")
        .autocomplete("name")
        .value(name)])
}

async fn account_page(app: &AppState, frame: &Frame, session: &DashboardSession, form: Option<&Form>) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let Profile { account, has_second_factor } = service::find(&mut tx, session).await?;
    let shared = shared_apps::list(&mut tx, frame, session).await?;
    drop(tx);
    let shown = name_form(account.name.as_deref().unwrap_or_default());
    let form = form.unwrap_or(&shown);
    let (created, largest) = (RelativeTime::of(account.created_time, frame.now()), view::limited_bytes(account.max_upload_bytes));
    form.page(&AccountPage { frame, form, account: &account, has_second_factor, created, largest, shared })
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    account_page(&app, &frame, &session, None).await
}

pub(super) async fn rename(State(app): State<AppState>, frame: Frame, session: DashboardSession, sent: Fields) -> Result<Response> {
    // Without the field, nothing would change, but the page would report success.
    let changed = match sent.get("name") {
        Some(name) => {
            let name = validate_name(name).map(|name| Some(name.into_owned()));
            service::update(&app, &session, AccountChange { name, password: None, proof: Ok(None) }).await
        }
        None => Err(Error::invalid("name", "is required")),
    };
    match changed {
        Ok(()) => frame.redirect_with_flash("/account", &Flash::good("Your name was updated.")),
        Err(error) => {
            let form = name_form(sent.text("name")).refuse(error)?;
            account_page(&app, &frame, &session, Some(&form)).await
        }
    }
}

/// The current password, from this field.
fn given_password(sent: &Fields, field: &str) -> Result<Password, Invalid> {
    sent.get(field).ok_or(Invalid::REQUIRED).and_then(str::parse)
}

fn password_form() -> Form {
    let fields = [Field::password("currentPassword", "Current password"), Field::new_password("password", "New password")];
    Form::of(fields)
}

/// Shows a refusal: a wrong password at its field, a missing proof at the two-factor field, everything else as other forms do.
fn refuse(step_up: &mut StepUp, mut form: Form, sent: &Fields, error: Error, password: &'static str) -> Result<Form> {
    if !matches!(error, Error::WrongCredentials(_)) {
        return step_up.refuse(form, sent, error);
    }
    for field in form.fields.iter_mut().filter(|field| field.name == password) {
        field.error = Some("The password is incorrect.".to_owned());
    }
    Ok(form.refuse_with_text(StatusCode::UNAUTHORIZED, "No changes were made."))
}

pub(super) async fn show_password(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let (form, step_up) = (password_form(), StepUp::of(&app, &session).await?);
    form.page(&NewPassword { frame: &frame, form: &form, step_up: &step_up, email: session.email() })
}

pub(super) async fn change_password(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    sent: Fields,
) -> Result<Response> {
    // Without the field, nothing would change, but the page would report success.
    let changed = match sent.get("password") {
        Some(new) => {
            let password = Some(PasswordChange { new: Ok(new.to_owned()), current: given_password(&sent, "currentPassword") });
            service::update(&app, &session, AccountChange { name: Ok(None), password, proof: Ok(step_up::proof(&sent)) }).await
        }
        None => Err(Error::invalid("password", "is required")),
    };
    match changed {
        Ok(()) => {
            let text = "Your password was changed. Your other sessions and authorized devices were signed out. Keys still work.";
            frame.redirect_with_flash("/account", &Flash::good(text))
        }
        Err(error) => {
            let mut step_up = StepUp::of(&app, &session).await?;
            let form = refuse(&mut step_up, password_form(), &sent, error, "currentPassword")?;
            form.page(&NewPassword { frame: &frame, form: &form, step_up: &step_up, email: session.email() })
        }
    }
}

fn deletion_form() -> Form {
    Form::of([Field::password("password", "Your password")])
}

pub(super) async fn show_deletion(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    deletion_page(&app, &frame, &session, &deletion_form(), &StepUp::of(&app, &session).await?).await
}

async fn deletion_page(app: &AppState, frame: &Frame, session: &DashboardSession, form: &Form, step_up: &StepUp) -> Result<Response> {
    let reached = apps::list(&mut app.db.read().await?, session.account()).await?;
    let owned = reached.into_iter().filter(|app| app.is_own);
    form.page(&Deletion { frame, form, step_up, email: session.email(), apps: owned.map(|app| app.name).collect() })
}

pub(super) async fn delete(State(app): State<AppState>, frame: Frame, session: DashboardSession, sent: Fields) -> Result<Response> {
    let deleted = match given_password(&sent, "password") {
        Ok(password) => service::delete(&app, &session, &password, step_up::proof(&sent).as_ref()).await,
        Err(error) => Err(Error::invalid("password", error)),
    };
    match deleted {
        Ok(()) => session::end(&frame, frame.redirect_with_flash("/sign-in?again", &Flash::good("Your account was deleted."))?),
        Err(error) => {
            let mut step_up = StepUp::of(&app, &session).await?;
            let form = refuse(&mut step_up, deletion_form(), &sent, error, "password")?;
            deletion_page(&app, &frame, &session, &form, &step_up).await
        }
    }
}
