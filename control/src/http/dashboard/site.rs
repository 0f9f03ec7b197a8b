//! The address of the pages, and what follows from it.

use std::fmt::Write as _;
use std::sync::Arc;

use reqwest::Url;

use super::assets;
use crate::domain::settings::Settings;
use crate::http::HttpSettings;
use crate::http::reserved::is_taken;
use crate::infra::loopback::is_loopback_address;

/// The maximum length of a `next` address, in bytes.
pub const MAX_NEXT_BYTES: usize = 512;

/// The pages' address; clones share it.
#[derive(Clone, Debug)]
pub struct Site(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    base: String,
    origin: String,
    is_plain: bool,
    is_unsafe: bool,
    has_registration: bool,
    widget: Option<Widget>,
}

/// The human-verification challenge as pages show it.
#[derive(Clone, Debug)]
pub struct Widget {
    /// The public key.
    pub site_key: String,
    /// The script's address.
    pub script: String,
    /// The origin of the script and of the frame that it opens.
    pub origin: String,
}

impl Site {
    /// The address in the settings.
    pub fn of(settings: &Settings, http: &HttpSettings) -> Self {
        let url = Url::parse(&settings.dashboard_url).ok();
        let path = url.as_ref().map_or("/dashboard", Url::path);
        let widget = http.turnstile.as_ref().and_then(|turnstile| {
            let origin = Url::parse(&turnstile.script).ok()?.origin().ascii_serialization();
            Some(Widget { site_key: turnstile.site_key.clone(), script: turnstile.script.clone(), origin })
        });
        let (is_http, is_here) = (settings.dashboard_url.starts_with("http://"), is_loopback_address(&settings.dashboard_url));
        Self(Arc::new(Inner {
            base: path.trim_end_matches('/').to_owned(),
            origin: url.as_ref().map(|url| url.origin().ascii_serialization()).unwrap_or_default(),
            is_plain: is_http && is_here,
            is_unsafe: is_http && !is_here,
            has_registration: settings.is_registration_open,
            widget,
        }))
    }

    /// The base path of every page: `/dashboard`, or empty when pages are at the root.
    pub fn base(&self) -> &str {
        &self.0.base
    }

    /// The pages' origin.
    pub fn origin(&self) -> &str {
        &self.0.origin
    }

    /// Whether pages are served over plain HTTP to this machine only. Everywhere else cookies need TLS.
    pub fn is_plain(&self) -> bool {
        self.0.is_plain
    }

    /// Whether pages are served over plain HTTP to other machines, where browsers reject their cookies.
    pub fn is_unsafe(&self) -> bool {
        self.0.is_unsafe
    }

    /// Whether registration is open.
    pub fn has_registration(&self) -> bool {
        self.0.has_registration
    }

    /// The challenge, where one is configured.
    pub fn widget(&self) -> Option<&Widget> {
        self.0.widget.as_ref()
    }

    /// The path of a page. `page` starts with a slash; the home page is `/`.
    pub fn path(&self, page: &str) -> String {
        match (self.base(), page) {
            ("", page) => page.to_owned(),
            (base, "/") => base.to_owned(),
            (base, page) => format!("{base}{page}"),
        }
    }

    /// The path of a static file, by its name in `control/assets`.
    pub fn asset(&self, name: &str) -> String {
        self.path(&format!("/assets/{}", assets::hashed(name)))
    }

    /// A `next` address, if it is a page of ours; `None` for an address that leads anywhere else.
    pub fn next<'n>(&self, next: &'n str) -> Option<&'n str> {
        let path = next.split('?').next().unwrap_or_default();
        let rest = path.strip_prefix(self.base())?;
        let is_ours = rest.starts_with('/') || (rest.is_empty() && !path.is_empty());
        // Browsers read a backslash as a slash, and two slashes as the start of another host; dots lead out of the folder.
        let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\' && byte != b'#');
        let leads_out =
            path.contains("//") || path.split('/').any(|segment| segment.to_ascii_lowercase().replace("%2e", ".").starts_with('.'));
        // When pages are at the root, bundles and the API are next to them.
        let is_page = !is_taken(path);
        (is_ours && is_page && is_plain && !leads_out && next.len() <= MAX_NEXT_BYTES).then_some(next)
    }

    /// The path of a page with a `next` address.
    pub fn with_next(&self, page: &str, next: Option<&str>) -> String {
        let mut path = self.path(page);
        if let Some(next) = next {
            let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
            let mark = if page.contains('?') { '&' } else { '?' };
            // Writing to a string does not fail.
            let _ = write!(path, "{mark}next={next}");
        }
        path
    }
}
