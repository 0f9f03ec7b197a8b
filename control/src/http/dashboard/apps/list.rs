//! The dashboard's first page: the apps of the account, or how to get to the first one.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::keys::Name;

use super::place;
use crate::domain::access::listing::{self, App};
use crate::domain::access::{AppCreator, DashboardSession, SignedIn};
use crate::domain::apps::service::{self, NewApp};
use crate::domain::error::{Error, Result};
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::infra::dates::RelativeTime;

/// An app in the list.
struct Item {
    name: String,
    page: String,
    role: &'static str,
    /// Who owns it, where that is someone else.
    owner: Option<String>,
    /// Names and pages.
    deployments: Vec<(String, String)>,
    created: RelativeTime,
}

impl Item {
    fn of(frame: &Frame, app: App) -> Self {
        let link = |name: &String| (name.clone(), frame.path(&place::deployment(&app.name, name)));
        let own = app.collaborators.iter().find(|one| one.is_current_account);
        let owner = app.collaborators.iter().find(|one| one.permission == crate::domain::access::Role::Owner && !one.is_current_account);
        Self {
            page: frame.path(&place::app(&app.name)),
            role: own.map_or("", |own| own.permission.as_str()),
            owner: owner.map(|owner| owner.email.clone()),
            deployments: app.deployments.iter().map(link).collect(),
            created: RelativeTime::of(app.created_time, frame.now()),
            name: app.name,
        }
    }
}

#[derive(Template)]
#[template(path = "dashboard/apps.html")]
struct ListPage<'p> {
    frame: &'p Frame,
    apps: Vec<Item>,
    server: &'p str,
}

#[derive(Template)]
#[template(path = "dashboard/app_new.html")]
struct New<'p> {
    frame: &'p Frame,
    form: &'p Form,
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, _session: DashboardSession, caller: SignedIn) -> Result<Response> {
    let apps = listing::list(&mut app.db.read().await?, &caller).await?;
    let apps = apps.into_iter().map(|app| Item::of(&frame, app)).collect();
    view::page(&ListPage { frame: &frame, apps, server: &app.settings.base_url })
}

fn form() -> Form {
    Form::of([Field::text("name", "Name").hint("Such as MyApp-iOS. Android and iOS need an app each.").focused()])
}

pub(super) async fn show_new(frame: Frame, _session: DashboardSession, _caller: AppCreator) -> Result<Response> {
    let form = form();
    form.page(&New { frame: &frame, form: &form })
}

pub(super) async fn create(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    caller: AppCreator,
    sent: Fields,
) -> Result<Response> {
    let created = match sent.text("name").trim().parse::<Name>() {
        Ok(name) => service::create(&app, &caller, NewApp { name, has_no_deployments: false }).await,
        Err(error) => Err(Error::invalid("name", error)),
    };
    match created {
        Ok(created) => frame.redirect_with_flash(&place::app(&created.name), &Flash::good(format!("Created the app {}.", created.name))),
        Err(error) => {
            let mut form = form();
            for field in &mut form.fields {
                sent.text(field.name).clone_into(&mut field.value);
            }
            let form = form.refuse(error)?;
            form.page(&New { frame: &frame, form: &form })
        }
    }
}
