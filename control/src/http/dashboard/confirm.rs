//! Confirmations of actions that cannot be undone: a page with one button, which other pages also show as a dialog.

use askama::Template;
use axum::response::Response;

use super::frame::Frame;
use super::view;
use crate::domain::error::Result;

/// A confirmation.
#[derive(Template)]
#[template(path = "dashboard/confirm.html")]
pub(super) struct ConfirmPage<'p> {
    pub(super) frame: &'p Frame,
    /// Where the form is sent.
    pub(super) page: String,
    pub(super) title: String,
    pub(super) text: &'static str,
    pub(super) button: &'static str,
    /// The page that *Cancel* leads to.
    pub(super) back: &'static str,
}

impl ConfirmPage<'_> {
    /// Renders the page.
    pub(super) fn ask(&self) -> Result<Response> {
        view::page(self)
    }
}
