//! What the page after a redirect says once. It travels in a cookie, sealed: nobody else can make one, and nobody reads it on the way.

use axum::http::{HeaderMap, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::cookies::Cookie;
use super::site::Site;
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::infra::crypto::seal;

/// What it is sealed for.
const PURPOSE: &str = "dashboard/flash";

/// How long it waits for its page, in seconds.
const LIFETIME: i64 = 60;

/// The longest text, in characters: a cookie has about four thousand bytes.
const LONGEST: usize = 400;

/// A message of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flash {
    /// Whether it says that something went wrong.
    pub is_bad: bool,
    /// What it says; pages escape it.
    pub text: String,
}

impl Flash {
    /// Something was done.
    pub fn good(text: impl Into<String>) -> Self {
        Self { is_bad: false, text: text.into() }
    }

    /// Something was not done.
    pub fn bad(text: impl Into<String>) -> Self {
        Self { is_bad: true, text: text.into() }
    }

    /// The header that sets the cookie.
    pub(super) fn set(&self, app: &Context, site: &Site) -> Result<HeaderValue> {
        let text: String = self.text.chars().take(LONGEST).collect();
        let plain = format!("{}{text}", if self.is_bad { '!' } else { '.' });
        let sealed = seal::seal(app.settings.encryption_keys.first(), &app.dice, PURPOSE, plain.as_bytes())?;
        Cookie::Flash.set(site, &URL_SAFE_NO_PAD.encode(sealed), Some(LIFETIME))
    }

    /// The message of a request; what cannot be opened is none.
    pub(super) fn read(app: &Context, site: &Site, headers: &HeaderMap) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(Cookie::Flash.read(site, headers)?.0).ok()?;
        let plain = String::from_utf8(seal::open(app.settings.encryption_keys.all(), PURPOSE, &sealed).ok()?).ok()?;
        let text = plain.get(1..)?;
        Some(Self { is_bad: plain.starts_with('!'), text: text.to_owned() })
    }
}
