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

/// The paths, with everything below them.
pub(super) fn routes() -> Router<AppState> {
    PATHS.into_iter().fold(Router::new(), |router, first| {
        router.route(&format!("/v0.1/{first}"), any(refuse)).route(&format!("/v0.1/{first}/{{*rest}}"), any(refuse))
    })
}

/// Its clients print the message of a JSON object.
async fn refuse() -> Response {
    let body = json!({ "code": "NotFound", "message": TEXT, "error": TEXT }).to_string();
    let mut response = (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    response.extensions_mut().insert(OwnBody);
    response
}
