//! Reads the multipart body of an upload as a stream: the bundle goes to a temporary file, `packageInfo` is parsed.

use std::borrow::Cow;

use axum::body::HttpBody;
use axum::extract::multipart::{Field, Multipart};
use axum::extract::{FromRequest, Request};
use axum::http::header;
use futures_util::{StreamExt, TryStreamExt};
use shared::{FieldErrors, Invalid};

use super::meter::{self, Meter};
use super::package_info;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::error::{Error, Result};
use crate::domain::idempotency::IdempotencyKey;
use crate::domain::releases::upload::{self, Received, too_large};
use crate::http::AppState;

/// The largest `packageInfo`, in bytes. Fits a description of 10,000 UTF-16 units, all escaped, and the other members.
const MAX_INFO: usize = 128 << 10;

/// Reads the multipart body, unless its headers already show that it is too large. Errors: 400, 404, 409, 413, 415.
pub(crate) async fn receive(
    app: &AppState,
    grant: &AppGrant<ManageReleases>,
    deployment: &str,
    key: Option<IdempotencyKey>,
    request: Request,
) -> Result<Received> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let accepted = upload::accept(app, grant, deployment, length, key).await?;
    let limit = accepted.limit;
    // An empty body is not a wrong media type: it lacks both parts.
    if request.body().is_end_stream() {
        return Err(missing(true, Some(no_info())).into());
    }
    let (request, meter) = meter::watch(request, accepted.largest_body());
    let mut multipart = Multipart::from_request(request, &()).await.map_err(|rejection| meter::rejected(&rejection))?;
    let (mut bundle, mut info) = (None, None);
    while let Some(field) = multipart.next_field().await.map_err(|error| meter.fault(&error, limit))? {
        match field.name() {
            Some("package") if bundle.is_none() => {
                let chunks = field.map(|chunk| meter.take(chunk, limit));
                bundle = Some(upload::receive(app, limit, chunks).await?);
            }
            Some("packageInfo") if info.is_none() => info = Some(package_info::of_upload(&receive_info(field, &meter, limit).await?)),
            Some(name @ ("package" | "packageInfo")) => {
                let field = if name == "package" { "package" } else { "packageInfo" };
                return Err(Error::invalid(field, "must be sent only once"));
            }
            _ => skip(field, &meter, limit).await?,
        }
    }
    match (bundle, info) {
        (Some(bundle), Some(Ok(info))) => Ok(Received { accepted, bundle, info, checked_name: None }),
        (bundle, info) => {
            let info_fault = match info {
                None => Some(no_info()),
                Some(info) => info.err(),
            };
            Err(missing(bundle.is_none(), info_fault).into())
        }
    }
}

/// The error of an upload without a file.
pub const NO_FILE: Invalid = Invalid(Cow::Borrowed("a file part is required"));

fn no_info() -> FieldErrors {
    FieldErrors::of("packageInfo", "a part with JSON text is required")
}

/// The errors of both parts: a missing file, and those of `packageInfo`.
fn missing(has_no_file: bool, info: Option<FieldErrors>) -> FieldErrors {
    let mut errors = if has_no_file { FieldErrors::of("package", NO_FILE) } else { FieldErrors::default() };
    errors.extend(info.unwrap_or_default());
    errors
}

async fn receive_info(field: Field<'_>, meter: &Meter, limit: u64) -> Result<Vec<u8>> {
    let (mut chunks, mut text) = (field.map(|chunk| meter.take(chunk, limit)), Vec::new());
    while let Some(chunk) = chunks.try_next().await? {
        if text.len() + chunk.len() > MAX_INFO {
            return Err(Error::TooLarge(FieldErrors::of("packageInfo", format!("must be at most {MAX_INFO} bytes"))));
        }
        text.extend_from_slice(&chunk);
    }
    Ok(text)
}

/// Skips an unknown part, within the bundle's limit.
async fn skip(field: Field<'_>, meter: &Meter, limit: u64) -> Result<()> {
    let (mut chunks, mut size) = (field.map(|chunk| meter.take(chunk, limit)), 0_u64);
    while let Some(chunk) = chunks.try_next().await? {
        size += chunk.len() as u64;
        if size > limit {
            return Err(too_large(limit));
        }
    }
    Ok(())
}
