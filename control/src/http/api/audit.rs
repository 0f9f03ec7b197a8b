//! The audit trail of an app over HTTP.

use axum::extract::{RawQuery, State};
use shared::FieldErrors;
use shared::api::audit::{AuditAccount, AuditAnswer, AuditCredential, AuditEvent, AuditObject};
use shared::ids::AuditEventId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageApp;
use crate::domain::apps::events::{self, Page};
use crate::domain::audit::repo::ResolvedRow;
use crate::domain::error::{Error, Result};
use crate::http::AppState;
use crate::http::extract::Json;

/// Events on a page that names no number.
const DEFAULT_LIMIT: u8 = 25;

/// The most events on a page.
const MAX_LIMIT: u8 = 100;

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_events))
}

/// Read what happened to an app, newest first.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/audit",
    tag = "audit",
    security(("bearer" = ["apps.manage"])),
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many events at most; 25 unless given"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, body = AuditAnswer))
)]
pub async fn list_events(State(app): State<AppState>, grant: AppGrant<ManageApp>, RawQuery(query): RawQuery) -> Result<Json<AuditAnswer>> {
    let page = read(query.as_deref().unwrap_or_default())?;
    let (rows, next_cursor) = events::list(&mut app.db.read().await?, &grant, &page).await?;
    Ok(Json(AuditAnswer { events: rows.into_iter().map(present).collect::<Result<_>>()?, next_cursor }))
}

/// Reads `limit` and `cursor`; empty is absent. Errors: every bad parameter.
fn read(query: &str) -> Result<Page, FieldErrors> {
    let (mut limit, mut cursor, mut errors) = (Some(DEFAULT_LIMIT), None, FieldErrors::default());
    for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
        match name.as_ref() {
            "limit" => {
                let number = value.parse().ok().filter(|number| (1..=MAX_LIMIT).contains(number));
                limit = errors.take("limit", number.ok_or("must be a whole number from 1 to 100"));
            }
            "cursor" => cursor = errors.take("cursor", AuditEventId::try_from(value.as_ref()).map_err(|_| "is not one of this list")),
            _ => {}
        }
    }
    match limit {
        Some(limit) if errors.is_empty() => Ok(Page { limit, cursor }),
        _ => Err(errors),
    }
}

/// An event on the wire.
fn present(ResolvedRow { event, email }: ResolvedRow) -> Result<AuditEvent> {
    Ok(AuditEvent {
        id: event.id,
        time: event.time,
        account: event.account_id.map(|id| AuditAccount { id, email }),
        credential: AuditCredential { kind: event.credential_kind, id: event.credential_id },
        client_address: event.client_address,
        action: event.action,
        object: AuditObject { kind: event.object_kind, id: event.object_id },
        details: serde_json::from_str(&event.details).map_err(Error::internal)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_25_events_unless_it_says_otherwise() {
        assert_eq!(read("").unwrap(), Page { limit: 25, cursor: None });
        assert_eq!(read("limit=&cursor=&more=1").unwrap(), Page { limit: 25, cursor: None });
        assert_eq!(read("limit=100").unwrap(), Page { limit: 100, cursor: None });
        for query in ["limit=0", "limit=101", "limit=-1", "limit=x", "limit=1.5", "cursor=x"] {
            assert!(read(query).is_err(), "{query}");
        }
    }
}
