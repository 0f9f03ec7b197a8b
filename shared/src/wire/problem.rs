//! The envelope of every error response.

use serde::Serialize;

/// 404 on acquisition paths, from both `edge` and `control`: the key never existed, or its deployment is deleted.
pub const UNKNOWN_DEPLOYMENT: &str = "deployment was not found";
/// 405 on acquisition paths.
pub const WRONG_METHOD: &str = "this method is not allowed here";
/// 415 on acquisition paths.
pub const WRONG_TYPE: &str = "the body must be application/json";
/// 416 on bundle paths.
pub const WRONG_RANGE: &str = "the range is outside the file";
/// 429 for reports.
pub const TOO_MANY_REPORTS: &str = "too many reports for this deployment from this address";

/// 413, from both `edge` and `control`.
pub fn too_large(max_bytes: usize) -> String {
    format!("the body must be at most {max_bytes} bytes")
}

/// An error response: `{"error":"app was not found","requestId":"…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem<'a> {
    /// The error message, for people.
    pub error: &'a str,
    /// The request ID, as in `X-Request-Id`.
    pub request_id: &'a str,
    /// The error code, for programs; only where the API lists one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'a str>,
    /// The seconds to wait before a retry; only where the API lists it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

impl Problem<'_> {
    /// The JSON body.
    pub fn to_json(&self) -> String {
        // Cannot fail: strings and numbers always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}
