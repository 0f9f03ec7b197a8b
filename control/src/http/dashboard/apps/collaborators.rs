//! Who has access to an app, and what each role may do.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::place::{self, Link, Section};
use crate::domain::access::grant::ReadApp;
use crate::domain::access::listing::Collaborator;
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::collaborators::service;
use crate::domain::error::Result;
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;

#[derive(Template)]
#[template(path = "dashboard/collaborators.html")]
struct CollaboratorsPage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    people: Vec<Collaborator>,
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
) -> Result<Response> {
    let people = service::list(&mut app.db.read().await?, &grant).await?;
    let name = grant.called();
    view::page(&CollaboratorsPage {
        crumbs: place::crumbs(&frame, &[(name, place::app(name))]),
        sections: place::sections(&frame, &grant, Section::Collaborators),
        frame: &frame,
        people,
    })
}
