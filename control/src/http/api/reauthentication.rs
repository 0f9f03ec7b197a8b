//! Re-authentication endpoint.

use axum::extract::State;
use shared::FieldErrors;
use shared::api::accounts::{Reauthenticated, Reauthentication};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::DashboardSession;
use crate::domain::error::Result;
use crate::domain::login::fresh;
use crate::domain::second_factors::Proof;
use crate::http::AppState;
use crate::http::extract::Json;

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(reauthenticate))
}

/// Re-authenticate a dashboard session.
///
/// Makes the session fresh: for 15 minutes it can create keys and give other lasting access. Other sessions are not affected. A wrong password counts as
/// a failed login.
#[utoipa::path(
    post,
    path = "/v1/auth/reauthenticate",
    tag = "auth",
    security(("bearer" = ["dashboard session"])),
    request_body = Reauthentication,
    responses((status = 200, body = Reauthenticated), (status = 409))
)]
pub async fn reauthenticate(
    State(app): State<AppState>,
    caller: DashboardSession,
    Json(again): Json<Reauthentication>,
) -> Result<Json<Reauthenticated>> {
    Ok(Json(Reauthenticated { fresh_until: fresh::reauthenticate(&app, &caller, read(again)).await? }))
}

fn read(again: Reauthentication) -> Result<fresh::Reauthentication, FieldErrors> {
    let mut errors = FieldErrors::default();
    let password = errors.take("password", again.password.parse_optional());
    let proof = errors.take("stepUp", Proof::validate(again.step_up));
    match (password, proof) {
        (Some(password), Some(proof)) => Ok(fresh::Reauthentication { password, proof }),
        _ => Err(errors),
    }
}
