//! JSON bodies: content type, size and syntax are checked before a handler runs.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, OptionalFromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use shared::wire::json::check_members;
use shared::wire::problem::too_large;
use shared::wire::report::{MAX_JSON_BODY, is_json};

use crate::domain::error::Error;
use shared::FieldErrors;

const NO_OBJECT: &str = "the body must be a JSON object that does not repeat a member";

/// Timeout for a whole body, and so also for a pause in it. The credential was checked before the body, and that check must not be much older than the
/// change.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A JSON body of a request or a response.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Error> {
        let bytes = read(request).await?;
        // No body is an empty object: a required member is named as missing then.
        parse(if bytes.is_empty() { b"{}" } else { &bytes }).map(Self)
    }
}

/// An optional body: empty or `null` is `None`.
impl<T: DeserializeOwned, S: Send + Sync> OptionalFromRequest<S> for Json<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _state: &S) -> Result<Option<Self>, Error> {
        let bytes = read(request).await?;
        if bytes.is_empty() { Ok(None) } else { Ok(parse::<Option<T>>(&bytes)?.map(Self)) }
    }
}

async fn read(request: Request) -> Result<Vec<u8>, Error> {
    let (parts, body) = request.into_parts();
    let bytes = read_body(&parts.headers, body, MAX_JSON_BODY).await?;
    check_type(&parts.headers, &bytes)?;
    Ok(bytes)
}

/// Parses an object. Errors: 400.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    // The parser would accept an array as an object with its members in order.
    if bytes.trim_ascii_start().first() == Some(&b'[') && serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
        return Err(Error::Invalid(FieldErrors::of_request(NO_OBJECT)));
    }
    let parsed = check_members(bytes).and_then(|()| serde_json::from_slice(bytes));
    parsed.map_err(|error| Error::Invalid(FieldErrors::of_request(json_fault(&error))))
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
            Err(error) => Error::internal(error).into_response(),
        }
    }
}

/// Describes the error without repeating values from the body.
fn json_fault(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => NO_OBJECT.to_owned(),
        _ => format!("the body is not valid JSON (line {}, column {})", error.line(), error.column()),
    }
}

/// Refuses a body with another content type (415). A body without a content type is parsed as JSON, because old clients send none.
pub fn check_type(headers: &HeaderMap, body: &[u8]) -> Result<(), Error> {
    let Some(kind) = headers.get(header::CONTENT_TYPE).filter(|_| !body.is_empty()) else { return Ok(()) };
    if is_json(kind.to_str().unwrap_or_default()) { Ok(()) } else { Err(Error::WrongType("application/json")) }
}

/// Reads a body of at most `limit` bytes within half a minute. A larger one is 413, without reading it if it declares its length.
pub async fn read_body(headers: &HeaderMap, body: Body, limit: usize) -> Result<Vec<u8>, Error> {
    let too_large = || Error::TooLarge(FieldErrors::of_request(too_large(limit)));
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()).and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let whole = async {
        let mut bytes = Vec::new();
        let mut stream = body.into_data_stream();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|_| Error::Invalid(FieldErrors::of_request("the body ended early")))?;
            if bytes.len() + chunk.len() > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    };
    let slow = |_| Error::Invalid(FieldErrors::of_request("the body was not received within 30 seconds"));
    tokio::time::timeout(BODY_TIMEOUT, whole).await.map_err(slow)?
}
