//! Report bodies as clients post them, and the batches that the edge sends to the control plane.

use super::fields::{self, Names};
use super::json;
use super::path::Job;
use crate::Invalid;
use crate::invalid::FieldErrors;
use crate::keys::{BinaryVersion, ClientId, Label};
use crate::report::{Event, NewReport};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The maximum number of reports in a batch.
pub const MAX_BATCH_REPORTS: usize = 100;
/// The maximum body size of a batch, in bytes.
pub const MAX_BATCH_BYTES: usize = 2 * 1024 * 1024;
/// The maximum size of any other JSON body, in bytes.
pub const MAX_JSON_BODY: usize = 10_240;
/// The response to a report that is durably stored.
pub const REPORT_OK: &str = r#"{"status":"ok"}"#;

/// Whether a `Content-Type` is JSON, with any parameters.
pub fn is_json(stated: &str) -> bool {
    let essence = stated.split_once(';').map_or(stated, |(essence, _)| essence);
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// The body of `POST /internal/v1/reports`. Each element is parsed on its own, so that an invalid one does not block the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportBatch {
    /// Reports in the format of [`crate::report::Report::to_text`]; at most [`MAX_BATCH_REPORTS`].
    pub reports: Vec<Value>,
}

/// The response to a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchAnswer {
    /// The number of reports that were counted, now or earlier.
    pub accepted: u32,
    /// The reports that were dropped.
    pub dropped: Vec<Dropped>,
}

/// A report that will never be counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The report's ID as sent; empty if there was none.
    pub id: String,
    /// The reason.
    pub reason: String,
}

/// Parses the body of a report. Names are accepted in both cases. Empty strings and `null` count as absent, unknown members are ignored.
/// The error lists every invalid member.
///
/// A deploy report without a label is about the app store build; with a label, no status means success. A download report requires a label.
pub fn parse_report(job: Job, body: &[u8]) -> Result<NewReport, FieldErrors> {
    let members = match serde_json::from_slice(body) {
        Ok(Value::Object(members)) => members,
        Ok(_) => return Err(FieldErrors::of("body", "must be a JSON object")),
        Err(_) => return Err(FieldErrors::of("body", "is not valid JSON")),
    };
    if json::check_members(body).is_err() {
        return Err(FieldErrors::of("body", "must not repeat a member"));
    }
    let mut errors = FieldErrors::default();
    let key = text(&mut errors, &members, fields::DEPLOYMENT_KEY).and_then(|text| fields::deployment_key(&mut errors, text));
    let client_id = optional(&mut errors, &members, fields::CLIENT_ID, |text| ClientId::try_from(text));
    let event = match job {
        Job::DeployReport => deploy_event(&mut errors, &members),
        Job::DownloadReport => text(&mut errors, &members, fields::LABEL)
            .and_then(|text| fields::required(&mut errors, fields::LABEL, text, |text| Label::try_from(text)))
            .map(|label| Event::Downloaded { label }),
        Job::Check => return Err(FieldErrors::of("body", "a check is not a report")),
    };
    match (key, client_id, event) {
        (Some(deployment_key), Some(client_id), Some(event)) => Ok(NewReport { deployment_key, client_id, event }),
        _ => Err(errors),
    }
}

fn deploy_event(errors: &mut FieldErrors, members: &Map<String, Value>) -> Option<Event> {
    let app_version = text(errors, members, fields::APP_VERSION)
        .and_then(|text| fields::required(errors, fields::APP_VERSION, text, |text| BinaryVersion::try_from(text)));
    let label = optional(errors, members, fields::LABEL, |text| Label::try_from(text));
    let has_failed = optional(errors, members, fields::STATUS, |text| match text {
        "DeploymentSucceeded" => Ok(false),
        "DeploymentFailed" => Ok(true),
        _ => Err(Invalid::from("must be DeploymentSucceeded or DeploymentFailed")),
    });
    match (label?, has_failed?.unwrap_or(false)) {
        (None, true) => {
            errors.add(fields::LABEL.snake, "is required to report a failure");
            None
        }
        (None, false) => app_version.map(|app_version| Event::Binary { app_version }),
        (Some(label), has_failed) => app_version.map(|_| if has_failed { Event::Failed { label } } else { Event::Installed { label } }),
    }
}

/// Parses an optional member; the outer `None` means that it is invalid.
#[expect(clippy::option_option, reason = "outer: whether it is valid; inner: whether it is present")]
fn optional<T>(
    errors: &mut FieldErrors,
    members: &Map<String, Value>,
    names: Names,
    parse: impl Fn(&str) -> Result<T, Invalid>,
) -> Option<Option<T>> {
    match text(errors, members, names)? {
        None => Some(None),
        Some(text) => errors.take(names.snake, parse(text)).map(Some),
    }
}

/// The text of a member, if present. If it is not a string, adds an error and returns the outer `None`.
#[expect(clippy::option_option, reason = "outer: whether it is valid; inner: whether it is present")]
fn text<'m>(errors: &mut FieldErrors, members: &'m Map<String, Value>, names: Names) -> Option<Option<&'m str>> {
    for name in [names.snake, names.camel] {
        match members.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.is_empty() => {}
            Some(Value::String(text)) => return Some(Some(text)),
            Some(_) => {
                errors.add(name, "must be a string");
                return None;
            }
        }
    }
    Some(None)
}
