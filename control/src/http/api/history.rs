//! The operation that shows daily history.
//!
//! It is sent a few days at a time, as they are read, and only as fast as they are taken.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use shared::FieldErrors;
use shared::api::history::{Day, DayCounts, MetricsHistoryAnswer};
use shared::time::UtcDay;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::counting::history::days::{self, Asked, Counts, Days};
use crate::domain::error::{Cause, Error, Result, chain};
use crate::http::AppState;
use crate::http::extract::DeploymentPath;
use crate::infra::db::Db;

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(read_metrics_history))
}

/// Read the daily history of a deployment's counts: each day's values by release label, and how much more they are than the day before. Days for which
/// nothing is stored are absent. The range ends where there is no history, at the retention of the app's owner, and today.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/metrics/history",
    tag = "metrics",
    security(("bearer" = ["metrics.read"])),
    params(
        ("from" = Option<String>, Query, format = Date, description = "The first UTC day, `2026-01-31`; 30 days before `to` with it unless given"),
        ("to" = Option<String>, Query, format = Date, description = "The last UTC day; today unless given"),
    ),
    responses((status = 200, body = MetricsHistoryAnswer))
)]
pub async fn read_metrics_history(
    State(app): State<AppState>,
    grant: AppGrant<ReadMetrics>,
    DeploymentPath(name): DeploymentPath,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let asked = read(query.as_deref().unwrap_or_default())?;
    let history = days::read(&app, &grant, &name, &asked).await?;
    let answer = MetricsHistoryAnswer {
        from: history.from.to_string(),
        to: history.to.to_string(),
        history_starts_at: history.starts.map(|day| day.to_string()),
        days: history.first.into_iter().map(present).collect(),
    };
    let mut opening = serde_json::to_vec(&answer).map_err(Error::internal)?;
    // The other days come before the last brackets.
    opening.truncate(opening.len().saturating_sub(CLOSING.len()));
    let sending = Sending { is_first: answer.days.is_empty(), days: history.rest, db: app.db.clone() };
    let body = Body::from_stream(stream::try_unfold(Part::Opening(opening, sending), Part::send));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Reads the query; empty is absent. Errors: every bad parameter.
fn read(query: &str) -> Result<Asked, FieldErrors> {
    let (mut asked, mut errors) = (Asked::default(), FieldErrors::default());
    for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
        match name.as_ref() {
            "from" => asked.from = errors.take("from", UtcDay::try_from(value.as_ref())),
            "to" => asked.to = errors.take("to", UtcDay::try_from(value.as_ref())),
            _ => {}
        }
    }
    if let (Some(from), Some(to)) = (asked.from, asked.to)
        && from > to
    {
        errors.take("from", Err::<(), _>("must not be after to"));
    }
    if errors.is_empty() { Ok(asked) } else { Err(errors) }
}

/// How an answer ends.
const CLOSING: &str = "]}";

/// The days that are still to be sent.
struct Sending {
    days: Days,
    db: Db,
    /// Whether none was sent before them.
    is_first: bool,
}

/// What is sent next.
enum Part {
    Opening(Vec<u8>, Sending),
    Days(Sending),
    Nothing,
}

impl Part {
    /// Gives what is sent now, and what is sent after it. A fault ends the connection before the answer's end, which no client takes for a whole one.
    async fn send(self) -> Result<Option<(Vec<u8>, Self)>, Cause> {
        let (mut bytes, sending) = match self {
            Self::Opening(bytes, sending) => (bytes, sending),
            Self::Days(mut sending) => {
                let bytes = sending.next().await;
                let bytes =
                    bytes.inspect_err(|error| tracing::warn!(cause = %chain(error.as_ref()), "an answer of daily history ended early"))?;
                (bytes, sending)
            }
            Self::Nothing => return Ok(None),
        };
        if sending.days.is_more() {
            return Ok(Some((bytes, Self::Days(sending))));
        }
        bytes.extend_from_slice(CLOSING.as_bytes());
        Ok(Some((bytes, Self::Nothing)))
    }
}

impl Sending {
    /// Reads some days, and gives them as members of a JSON array that has those before them.
    async fn next(&mut self) -> Result<Vec<u8>, Cause> {
        let mut bytes = Vec::new();
        for day in self.days.next(&self.db).await? {
            if !std::mem::take(&mut self.is_first) {
                bytes.push(b',');
            }
            serde_json::to_writer(&mut bytes, &present(day))?;
        }
        Ok(bytes)
    }
}

/// A day on the wire.
fn present(day: days::Day) -> Day {
    let labels = day.labels.into_iter().map(|(label, Counts { now, before })| {
        let counts = DayCounts {
            active: now.active,
            downloaded: now.downloaded,
            installed: now.installed,
            failed: now.failed,
            downloaded_delta: before.map(|before| now.downloaded - before.downloaded),
            installed_delta: before.map(|before| now.installed - before.installed),
            failed_delta: before.map(|before| now.failed - before.failed),
        };
        (label, counts)
    });
    Day { date: day.date.to_string(), labels: labels.collect() }
}
