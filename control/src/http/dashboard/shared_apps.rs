//! Apps that others share with the account: a list on the account page, and the pages to accept or leave one. Emails link to those pages. Only a button on
//! them changes anything, since mail scanners open links.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::ids::AppId;
use shared::keys::Name;

use super::apps::place;
use super::confirm::ConfirmPage;
use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use crate::domain::access::collaborators::{self as repo, SharedRow};
use crate::domain::access::grant::{AcceptApp, LeaveApp};
use crate::domain::access::{AppGrant, DashboardSession, Role};
use crate::domain::collaborators::{acceptance, service};
use crate::domain::email::for_lookup;
use crate::domain::error::{Error, Result, Thing};
use crate::http::AppState;
use crate::infra::db::ReadTx;

/// The maximum number of apps in the list, since others decide how many there are.
const MAX_SHOWN: i64 = 50;

/// Apps that others share with the account.
pub(super) struct SharedApps {
    pub(super) apps: Vec<SharedAppItem>,
    /// Whether there are more than are shown.
    pub(super) has_more: bool,
}

/// A shared app as pages show it.
pub(super) struct SharedAppItem {
    /// The name that always resolves to it.
    pub(super) name: String,
    pub(super) role: &'static str,
    pub(super) is_waiting: bool,
    pub(super) is_transfer: bool,
    pub(super) accept: String,
    pub(super) leave: String,
}

impl SharedAppItem {
    fn of(frame: &Frame, row: &SharedRow) -> Self {
        Self {
            name: row.long_name(),
            role: row.permission.as_str(),
            is_waiting: row.is_waiting(),
            is_transfer: row.is_transfer(),
            accept: frame.path(&format!("/account/apps/{}/accept", row.id)),
            leave: frame.path(&format!("/account/apps/{}/leave", row.id)),
        }
    }
}

/// An app that waits to be accepted, on its own page and in the list. Templates show it with `ui::acceptance` of `dashboard/ui.html`.
pub(super) struct Acceptance {
    /// The page that asks about it, and that the form is sent to.
    pub(super) page: String,
    /// The role that the visitor sees, which the form confirms.
    pub(super) role: &'static str,
    /// Whether it was transferred: its page says what that means, and asks for a name.
    pub(super) is_transfer: bool,
}

impl Acceptance {
    pub(super) fn of(frame: &Frame, app: &AppId, role: Role) -> Self {
        let page = frame.path(&format!("/account/apps/{app}/accept"));
        Self { page, role: role.as_str(), is_transfer: role == Role::Owner }
    }
}

#[derive(Template)]
#[template(path = "dashboard/shared_accept.html")]
struct Accept<'p> {
    frame: &'p Frame,
    form: &'p Form,
    app: SharedAppItem,
    bare: String,
}

/// The list.
pub(super) async fn list(tx: &mut ReadTx, frame: &Frame, session: &DashboardSession) -> Result<SharedApps> {
    let rows = repo::shared(tx, session.account(), MAX_SHOWN + 1).await?;
    let max = usize::try_from(MAX_SHOWN).unwrap_or(usize::MAX);
    Ok(SharedApps { has_more: rows.len() > max, apps: rows.iter().take(max).map(|row| SharedAppItem::of(frame, row)).collect() })
}

async fn find<N>(app: &AppState, grant: &AppGrant<N>) -> Result<Option<SharedRow>> {
    Ok(repo::find_shared(&mut app.db.read().await?, grant.account(), grant.app()).await?)
}

/// The form that accepts an app. Only a transferred app can get another name with it.
fn form(row: &SharedRow) -> Form {
    let name = Field::text("name", "Name").hint("Change it if you already have an app with this name.").value(&row.name);
    if row.is_transfer() { Form::of([name]) } else { Form::default() }
}

fn page(frame: &Frame, row: &SharedRow, form: &Form) -> Result<Response> {
    form.page(&Accept { frame, form, app: SharedAppItem::of(frame, row), bare: row.name.clone() })
}

fn already_accepted(frame: &Frame) -> Result<Response> {
    frame.redirect_with_flash("/account", &Flash::good("You already accepted this app."))
}

pub(super) async fn show_acceptance(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<AcceptApp>,
) -> Result<Response> {
    match find(&app, &grant).await? {
        Some(row) if row.is_waiting() => page(&frame, &row, &form(&row)),
        _ => already_accepted(&frame),
    }
}

pub(super) async fn accept(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<AcceptApp>,
    sent: Fields,
) -> Result<Response> {
    let Some(row) = find(&app, &grant).await?.filter(SharedRow::is_waiting) else { return already_accepted(&frame) };
    // The page asked about another role: the app was transferred meanwhile, which counts against quotas, or the transfer was withdrawn.
    if sent.text("role") != row.permission.as_str() {
        return frame
            .redirect_with_flash(&format!("/account/apps/{}/accept", row.id), &Flash::bad("Your role has changed. Read this page again."));
    }
    let name = sent.get("name").filter(|_| row.is_transfer()).map(Name::try_from).transpose();
    let accepted = match name {
        Ok(name) => acceptance::accept(&app, &grant, name.as_ref()).await,
        Err(error) => Err(Error::invalid("name", error)),
    };
    match accepted {
        Ok(accepted) => {
            frame.redirect_with_flash(&place::app(&accepted.name), &Flash::good(format!("You accepted the app {}.", accepted.name)))
        }
        Err(error) => {
            let mut form = form(&row);
            form.keep(&sent);
            page(&frame, &row, &form.refuse(error)?)
        }
    }
}

pub(super) async fn show_leaving(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<LeaveApp>,
) -> Result<Response> {
    let row = find(&app, &grant).await?.ok_or(Error::NotFound(Thing::App))?;
    let shown = SharedAppItem::of(&frame, &row);
    let text =
        if shown.is_transfer { "You lose access immediately. The app goes back to its sender." } else { "You lose access immediately." };
    let (page, title) = (shown.leave, format!("Leave the app {}?", shown.name));
    ConfirmPage { frame: &frame, page, title, text, button: "Leave app", back: "/account" }.ask()
}

pub(super) async fn leave(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    grant: AppGrant<LeaveApp>,
) -> Result<Response> {
    let row = find(&app, &grant).await?.ok_or(Error::NotFound(Thing::App))?;
    service::remove(&app, &grant, &for_lookup(session.email())).await?;
    frame.redirect_with_flash("/account", &Flash::good(format!("You left the app {}.", row.long_name())))
}
