//! The audit trail of an app over HTTP.

use axum::extract::{RawQuery, State};
use serde::Serialize;
use serde_json::{Map, Value};
use shared::ids::{AccountId, AuditEventId};
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageApp;
use crate::domain::audit::service;
use crate::domain::error::AppResult;
use crate::http::AppState;
use crate::http::extract::Json;
use shared::FieldErrors;

/// Events on a page that names no number.
const DEFAULT_LIMIT: u8 = 25;

/// The most events on a page.
const MAX_LIMIT: u8 = 100;

/// Something that happened.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AuditEvent)]
pub struct EventOut {
    /// Its id.
    pub id: AuditEventId,
    /// When it happened.
    pub time: UnixMillis,
    /// Whose account did it; null when none did.
    #[schema(required = true)]
    pub account: Option<AccountRef>,
    /// With what credential.
    pub credential: CredentialRef,
    /// From which address; null for the operator.
    #[schema(required = true)]
    pub client_address: Option<String>,
    /// What was done, such as `release.upload`.
    pub action: String,
    /// To what.
    pub object: ObjectRef,
    /// More of it; what, depends on the action.
    #[schema(value_type = Object)]
    pub details: Map<String, Value>,
}

/// An account that did something.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditAccount)]
pub struct AccountRef {
    /// Its id.
    pub id: AccountId,
    /// Its e-mail address; null once it is deleted.
    #[schema(required = true)]
    pub email: Option<String>,
}

/// The credential that something was done with.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditCredential)]
pub struct CredentialRef {
    /// `dashboard_session`, `cli_browser`, `cli_device`, `session`, `access_key`, `api_key`, `operator` or `none`.
    pub kind: String,
    /// Its id; null without a credential.
    #[schema(required = true)]
    pub id: Option<String>,
}

/// What something was done to.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditObject)]
pub struct ObjectRef {
    /// Its kind, such as `release`.
    pub kind: String,
    /// Its id.
    pub id: String,
}

/// Events, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AuditAnswer)]
pub struct EventsAnswer {
    /// The events.
    pub events: Vec<EventOut>,
    /// What leads to the next page; null on the last one.
    #[schema(required = true)]
    pub next_cursor: Option<AuditEventId>,
}

/// Which part of the list is asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// How many events, 1 to 100.
    pub limit: u8,
    /// The event that they follow.
    pub cursor: Option<AuditEventId>,
}

impl Page {
    /// Reads `limit` and `cursor`; empty is absent. Errors: 400.
    pub fn parse(query: &str) -> AppResult<Self> {
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
            Some(limit) if errors.is_empty() => Ok(Self { limit, cursor }),
            _ => Err(errors.into()),
        }
    }
}

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
    responses((status = 200, body = EventsAnswer))
)]
pub async fn list_events(
    State(app): State<AppState>,
    grant: AppGrant<ManageApp>,
    RawQuery(query): RawQuery,
) -> AppResult<Json<EventsAnswer>> {
    let page = Page::parse(query.as_deref().unwrap_or_default())?;
    let mut tx = app.db.read().await?;
    Ok(Json(service::list(&mut tx, &grant, &page).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_25_events_unless_it_says_otherwise() {
        assert_eq!(Page::parse("").unwrap(), Page { limit: 25, cursor: None });
        assert_eq!(Page::parse("limit=&cursor=&more=1").unwrap(), Page { limit: 25, cursor: None });
        assert_eq!(Page::parse("limit=100").unwrap(), Page { limit: 100, cursor: None });
        for query in ["limit=0", "limit=101", "limit=-1", "limit=x", "limit=1.5", "cursor=x"] {
            assert!(Page::parse(query).is_err(), "{query}");
        }
    }
}
