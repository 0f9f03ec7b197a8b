//! Daily metrics endpoint.
//!
//! The response is streamed: a few days are read at a time, only as fast as the client takes them.

use std::borrow::Cow;

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
use crate::domain::counting::history::days::{self, Counts, DayRange, Days};
use crate::domain::error::{Cause, Error, Result, chain};
use crate::http::AppState;
use crate::http::extract::DeploymentPath;
use crate::http::extract::query::parameters;
use crate::infra::db::Db;

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(read_metrics_history))
}

/// Get a deployment's daily metrics.
///
/// Returns each day's counts by release label and their change since the day before. Days without data are omitted. The range is clamped to the start of
/// the history, the retention of the app's owner, and today.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/metrics/history",
    tag = "metrics",
    security(("bearer" = ["metrics.read"])),
    params(
        ("from" = Option<String>, Query, format = Date, description = "The first UTC day, such as `2026-01-31`. Default: the 30 days that end with `to`"),
        ("to" = Option<String>, Query, format = Date, description = "The last UTC day. Default: today"),
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
    // The other days go before the closing brackets.
    opening.truncate(opening.len().saturating_sub(CLOSING.len()));
    let sending = Sending { is_first: answer.days.is_empty(), days: history.rest, db: app.db.clone() };
    let body = Body::from_stream(stream::try_unfold(Part::Opening(opening, sending), Part::send));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Reads the query. Empty means absent. Errors: every invalid parameter.
fn read(query: &str) -> Result<DayRange, FieldErrors> {
    let mut errors = FieldErrors::default();
    let [from, to] = parameters(query, ["from", "to"], &mut errors);
    let mut day = |name, value: Option<Cow<'_, str>>| errors.take(name, value.as_deref().map(UtcDay::try_from).transpose()).flatten();
    let asked = DayRange { from: day("from", from), to: day("to", to) };
    if let (Some(from), Some(to)) = (asked.from, asked.to)
        && from > to
    {
        errors.take("from", Err::<(), _>("must not be after to"));
    }
    if errors.is_empty() { Ok(asked) } else { Err(errors) }
}

/// The end of a response.
const CLOSING: &str = "]}";

/// The days that are still to be sent.
struct Sending {
    days: Days,
    db: Db,
    /// Whether none was sent before them.
    is_first: bool,
}

/// What to send next.
enum Part {
    Opening(Vec<u8>, Sending),
    Days(Sending),
    Nothing,
}

impl Part {
    /// The bytes to send now, and what to send next. An error closes the connection before the end, so that no client takes the response for complete.
    async fn send(self) -> Result<Option<(Vec<u8>, Self)>, Cause> {
        let (mut bytes, sending) = match self {
            Self::Opening(bytes, sending) => (bytes, sending),
            Self::Days(mut sending) => {
                let bytes = sending.next().await;
                let bytes = bytes
                    .inspect_err(|error| tracing::warn!(cause = %chain(error.as_ref()), "a response with daily metrics was cut off"))?;
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
    /// Reads some days and serializes them as further elements of the JSON array.
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

/// A day in its wire form.
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
