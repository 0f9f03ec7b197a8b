//! Serves the bytes of bundles, by their signed download URLs.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use shared::hash::BlobKey;
use shared::signature::{Download, download_parameters, verify_download};
use shared::wire::headers::{self, BUNDLE_METHODS};
use shared::wire::path::BUNDLES;
use shared::wire::problem::WRONG_RANGE;

use super::suspects;
use super::verified::verified;
use super::{preflight, prepared, put, wrong_method};
use crate::domain::error::{Error, Result, Thing};
use crate::http::AppState;
use crate::http::extract::Path;
use crate::http::layer::problem;
use shared::wire::range::{RequestedRange, names_tag, requested_range};

/// How long a redirect to the bucket is valid: clients follow it at once.
const REDIRECT_VALID_FOR: Duration = Duration::from_mins(10);
/// Bytes read from a file at once.
const CHUNK: usize = 64 << 10;

/// The route of bundles.
pub(crate) fn routes() -> Router<AppState> {
    let served = get(async |State(app): State<AppState>, blob: Result<Path<String>>, uri: Uri, method: Method, headers: HeaderMap| {
        let answer = match blob {
            Ok(Path(blob)) => serve(&app, &blob, uri.query().unwrap_or_default(), &method, &headers).await,
            Err(error) => Err(error),
        };
        answer.unwrap_or_else(|error| refuse(error.into_response()))
    });
    let served = served.options(async || preflight(BUNDLE_METHODS)).fallback(async || refuse(wrong_method(BUNDLE_METHODS)));
    Router::new().route(&format!("{BUNDLES}{{blob}}"), served)
}

/// An error with the headers of this path: CORS allows other origins to read it, and nobody caches it.
fn refuse(mut response: Response) -> Response {
    put(response.headers_mut(), &prepared(headers::preflight(BUNDLE_METHODS)));
    response
}

/// Serves a bundle, or a range of it, to anyone with a valid signed URL.
async fn serve(app: &AppState, blob: &str, query: &str, method: &Method, headers: &HeaderMap) -> Result<Response> {
    let (expires, signature) = download_parameters(query)?;
    let Download { blob, expires_in } = match verify_download(&app.settings.download_secret, blob, expires, signature, app.now()) {
        Ok(download) => download,
        Err(refusal) => return Ok(refuse(problem::refused(StatusCode::FORBIDDEN, &refusal.to_string()))),
    };
    let Some(length) = app.storage.length(&blob).await.map_err(Error::unavailable)? else {
        suspects::look(app, &blob);
        return Err(Error::NotFound(Thing::Bundle));
    };
    // The object's name is the hash of its contents, so it is a strong ETag.
    let tag = format!("\"{}\"", blob.sha256);
    let header_text = |name: HeaderName| text(headers, &name);
    if header_text(header::IF_NONE_MATCH).is_some_and(|named| names_tag(named, &tag)) {
        let mut response = answer(StatusCode::NOT_MODIFIED, &tag, expires_in, Body::empty());
        // Set explicitly: for HEAD the framework would send 0, but it must be the length of the 200 (RFC 9110, section 8.6).
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        return Ok(response);
    }
    // Ranges apply only to GET, and with `If-Range` only if the client has a part of the same object.
    let is_same = header_text(header::IF_RANGE).is_none_or(|held| held.trim() == tag);
    let range = header_text(header::RANGE).filter(|_| is_same && *method == Method::GET);
    let (status, range) = match requested_range(range, length) {
        RequestedRange::Whole => (StatusCode::OK, 0..length),
        RequestedRange::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        RequestedRange::Unsatisfiable => return Ok(refuse(unsatisfiable(length))),
    };
    if *method == Method::GET
        && let Some(response) = redirect(app, &blob, expires_in).await?
    {
        return Ok(response);
    }
    let size = range.end.saturating_sub(range.start);
    let place = (status == StatusCode::PARTIAL_CONTENT).then(|| format!("bytes {}-{}/{length}", range.start, range.end.saturating_sub(1)));
    let body = if *method == Method::HEAD { Body::empty() } else { stream(app, &blob, range, status == StatusCode::OK).await? };
    let mut response = answer(status, &tag, expires_in, body);
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    if let Some(place) = place.and_then(|place| HeaderValue::from_str(&place).ok()) {
        response.headers_mut().insert(header::CONTENT_RANGE, place);
    }
    Ok(response)
}

/// A redirect to the bucket, which spares the bytes the way through here; `None` if bundles are verified, the storage is a folder, or the client would leave
/// https, or come to it. Ranges are the bucket's, too.
async fn redirect(app: &AppState, blob: &BlobKey, expires_in: i64) -> Result<Option<Response>> {
    if app.front.settings.verifies_bundles {
        return Ok(None);
    }
    let left = Duration::from_millis(u64::try_from(expires_in).unwrap_or_default()).max(Duration::from_secs(1));
    let url = app.storage.presigned(blob, REDIRECT_VALID_FOR.min(left)).await.map_err(Error::unavailable)?;
    let Some(url) = url.filter(|url| url.starts_with("https://") == app.settings.is_https()) else { return Ok(None) };
    let mut response = refuse(StatusCode::FOUND.into_response());
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_str(&url).map_err(Error::internal)?);
    Ok(Some(response))
}

/// The bytes of the whole object, which are verified, or of a range, which are not.
async fn stream(app: &AppState, blob: &BlobKey, range: std::ops::Range<u64>, is_whole: bool) -> Result<Body> {
    let is_empty = range.is_empty();
    // Blobs are immutable: the length read before is still valid, unless the blob was deleted meanwhile.
    let reader = app.storage.open(blob, Some(range)).await.map_err(Error::unavailable)?.ok_or(Error::NotFound(Thing::Bundle))?;
    let chunks = reader.into_chunks(CHUNK);
    if is_whole && app.front.settings.verifies_bundles {
        if is_empty {
            suspects::look(app, blob);
            return Err(Error::unavailable("a bundle in the storage is empty"));
        }
        return Ok(Body::from_stream(verified(app.clone(), blob.clone(), chunks)));
    }
    Ok(Body::from_stream(chunks))
}

fn answer(status: StatusCode, tag: &str, expires_in: i64, body: Body) -> Response {
    let mut response = (status, body).into_response();
    put(response.headers_mut(), &prepared(headers::bundle(expires_in)));
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn unsatisfiable(length: u64) -> Response {
    let mut response = problem::refused(StatusCode::RANGE_NOT_SATISFIABLE, WRONG_RANGE);
    if let Ok(place) = HeaderValue::from_str(&format!("bytes */{length}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, place);
    }
    response
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
