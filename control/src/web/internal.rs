//! Calls of the edge: signed over method, path, time and body (decisions section 7).

use axum::extract::{FromRequest, Request};

use super::{SentPath, read_body};
use crate::app::AppState;
use crate::error::AppError;

/// The signature's header.
const SIGNATURE: &str = "x-updraft-signature";

/// The largest body of an internal call: 2 MiB.
const MAX_INTERNAL_BODY: usize = shared::wire::report::MAX_BATCH_BYTES;

/// The body of a call whose signature is valid. Without a valid one the path answers as if it were not there: strangers learn nothing.
#[derive(Debug)]
pub struct InternalCall(pub Vec<u8>);

impl FromRequest<AppState> for InternalCall {
    type Rejection = AppError;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, AppError> {
        let refused = || AppError::NotFound("this path");
        let (parts, body) = request.into_parts();
        let signature = parts.headers.get(SIGNATURE).and_then(|value| value.to_str().ok()).map(str::to_owned).ok_or_else(refused)?;
        let sent = parts.extensions.get::<SentPath>().cloned().ok_or_else(refused)?;
        let bytes = read_body(&parts.headers, body, MAX_INTERNAL_BODY).await?;
        let secrets = &app.config.edge_secret;
        if shared::signature::verify_call(secrets, &signature, parts.method.as_str(), sent.0.as_str(), app.now(), &bytes) {
            return Ok(Self(bytes));
        }
        tracing::warn!("an internal call carries an invalid signature: edge secret or clock");
        Err(refused())
    }
}
