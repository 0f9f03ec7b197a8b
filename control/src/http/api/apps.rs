//! The operations on apps.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use shared::FieldErrors;
use shared::api::apps::{App, AppAnswer, AppCollaborator, AppPatch, AppsAnswer, NewApp};
use shared::api::second_factors::FactorChange;
use shared::keys::Name;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::grant::{ManageApp, OwnApp, ReadApp};
use crate::domain::access::listing::{self, Collaborator};
use crate::domain::access::{AppCreator, AppGrant, SignedIn};
use crate::domain::apps::{service, transfer};
use crate::domain::error::Result;
use crate::domain::login::{Fresh, fresh};
use crate::domain::second_factors::Proof;
use crate::http::AppState;
use crate::http::extract::{EmailPath, Json, encode_segment};

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_apps, create_app))
        .routes(routes!(get_app, rename_app, delete_app))
        .routes(routes!(transfer_app))
}

/// List the apps that the caller can reach. An app that the caller has not accepted is listed as `owner@example.com:name`.
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

/// Create an app; it gets the deployments Production and Staging unless told not to. What others share by the same name is no obstacle: the bare name
/// means the caller's own app.
#[utoipa::path(
    post,
    path = "/v1/apps",
    tag = "apps",
    security(("bearer" = ["apps.create"])),
    request_body = NewApp,
    responses((status = 201, body = AppAnswer), (status = 409))
)]
pub async fn create_app(State(app): State<AppState>, caller: AppCreator, Json(new): Json<NewApp>) -> Result<impl IntoResponse> {
    Ok(created(service::create(&app, &caller, read(new)?).await?))
}

fn read(new: NewApp) -> Result<service::NewApp, FieldErrors> {
    let mut errors = FieldErrors::default();
    let name = errors.take("name", new.name.parse::<Name>());
    let is_manual = errors.take("manuallyProvisionDeployments", new.manually_provision_deployments.optional());
    match (name, is_manual) {
        (Some(name), Some(is_manual)) => Ok(service::NewApp { name, has_no_deployments: is_manual.unwrap_or(false) }),
        _ => Err(errors),
    }
}

/// The answer with an app that the caller reaches by another path from now on.
fn created(app: listing::App) -> impl IntoResponse {
    let location = format!("/v1/apps/{}", encode_segment(&app.name));
    (StatusCode::CREATED, [(header::LOCATION, location)], Json(AppAnswer { app: present(app) }))
}

/// An app on the wire.
pub fn present(app: listing::App) -> App {
    App {
        name: app.name,
        created_time: app.created_time,
        deployments: app.deployments,
        collaborators: app.collaborators.into_iter().map(present_collaborator).collect(),
    }
}

/// A collaborator on the wire, by its address.
pub fn present_collaborator(Collaborator { email, permission, is_current_account }: Collaborator) -> (String, AppCollaborator) {
    (email, AppCollaborator { permission: permission.as_str().to_owned(), is_current_account })
}

/// Read an app.
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

/// Rename an app. A collaborator who has used the new name for another app reaches this one as `owner@example.com:name` until it is accepted again. Only the
/// owner can give it a name that the owner has used for another app.
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

/// Delete an app with its deployments and releases. Its keys answer 404 from then on, and stay its owner's. Only the owner may, and no API key.
///
/// A dashboard session must be fresh, or send a `stepUp` proof: `reauth_required`.
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
    service::delete(&app, &grant, fresh_for(&app, &grant, body).await?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The right to give an app away or delete it. A session that is too old is told so even when its body cannot be read.
async fn fresh_for(app: &AppState, grant: &AppGrant<OwnApp>, body: Result<Option<Json<FactorChange>>>) -> Result<Fresh> {
    let body = body.map(|body| body.map(|Json(change)| change).unwrap_or_default());
    let (change, fresh) = fresh::admit(app, grant.caller(), body, |change| Proof::early(&change.step_up)).await?;
    Proof::judge(change.step_up).map_err(|error| FieldErrors::of("stepUp", error))?;
    Ok(fresh)
}

/// Transfer an app to another account, which has the rights of the owner at once. The owner so far becomes an Admin; both are told by mail. Only the owner
/// may, and no API key. Each attempt counts against the limit of the caller's account.
///
/// Until the receiver accepts the app, it stays in the sender's account: its name, the keys of its deployments, and what it counts for. If the receiver
/// leaves it or deletes the account, the sender is the owner again.
///
/// A dashboard session must be fresh, or send a `stepUp` proof: `reauth_required`.
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
    let fresh = fresh_for(&app, &grant, body).await?;
    Ok(created(transfer::transfer(&app, &grant, fresh, &email).await?))
}
