//! CSRF protection: requests that change something must come from our own pages.
//!
//! Two things must hold: the browser says that one of our pages sent the request, and the request has a token that only a page rendered for this browser
//! has. The token is derived from the session, or, without one, from a cookie that was set with the form.

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::site::Site;
use crate::domain::error::{Error, Result};

/// The form field with the token.
pub const FIELD: &str = "csrf";

/// The header with the token, for scripts that do not send a form.
pub const HEADER: &str = "x-csrf-token";

/// The token for a cookie's value. It reveals nothing about the value, so a page may contain it.
pub fn token(secret: &str) -> Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(Error::internal)?;
    mac.update(b"updraft-csrf-v1");
    Ok(URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

/// The refusal (403) of a form from elsewhere or without its token.
pub const REFUSED: &str = "this form did not come from its own page, the page is out of date, or your browser blocks cookies for this site: \
    go back, reload the page, and try again";

/// Whether the browser says that one of our pages sent the request: by `Sec-Fetch-Site`, or by `Origin` where the browser does not send that.
pub fn is_own_sender(site: &Site, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match text("sec-fetch-site") {
        Some(sender) => sender == "same-origin",
        None => text(header::ORIGIN.as_str()).is_some_and(|origin| origin == site.origin()),
    }
}

/// Whether the token matches one of these cookie values.
pub fn is_token_of<'s>(shown: Option<&str>, secrets: impl IntoIterator<Item = &'s str>) -> Result<bool> {
    let Some(shown) = shown else { return Ok(false) };
    for secret in secrets {
        if bool::from(token(secret)?.as_bytes().ct_eq(shown.as_bytes())) {
            return Ok(true);
        }
    }
    Ok(false)
}
