//! The envelope of every error answer.

use serde::Serialize;

/// 404 on acquisition paths, of `edge` and `control` alike: the key never was, or its deployment is deleted.
pub const UNKNOWN_DEPLOYMENT: &str = "deployment was not found";
/// 405, likewise.
pub const WRONG_METHOD: &str = "this method is not allowed here";
/// 415, likewise.
pub const WRONG_TYPE: &str = "the body must be application/json";
/// 416, likewise.
pub const WRONG_RANGE: &str = "the range lies outside the file";
/// 429 of reports, likewise.
pub const TOO_MANY_REPORTS: &str = "too many reports of this deployment come from this address";

/// 413, likewise.
pub fn too_large(most_bytes: usize) -> String {
    format!("the body must be at most {most_bytes} bytes")
}

/// An error answer: `{"error":"app was not found","requestId":"…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem<'a> {
    /// What is wrong, for people.
    pub error: &'a str,
    /// The request's id, as in `X-Request-Id`.
    pub request_id: &'a str,
    /// What is wrong, for programs; only where the interface lists a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'a str>,
    /// In how many seconds to try again; only where the interface says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

impl Problem<'_> {
    /// The JSON body.
    pub fn to_json(&self) -> String {
        // Texts and numbers always have a JSON form; there is no error to give.
        serde_json::to_string(self).unwrap_or_default()
    }
}
