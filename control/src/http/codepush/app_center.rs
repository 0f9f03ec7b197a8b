//! App Center's API, which `appcenter` and newer `code-push` clients speak. It is not served: its paths say which client to use.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde_json::json;

use crate::http::AppState;
use crate::http::layer::problem::OwnBody;

/// What to use instead.
const TEXT: &str = "This server does not serve App Center's API, which appcenter and code-push-cli 3 use. Use updraft, or code-push-cli 2.1.9: \
    code-push login ADDRESS --accessKey KEY, with this server's address without /v0.1";

/// The first segments of its paths.
const PATHS: [&str; 5] = ["apps", "orgs", "user", "users", "api_tokens"];

/// The same for what people open in a browser, and for clients that print bodies as they are: the sign-in of `code-push-cli` 3, and the address that
/// SDKs for managing releases have by default.
/// Devices have paths below `legacy` as well, so these are named.
const PLAIN: [&str; 6] = ["cli-login", "legacy/apps", "legacy/account", "legacy/accessKeys", "legacy/authenticated", "legacy/sessions"];

/// The paths, with everything below them.
pub(super) fn routes() -> Router<AppState> {
    let json = PATHS.into_iter().map(|first| (first, any(refuse)));
    let plain = PLAIN.into_iter().map(|first| (first, any(refuse_plainly)));
    json.chain(plain).fold(Router::new(), |router, (first, refuse)| {
        router.route(&format!("/v0.1/{first}"), refuse.clone()).route(&format!("/v0.1/{first}/{{*rest}}"), refuse)
    })
}

/// Its clients print the message of a JSON object.
async fn refuse() -> Response {
    let body = json!({ "code": "NotFound", "message": TEXT, "error": TEXT }).to_string();
    let mut response = (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    response.extensions_mut().insert(OwnBody);
    response
}

/// The text alone.
async fn refuse_plainly() -> Response {
    let mut response = (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], TEXT).into_response();
    response.extensions_mut().insert(OwnBody);
    response
}
