//! Calls from the edge, signed over method, path, time and body.
//!
//! The signature is verified before the body is read, so that unsigned requests cost no memory and learn nothing.

use std::sync::Arc;

use axum::extract::{FromRequest, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use shared::hash::sha256;
use shared::signature::{CallSignature, verify_call, verify_call_head};
use tokio::sync::OwnedSemaphorePermit;

use crate::domain::audit::ClientAddress;
use crate::domain::error::{Error, Thing};
use crate::domain::traces::{self, Event, Trace};
use crate::http::AppState;
use crate::http::extract::read_body;
use crate::http::layer::{SentPath, client_address, problem};

/// The header with the signature.
const SIGNATURE: &str = "x-updraft-signature";

/// The maximum body of an internal call: 2 MiB.
const MAX_INTERNAL_BODY: usize = shared::wire::report::MAX_BATCH_BYTES;

/// A call with a valid signature. Without one, the response is the 404 of an unknown path.
#[derive(Debug)]
pub struct InternalCall {
    /// The body.
    pub body: Vec<u8>,
    /// The permit for the body, held until the call is answered; `None` for an empty body.
    _permit: Option<OwnedSemaphorePermit>,
}

impl FromRequest<AppState> for InternalCall {
    type Rejection = Error;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let is_empty = axum::body::HttpBody::is_end_stream(&body);
        let (signature, permits) = match verify_head(app, &parts) {
            signature @ CallSignature::Valid(_) => (signature, &app.front.internal.verified),
            CallSignature::NeedsBody => (CallSignature::NeedsBody, &app.front.internal.unverified),
            CallSignature::Invalid => return Err(refused(app, &parts)),
        };
        let permit = if is_empty { None } else { Some(Arc::clone(permits).acquire_owned().await.map_err(Error::internal)?) };
        let bytes = read_body(&parts.headers, body, MAX_INTERNAL_BODY).await;
        let is_valid = match (signature, &bytes) {
            // A caller with a valid signature may learn that the body is too large or ended early.
            (CallSignature::Valid(_), Err(_)) => true,
            (CallSignature::Valid(digest), Ok(bytes)) => sha256(bytes) == digest,
            (_, Ok(bytes)) => is_signed(app, &parts, bytes),
            (_, Err(_)) => false,
        };
        if !is_valid {
            return Err(refused(app, &parts));
        }
        client_address::remember_edge(app, &parts.extensions);
        Ok(Self { body: bytes?, _permit: permit })
    }
}

/// Verifies the signature as far as possible without the body.
fn verify_head(app: &AppState, parts: &Parts) -> CallSignature {
    let verified = with_signature(parts, |header, path| {
        verify_call_head(&app.front.settings.edge_secret, header, parts.method.as_str(), path, app.now())
    });
    verified.unwrap_or(CallSignature::Invalid)
}

/// Whether the signature is valid for this body.
fn is_signed(app: &AppState, parts: &Parts, body: &[u8]) -> bool {
    let signed = with_signature(parts, |header, path| {
        verify_call(&app.front.settings.edge_secret, header, parts.method.as_str(), path, app.now(), body)
    });
    signed.unwrap_or(false)
}

fn with_signature<T>(parts: &Parts, verify: impl FnOnce(&str, &str) -> T) -> Option<T> {
    let header = parts.headers.get(SIGNATURE)?.to_str().ok()?;
    Some(verify(header, parts.extensions.get::<SentPath>()?.0.as_str()))
}

fn refused(app: &AppState, parts: &Parts) -> Error {
    if let (true, Some(from)) = (parts.headers.contains_key(SIGNATURE), parts.extensions.get::<ClientAddress>()) {
        traces::log(app, Trace { event: Event::EdgeSignature, outcome: "internal_call", account: None, from: *from });
    }
    Error::NotFound(Thing::Path)
}

/// A route for an internal path, without its methods. Other methods get 405 with `allow` for signed calls, and 404 otherwise.
pub fn internal(allow: &'static str) -> MethodRouter<AppState> {
    any(async move |State(app): State<AppState>, request: Request| wrong_method(&app, request, allow).await)
}

async fn wrong_method(app: &AppState, request: Request, allow: &'static str) -> Response {
    match InternalCall::from_request(request, app).await {
        Ok(_) => {
            let mut response = problem::wrong_method();
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
            response
        }
        Err(error) => error.into_response(),
    }
}
