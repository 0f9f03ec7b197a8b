//! Requests that change something come from our own pages, and from nowhere else.
//!
//! Two things must hold: the browser says that one of our pages sent the request, and the request carries a token that only a page made for this very
//! browser has. The token is made of the session, or, for those who have none, of a cookie that they were given with the form.

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::site::Site;
use crate::domain::error::{Error, Result};

/// The form's field that carries the token.
pub const FIELD: &str = "csrf";

/// The header that carries it where a script sends something that is no form.
pub const HEADER: &str = "x-csrf-token";

/// The token that belongs to a cookie's value. It tells nothing about the value: a page may hold it.
pub fn token(secret: &str) -> Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(Error::internal)?;
    mac.update(b"updraft-csrf-v1");
    Ok(URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

/// What is answered (403) to a form that is not ours, or without its token.
pub const REFUSED: &str = "this did not come from the page that it should come from, the page is out of date, \
    or your browser keeps no cookies for this site: go back, reload it, and try again";

/// Whether the browser says that a page of ours sent the request: `Sec-Fetch-Site`, or, from browsers and addresses without it, `Origin`.
pub fn is_own_sender(site: &Site, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match text("sec-fetch-site") {
        Some(sender) => sender == "same-origin",
        None => text(header::ORIGIN.as_str()).is_some_and(|origin| origin == site.origin()),
    }
}

/// Whether the token belongs to one of these cookies' values.
pub fn is_token_of<'s>(shown: Option<&str>, secrets: impl IntoIterator<Item = &'s str>) -> Result<bool> {
    let Some(shown) = shown else { return Ok(false) };
    for secret in secrets {
        if bool::from(token(secret)?.as_bytes().ct_eq(shown.as_bytes())) {
            return Ok(true);
        }
    }
    Ok(false)
}
