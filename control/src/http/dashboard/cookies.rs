//! The dashboard's cookies: their names, their flags, how they come and how they go.

use std::fmt;

use axum::http::{HeaderMap, HeaderValue, header};

use super::site::Site;
use crate::domain::error::{Error, Result};

/// What a cookie is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    /// The session.
    Session,
    /// What the forms of somebody without a session are bound to.
    Form,
    /// A login that waits for a second factor.
    Pending,
    /// What the next page says once.
    Flash,
    /// That accounts were signed in to with this browser; read by the sign-in pages alone.
    Device,
}

impl Cookie {
    /// The name. `__Host-` keeps other hosts and other paths from setting it, and needs TLS; on http on this machine there is none.
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

    /// Its value in a request: a text that must not be printed.
    pub fn read(self, site: &Site, headers: &HeaderMap) -> Option<Value> {
        // One by one: any host of the domain can set a cookie that is no text, and that must not hide ours.
        let pairs = headers.get_all(header::COOKIE).into_iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
        let pairs = pairs.filter_map(|pair| std::str::from_utf8(pair).ok().filter(|pair| pair.is_ascii()));
        let mut named = pairs.filter_map(|pair| pair.trim().split_once('=')).filter(|(name, _)| *name == self.name(site));
        named.next().map(|(_, value)| Value(value.to_owned())).filter(|value| !value.0.is_empty())
    }

    /// The header that sets it for `seconds`, or until the browser is closed. `value` is plain ASCII.
    pub fn set(self, site: &Site, value: &str, seconds: Option<i64>) -> Result<HeaderValue> {
        let name = self.name(site);
        let age = seconds.map(|seconds| format!("; Max-Age={}", seconds.max(0))).unwrap_or_default();
        let secure = if site.is_plain() { "" } else { "; Secure" };
        HeaderValue::try_from(format!("{name}={value}{age}; Path=/; HttpOnly; SameSite=Lax{secure}")).map_err(Error::internal)
    }

    /// The header that ends it.
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
