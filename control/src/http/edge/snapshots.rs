//! Snapshots for the edge: one of them, the versions of several, and what the edge did not trust.

use axum::Router;
use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use shared::FieldErrors;
use shared::keys::DeploymentKey;
use shared::wire::edge::{EdgeCounters, MAX_VERSIONS, VersionsAnswer};

use crate::domain::edge_counters;
use crate::domain::error::{Error, Result, Thing};
use crate::http::AppState;
use crate::http::extract::{InternalCall, Json, Path, internal};

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/internal/v1/snapshots/{key}", internal("GET, HEAD").get(get_snapshot))
        .route("/internal/v1/versions", internal("GET, HEAD").get(get_versions))
        .route("/internal/v1/edge-counters", internal("POST").post(take_counters))
}

/// Returns one snapshot as KV stores it, for an edge that finds none there. Includes tombstones; 404 for a key that never existed.
async fn get_snapshot(State(app): State<AppState>, key: Result<Path<String>>, _call: InternalCall) -> Result<Response> {
    // Checked after the signature: unsigned calls learn nothing, not even that the key is malformed.
    let Path(key) = key?;
    let key = DeploymentKey::try_from(key).map_err(|invalid| Error::invalid("deployment key", invalid))?;
    let (_, text) = app.snapshots.text(&key).await?.ok_or(Error::NotFound(Thing::Deployment))?;
    Ok(([(header::CONTENT_TYPE, "text/plain")], text).into_response())
}

/// Returns the current versions of at most 20 snapshots, for an isolate that has just read them from KV: somebody may have put earlier ones there.
async fn get_versions(State(app): State<AppState>, asked: Uri, _call: InternalCall) -> Result<Json<VersionsAnswer>> {
    // Keys need no escapes.
    let keys = asked.query().and_then(|query| query.strip_prefix("keys=")).unwrap_or_default();
    let keys = keys.split(',').map(DeploymentKey::try_from).collect::<Result<Vec<_>, _>>();
    let keys = keys.map_err(|invalid| Error::invalid("keys", invalid))?;
    if keys.len() > MAX_VERSIONS {
        return Err(Error::invalid("keys", format!("must be at most {MAX_VERSIONS}")));
    }
    let mut answer = VersionsAnswer::default();
    for key in keys {
        if let Some(version) = app.snapshots.version(&key).await? {
            answer.versions.insert(key, version);
        }
    }
    Ok(Json(answer))
}

/// Records what an isolate did not trust since its last call. The same call again counts once.
async fn take_counters(State(app): State<AppState>, call: InternalCall) -> Result<Json<serde_json::Value>> {
    let counters: EdgeCounters = serde_json::from_slice(&call.body).map_err(|error| {
        let text = format!("the body is not valid (line {}, column {})", error.line(), error.column());
        Error::Invalid(FieldErrors::of_request(text))
    })?;
    let isolate = counters.isolate.as_bytes();
    if !(1..=64).contains(&isolate.len()) || !isolate.iter().all(u8::is_ascii_alphanumeric) {
        return Err(Error::invalid("isolate", "must be 1 to 64 letters and digits"));
    }
    if !counters.counts.is_nothing() {
        edge_counters::record(&app.db, &counters, app.now()).await?;
    }
    Ok(Json(json!({ "status": "ok" })))
}
