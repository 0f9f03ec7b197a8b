//! Collaborator endpoints. Paths identify a collaborator by email address.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use shared::api::Field;
use shared::api::apps::AppAnswer;
use shared::api::collaborators::{
    Acceptance, AssignableRole, AwaitedCollaborator, Collaborator, CollaboratorAnswer, CollaboratorPatch, CollaboratorsAnswer,
    NewCollaborator,
};
use shared::api::second_factors::StepUpProof;
use shared::keys::Name;
use shared::{FieldErrors, Invalid};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::apps::{present, present_collaborator, present_role};
use crate::domain::access::awaited::AwaitedRow;
use crate::domain::access::grant::{AcceptApp, LeaveApp, ManageCollaborators, ReadApp};
use crate::domain::access::{AppGrant, Role};
use crate::domain::collaborators::acceptance;
use crate::domain::collaborators::service::{self, RoleInput};
use crate::domain::error::Result;
use crate::domain::second_factors::Proof;
use crate::http::AppState;
use crate::http::extract::{EmailPath, Json, encode_segment};

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_collaborators))
        .routes(routes!(add_collaborator, update_collaborator, remove_collaborator))
        .routes(routes!(accept_app))
}

/// List collaborators.
///
/// Includes the app's owner. To callers with `collaborators.manage`, `awaited` lists those of an import who have no account yet: anyone who confirms such
/// an address before it expires gets access.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/collaborators",
    tag = "collaborators",
    security(("bearer" = ["app.read"])),
    responses((status = 200, body = CollaboratorsAnswer))
)]
pub async fn list_collaborators(State(app): State<AppState>, grant: AppGrant<ReadApp>) -> Result<Json<CollaboratorsAnswer>> {
    let mut tx = app.db.read().await?;
    let collaborators = service::list(&mut tx, &grant).await?;
    let awaited = service::awaited(&mut tx, &grant, app.now()).await?;
    let present = |AwaitedRow { email, permission, expires }| AwaitedCollaborator { email, permission: present_role(permission), expires };
    Ok(Json(CollaboratorsAnswer {
        collaborators: collaborators.into_iter().map(present_collaborator).collect(),
        awaited: awaited.into_iter().map(present).collect(),
    }))
}

fn given(role: Result<AssignableRole, Invalid>, step_up: Field<StepUpProof>) -> RoleInput {
    let role = role.map(|role| match role {
        AssignableRole::Admin => Role::Admin,
        AssignableRole::Developer => Role::Developer,
        AssignableRole::Viewer => Role::Viewer,
    });
    RoleInput { role, proof: Proof::validate(step_up) }
}

fn answer(email: String, role: Role) -> Json<CollaboratorAnswer> {
    Json(CollaboratorAnswer { collaborator: Collaborator { email, permission: present_role(role) } })
}

/// Add a collaborator.
///
/// The collaborator gets access at once and is notified by email. API keys cannot add collaborators. Each attempt counts toward the rate limit of the
/// caller's account.
///
/// The collaborator reaches the app as `owner@example.com:name`, and by its bare name after accepting it. Someone who never had an app of that name, and
/// has only this one, does not need to accept it first.
///
/// To assign the role Admin, a dashboard session must be fresh, or send a `stepUp` proof (`reauth_required`).
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/collaborators/{email}",
    tag = "collaborators",
    security(("bearer" = ["collaborators.manage"])),
    request_body = Option<NewCollaborator>,
    responses((status = 201, body = CollaboratorAnswer), (status = 409))
)]
pub async fn add_collaborator(
    State(app): State<AppState>,
    grant: AppGrant<ManageCollaborators>,
    EmailPath(email): EmailPath,
    body: Option<Json<NewCollaborator>>,
) -> Result<impl IntoResponse> {
    let new = body.map(|Json(new)| new).unwrap_or_default();
    let role = new.permission.optional().map(|role| role.unwrap_or(AssignableRole::Developer));
    let role = service::add(&app, &grant, given(role, new.step_up), &email).await?;
    let location = format!("/v1/apps/{}/collaborators/{}", encode_segment(grant.called()), encode_segment(&email));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], answer(email, role)))
}

/// Update a collaborator's role.
///
/// Applies at once to all of the collaborator's credentials. The owner's role changes only through a transfer. API keys cannot change roles.
///
/// To assign the role Admin, a dashboard session must be fresh, or send a `stepUp` proof (`reauth_required`).
#[utoipa::path(
    patch,
    path = "/v1/apps/{app}/collaborators/{email}",
    tag = "collaborators",
    security(("bearer" = ["collaborators.manage"])),
    request_body = CollaboratorPatch,
    responses((status = 200, body = CollaboratorAnswer), (status = 409))
)]
pub async fn update_collaborator(
    State(app): State<AppState>,
    grant: AppGrant<ManageCollaborators>,
    EmailPath(email): EmailPath,
    Json(patch): Json<CollaboratorPatch>,
) -> Result<Json<CollaboratorAnswer>> {
    let (email, role) = service::update(&app, &grant, given(patch.permission.required(), patch.step_up), &email).await?;
    Ok(answer(email, role))
}

/// Remove a collaborator, or leave an app.
///
/// Applies at once to all of the account's credentials. The owner cannot be removed. API keys cannot remove collaborators.
///
/// An address of `awaited` is no longer waited for, and stays without access when somebody confirms it.
///
/// Removing others requires `collaborators.manage`. Every collaborator has `collaborators.leave` and can give up their own access. So can the receiver
/// of a transfer before accepting the app: the sender then becomes the owner again.
#[utoipa::path(
    delete,
    path = "/v1/apps/{app}/collaborators/{email}",
    tag = "collaborators",
    security(("bearer" = ["collaborators.manage"]), ("bearer" = ["collaborators.leave"])),
    responses(
        (status = 204),
        (status = 403, description = "The address is not the caller's, and the caller does not have `collaborators.manage`; or the caller is an API key"),
        (status = 404, description = "The app was not found, or the address is neither a collaborator's nor awaited"),
        (status = 409, description = "The address is the owner's, or that of the sender of a transfer that is not accepted yet"),
    )
)]
pub async fn remove_collaborator(
    State(app): State<AppState>,
    grant: AppGrant<LeaveApp>,
    EmailPath(email): EmailPath,
) -> Result<StatusCode> {
    service::remove(&app, &grant, &email).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Accept an app.
///
/// Accepts an app that others shared with the caller. Its bare name then means this app, unless the caller uses that name for another app. API keys
/// cannot accept apps.
///
/// An app that was transferred to the caller moves into the caller's account, with its deployment keys, and counts toward its quotas. If the caller
/// already has an app of that name, send another `name`.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/collaborators/me/accept",
    tag = "collaborators",
    security(("bearer" = ["collaborators.accept"])),
    request_body = Option<Acceptance>,
    responses((status = 200, body = AppAnswer), (status = 409))
)]
pub async fn accept_app(
    State(app): State<AppState>,
    grant: AppGrant<AcceptApp>,
    body: Option<Json<Acceptance>>,
) -> Result<Json<AppAnswer>> {
    let Acceptance { name } = body.map(|Json(body)| body).unwrap_or_default();
    let name = name.parse_optional::<Name>().map_err(|error| FieldErrors::of("name", error))?;
    Ok(Json(AppAnswer { app: present(acceptance::accept(&app, &grant, name.as_ref()).await?) }))
}
