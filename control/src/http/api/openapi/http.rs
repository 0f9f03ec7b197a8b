//! Endpoints of the OpenAPI document and its page.

use std::sync::Arc;

use axum::Extension;
use axum::http::{HeaderName, header};
use axum::response::IntoResponse;
use serde_json::Value;
use shared::hash::Sha256Hex;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::page::Page;
use crate::domain::error::{Error, Result, Thing};
use crate::http::AppState;
use crate::http::extract::Path;

/// The page's stylesheet.
const STYLE: &str = include_str!("../../../../assets/docs.css");

/// The page runs no scripts and loads only its own stylesheet.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The document and its page, built once.
#[derive(Debug)]
pub struct Documentation {
    json: String,
    page: Page,
    style: String,
}

impl Documentation {
    /// Builds the page of this document.
    pub fn new(document: &Value) -> Self {
        // The name changes with the contents, so that browsers can cache the file forever.
        let hash = Sha256Hex::of(STYLE.as_bytes()).to_string();
        let style = format!("docs-{}.css", hash.get(..12).unwrap_or_default());
        Self { json: document.to_string(), page: Page::of(document, &style), style }
    }
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_document)).routes(routes!(get_page)).routes(routes!(get_asset))
}

/// Get the OpenAPI document.
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    tag = "documentation",
    responses((status = 200, description = "An OpenAPI 3.1 document", body = Value))
)]
async fn get_document(Extension(documentation): Extension<Arc<Documentation>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], documentation.json.clone())
}

/// Get the API reference.
#[utoipa::path(
    get,
    path = "/v1/docs",
    tag = "documentation",
    responses((status = 200, description = "The page", body = String, content_type = "text/html"))
)]
async fn get_page(Extension(documentation): Extension<Arc<Documentation>>) -> Result<([(HeaderName, &'static str); 2], String)> {
    let html = documentation.page.render()?;
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)], html))
}

/// Get an asset of the API reference.
#[utoipa::path(
    get,
    path = "/v1/docs/assets/{file}",
    tag = "documentation",
    params(("file" = String, Path, description = "The file name that the page links to")),
    responses((status = 200, description = "The file", body = String, content_type = "text/css"))
)]
async fn get_asset(
    Extension(documentation): Extension<Arc<Documentation>>,
    Path(file): Path<String>,
) -> Result<([(HeaderName, &'static str); 2], &'static str)> {
    if file != documentation.style {
        return Err(Error::NotFound(Thing::File));
    }
    Ok(([(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")], STYLE))
}
