//! Second factors: what the account has, and the pages on which they are added, renamed and removed.
//!
//! What changes them asks for one of them, where there is one ([`super::step_up`]). Recovery codes are shown by the answer to the form that made them,
//! and by nothing else.

pub(super) mod authenticator;
pub(super) mod passkeys;
pub(super) mod recovery;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::flash::Flash;
use super::form::Form;
use super::frame::Frame;
use super::step_up::{self, StepUp};
use super::view;
use crate::domain::access::DashboardSession;
use crate::domain::error::Result;
use crate::domain::second_factors::factors;
use crate::domain::second_factors::passkeys::{proof, service};
use crate::http::AppState;
use crate::infra::dates::{day, moment};

#[derive(Template)]
#[template(path = "dashboard/security.html")]
struct Security<'p> {
    frame: &'p Frame,
    is_on: bool,
    has_authenticator: bool,
    codes: i64,
    passkeys: Vec<Shown>,
}

/// A passkey as the list shows it.
struct Shown {
    page: String,
    name: String,
    kind: &'static str,
    made: String,
    used: String,
}

/// A change of second factors that asks for nothing but a proof.
#[derive(Template)]
#[template(path = "dashboard/factor_change.html")]
struct Change<'p> {
    frame: &'p Frame,
    form: &'p Form,
    step_up: &'p StepUp,
    /// Where it is sent.
    page: String,
    title: String,
    text: &'static str,
    /// What to look out for.
    warning: &'static str,
    button: &'static str,
    is_removal: bool,
}

/// What is said instead of such a change, when there is nothing to change.
#[derive(Template)]
#[template(path = "dashboard/factor_none.html")]
struct Nothing<'p> {
    frame: &'p Frame,
    title: &'static str,
    text: &'static str,
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let found = factors::find(&mut tx, session.account()).await?;
    let rows = service::list(&mut tx, &session).await?;
    let passkeys = rows.into_iter().map(|row| Shown {
        page: frame.path(&format!("/security/passkeys/{}", row.id)),
        name: row.name,
        kind: if row.is_backup_eligible { "can be synced" } else { "stays on one device" },
        made: day(row.created_time),
        used: if row.last_used_time == row.created_time { "not yet".to_owned() } else { moment(row.last_used_time) },
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

/// Asks what a passkey is to sign for a step-up.
pub(super) async fn step_up_options(State(app): State<AppState>, session: DashboardSession) -> Result<Response> {
    let asked = proof::ask_for_step_up(&app, &session).await;
    step_up::asked(asked.map(|options| serde_json::json!({ "options": options })))
}

/// What to look out for when a factor is removed.
fn last(step_up: &StepUp) -> &'static str {
    if step_up.is_last() {
        "This is your last second factor. Without it your password alone signs you in, and your recovery codes are void."
    } else {
        ""
    }
}

/// Where a removal of a factor leads.
fn removed(frame: &Frame, what: &str, are_on: bool) -> Result<Response> {
    let text = if are_on {
        format!("{what} was removed.")
    } else {
        format!("{what} was removed. It was the last second factor: your password alone signs you in now, and the recovery codes are void.")
    };
    frame.redirect_saying("/security", &Flash::good(text))
}
