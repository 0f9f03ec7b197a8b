//! The page at `/`: what this address is, for somebody who opens it in a browser.

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::app::AppState;

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    Router::new().route("/", get(page))
}

async fn page(State(app): State<AppState>) -> impl IntoResponse {
    let base = &app.config.base_url;
    let version = env!("CARGO_PKG_VERSION");
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Updraft</title>\n\
         <h1>Updraft {version}</h1>\n\
         <p>Over-the-air updates for installed apps. This is the service's address, <code>{base}</code>; SDKs and tools talk to it.</p>\n\
         <ul>\n<li><a href=\"/v1/health\">State of the service</a></li>\n\
         <li><a href=\"/v1/docs\">The interface</a></li>\n<li>Docs: <code>README.md</code> of the source of this version</li>\n</ul>\n</html>\n"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ];
    (headers, html)
}
