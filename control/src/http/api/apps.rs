//! App endpoints.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use shared::FieldErrors;
use shared::api::apps::{self as api, App, AppAnswer, AppCollaborator, AppPatch, AppsAnswer, NewApp};
use shared::api::second_factors::FactorChange;
use shared::keys::Name;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::second_factors::proof_of;
use crate::domain::access::grant::{ManageApp, OwnApp, ReadApp};
use crate::domain::access::listing::{self, Collaborator};
use crate::domain::access::{AppCreator, AppGrant, Role, SignedIn};
use crate::domain::apps::{service, transfer};
use crate::domain::error::Result;
use crate::http::AppState;
use crate::http::extract::bodies::new_app;
use crate::http::extract::{EmailPath, Json, encode_segment};

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_apps, create_app))
        .routes(routes!(get_app, rename_app, delete_app))
        .routes(routes!(transfer_app))
}

/// List apps.
///
/// Lists the apps that the caller has access to. An app that the caller has not accepted is listed as `owner@example.com:name`.
#[utoipa::path(
    get,
    path = "/v1/apps",
    tag = "apps",
    security(("bearer" = [])),
    responses((status = 200, body = AppsAnswer))
)]
pub async fn list_apps(State(app): State<AppState>, caller: SignedIn) -> Result<Json<AppsAnswer>> {
    let apps = listing::list(&mut app.db.read().await?, &caller).await?;
    Ok(Json(AppsAnswer { apps: apps.into_iter().map(present).collect() }))
}

/// Create an app.
///
/// Also creates the deployments Production and Staging, unless `manuallyProvisionDeployments` is true. An app of the same name that others share is no
/// conflict: the bare name means the caller's own app.
#[utoipa::path(
    post,
    path = "/v1/apps",
    tag = "apps",
    security(("bearer" = ["apps.create"])),
    request_body = NewApp,
    responses((status = 201, body = AppAnswer), (status = 409))
)]
pub async fn create_app(State(app): State<AppState>, caller: AppCreator, Json(new): Json<NewApp>) -> Result<impl IntoResponse> {
    Ok(created(service::create(&app, &caller, new_app(new)?).await?))
}

/// Responds with an app that the caller now reaches by a new path.
fn created(app: listing::App) -> impl IntoResponse {
    let location = format!("/v1/apps/{}", encode_segment(&app.name));
    (StatusCode::CREATED, [(header::LOCATION, location)], Json(AppAnswer { app: present(app) }))
}

/// An app in its wire form.
pub fn present(app: listing::App) -> App {
    App {
        name: app.name,
        created_time: app.created_time,
        deployments: app.deployments,
        collaborators: app.collaborators.into_iter().map(present_collaborator).collect(),
    }
}

/// A role in its wire form.
pub fn present_role(role: Role) -> api::Role {
    match role {
        Role::Owner => api::Role::Owner,
        Role::Admin => api::Role::Admin,
        Role::Developer => api::Role::Developer,
        Role::Viewer => api::Role::Viewer,
    }
}

/// A collaborator in its wire form, with their email address.
pub fn present_collaborator(Collaborator { email, permission, is_current_account }: Collaborator) -> (String, AppCollaborator) {
    (email, AppCollaborator { permission: present_role(permission), is_current_account })
}

/// Get an app.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}",
    tag = "apps",
    security(("bearer" = ["app.read"])),
    responses((status = 200, body = AppAnswer))
)]
pub async fn get_app(State(app): State<AppState>, grant: AppGrant<ReadApp>) -> Result<Json<AppAnswer>> {
    let found = listing::find(&mut app.db.read().await?, grant.caller(), grant.app()).await?;
    Ok(Json(AppAnswer { app: present(found) }))
}

/// Rename an app.
///
/// A collaborator who has used the new name for another app reaches this one as `owner@example.com:name` until they accept it again. Only the owner can
/// choose a name that the owner has used for another app.
#[utoipa::path(
    patch,
    path = "/v1/apps/{app}",
    tag = "apps",
    security(("bearer" = ["apps.manage"])),
    request_body = AppPatch,
    responses((status = 200, body = AppAnswer), (status = 409))
)]
pub async fn rename_app(State(app): State<AppState>, grant: AppGrant<ManageApp>, Json(patch): Json<AppPatch>) -> Result<Json<AppAnswer>> {
    let name = patch.name.parse::<Name>().map_err(|error| FieldErrors::of("name", error))?;
    Ok(Json(AppAnswer { app: present(service::rename(&app, &grant, &name).await?) }))
}

/// Delete an app.
///
/// Also deletes its deployments and releases. Update checks with its deployment keys then get 404, and the keys stay reserved for the owner. Only the
/// owner can delete an app; API keys cannot.
///
/// A dashboard session must be fresh, or send a `stepUp` proof (`reauth_required`).
#[utoipa::path(
    delete,
    path = "/v1/apps/{app}",
    tag = "apps",
    security(("bearer" = ["apps.own"])),
    request_body = Option<FactorChange>,
    responses((status = 204))
)]
pub async fn delete_app(
    State(app): State<AppState>,
    grant: AppGrant<OwnApp>,
    body: Result<Option<Json<FactorChange>>>,
) -> Result<StatusCode> {
    service::delete(&app, &grant, body.and_then(proof_of)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Transfer an app.
///
/// The receiving account gets the rights of the owner at once, and the previous owner becomes an Admin. Both are notified by email. Only the owner can
/// transfer an app; API keys cannot. Each attempt counts toward the rate limit of the caller's account.
///
/// Until the receiver accepts the app, it stays in the sender's account, with its name, its deployment keys and its quota usage. If the receiver leaves
/// the app or deletes their account first, the sender becomes the owner again.
///
/// A dashboard session must be fresh, or send a `stepUp` proof (`reauth_required`).
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/transfer/{email}",
    tag = "apps",
    security(("bearer" = ["apps.own"])),
    request_body = Option<FactorChange>,
    responses((status = 201, body = AppAnswer), (status = 409))
)]
pub async fn transfer_app(
    State(app): State<AppState>,
    grant: AppGrant<OwnApp>,
    EmailPath(email): EmailPath,
    body: Result<Option<Json<FactorChange>>>,
) -> Result<impl IntoResponse> {
    Ok(created(transfer::transfer(&app, &grant, body.and_then(proof_of), &email).await?))
}
