//! The operations on collaborators. Paths name one by its e-mail address.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::grant::{AcceptApp, LeaveApp, ManageCollaborators, ReadApp};
use crate::domain::access::{AppGrant, SignedIn};
use crate::domain::audit::{Actor, ClientAddress};
use crate::domain::collaborators::{acceptance, service};
use crate::domain::error::AppResult;
use crate::domain::second_factors::step_up::StepUpProof;
use crate::http::AppState;
use crate::http::api::apps::{AppAnswer, CollaboratorOut};
use crate::http::extract::{EmailPath, Json, Member, encode_segment};

/// A role that can be given.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "no value is made of it: it describes what a member may be")]
enum AssignableRole {
    Admin,
    Developer,
    Viewer,
}

/// A collaborator to be added.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "permission": "Developer" }))]
pub struct NewCollaborator {
    /// The role; Developer when absent.
    #[serde(default)]
    #[schema(value_type = Option<AssignableRole>)]
    pub permission: Member,
    /// A fresh proof of a second factor, for a dashboard session that is no longer fresh and gives the role Admin.
    #[serde(default)]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// What is to change of a collaborator.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "permission": "Viewer" }))]
pub struct CollaboratorPatch {
    /// The new role.
    #[serde(default)]
    #[schema(value_type = AssignableRole, required = true)]
    pub permission: Member,
    /// A fresh proof of a second factor, for a dashboard session that is no longer fresh and gives the role Admin.
    #[serde(default)]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// How an app is accepted.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({}))]
pub struct Acceptance {
    /// A text: another name for an app that was transferred to the caller, who has an app of its name already.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 255)]
    pub name: Member,
}

/// A collaborator by its address.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Collaborator)]
pub struct NamedCollaborator {
    /// The e-mail address.
    pub email: String,
    /// The role.
    pub permission: String,
}

/// One collaborator.
#[derive(Debug, Serialize, ToSchema)]
pub struct CollaboratorAnswer {
    collaborator: NamedCollaborator,
}

/// Collaborators by address.
#[derive(Debug, Serialize, ToSchema)]
pub struct CollaboratorsAnswer {
    collaborators: BTreeMap<String, CollaboratorOut>,
}

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
pub async fn list_collaborators(State(app): State<AppState>, grant: AppGrant<ReadApp>) -> AppResult<Json<CollaboratorsAnswer>> {
    let collaborators = service::list(&mut app.db.read().await?, &grant).await?;
    Ok(Json(CollaboratorsAnswer { collaborators }))
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
    caller: SignedIn,
    grant: AppGrant<ManageCollaborators>,
    actor: Actor,
    from: ClientAddress,
    EmailPath(email): EmailPath,
    body: Option<Json<NewCollaborator>>,
) -> AppResult<impl IntoResponse> {
    let new = body.map(|Json(new)| new).unwrap_or_default();
    let may_give = service::prove(&app, &caller, from, &new.permission, &new.step_up).await?;
    let collaborator = service::add(&app, &grant, may_give, &actor, &email, &new).await?;
    let location = format!("/v1/apps/{}/collaborators/{}", encode_segment(grant.called()), encode_segment(&collaborator.email));
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
    caller: SignedIn,
    grant: AppGrant<ManageCollaborators>,
    actor: Actor,
    from: ClientAddress,
    EmailPath(email): EmailPath,
    Json(patch): Json<CollaboratorPatch>,
) -> AppResult<Json<CollaboratorAnswer>> {
    let may_give = service::prove(&app, &caller, from, &patch.permission, &patch.step_up).await?;
    let mut tx = grant.begin(&app).await?;
    let collaborator = service::update(&mut tx, &grant, may_give, &actor, &email, &patch, (&app.dice, app.now())).await?;
    tx.commit().await?;
    Ok(Json(CollaboratorAnswer { collaborator }))
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
    actor: Actor,
    EmailPath(email): EmailPath,
) -> AppResult<StatusCode> {
    let mut tx = grant.begin(&app).await?;
    service::remove(&mut tx, &app, &grant, &actor, &email).await?;
    tx.commit().await?;
    app.mailer.wake();
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
    caller: SignedIn,
    grant: AppGrant<AcceptApp>,
    actor: Actor,
    body: Option<Json<Acceptance>>,
) -> AppResult<Json<AppAnswer>> {
    let body = body.map(|Json(body)| body).unwrap_or_default();
    let accepted = acceptance::accept(&app, &grant, &caller, &actor, &body).await?;
    Ok(Json(AppAnswer { app: accepted }))
}
