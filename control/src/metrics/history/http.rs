//! The operation that shows daily history.

use std::collections::BTreeMap;

use axum::extract::{RawQuery, State};
use serde::Serialize;
use shared::keys::Label;
use shared::time::UtcDay;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::labels::{Labels, Values};
use super::repo::{self, Series};
use crate::app::AppState;
use crate::auth::AppGrant;
use crate::auth::grant::ReadMetrics;
use crate::deployments::service as deployments;
use crate::error::{AppError, AppResult};
use crate::web::{DeploymentPath, Faults, Json};

/// Days that are shown unless the query says otherwise.
const DEFAULT_DAYS: i64 = 30;

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
) -> AppResult<Json<MetricsHistoryAnswer>> {
    let asked = Asked::parse(query.as_deref().unwrap_or_default())?;
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), &name).await?;
    let retention = repo::retention_days(&mut tx, grant.app()).await?.ok_or(AppError::NotFound("app"))?;
    let series = Series { deployment: deployment.id, epoch: deployment.counting_epoch };
    let newest = repo::newest(&mut tx, &series).await?;
    let starts = newest.map(|newest| newest.first_day);
    let (from, to) = asked.clamp(app.now().utc_day(), starts, retention);
    // With the day that the first one is compared with.
    let stored = repo::list(&mut tx, &series, from.plus_days(-1), to).await?;
    Ok(Json(MetricsHistoryAnswer {
        from: from.to_string(),
        to: to.to_string(),
        history_starts_at: starts.map(|day| day.to_string()),
        days: shown(&stored, from),
    }))
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
        let (mut asked, mut faults) = (Self::default(), Faults::default());
        for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
            match name.as_ref() {
                "from" => asked.from = faults.take("from", UtcDay::try_from(value.as_ref())),
                "to" => asked.to = faults.take("to", UtcDay::try_from(value.as_ref())),
                _ => {}
            }
        }
        if let (Some(from), Some(to)) = (asked.from, asked.to)
            && from > to
        {
            faults.take("from", Err::<(), _>("must not be after to"));
        }
        if faults.is_empty() { Ok(asked) } else { Err(faults.into_error()) }
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

/// The stored days, which ascend, from one on.
fn shown(stored: &[(UtcDay, Labels)], from: UtcDay) -> Vec<DayOut> {
    let mut before: Option<&(UtcDay, Labels)> = None;
    let mut days = Vec::with_capacity(stored.len());
    for one in stored {
        let (day, labels) = one;
        let before = before.replace(one).filter(|(before, _)| before.plus_days(1) == *day).map(|(_, labels)| labels);
        if *day >= from {
            days.push(DayOut {
                date: day.to_string(),
                labels: labels.0.iter().map(|(label, now)| (*label, out(*label, *now, before))).collect(),
            });
        }
    }
    days
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
