//! The header `Idempotency-Key`.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use shared::{FieldErrors, Invalid};

use crate::domain::error::{Error, Result};
use crate::domain::idempotency::IdempotencyKey;

/// The header's name in refusals.
const NAME: &str = "Idempotency-Key";

/// The request's idempotency key, if it has one. Its own type, because an invalid key is an error and not a missing one.
#[derive(Clone, Debug)]
pub struct MaybeIdempotent(pub Option<IdempotencyKey>);

impl<S: Send + Sync> FromRequestParts<S> for MaybeIdempotent {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        let mut values = parts.headers.get_all(NAME).iter();
        let Some(value) = values.next() else { return Ok(Self(None)) };
        let key = match values.next() {
            Some(_) => Err(Invalid::from("must be sent only once")),
            // What is not ASCII becomes the replacement character, which no key contains.
            None => String::from_utf8_lossy(value.as_bytes()).parse(),
        };
        Ok(Self(Some(key.map_err(|error: Invalid| FieldErrors::of(NAME, error))?)))
    }
}
