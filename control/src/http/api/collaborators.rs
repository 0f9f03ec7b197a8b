//! The operations on collaborators. Paths name one by its e-mail address.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use shared::api::Field;
use shared::api::apps::AppAnswer;
use shared::api::collaborators::{
    Acceptance, AssignableRole, Collaborator, CollaboratorAnswer, CollaboratorPatch, CollaboratorsAnswer, NewCollaborator,
};
use shared::api::second_factors::StepUpProof;
use shared::keys::Name;
use shared::{FieldErrors, Invalid};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::apps::{present, present_collaborator};
use crate::domain::access::grant::{AcceptApp, LeaveApp, ManageCollaborators, ReadApp};
use crate::domain::access::{AppGrant, Role};
use crate::domain::collaborators::acceptance;
use crate::domain::collaborators::service::{self, GivenRole};
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

/// List an app's collaborators, its owner among them.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/collaborators",
    tag = "collaborators",
    security(("bearer" = ["app.read"])),
    responses((status = 200, body = CollaboratorsAnswer))
)]
pub async fn list_collaborators(State(app): State<AppState>, grant: AppGrant<ReadApp>) -> Result<Json<CollaboratorsAnswer>> {
    let collaborators = service::list(&mut app.db.read().await?, &grant).await?;
    Ok(Json(CollaboratorsAnswer { collaborators: collaborators.into_iter().map(present_collaborator).collect() }))
}

/// The right to give the role, and the role. A proof that is needed is judged before what else is wrong with the body is told.
async fn given(
    app: &AppState,
    grant: &AppGrant<ManageCollaborators>,
    role: Result<AssignableRole, Invalid>,
    step_up: Field<StepUpProof>,
) -> Result<(GivenRole, &'static str)> {
    let role = role.map(|role| match role {
        AssignableRole::Admin => Role::Admin,
        AssignableRole::Developer => Role::Developer,
        AssignableRole::Viewer => Role::Viewer,
    });
    let given = match role {
        Ok(role) => Some((service::prove(app, grant.caller(), role, Proof::early(&step_up)).await?, role.as_str())),
        Err(_) => None,
    };
    let mut errors = FieldErrors::default();
    errors.take("permission", role);
    errors.take("stepUp", Proof::judge(step_up));
    given.filter(|_| errors.is_empty()).ok_or_else(|| errors.into())
}

/// Add a collaborator, who has access at once and is told by mail. No API key may. Each attempt counts against the limit of the caller's account.
///
/// The collaborator reaches the app as `owner@example.com:name`, and by its bare name after accepting it. Somebody who never had an app of that name, and has
/// only this one, does not need to accept it first.
///
/// To give the role Admin, a dashboard session must be fresh, or send a `stepUp` proof: `reauth_required`.
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
    let (role, permission) = given(&app, &grant, role, new.step_up).await?;
    service::add(&app, &grant, role, &email).await?;
    let location = format!("/v1/apps/{}/collaborators/{}", encode_segment(grant.called()), encode_segment(&email));
    let collaborator = Collaborator { email, permission: permission.to_owned() };
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(CollaboratorAnswer { collaborator })))
}

/// Change a collaborator's role, at once for all of its credentials. The owner's changes only by a transfer. No API key may.
///
/// To give the role Admin, a dashboard session must be fresh, or send a `stepUp` proof: `reauth_required`.
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
    let (role, permission) = given(&app, &grant, patch.permission.required(), patch.step_up).await?;
    let email = service::update(&app, &grant, role, &email).await?;
    Ok(Json(CollaboratorAnswer { collaborator: Collaborator { email, permission: permission.to_owned() } }))
}

/// Remove a collaborator, or leave the app, at once for all credentials of the account. The owner cannot go. No API key may.
///
/// To remove others takes `collaborators.manage`. Every collaborator has `collaborators.leave`, and may give up its own access. The receiver of a
/// transfer may, too, until it has accepted the app: then the sender is the owner again.
#[utoipa::path(
    delete,
    path = "/v1/apps/{app}/collaborators/{email}",
    tag = "collaborators",
    security(("bearer" = ["collaborators.manage"]), ("bearer" = ["collaborators.leave"])),
    responses(
        (status = 204),
        (status = 403, description = "the address is another one's, and the caller does not have `collaborators.manage`; or an API key asks"),
        (status = 404, description = "there is no such app, or the address is no collaborator's"),
        (status = 409, description = "the address is the owner's, or that of the sender of a transfer that is not accepted yet"),
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

/// Accept an app that others have shared with the caller: its bare name means it from then on, unless the caller uses that name for another app. No API key
/// may.
///
/// An app that was transferred to the caller moves into its account, with the keys of its deployments, and counts for its quotas. When the caller has an app
/// of that name, give another `name`.
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
