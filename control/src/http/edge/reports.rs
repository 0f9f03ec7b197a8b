//! The batches that the edge's queue consumer posts.

use axum::Router;
use axum::extract::State;
use serde_json::Value;
use shared::ids::ReportId;
use shared::report::Report;
use shared::wire::report::{BatchAnswer, Dropped, MAX_BATCH_REPORTS, ReportBatch};

use crate::domain::counting::service;
use crate::domain::error::{Error, Result};
use crate::http::AppState;
use crate::http::extract::{InternalCall, Json, internal};
use shared::FieldErrors;

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    Router::new().route("/internal/v1/reports", internal("POST").post(take_reports))
}

/// Count a batch of reports. Each is judged alone: one that cannot be counted, ever, is dropped and named in the answer. Any status but 200 says
/// that not all of it was stored and that the batch is to be sent again.
pub async fn take_reports(State(app): State<AppState>, call: InternalCall) -> Result<Json<BatchAnswer>> {
    let batch: ReportBatch = serde_json::from_slice(&call.body).map_err(|error| {
        let text = format!("the body is not a batch of reports (line {}, column {})", error.line(), error.column());
        Error::Invalid(FieldErrors::of_request(text))
    })?;
    if batch.reports.len() > MAX_BATCH_REPORTS {
        return Err(Error::invalid("reports", format!("must be at most {MAX_BATCH_REPORTS}")));
    }
    let (mut reports, mut dropped) = (Vec::with_capacity(batch.reports.len()), Vec::new());
    for value in batch.reports {
        match read(value) {
            Ok(report) => reports.push(report),
            Err(fault) => dropped.push(fault),
        }
    }
    let judgements = service::store(&app.db, app.settings.limits.binary_versions, &reports, app.now()).await.map_err(Error::unavailable)?;
    let mut accepted = 0;
    for (report, judgement) in reports.iter().zip(judgements) {
        match judgement.dropped(&report.id) {
            None => accepted += 1,
            Some(report) => dropped.push(report),
        }
    }
    note(&dropped);
    Ok(Json(BatchAnswer { accepted, dropped }))
}

/// The report that a value is, or why it will never be one.
pub fn read(value: Value) -> Result<Report, Dropped> {
    // Only what has the form of an id is said back and logged as one.
    let id = value.get("id").and_then(Value::as_str).and_then(|id| ReportId::try_from(id).ok());
    Report::from_value(value).map_err(|fault| Dropped { id: id.map(String::from).unwrap_or_default(), reason: fault.to_string() })
}

/// Logs what is counted nowhere: nobody sends it again.
pub fn note(dropped: &[Dropped]) {
    for Dropped { id, reason } in dropped {
        tracing::warn!(report.id = id, reason, "a report was dropped");
    }
}
