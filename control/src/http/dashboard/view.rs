//! Templates to responses, and the words that pages share.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::domain::error::{Error, Result};

/// The pages of the navigation, for whoever is signed in: the label and the page. Each stands here once it is there.
pub const NAVIGATION: &[(&str, &str)] =
    &[("Home", "/"), ("Account", "/account"), ("Second factors", "/security"), ("Sessions and machines", "/sessions"), ("Keys", "/keys")];

/// What is behind a page of the navigation, as the first page says it.
pub fn about(page: &str) -> &'static str {
    match page {
        "/account" => "Your name, your password, what the account may have.",
        "/security" => "Passkeys, an authenticator app, recovery codes.",
        "/sessions" => "Where you are signed in, and which machines may use your account.",
        "/keys" => "Access keys for you, API keys for programs.",
        _ => "",
    }
}

/// A page.
pub fn page(template: &impl Template) -> Result<Response> {
    page_with(StatusCode::OK, template)
}

/// A page with another status.
pub fn page_with(status: StatusCode, template: &impl Template) -> Result<Response> {
    Ok(html(status, template.render().map_err(Error::internal)?))
}

/// The value by which a template is told that the page shows a form that was refused: its title says so first.
pub const IS_REFUSED: &str = "is_refused";

/// A page that was rendered.
pub(super) fn html(status: StatusCode, html: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
}

/// How long to wait, for people: never less than it is.
pub fn wait(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..=90 => (seconds.max(1), "second"),
        91..=5_400 => (seconds.div_ceil(60), "minute"),
        _ => (seconds.div_ceil(3_600), "hour"),
    };
    if number == 1 { format!("1 {unit}") } else { format!("{number} {unit}s") }
}

/// A fault's or a refusal's words as a sentence.
pub fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
}
