//! Flash messages: what the page after a redirect shows once. They travel in an encrypted cookie, so that nobody can forge or read them.

use axum::http::{HeaderMap, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::cookies::Cookie;
use super::site::Site;
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::infra::crypto::seal;

/// The purpose that the encryption is bound to.
const PURPOSE: &str = "dashboard/flash";

/// How long the cookie lives, in seconds.
const LIFETIME: i64 = 60;

/// The maximum length of the text, in characters: a cookie is limited to about 4,000 bytes.
const MAX_LENGTH: usize = 400;

/// A one-line message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flash {
    /// Whether it reports a failure.
    pub is_bad: bool,
    /// The text; pages escape it.
    pub text: String,
    /// The email address that the visitor typed, which the next page's form starts with.
    pub address: Option<String>,
}

impl Flash {
    /// A success.
    pub fn good(text: impl Into<String>) -> Self {
        Self { is_bad: false, text: text.into(), address: None }
    }

    /// A failure.
    pub fn bad(text: impl Into<String>) -> Self {
        Self { is_bad: true, text: text.into(), address: None }
    }

    /// The same, with the address that the visitor typed.
    pub(super) fn with_address(self, address: &str) -> Self {
        Self { address: Some(address.to_owned()), ..self }
    }

    /// The header that sets the cookie.
    pub(super) fn set(&self, app: &Context, site: &Site) -> Result<HeaderValue> {
        let text: String = self.text.chars().take(MAX_LENGTH).collect();
        let address = self.address.as_deref().unwrap_or_default();
        // An address has no line break.
        let plain = format!("{}{address}\n{text}", if self.is_bad { '!' } else { '.' });
        let sealed = seal::seal(app.settings.encryption_keys.first(), &app.entropy, PURPOSE, plain.as_bytes())?;
        Cookie::Flash.set(site, &URL_SAFE_NO_PAD.encode(sealed), Some(LIFETIME))
    }

    /// The message of a request; `None` when it cannot be decrypted.
    pub(super) fn read(app: &Context, site: &Site, headers: &HeaderMap) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(Cookie::Flash.read(site, headers)?.0).ok()?;
        let plain = String::from_utf8(seal::open(app.settings.encryption_keys.all(), PURPOSE, &sealed).ok()?).ok()?;
        let (address, text) = plain.get(1..)?.split_once('\n')?;
        let address = Some(address.to_owned()).filter(|address| !address.is_empty());
        Some(Self { is_bad: plain.starts_with('!'), text: text.to_owned(), address })
    }
}
