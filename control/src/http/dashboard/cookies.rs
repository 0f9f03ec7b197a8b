//! The dashboard's cookies: names, flags, setting and removing.

use std::fmt;

use axum::http::{HeaderMap, HeaderValue, header};

use super::site::Site;
use crate::domain::error::{Error, Result};

/// What a cookie is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    /// The session.
    Session,
    /// The secret that the CSRF token of a visitor without a session is derived from.
    Form,
    /// A login that still needs a second factor.
    Pending,
    /// The flash message for the next page.
    Flash,
    /// Which accounts signed in with this browser. Only the sign-in pages read it.
    Device,
}

impl Cookie {
    /// The name. `__Host-` keeps other hosts and paths from setting the cookie, but it needs TLS: plain HTTP on this machine goes without.
    pub fn name(self, site: &Site) -> &'static str {
        match (self, site.is_plain()) {
            (Self::Session, false) => "__Host-updraft",
            (Self::Session, true) => "updraft",
            (Self::Form, false) => "__Host-updraft-form",
            (Self::Form, true) => "updraft-form",
            (Self::Pending, false) => "__Host-updraft-pending",
            (Self::Pending, true) => "updraft-pending",
            (Self::Flash, false) => "__Host-updraft-flash",
            (Self::Flash, true) => "updraft-flash",
            (Self::Device, false) => "__Host-updraft-device",
            (Self::Device, true) => "updraft-device",
        }
    }

    /// Its value in a request, which must not be printed.
    pub fn read(self, site: &Site, headers: &HeaderMap) -> Option<Value> {
        // Parsed one by one: any host of the domain can set a cookie that is not text, and it must not hide ours.
        let pairs = headers.get_all(header::COOKIE).into_iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
        let pairs = pairs.filter_map(|pair| std::str::from_utf8(pair).ok().filter(|pair| pair.is_ascii()));
        let mut named = pairs.filter_map(|pair| pair.trim().split_once('=')).filter(|(name, _)| *name == self.name(site));
        named.next().map(|(_, value)| Value(value.to_owned())).filter(|value| !value.0.is_empty())
    }

    /// The header that sets it for `seconds`, or until the browser closes. `value` is plain ASCII.
    pub fn set(self, site: &Site, value: &str, seconds: Option<i64>) -> Result<HeaderValue> {
        let name = self.name(site);
        let age = seconds.map(|seconds| format!("; Max-Age={}", seconds.max(0))).unwrap_or_default();
        let secure = if site.is_plain() { "" } else { "; Secure" };
        HeaderValue::try_from(format!("{name}={value}{age}; Path=/; HttpOnly; SameSite=Lax{secure}")).map_err(Error::internal)
    }

    /// The header that removes it.
    pub fn end(self, site: &Site) -> Result<HeaderValue> {
        self.set(site, "", Some(0))
    }
}

/// A cookie's value; `Debug` does not print it.
#[derive(Clone)]
pub struct Value(pub String);

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Value")
    }
}
