//! Forms that create a release carry a key of their own, so that sending one twice creates one release: the API's `Idempotency-Key`.

use shared::ids::ReleaseId;

use crate::domain::error::Result;
use crate::domain::idempotency::IdempotencyKey;
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;

/// A new key, for the hidden field `once`.
pub fn new(app: &AppState) -> Result<String> {
    Ok(ReleaseId::v7(app.now(), app.entropy.bytes()?).to_string())
}

/// The key of a form that was sent. A form without one is sent as often as it is.
pub fn read(sent: &Fields) -> Option<IdempotencyKey> {
    sent.get("once").and_then(|text| text.parse().ok())
}
