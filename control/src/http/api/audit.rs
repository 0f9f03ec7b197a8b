//! Audit endpoint of an app.

use axum::extract::{RawQuery, State};
use shared::FieldErrors;
use shared::api::audit::{AuditAccount, AuditAnswer, AuditCredential, AuditEvent, AuditObject};
use shared::ids::AuditEventId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageApp;
use crate::domain::apps::events::{self, Filter, Found, Page};
use crate::domain::audit::repo::ResolvedRow;
use crate::domain::error::{Error, Result};
use crate::http::AppState;
use crate::http::extract::Json;
use crate::http::extract::query::{page_size, parameters};

/// The default page size.
const DEFAULT_LIMIT: u8 = 25;

/// The largest page size.
const MAX_LIMIT: u8 = 100;

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_events))
}

/// List an app's audit events.
///
/// Events are sorted newest first.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/audit",
    tag = "audit",
    security(("bearer" = ["apps.manage"])),
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Maximum number of events. Default: 25"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page"),
    ),
    responses((status = 200, body = AuditAnswer))
)]
pub async fn list_events(State(app): State<AppState>, grant: AppGrant<ManageApp>, RawQuery(query): RawQuery) -> Result<Json<AuditAnswer>> {
    let page = read(query.as_deref().unwrap_or_default())?;
    let Found { events, next_cursor, .. } = events::list(&mut app.db.read().await?, &grant, &page).await?;
    Ok(Json(AuditAnswer { events: events.into_iter().map(present).collect::<Result<_>>()?, next_cursor }))
}

/// Reads `limit` and `cursor`. Empty means absent. Errors: every invalid parameter.
fn read(query: &str) -> Result<Page, FieldErrors> {
    let mut errors = FieldErrors::default();
    let [limit, cursor] = parameters(query, ["limit", "cursor"], &mut errors);
    let limit = errors.take("limit", page_size(limit, DEFAULT_LIMIT, MAX_LIMIT));
    let cursor = cursor.map(|cursor| AuditEventId::try_from(cursor.as_ref()).map_err(|_| "belongs to another list")).transpose();
    match (limit, errors.take("cursor", cursor)) {
        (Some(limit), Some(cursor)) if errors.is_empty() => Ok(Page { limit, cursor, filter: Filter::default() }),
        _ => Err(errors),
    }
}

/// An event in its wire form.
fn present(ResolvedRow { event, email, object_email }: ResolvedRow) -> Result<AuditEvent> {
    Ok(AuditEvent {
        id: event.id,
        time: event.time,
        account: event.account_id.map(|id| AuditAccount { id, email }),
        credential: AuditCredential { kind: event.credential_kind, id: event.credential_id },
        client_address: event.client_address,
        action: event.action,
        object: AuditObject { kind: event.object_kind, id: event.object_id, email: object_email },
        details: serde_json::from_str(&event.details).map_err(Error::internal)?,
    })
}
