//! Upload endpoint. The parts of the multipart body are read as a stream.

use std::sync::Arc;

use axum::body::HttpBody;
use axum::extract::multipart::{Field, Multipart};
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::header;
use axum::response::IntoResponse;
use futures_util::{StreamExt, TryStreamExt};
use shared::FieldErrors;
use shared::api::releases::{NewRelease, ReleaseAnswer};
use utoipa::ToSchema;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use super::package_info;
use super::releases::{IdempotencyHeader, created};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::error::{Error, Result};
use crate::domain::idempotency::IdempotencyKey;
use crate::domain::releases::UploadAllowance;
use crate::domain::releases::upload::{self, Received, too_large};
use crate::http::AppState;
use crate::http::extract::meter::{self, Meter};
use crate::http::extract::{DeploymentPath, MaybeIdempotent};

/// The largest `packageInfo`, in bytes. Fits a description of 10,000 UTF-16 units, all escaped, and the other members.
const MAX_INFO: usize = 128 << 10;

/// The parts of an upload, in any order. For the OpenAPI document only: the parts are read as a stream.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes; never constructed")]
struct ReleaseUpload {
    /// The bundle: a ZIP archive, or any other single file.
    #[schema(value_type = String, format = Binary)]
    package: Vec<u8>,
    /// The release's metadata as JSON text.
    package_info: NewRelease,
}

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    // The upload limits its bytes while it streams them to disk. The framework's limit is for bodies in memory.
    OpenApiRouter::new().routes(routes!(create_release).layer(DefaultBodyLimit::disable()))
}

/// Upload a release.
///
/// Send a multipart body with the parts `package` (the bundle) and `packageInfo` (JSON), in any order.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/deployments/{deployment}/releases",
    tag = "releases",
    security(("bearer" = ["releases.manage"])),
    params(IdempotencyHeader),
    request_body(content = ReleaseUpload, content_type = "multipart/form-data"),
    responses(
        (
            status = 201,
            body = ReleaseAnswer,
            headers(("Idempotent-Replayed" = bool, description = "`true`: an earlier request with this key got this answer, and this one changed nothing"))
        ),
        (
            status = 409,
            description = "The newest release is in an unfinished rollout, or the current release for this `appVersion` has the same contents; or the \
                deployment has reached its limit of releases, version ranges or size, or its owner the storage quota; or the \
                `Idempotency-Key` was used for another request"
        ),
    )
)]
pub async fn create_release(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    allowance: UploadAllowance,
    DeploymentPath(deployment): DeploymentPath,
    MaybeIdempotent(key): MaybeIdempotent,
    request: Request,
) -> Result<impl IntoResponse> {
    let received = receive(&app, &grant, &deployment, key, request).await?;
    let release = upload::release(Arc::clone(&app.context), grant.clone(), allowance, deployment.clone(), received);
    // All or nothing, even if the client disconnects now.
    let answer = app.work.run(release).await?;
    created(&app, &grant, &deployment, answer)
}

/// Reads the multipart body, unless its headers already show that it is too large.
async fn receive(
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
                bundle = Some(upload::receive(app, &accepted, chunks).await?);
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

fn no_info() -> FieldErrors {
    FieldErrors::of("packageInfo", "a part with JSON text is required")
}

/// The errors of both parts: a missing file, and those of `packageInfo`.
fn missing(has_no_file: bool, info: Option<FieldErrors>) -> FieldErrors {
    let mut errors = if has_no_file { FieldErrors::of("package", "a file part is required") } else { FieldErrors::default() };
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
