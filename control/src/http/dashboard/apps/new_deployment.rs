//! The form that creates a deployment.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::FieldErrors;
use shared::keys::{DeploymentKey, Name};

use super::place::{self, Link};
use crate::domain::access::grant::ManageDeployments;
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::deployments::service::{self, NewDeployment};
use crate::domain::error::{Error, Result};
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;

#[derive(Template)]
#[template(path = "dashboard/deployment_new.html")]
struct New<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    form: &'p Form,
    page: String,
}

fn form() -> Form {
    Form::of([
        Field::text("name", "Name").hint("Such as Beta.").focused(),
        Field::text("key", "Deployment key").hint("One that installed apps already have. Leave it empty for a new one.").optional(),
    ])
}

fn page(frame: &Frame, grant: &AppGrant<ManageDeployments>, form: &Form) -> Result<Response> {
    let (name, app) = (grant.called(), place::app(grant.called()));
    form.page(&New { crumbs: place::crumbs(frame, &[(name, app.clone())]), page: frame.path(&app), frame, form })
}

pub(super) async fn show(frame: Frame, _session: DashboardSession, grant: AppGrant<ManageDeployments>) -> Result<Response> {
    page(&frame, &grant, &form())
}

fn read(sent: &Fields) -> Result<NewDeployment, FieldErrors> {
    let mut errors = FieldErrors::default();
    let name = errors.take("name", sent.text("name").trim().parse::<Name>());
    let key = Some(sent.text("key").trim()).filter(|key| !key.is_empty()).map(str::parse::<DeploymentKey>).transpose();
    match (name, errors.take("key", key)) {
        (Some(name), Some(key)) => Ok(NewDeployment { name, key }),
        _ => Err(errors),
    }
}

pub(super) async fn create(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ManageDeployments>,
    sent: Fields,
) -> Result<Response> {
    let created = match read(&sent) {
        Ok(new) => service::create(&app, &grant, new).await,
        Err(errors) => Err(Error::from(errors)),
    };
    match created {
        Ok(created) => {
            let text = format!("Created the deployment {}.", created.name);
            frame.redirect_with_flash(&place::deployment(grant.called(), &created.name), &Flash::good(text))
        }
        Err(error) => {
            let mut form = form();
            form.keep(&sent);
            page(&frame, &grant, &form.refuse(error)?)
        }
    }
}
