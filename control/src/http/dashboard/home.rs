//! The home page: links to all others.

use askama::Template;
use axum::response::Response;

use super::frame::Frame;
use super::session::Visitor;
use super::view;
use crate::domain::access::DashboardSession;
use crate::domain::error::{Error, Result};

#[derive(Template)]
#[template(path = "dashboard/home.html")]
struct Home<'p> {
    frame: &'p Frame,
    visitor: &'p Visitor,
    version: &'static str,
}

pub(super) async fn show(frame: Frame, _session: DashboardSession) -> Result<Response> {
    let visitor = frame.visitor().ok_or(Error::Unauthenticated)?;
    view::page(&Home { frame: &frame, visitor, version: env!("CARGO_PKG_VERSION") })
}
