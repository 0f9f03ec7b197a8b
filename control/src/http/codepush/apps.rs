//! Apps.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use shared::FieldErrors;
use shared::api::apps::{AppPatch, NewApp};
use shared::keys::Name;

use super::collaborators::present as present_collaborators;
use super::shape::{App, Apps, OneApp};
use crate::domain::access::grant::{ManageApp, OwnApp, ReadApp};
use crate::domain::access::{AppCreator, AppGrant, SignedIn, listing};
use crate::domain::apps::{service, transfer};
use crate::domain::error::Result;
use crate::http::AppState;
use crate::http::extract::bodies::new_app;
use crate::http::extract::{EmailPath, Json, encode_segment};

/// An app as clients read it.
fn present(app: listing::App) -> App {
    App {
        name: app.name,
        collaborators: present_collaborators(app.collaborators),
        deployments: app.deployments,
        created_time: app.created_time,
    }
}

/// The apps that the caller has access to.
pub(super) async fn list(State(app): State<AppState>, caller: SignedIn) -> Result<Json<Apps>> {
    let apps = listing::list(&mut app.db.read().await?, &caller).await?;
    Ok(Json(Apps { apps: apps.into_iter().map(present).collect() }))
}

/// Creates an app, with the deployments Production and Staging unless told not to. `os` and `platform`, which old clients send, mean nothing here.
pub(super) async fn create(State(app): State<AppState>, caller: AppCreator, Json(new): Json<NewApp>) -> Result<impl IntoResponse> {
    let created = service::create(&app, &caller, new_app(new)?).await?;
    let location = format!("/apps/{}", encode_segment(&created.name));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(OneApp { app: present(created) })))
}

/// One app.
pub(super) async fn show(State(app): State<AppState>, grant: AppGrant<ReadApp>) -> Result<Json<OneApp>> {
    let found = listing::find(&mut app.db.read().await?, grant.caller(), grant.app()).await?;
    Ok(Json(OneApp { app: present(found) }))
}

/// Renames an app.
pub(super) async fn rename(State(app): State<AppState>, grant: AppGrant<ManageApp>, Json(patch): Json<AppPatch>) -> Result<Json<OneApp>> {
    let name = patch.name.parse::<Name>().map_err(|error| FieldErrors::of("name", error))?;
    Ok(Json(OneApp { app: present(service::rename(&app, &grant, &name).await?) }))
}

/// Deletes an app.
pub(super) async fn remove(State(app): State<AppState>, grant: AppGrant<OwnApp>) -> Result<StatusCode> {
    service::delete(&app, &grant, Ok(None)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives an app to another account.
pub(super) async fn transfer(
    State(app): State<AppState>,
    grant: AppGrant<OwnApp>,
    EmailPath(email): EmailPath,
) -> Result<(StatusCode, &'static str)> {
    transfer::transfer(&app, &grant, Ok(None), &email).await?;
    Ok((StatusCode::CREATED, "Created"))
}
