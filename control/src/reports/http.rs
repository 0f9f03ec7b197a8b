//! The batches that the edge's queue consumer posts.

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use serde_json::Value;
use shared::ids::ReportId;
use shared::report::Report;
use shared::wire::report::{BatchAnswer, Dropped, MAX_BATCH_REPORTS, ReportBatch};

use super::{Judgement, service};
use crate::app::AppState;
use crate::error::{AppError, AppResult};
use crate::web::{InternalCall, Json};

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    Router::new().route("/internal/v1/reports", post(take_reports))
}

/// Count a batch of reports. Each is judged alone: one that cannot be counted, ever, is dropped and named in the answer. Any status but 200 says
/// that nothing was stored and that the batch is to be sent again.
pub async fn take_reports(State(app): State<AppState>, InternalCall(body): InternalCall) -> AppResult<Json<BatchAnswer>> {
    let batch: ReportBatch = serde_json::from_slice(&body).map_err(|error| {
        AppError::Invalid(format!("the body is not a batch of reports (line {}, column {})", error.line(), error.column()))
    })?;
    if batch.reports.len() > MAX_BATCH_REPORTS {
        return Err(AppError::Invalid(format!("reports: must be at most {MAX_BATCH_REPORTS}")));
    }
    let (reports, mut dropped) = read(batch.reports);
    let judgements =
        service::store(&app.db, app.config.limits.binary_versions, &reports, app.now()).await.map_err(AppError::unavailable)?;
    let mut accepted = 0;
    for (report, judgement) in reports.iter().zip(judgements) {
        match judgement {
            Judgement::Accepted => accepted += 1,
            Judgement::Dropped(reason) => dropped.push(Dropped { id: report.id.to_string(), reason }),
            Judgement::UnknownDeployment => dropped.push(Dropped { id: report.id.to_string(), reason: "unknown deployment".to_owned() }),
        }
    }
    for Dropped { id, reason } in &dropped {
        tracing::warn!(report.id = id, reason, "a report was dropped");
    }
    Ok(Json(BatchAnswer { accepted, dropped }))
}

/// Those that are reports, and those that are not.
fn read(values: Vec<Value>) -> (Vec<Report>, Vec<Dropped>) {
    let (mut reports, mut dropped) = (Vec::with_capacity(values.len()), Vec::new());
    for value in values {
        // Only what has the form of an id is said back and logged as one.
        let id = value.get("id").and_then(Value::as_str).and_then(|id| ReportId::try_from(id).ok());
        match Report::from_value(value) {
            Ok(report) => reports.push(report),
            Err(fault) => {
                dropped.push(Dropped { id: id.map(String::from).unwrap_or_default(), reason: fault.to_string() });
            }
        }
    }
    (reports, dropped)
}
