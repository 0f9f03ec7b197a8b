//! Rendering templates, and text that pages share.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::domain::error::{Error, Result};

/// The navigation for signed-in visitors: label and page.
pub const NAVIGATION: &[(&str, &str)] = &[
    ("Home", "/"),
    ("Account", "/account"),
    ("Two-factor authentication", "/security"),
    ("Sessions and devices", "/sessions"),
    ("Keys", "/keys"),
];

/// The description of a page in the navigation, for the home page.
pub fn about(page: &str) -> &'static str {
    match page {
        "/account" => "Your name, password, shared apps and limits.",
        "/security" => "Passkeys, authenticator app and recovery codes.",
        "/sessions" => "Where you are signed in, and which devices can use your account.",
        "/keys" => "Access keys for your CLIs, API keys for CI and other automation.",
        _ => "",
    }
}

/// A page with status 200.
pub fn page(template: &impl Template) -> Result<Response> {
    page_with(StatusCode::OK, template)
}

/// A page with another status.
pub fn page_with(status: StatusCode, template: &impl Template) -> Result<Response> {
    Ok(html(status, template.render().map_err(Error::internal)?))
}

/// The template value that says whether the page shows a refused form; the page's title then starts with `Error`.
pub const IS_REFUSED: &str = "is_refused";

/// The response with rendered HTML.
pub(super) fn html(status: StatusCode, html: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
}

/// A waiting time in words, rounded up.
pub fn wait(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..=90 => (seconds.max(1), "second"),
        91..=5_400 => (seconds.div_ceil(60), "minute"),
        _ => (seconds.div_ceil(3_600), "hour"),
    };
    if number == 1 { format!("1 {unit}") } else { format!("{number} {unit}s") }
}

/// An error text as a sentence.
pub fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
}
