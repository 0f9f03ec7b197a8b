//! An app's settings: rename it, transfer it, leave it, delete it. What cannot be undone asks for the app's name.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use shared::keys::Name;

use super::collaborators::transferred;
use super::form_page::FormPage;
use super::place::{self, Link, Section};
use super::unknown_account;
use crate::domain::access::collaborators;
use crate::domain::access::grant::{ManageApp, OwnApp, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::apps::{service, transfer};
use crate::domain::counting::counters;
use crate::domain::email::for_lookup;
use crate::domain::error::{Error, Result, Thing};
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;

#[derive(Template)]
#[template(path = "dashboard/app_settings.html")]
struct Settings<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    name: &'p str,
    page: String,
    rename: Option<&'p Form>,
    is_owner: bool,
    /// Whether the app was transferred to the caller, who has not accepted it yet.
    is_received: bool,
    /// The name that always resolves to the app, if someone shares it.
    long_name: Option<String>,
    accept: Option<String>,
    /// Who it was transferred to and has not accepted it, and where the caller, its sender, takes it back.
    transferred: Option<(String, String)>,
    leave: Option<String>,
}

/// The page of an app's settings.
fn page_of(app: &str) -> String {
    format!("{}/settings", place::app(app))
}

/// The bare name: a long one begins with the owner's address.
fn bare(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn rename_form(name: &str) -> Form {
    Form::of([Field::text("name", "Name").value(bare(name))])
}

async fn page(app: &AppState, frame: &Frame, grant: &AppGrant<ReadApp>, form: &Form) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let shared = collaborators::find_shared(&mut tx, grant.account(), grant.app()).await?;
    let transferred = transferred(&mut tx, frame, grant).await?;
    drop(tx);
    let of_account = |id: &str, action: &str| frame.path(&format!("/account/apps/{id}/{action}"));
    let name = grant.called();
    form.page(&Settings {
        crumbs: place::crumbs(frame, &[(name, place::app(name))]),
        sections: place::sections(frame, grant, Section::Settings),
        frame,
        name,
        page: frame.path(&place::app(name)),
        rename: grant.also::<ManageApp>().then_some(form),
        is_owner: grant.also::<OwnApp>(),
        is_received: shared.as_ref().is_some_and(collaborators::SharedRow::is_transfer),
        long_name: shared.as_ref().map(collaborators::SharedRow::long_name),
        accept: shared.as_ref().filter(|row| row.is_waiting()).map(|row| of_account(row.id.as_ref(), "accept")),
        transferred,
        leave: shared.as_ref().map(|row| of_account(row.id.as_ref(), "leave")),
    })
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
) -> Result<Response> {
    page(&app, &frame, &grant, &rename_form(grant.called())).await
}

pub(super) async fn rename(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<ManageApp>,
    grant: AppGrant<ReadApp>,
    sent: Fields,
) -> Result<Response> {
    let renamed = match sent.text("name").trim().parse::<Name>() {
        Ok(name) => service::rename(&app, &right, &name).await,
        Err(error) => Err(Error::invalid("name", error)),
    };
    match renamed {
        Ok(renamed) => {
            let text = format!("The app is now called {}.", bare(&renamed.name));
            frame.redirect_with_flash(&page_of(&renamed.name), &Flash::good(text))
        }
        Err(error) => {
            let mut form = rename_form(grant.called());
            form.keep(&sent);
            page(&app, &frame, &grant, &form.refuse(error)?).await
        }
    }
}

/// The field for the name, which a form asks for before it does what cannot be undone.
fn typed_name(label: &'static str) -> Field {
    Field::text("typedName", label)
}

/// Whether the name in it is the app's.
fn is_typed(sent: &Fields, name: &str) -> bool {
    let typed = sent.text("typedName").trim();
    typed == name || typed == bare(name)
}

/// The refusal of another name.
fn not_typed(mut form: Form, sent: &Fields) -> Form {
    form.keep(sent);
    form.refuse_one("typedName", StatusCode::BAD_REQUEST, "This is not the app's name.", "No changes were made.")
}

fn transfer_form() -> Form {
    Form::of([
        Field::text("email", "New owner's email address").hint("The address of an account on this server.").focused(),
        typed_name("Type the app's name to transfer it"),
    ])
}

fn transfer_page(frame: &Frame, name: &str, form: &Form) -> Result<Response> {
    form.page(&FormPage {
        crumbs: place::crumbs(frame, &[(name, place::app(name)), ("Settings", page_of(name))]),
        title: format!("Transfer {}", bare(name)),
        text: vec![
            "The new owner is told by email, and can at once do what you can: release, rename and delete the app, and change or remove \
                your role. You become an Admin. Transfer an app only to someone you trust."
                .to_owned(),
            "Until the new owner accepts it, the app counts against your limits, keeps its name, and you can take it back on its page of \
                collaborators. Devices are not affected: deployment keys stay as they are."
                .to_owned(),
        ],
        page: frame.path(&format!("{}/transfer", place::app(name))),
        back: frame.path(&page_of(name)),
        button: "Transfer app",
        is_dangerous: true,
        frame,
        form,
    })
}

pub(super) async fn show_transfer(frame: Frame, _session: DashboardSession, right: AppGrant<OwnApp>) -> Result<Response> {
    transfer_page(&frame, right.called(), &transfer_form())
}

pub(super) async fn transfer(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<OwnApp>,
    sent: Fields,
) -> Result<Response> {
    let name = right.called();
    if !is_typed(&sent, name) {
        return transfer_page(&frame, name, &not_typed(transfer_form(), &sent));
    }
    let email = for_lookup(sent.text("email"));
    match transfer::transfer(&app, &right, Ok(None), &email).await {
        Ok(moved) => {
            let text = format!("{email} owns {} now, and has to accept it. You are an Admin.", bare(name));
            frame.redirect_with_flash(&place::app(&moved.name), &Flash::good(text))
        }
        Err(error) => {
            let mut form = transfer_form();
            form.keep(&sent);
            transfer_page(&frame, name, &form.refuse(unknown_account(&app, error))?)
        }
    }
}

fn delete_form() -> Form {
    Form::of([typed_name("Type the app's name to delete it").focused()])
}

async fn delete_page(app: &AppState, frame: &Frame, metrics: &AppGrant<ReadMetrics>, form: &Form) -> Result<Response> {
    let name = metrics.called();
    let totals = counters::totals(&mut app.db.read().await?, metrics).await?;
    let active: i64 = totals.values().map(|totals| totals.active).sum();
    let devices = match active {
        0 => "Devices keep".to_owned(),
        1 => "1 active device keeps".to_owned(),
        _ => format!("{} active devices keep", view::grouped(active)),
    };
    form.page(&FormPage {
        crumbs: place::crumbs(frame, &[(name, place::app(name)), ("Settings", page_of(name))]),
        title: format!("Delete {}", bare(name)),
        text: vec![
            "This deletes its deployments, releases and metrics for all collaborators. It cannot be undone.".to_owned(),
            format!("{devices} what they run now, and get no updates anymore. Only you can use the deployment keys again."),
        ],
        page: frame.path(&format!("{}/delete", place::app(name))),
        back: frame.path(&page_of(name)),
        button: "Delete app",
        is_dangerous: true,
        frame,
        form,
    })
}

pub(super) async fn show_deletion(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    _right: AppGrant<OwnApp>,
    metrics: AppGrant<ReadMetrics>,
) -> Result<Response> {
    delete_page(&app, &frame, &metrics, &delete_form()).await
}

pub(super) async fn delete(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<OwnApp>,
    metrics: AppGrant<ReadMetrics>,
    sent: Fields,
) -> Result<Response> {
    let name = right.called();
    if !is_typed(&sent, name) {
        return delete_page(&app, &frame, &metrics, &not_typed(delete_form(), &sent)).await;
    }
    match service::delete(&app, &right, Ok(None)).await {
        // Deleted in another tab.
        Ok(()) | Err(Error::NotFound(Thing::App)) => {
            frame.redirect_with_flash("/", &Flash::good(format!("Deleted the app {}.", bare(name))))
        }
        Err(error) => delete_page(&app, &frame, &metrics, &delete_form().refuse(error)?).await,
    }
}
