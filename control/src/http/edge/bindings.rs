//! What a Worker on a bare workerd asks of its KV namespace and its Queue, which are this process: the edge without Cloudflare.
//!
//! Served on a listener of its own, on this machine's loopback address alone, because a binding carries no credential. workerd turns `get` into
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
use shared::kv::{KvKey, SnapshotKey, SnapshotMetadata};

use crate::domain::error::{Error, Result, Thing};
use crate::http::AppState;
use crate::http::{edge, extract, layer};
use crate::infra::loopback::is_loopback;

/// The header in which a KV value's metadata travels, as JSON.
const METADATA: &str = "cf-kv-metadata";

/// The host of workerd's calls to a binding.
const BINDING_HOST: &str = "fake-host";

/// The largest message that a Queue takes, in bytes; a report is a tenth of it.
const MAX_MESSAGE: usize = 128_000;

/// What `send` resolves with. Nothing is ever waiting here: what is answered is counted.
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

/// A page in a browser on this machine reaches loopback addresses, too, and by a name of its own that it lets point here. What it sends says where it
/// comes from, or that it was meant for another host; a Worker's binding never does.
async fn refuse_pages(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_of_page = headers.contains_key(header::ORIGIN) || headers.get_all("sec-fetch-site").iter().any(|site| site != "none");
    let mut hosts = headers.get_all(header::HOST).iter();
    let is_ours = hosts.next().is_some_and(|host| host.to_str().is_ok_and(is_own_host)) && hosts.next().is_none();
    if is_of_page || !is_ours {
        return layer::problem::refused(StatusCode::FORBIDDEN, "no page may come here");
    }
    next.run(request).await
}

/// Whether a `Host` is one that a Worker's binding has: this machine's, or the name that workerd gives to what has none.
fn is_own_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name == BINDING_HOST || is_loopback(name)
}

/// A snapshot as the publisher writes it into KV, of this moment. Tombstones too; 404 for a key that never was.
async fn get_value(State(app): State<AppState>, extract::Path(name): extract::Path<String>) -> Result<Response> {
    let missing = || Error::NotFound(Thing::Value);
    let key = name.strip_prefix(SnapshotKey::PREFIX).and_then(|key| DeploymentKey::try_from(key).ok()).ok_or_else(missing)?;
    let (version, text) = app.snapshots.text(&key).await?.ok_or_else(missing)?;
    let metadata = serde_json::to_string(&SnapshotMetadata { version }).map_err(Error::internal)?;
    Ok(([(METADATA, metadata.as_str()), (header::CONTENT_TYPE.as_str(), "application/json")], text).into_response())
}

/// One report, answered once it is committed. One that cannot be counted, ever, is dropped: refused, it would be sent again for ever.
async fn take_message(State(app): State<AppState>, request: Request) -> Result<Response> {
    let (parts, body) = request.into_parts();
    let body = extract::read_body(&parts.headers, body, MAX_MESSAGE).await?;
    let dropped = match edge::read(serde_json::from_slice(&body).unwrap_or(Value::Null)) {
        Ok(mut report) => {
            let id = report.id.clone();
            // The edge's stamp is a moment old. Nobody signed it, and the newest decides where a device is: one that lies in the future would for ever.
            report.received = app.now();
            app.front.collector.submit(report).await?.dropped(&id)
        }
        Err(dropped) => Some(dropped),
    };
    edge::note(dropped.as_slice());
    Ok(([(header::CONTENT_TYPE, "application/json")], SENT).into_response())
}
