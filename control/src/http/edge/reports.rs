//! Batches of reports from the edge's queue consumer.

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

/// Count a batch of reports. Each report is handled on its own: one that can never be counted is dropped and named in the answer. Any status other
/// than 200 means that not all of the batch was stored, and that it must be sent again.
pub async fn take_reports(State(app): State<AppState>, call: InternalCall) -> Result<Json<BatchAnswer>> {
    let batch: ReportBatch = serde_json::from_slice(&call.body).map_err(|error| {
        let text = format!("the body is not a valid batch of reports (line {}, column {})", error.line(), error.column());
        Error::Invalid(FieldErrors::of_request(text))
    })?;
    if batch.reports.len() > MAX_BATCH_REPORTS {
        return Err(Error::invalid("reports", format!("must have at most {MAX_BATCH_REPORTS} entries")));
    }
    let (mut reports, mut dropped) = (Vec::with_capacity(batch.reports.len()), Vec::new());
    for value in batch.reports {
        match read(value) {
            Ok(report) => reports.push(report),
            Err(fault) => dropped.push(fault),
        }
    }
    let statuses = service::store(&app.db, app.settings.limits.binary_versions, &reports, app.now()).await.map_err(Error::unavailable)?;
    let mut accepted = 0;
    for (report, statuses) in reports.iter().zip(statuses) {
        match statuses.dropped(&report.id) {
            None => accepted += 1,
            Some(report) => dropped.push(report),
        }
    }
    note(&dropped);
    Ok(Json(BatchAnswer { accepted, dropped }))
}

/// Parses a report, or says why it is invalid.
pub fn read(value: Value) -> Result<Report, Dropped> {
    // Only a well-formed id is returned and logged.
    let id = value.get("id").and_then(Value::as_str).and_then(|id| ReportId::try_from(id).ok());
    Report::from_value(value).map_err(|fault| Dropped { id: id.map(String::from).unwrap_or_default(), reason: fault.to_string() })
}

/// Logs dropped reports: nobody sends them again.
pub fn note(dropped: &[Dropped]) {
    for Dropped { id, reason } in dropped {
        tracing::warn!(report.id = id, reason, "a report was dropped");
    }
}
