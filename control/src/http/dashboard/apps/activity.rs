//! An app's activity: its audit events, for those who manage it.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use shared::FieldErrors;
use shared::ids::AuditEventId;

use super::place::{self, Link, Section};
use crate::domain::access::grant::ManageApp;
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::apps::events::{self, Page};
use crate::domain::audit::repo::ResolvedRow;
use crate::domain::error::{Error, Result};
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::query::parameters;
use crate::infra::dates::RelativeTime;

/// The events of a page.
const PAGE_SIZE: u8 = 50;

/// An event in the list.
struct Item {
    time: RelativeTime,
    who: String,
    credential: String,
    address: String,
    action: String,
    details: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "dashboard/activity.html")]
struct Activity<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    events: Vec<Item>,
    older: Option<String>,
}

impl Item {
    fn of(frame: &Frame, ResolvedRow { event, email, .. }: ResolvedRow) -> Result<Self> {
        let details: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&event.details).map_err(Error::internal)?;
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        Ok(Self {
            time: RelativeTime::of(event.time, frame.now()),
            who: email.unwrap_or_else(|| if event.account_id.is_some() { "Deleted account".to_owned() } else { "Operator".to_owned() }),
            credential: event.credential_kind,
            address: event.client_address.unwrap_or_default(),
            action: event.action,
            details: details.into_iter().map(|(name, value)| (name, text(value))).collect(),
        })
    }
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ManageApp>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let [cursor] = parameters(query.as_deref().unwrap_or_default(), ["before"], &mut FieldErrors::default());
    let cursor = cursor.and_then(|cursor| AuditEventId::try_from(cursor.as_ref()).ok());
    let (rows, next) = events::list(&mut app.db.read().await?, &grant, &Page { limit: PAGE_SIZE, cursor }).await?;
    let name = grant.called();
    let page = frame.path(&format!("{}/activity", place::app(name)));
    view::page(&Activity {
        crumbs: place::crumbs(&frame, &[(name, place::app(name))]),
        sections: place::sections(&frame, &grant, Section::Activity),
        events: rows.into_iter().map(|row| Item::of(&frame, row)).collect::<Result<_>>()?,
        older: next.map(|next| format!("{page}?before={next}")),
        frame: &frame,
    })
}
