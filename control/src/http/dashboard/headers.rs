//! Security headers of pages: content security policy, framing, referrer, caching.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;

use super::site::Site;
use crate::domain::error::{Error, Result};

/// What a page needs beyond the default policy; an extension of its response.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The origin of the human-verification challenge, whose script may run and open a frame.
    pub challenge: Option<String>,
    /// Whether it has images as data URLs: QR codes.
    pub has_data_images: bool,
    /// The origin that takes uploads, to which forms and scripts may send.
    pub uploads: Option<String>,
}

impl Needs {
    /// Adds these needs to a response.
    pub fn put(self, mut response: Response) -> Response {
        response.extensions_mut().insert(self);
        response
    }
}

/// Sets the headers.
pub(super) fn set(site: &Site, needs: &Needs, headers: &mut HeaderMap) -> Result<()> {
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::try_from(policy(site, needs)).map_err(Error::internal)?);
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // For browsers without `frame-ancestors`.
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin"));
    let permissions = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
    headers.insert(HeaderName::from_static("permissions-policy"), HeaderValue::from_static(permissions));
    Ok(())
}

/// The content security policy. Scripts load only from our static files, which contain no uploads; styles and everything else load from our origin.
/// Nothing is inline.
fn policy(site: &Site, needs: &Needs) -> String {
    let scripts = format!("{}{}", site.origin(), site.path("/assets/"));
    let (challenge, frames) = match &needs.challenge {
        Some(origin) => (format!(" {origin}"), origin.as_str()),
        None => (String::new(), "'none'"),
    };
    let images = if needs.has_data_images { " data:" } else { "" };
    let uploads = needs.uploads.as_ref().filter(|origin| *origin != site.origin()).map(|origin| format!(" {origin}")).unwrap_or_default();
    let reports = site.path("/csp-report");
    format!(
        "default-src 'none'; script-src {scripts}{challenge}; style-src 'self'; img-src 'self'{images}; font-src 'self'; connect-src 'self'{uploads}; \
         frame-src {frames}; form-action 'self'{uploads}; base-uri 'none'; frame-ancestors 'none'; report-uri {reports}"
    )
}
