//! The KV namespace and the Queue of a Worker on a self-hosted workerd, served by this process: the edge without Cloudflare.
//!
//! Served on a separate listener, on a loopback address only, because a binding carries no credential. workerd turns `get` into
//! `GET /<name, percent-encoded>?urlencoded=true&cache_ttl=30`, where 404 means "missing" and any other failure makes it throw, and `send` into
//! `POST /message`, where anything but 200 makes it throw. Start reading at [`service`].

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::Value;
use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey};

use crate::domain::error::{Error, Result, Thing};
use crate::http::AppState;
use crate::http::{edge, extract, layer};
use crate::infra::loopback::is_loopback;

/// The header with a KV value's metadata, as JSON.
const METADATA: &str = "cf-kv-metadata";

/// The `Host` of workerd's calls to a binding.
const BINDING_HOST: &str = "fake-host";

/// The maximum size of a Queue message, in bytes; a report is a tenth of it.
const MAX_MESSAGE: usize = 128_000;

/// What `send` resolves with. There is never a backlog: a report is counted before the response.
const SENT: &str = r#"{"metadata":{"metrics":{"backlogCount":0,"backlogBytes":0,"oldestMessageTimestamp":0}}}"#;

/// The whole service of this listener.
pub fn service(state: &AppState) -> layer::Service {
    let router = Router::new()
        .route("/{name}", get(get_value))
        .route("/message", post(take_message))
        .fallback(layer::not_found)
        .method_not_allowed_fallback(layer::wrong_method)
        .layer(middleware::from_fn(refuse_pages))
        .with_state(state.clone());
    layer::layer(router, state)
}

/// Refuses requests from web pages. A browser on this machine can reach loopback addresses, also through a hostile DNS name that points here (DNS
/// rebinding). Its requests name their origin or another host; those of a Worker's binding never do.
async fn refuse_pages(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_of_page = headers.contains_key(header::ORIGIN) || headers.get_all("sec-fetch-site").iter().any(|site| site != "none");
    let mut hosts = headers.get_all(header::HOST).iter();
    let is_ours = hosts.next().is_some_and(|host| host.to_str().is_ok_and(is_own_host)) && hosts.next().is_none();
    if is_of_page || !is_ours {
        return layer::problem::refused(StatusCode::FORBIDDEN, "browsers cannot use this address");
    }
    next.run(request).await
}

/// Whether a Worker's binding sends this `Host`: a loopback name, or workerd's placeholder for a binding without a host.
fn is_own_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name == BINDING_HOST || is_loopback(name)
}

/// Returns the current snapshot as the publisher writes it to KV. Includes tombstones; 404 for a key that never existed.
async fn get_value(State(app): State<AppState>, extract::Path(name): extract::Path<String>) -> Result<Response> {
    let missing = || Error::NotFound(Thing::Value);
    let key = name.strip_prefix(SnapshotKey::PREFIX).and_then(|key| DeploymentKey::try_from(key).ok()).ok_or_else(missing)?;
    let (version, text) = app.snapshots.text(&key).await?.ok_or_else(missing)?;
    let metadata = serde_json::to_string(&app.snapshots.metadata(version)).map_err(Error::internal)?;
    Ok(([(METADATA, metadata.as_str()), (header::CONTENT_TYPE.as_str(), "text/plain")], text).into_response())
}

/// Takes one report, answered after the commit. A report that can never be counted is dropped: if refused, it would be retried forever.
async fn take_message(State(app): State<AppState>, request: Request) -> Result<Response> {
    let (parts, body) = request.into_parts();
    let body = extract::read_body(&parts.headers, body, MAX_MESSAGE).await?;
    let dropped = match edge::read(serde_json::from_slice(&body).unwrap_or(Value::Null)) {
        Ok(mut report) => {
            let id = report.id.clone();
            // Replaces the edge's timestamp, which is a moment old and not signed. The newest report decides what a device runs: one with a timestamp in
            // the future would do so forever.
            report.received = app.now();
            app.front.collector.submit(report).await?.dropped(&id)
        }
        Err(dropped) => Some(dropped),
    };
    edge::note(dropped.as_slice());
    Ok(([(header::CONTENT_TYPE, "application/json")], SENT).into_response())
}
