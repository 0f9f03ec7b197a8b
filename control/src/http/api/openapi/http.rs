//! The document and the page over HTTP.

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

/// How the page looks.
const STYLE: &str = include_str!("../../../../assets/docs.css");

/// The page runs nothing and loads nothing but its own style.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What is served, made once.
#[derive(Debug)]
pub struct Documentation {
    json: String,
    page: Page,
    style: String,
}

impl Documentation {
    /// Of this document.
    pub fn new(document: &Value) -> Self {
        // The name changes with the contents, so that a browser may keep the file for ever.
        let hash = Sha256Hex::of(STYLE.as_bytes()).to_string();
        let style = format!("docs-{}.css", hash.get(..12).unwrap_or_default());
        Self { json: document.to_string(), page: Page::of(document, &style), style }
    }
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_document)).routes(routes!(get_page)).routes(routes!(get_asset))
}

/// Read this document.
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    tag = "documentation",
    responses((status = 200, description = "an OpenAPI 3.1 document", body = Value))
)]
async fn get_document(Extension(documentation): Extension<Arc<Documentation>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], documentation.json.clone())
}

/// Read this document as a page.
#[utoipa::path(
    get,
    path = "/v1/docs",
    tag = "documentation",
    responses((status = 200, description = "the page", body = String, content_type = "text/html"))
)]
async fn get_page(Extension(documentation): Extension<Arc<Documentation>>) -> Result<([(HeaderName, &'static str); 2], String)> {
    let html = documentation.page.render()?;
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)], html))
}

/// Read a file that the page is made of.
#[utoipa::path(
    get,
    path = "/v1/docs/assets/{file}",
    tag = "documentation",
    params(("file" = String, Path, description = "The file's name as the page has it")),
    responses((status = 200, description = "the file", body = String, content_type = "text/css"))
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
