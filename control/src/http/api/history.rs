//! The operation that shows daily history.
//!
//! A deployment may have a thousand labels and a year of days, which is tens of megabytes of answer. So it is read and sent a few days at a time, each few
//! in a transaction of their own, and only as fast as they are taken.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use shared::keys::Label;
use shared::time::UtcDay;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::counting::history::labels::{Labels, Values};
use crate::domain::counting::history::repo::{self, Series};
use crate::domain::deployments::service as deployments;
use crate::domain::error::{AppError, AppResult, chain};
use crate::http::AppState;
use crate::http::extract::DeploymentPath;
use crate::infra::db::{Db, ReadTx};
use shared::FieldErrors;

/// Days that are shown unless the query says otherwise.
const DEFAULT_DAYS: i64 = 30;

/// Days that are read, and held, at once.
const DAYS_AT_ONCE: usize = 8;

/// The counts of one label at the end of a day, or, of the current day, when the job last looked.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DayCounts)]
pub struct CountsOut {
    /// Clients that run it.
    pub active: i64,
    /// Clients that have loaded it so far.
    pub downloaded: i64,
    /// Clients that have run it so far.
    pub installed: i64,
    /// Clients that have fallen back from it so far.
    pub failed: i64,
    /// How many more have loaded it than the day before; null when that day is missing.
    pub downloaded_delta: Option<i64>,
    /// How many more have run it than the day before; null when that day is missing.
    pub installed_delta: Option<i64>,
    /// How many more have fallen back from it than the day before; null when that day is missing.
    pub failed_delta: Option<i64>,
}

/// A UTC day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Day)]
pub struct DayOut {
    /// The day.
    #[schema(format = Date)]
    pub date: String,
    /// The counts by release label.
    #[schema(value_type = BTreeMap<String, CountsOut>)]
    pub labels: BTreeMap<Label, CountsOut>,
}

/// The counts of a deployment by UTC day.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsHistoryAnswer {
    /// The first day of the range that is shown.
    #[schema(format = Date)]
    from: String,
    /// The last day of the range that is shown.
    #[schema(format = Date)]
    to: String,
    /// The first day with data; null when there is none.
    #[schema(format = Date)]
    history_starts_at: Option<String>,
    /// The days of the range that there are, ascending.
    days: Vec<DayOut>,
}

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
) -> AppResult<Response> {
    let asked = Asked::parse(query.as_deref().unwrap_or_default())?;
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), &name).await?;
    let retention = repo::retention_days(&mut tx, &deployment.id).await?.ok_or(AppError::NotFound("deployment"))?;
    let series = Series { deployment: deployment.id, epoch: deployment.counting_epoch };
    let newest = repo::newest(&mut tx, &series).await?;
    let starts = newest.map(|newest| newest.first_day);
    let (from, to) = asked.clamp(app.now().utc_day(), starts, retention);
    let mut days = Days::new(series, from, to);
    let first = days.next(&mut tx).await?;
    drop(tx);
    let answer = MetricsHistoryAnswer {
        from: from.to_string(),
        to: to.to_string(),
        history_starts_at: starts.map(|day| day.to_string()),
        days: Vec::new(),
    };
    let mut opening = serde_json::to_vec(&answer).map_err(AppError::internal)?;
    // The days come between the last brackets.
    opening.truncate(opening.len().saturating_sub(CLOSING.len()));
    opening.extend(first);
    let body = Body::from_stream(stream::try_unfold(Part::Opening(opening, days, app.db.clone()), Part::send));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// How an answer ends.
const CLOSING: &str = "]}";

/// What is sent next.
enum Part {
    Opening(Vec<u8>, Days, Db),
    Days(Days, Db),
    Nothing,
}

impl Part {
    /// Gives what is sent now, and what is sent after it. A fault ends the connection before the answer's end, which no client takes for a whole one.
    async fn send(self) -> sqlx::Result<Option<(Vec<u8>, Self)>> {
        let (mut bytes, days, db) = match self {
            Self::Opening(bytes, days, db) => (bytes, days, db),
            Self::Days(mut days, db) => {
                let read = async { days.next(&mut db.read().await?).await };
                let bytes =
                    read.await.inspect_err(|error| tracing::warn!(cause = %chain(error), "an answer of daily history ended early"))?;
                (bytes, days, db)
            }
            Self::Nothing => return Ok(None),
        };
        if days.is_more() {
            return Ok(Some((bytes, Self::Days(days, db))));
        }
        bytes.extend_from_slice(CLOSING.as_bytes());
        Ok(Some((bytes, Self::Nothing)))
    }
}

/// The days of an answer that are still to be read. If the history is cleared meanwhile, none of the rest is there any more.
struct Days {
    series: Series,
    /// The day to go on with; none at the end.
    next: Option<UtcDay>,
    from: UtcDay,
    to: UtcDay,
    /// The last one that was read.
    before: Option<(UtcDay, Labels)>,
    is_first: bool,
}

impl Days {
    /// Begins with the day that the first one is compared with.
    fn new(series: Series, from: UtcDay, to: UtcDay) -> Self {
        Self { series, next: Some(from.plus_days(-1)), from, to, before: None, is_first: true }
    }

    /// Whether there may be more.
    fn is_more(&self) -> bool {
        self.next.is_some()
    }

    /// Reads some days, and gives them as members of a JSON array that has those before them.
    async fn next(&mut self, tx: &mut ReadTx) -> sqlx::Result<Vec<u8>> {
        let Some(next) = self.next.take() else { return Ok(Vec::new()) };
        let most = i64::try_from(DAYS_AT_ONCE).unwrap_or(i64::MAX);
        let stored = repo::list(tx, &self.series, next, self.to, most).await?;
        if stored.len() == DAYS_AT_ONCE {
            self.next = stored.last().map(|(day, _)| day.plus_days(1)).filter(|next| *next <= self.to);
        }
        let mut bytes = Vec::new();
        for (day, labels) in stored {
            if day >= self.from {
                let before = self.before.as_ref().filter(|(before, _)| before.plus_days(1) == day).map(|(_, labels)| labels);
                if !std::mem::take(&mut self.is_first) {
                    bytes.push(b',');
                }
                serde_json::to_writer(&mut bytes, &shown(day, &labels, before)).map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
            }
            self.before = Some((day, labels));
        }
        Ok(bytes)
    }
}

/// The range that was asked for.
#[derive(Debug, Default)]
struct Asked {
    from: Option<UtcDay>,
    to: Option<UtcDay>,
}

impl Asked {
    /// Reads the query; empty is absent. Errors: 400, with every bad parameter.
    fn parse(query: &str) -> AppResult<Self> {
        let (mut asked, mut errors) = (Self::default(), FieldErrors::default());
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
        if errors.is_empty() { Ok(asked) } else { Err(errors.into()) }
    }

    /// The range that is shown: each end, by itself, no earlier than the history's start and what the retention leaves, and no later than today.
    fn clamp(&self, today: UtcDay, starts: Option<UtcDay>, retention: i64) -> (UtcDay, UtcDay) {
        let to = self.to.unwrap_or(today);
        let from = self.from.unwrap_or_else(|| to.min(today).plus_days(1 - DEFAULT_DAYS));
        let kept = today.plus_days(1 - retention);
        let earliest = starts.map_or(kept, |starts| starts.max(kept)).min(today);
        (from.clamp(earliest, today), to.clamp(earliest, today))
    }
}

fn shown(day: UtcDay, labels: &Labels, before: Option<&Labels>) -> DayOut {
    DayOut { date: day.to_string(), labels: labels.0.iter().map(|(label, now)| (*label, out(*label, *now, before))).collect() }
}

/// A label that the day before did not have counts from nothing.
fn out(label: Label, now: Values, before: Option<&Labels>) -> CountsOut {
    let before = before.map(|labels| labels.0.get(&label).copied().unwrap_or_default());
    CountsOut {
        active: now.active,
        downloaded: now.downloaded,
        installed: now.installed,
        failed: now.failed,
        downloaded_delta: before.map(|before| now.downloaded - before.downloaded),
        installed_delta: before.map(|before| now.installed - before.installed),
        failed_delta: before.map(|before| now.failed - before.failed),
    }
}
