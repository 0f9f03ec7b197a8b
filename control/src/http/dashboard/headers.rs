//! What browsers are told about pages: what may run in them, who may show them, what they may tell others.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;

use super::site::Site;
use crate::domain::error::{Error, Result};

/// What a page needs besides what every page may do; an extension of its response.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// An origin whose script may run, and make a frame: the human-verification challenge.
    pub challenge: Option<String>,
    /// Pictures as data addresses: QR codes.
    pub has_data_images: bool,
}

impl Needs {
    /// A response with these needs.
    pub fn put(self, mut response: Response) -> Response {
        response.extensions_mut().insert(self);
        response
    }
}

/// Sets the headers of a page.
pub(super) fn set(site: &Site, needs: &Needs, headers: &mut HeaderMap) -> Result<()> {
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::try_from(policy(site, needs)).map_err(Error::internal)?);
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // For browsers that do not know `frame-ancestors`.
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin"));
    let permissions = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
    headers.insert(HeaderName::from_static("permissions-policy"), HeaderValue::from_static(permissions));
    Ok(())
}

/// Scripts come from the folder of our own files, which holds nothing that anybody uploaded; styles and all else from here; nothing stands in a page
/// itself.
fn policy(site: &Site, needs: &Needs) -> String {
    let scripts = format!("{}{}", site.origin(), site.path("/assets/"));
    let (challenge, frames) = match &needs.challenge {
        Some(origin) => (format!(" {origin}"), origin.as_str()),
        None => (String::new(), "'none'"),
    };
    let images = if needs.has_data_images { " data:" } else { "" };
    let reports = site.path("/csp-report");
    format!(
        "default-src 'none'; script-src {scripts}{challenge}; style-src 'self'; img-src 'self'{images}; font-src 'self'; connect-src 'self'; \
         frame-src {frames}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; report-uri {reports}"
    )
}
