//! What surrounds every page: who looks at it, what its forms carry, what it says once, and what its headers are.
//!
//! `pipeline` creates it. A credential in the headers is ignored here, and the cookie is ignored elsewhere.

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

/// What a page shows besides its own contents. Every template has one, by the name `frame`.
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
}

impl Frame {
    /// Where the pages stand.
    pub fn site(&self) -> &Site {
        &self.0.site
    }

    /// Who is signed in.
    pub fn visitor(&self) -> Option<&Visitor> {
        self.0.visitor.as_ref()
    }

    /// What forms carry in the field `csrf`, and scripts in the header `X-CSRF-Token`.
    pub fn csrf(&self) -> &str {
        &self.0.csrf
    }

    /// What the page says once.
    pub fn flash(&self) -> Option<&Flash> {
        self.0.flash.as_ref()
    }

    /// The path and query of the page, as they were asked for.
    pub fn here(&self) -> &str {
        &self.0.path
    }

    /// The address of a page, such as `/sign-in`.
    pub fn path(&self, page: &str) -> String {
        self.0.site.path(page)
    }

    /// The address of a file that pages are made of.
    pub fn asset(&self, name: &str) -> String {
        self.0.site.asset(name)
    }

    /// Whether passkeys can be used at this address.
    pub fn has_passkeys(&self) -> bool {
        passkeys::is_configured(&self.0.app)
    }

    /// The time now.
    pub fn now(&self) -> UnixMillis {
        self.0.app.now()
    }

    /// Whether the page, or one beneath it, is shown: for the navigation.
    pub fn is_at(&self, page: &str) -> bool {
        let (here, page_path) = (self.0.path.split('?').next().unwrap_or_default(), self.path(page));
        here == page_path || (page != "/" && here.strip_prefix(&page_path).is_some_and(|rest| rest.starts_with('/')))
    }

    /// The pages of the navigation.
    #[expect(clippy::unused_self, reason = "templates ask the frame for whatever surrounds a page")]
    pub fn navigation(&self) -> &'static [(&'static str, &'static str)] {
        view::NAVIGATION
    }

    /// Leads to a page of ours (303), as after every form that did what it should.
    pub fn redirect(&self, page: &str) -> Result<Response> {
        self.redirect_to(&self.path(page))
    }

    /// The same, to a page that says something once.
    pub fn redirect_saying(&self, page: &str, flash: &Flash) -> Result<Response> {
        let cookie = flash.set(&self.0.app, &self.0.site)?;
        Ok(session::with_cookies(self.redirect(page)?, [cookie]))
    }

    /// The same to an address that was made by [`Site::path`], [`Site::with_next`] or [`Site::next`].
    #[expect(clippy::unused_self, reason = "pages say `frame.redirect_to` as they say `frame.redirect`")]
    pub fn redirect_to(&self, address: &str) -> Result<Response> {
        let location = HeaderValue::try_from(address).map_err(Error::internal)?;
        Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
    }

    /// What this response says once, on the page that it leads to.
    pub fn saying(&self, response: Response, flash: &Flash) -> Result<Response> {
        Ok(session::with_cookies(response, [flash.set(&self.0.app, &self.0.site)?]))
    }
}

/// Every page has one.
impl<S: Send + Sync> FromRequestParts<S> for Frame {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        parts.extensions.get().cloned().ok_or_else(|| Error::internal("a page without a frame"))
    }
}
