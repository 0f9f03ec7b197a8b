//! Collaborators. Clients know two roles: anyone they add becomes a Developer, and anyone but the owner is shown as a collaborator.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use super::shape::{Collaborator, Collaborators, Permission};
use crate::domain::access::grant::{LeaveApp, ManageCollaborators, ReadApp};
use crate::domain::access::{AppGrant, Role, listing};
use crate::domain::collaborators::service::{self, RoleInput};
use crate::domain::error::Result;
use crate::http::AppState;
use crate::http::extract::{EmailPath, Json, encode_segment};

/// Collaborators as clients read them.
pub(super) fn present(collaborators: Vec<listing::Collaborator>) -> Collaborators {
    let shown = collaborators.into_iter().map(|listing::Collaborator { email, permission, is_current_account }| {
        let permission = if permission == Role::Owner { Permission::Owner } else { Permission::Collaborator };
        (email, Collaborator { permission, is_current_account })
    });
    Collaborators { collaborators: shown.collect() }
}

/// The app's collaborators.
pub(super) async fn list(State(app): State<AppState>, grant: AppGrant<ReadApp>) -> Result<Json<Collaborators>> {
    Ok(Json(present(service::list(&mut app.db.read().await?, &grant).await?)))
}

/// Adds a collaborator, as a Developer.
pub(super) async fn add(
    State(app): State<AppState>,
    grant: AppGrant<ManageCollaborators>,
    EmailPath(email): EmailPath,
) -> Result<impl IntoResponse> {
    service::add(&app, &grant, RoleInput { role: Ok(Role::Developer), proof: Ok(None) }, &email).await?;
    let location = format!("/apps/{}/collaborators/{}", encode_segment(grant.called()), encode_segment(&email));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], "Created"))
}

/// Removes a collaborator, or the caller.
pub(super) async fn remove(State(app): State<AppState>, grant: AppGrant<LeaveApp>, EmailPath(email): EmailPath) -> Result<StatusCode> {
    service::remove(&app, &grant, &email).await?;
    Ok(StatusCode::NO_CONTENT)
}
