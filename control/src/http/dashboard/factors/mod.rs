//! Two-factor authentication: the account's second factors, and the pages that add, rename and remove them.
//!
//! Every change asks for one of them, if there is one ([`super::step_up`]). Only the response to the form that created recovery codes shows them.

mod authenticator;
mod passkeys;
mod recovery;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};

use super::flash::Flash;
use super::form::Form;
use super::frame::Frame;
use super::page_routes::Pages;
use super::step_up::{self, StepUp};
use super::view;
use crate::domain::access::DashboardSession;
use crate::domain::error::Result;
use crate::domain::second_factors::factors;
use crate::domain::second_factors::passkeys::{proof, service};
use crate::http::AppState;
use crate::infra::dates::RelativeTime;

#[derive(Template)]
#[template(path = "dashboard/security.html")]
struct Security<'p> {
    frame: &'p Frame,
    is_on: bool,
    has_authenticator: bool,
    codes: i64,
    passkeys: Vec<PasskeyItem>,
}

/// A passkey as the list shows it.
struct PasskeyItem {
    page: String,
    name: String,
    kind: &'static str,
    created: RelativeTime,
    used: Option<RelativeTime>,
}

/// A change of second factors that needs a proof and no other input.
#[derive(Template)]
#[template(path = "dashboard/factor_change.html")]
struct Change<'p> {
    frame: &'p Frame,
    form: &'p Form,
    step_up: &'p StepUp,
    /// Where the form is sent.
    page: String,
    title: String,
    text: &'static str,
    /// The consequences.
    warning: &'static str,
    button: &'static str,
    is_removal: bool,
}

/// The page instead of such a change when there is nothing to change.
#[derive(Template)]
#[template(path = "dashboard/factor_none.html")]
struct NothingToChange<'p> {
    frame: &'p Frame,
    title: &'static str,
    text: &'static str,
}

/// Adds the pages of the account's second factors.
pub(super) fn pages(pages: Pages) -> Pages {
    pages
        .page("/security", get(show))
        .page("/security/step-up/options", post(step_up_options))
        .page("/security/authenticator", get(authenticator::show).post(authenticator::submit))
        .page("/security/authenticator/remove", get(authenticator::show_removal).post(authenticator::remove))
        .page("/security/passkeys/new", get(passkeys::show_new).post(passkeys::add))
        .page("/security/passkeys/options", post(passkeys::options))
        .page("/security/passkeys/{passkey}", get(passkeys::show).post(passkeys::rename))
        .page("/security/passkeys/{passkey}/remove", get(passkeys::show_removal).post(passkeys::remove))
        .page("/security/recovery-codes", get(recovery::show).post(recovery::create))
        .page("/security/recovery-codes/download", post(recovery::download))
}

async fn show(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let found = factors::find(&mut tx, session.account()).await?;
    let rows = service::list(&mut tx, &session).await?;
    let passkeys = rows.into_iter().map(|row| PasskeyItem {
        page: frame.path(&format!("/security/passkeys/{}", row.id)),
        name: row.name,
        kind: if row.is_backup_eligible { "Can be synced" } else { "Stays on one device" },
        created: RelativeTime::of(row.created_time, frame.now()),
        used: (row.last_used_time != row.created_time).then(|| RelativeTime::of(row.last_used_time, frame.now())),
    });
    let passkeys = passkeys.collect();
    view::page(&Security {
        frame: &frame,
        is_on: found.are_on(),
        has_authenticator: found.authenticators > 0,
        codes: found.recovery_codes,
        passkeys,
    })
}

/// Returns the options for a step-up with a passkey.
async fn step_up_options(State(app): State<AppState>, session: DashboardSession) -> Result<Response> {
    let options = proof::ask_for_step_up(&app, &session).await;
    step_up::options_response(options.map(|options| serde_json::json!({ "options": options })))
}

/// The warning before a factor is removed, if it is the last one.
fn removal_warning(step_up: &StepUp) -> &'static str {
    if step_up.is_last() {
        "This turns off two-factor authentication. You will sign in with your password only, and your recovery codes will no longer work."
    } else {
        ""
    }
}

/// The redirect after a factor was removed.
fn removed(frame: &Frame, what: &str, are_on: bool) -> Result<Response> {
    let text = if are_on {
        format!("{what} was removed.")
    } else {
        format!("{what} was removed. Two-factor authentication is off, and your recovery codes no longer work.")
    };
    frame.redirect_with_flash("/security", &Flash::good(text))
}
