//! The context of every page: who is signed in, the CSRF token, the flash message, links and redirects.
//!
//! `pipeline` creates it. Pages ignore a credential in the headers, and everything else ignores the cookie.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use shared::time::UnixMillis;

use super::flash::Flash;
use super::session::{self, Visitor};
use super::site::Site;
use super::view;
use crate::domain::error::{Error, Result};
use crate::domain::second_factors::passkeys;
use crate::http::AppState;

/// What a page shows besides its own content. Every template has it as `frame`.
#[derive(Clone, Debug)]
pub struct Frame(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) app: AppState,
    pub(super) site: Site,
    pub(super) visitor: Option<Visitor>,
    pub(super) csrf: String,
    pub(super) flash: Option<Flash>,
    pub(super) path: String,
    /// What links begin with: the pages' origin if this page is shown at another one, and nothing otherwise.
    pub(super) link_origin: String,
}

impl Frame {
    /// The address of the pages.
    pub fn site(&self) -> &Site {
        &self.0.site
    }

    /// Who is signed in, if anyone.
    pub fn visitor(&self) -> Option<&Visitor> {
        self.0.visitor.as_ref()
    }

    /// The CSRF token, which forms send in the field `csrf` and scripts in the header `X-CSRF-Token`.
    pub fn csrf(&self) -> &str {
        &self.0.csrf
    }

    /// The flash message.
    pub fn flash(&self) -> Option<&Flash> {
        self.0.flash.as_ref()
    }

    /// The requested path and query.
    pub fn here(&self) -> &str {
        &self.0.path
    }

    /// The address of a page, such as `/sign-in`, below the dashboard's base path: a path, except on a page that is shown at another origin.
    pub fn path(&self, page: &str) -> String {
        self.link(&self.0.site.path(page))
    }

    /// The address of a path at the pages' origin.
    pub fn link(&self, path: &str) -> String {
        format!("{}{path}", self.0.link_origin)
    }

    /// The path of a static file.
    pub fn asset(&self, name: &str) -> String {
        self.0.site.asset(name)
    }

    /// Whether passkeys work at this address.
    pub fn has_passkeys(&self) -> bool {
        passkeys::is_configured(&self.0.app)
    }

    /// The time now.
    pub fn now(&self) -> UnixMillis {
        self.0.app.now()
    }

    /// Whether this is the page, or one below it: for the navigation.
    pub fn is_at(&self, page: &str) -> bool {
        let (here, page_path) = (self.0.path.split('?').next().unwrap_or_default(), self.0.site.path(page));
        let (is_list, apps) = (page == "/", self.0.site.path("/apps/"));
        let is_at = |page: &str| here == self.0.site.path(page);
        here == page_path
            || (is_list && (here.starts_with(&apps) || is_at("/new-app") || is_at("/switch-app")))
            || (!is_list && here.strip_prefix(&page_path).is_some_and(|rest| rest.starts_with('/')))
    }

    /// The app whose page this is, as the address names it. It may not exist.
    pub fn app(&self) -> Option<String> {
        let name = self.0.path.strip_prefix(&self.0.site.path("/apps/"))?.split(['/', '?']).next()?;
        let name = percent_encoding::percent_decode_str(name).decode_utf8().ok()?;
        Some(name.into_owned()).filter(|name| !name.is_empty())
    }

    /// The account's pages in the visitor's menu.
    #[expect(clippy::unused_self, reason = "templates get everything around a page from the frame")]
    pub fn navigation(&self) -> &'static [(&'static str, &'static str)] {
        view::NAVIGATION
    }

    /// Redirects to a page of ours (303), as every successful form does.
    pub fn redirect(&self, page: &str) -> Result<Response> {
        self.redirect_to(&self.path(page))
    }

    /// Redirects to a page that shows a flash message.
    pub fn redirect_with_flash(&self, page: &str, flash: &Flash) -> Result<Response> {
        let cookie = flash.set(&self.0.app, &self.0.site)?;
        Ok(session::with_cookies(self.redirect(page)?, [cookie]))
    }

    /// Redirects to an address from [`Site::path`], [`Site::with_next`] or [`Site::next`].
    #[expect(clippy::unused_self, reason = "pages call `frame.redirect_to` as they call `frame.redirect`")]
    pub fn redirect_to(&self, address: &str) -> Result<Response> {
        let location = HeaderValue::try_from(address).map_err(Error::internal)?;
        Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
    }

    /// Adds a flash message, which the page that this response leads to shows.
    pub fn with_flash(&self, response: Response, flash: &Flash) -> Result<Response> {
        Ok(session::with_cookies(response, [flash.set(&self.0.app, &self.0.site)?]))
    }
}

/// Every page has a frame.
impl<S: Send + Sync> FromRequestParts<S> for Frame {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        parts.extensions.get().cloned().ok_or_else(|| Error::internal("a page without a frame"))
    }
}
