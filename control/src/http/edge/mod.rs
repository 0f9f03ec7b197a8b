//! Endpoints for the edge: signed calls, and the bindings of an edge without Cloudflare.
//!
//! Endpoints for devices are in [`crate::http::devices`]; signatures are verified in [`crate::http::extract::internal_call`]. Start reading at [`routes`].

pub mod bindings;
pub mod reports;
mod snapshots;

pub use reports::{note, read};

use axum::Router;

use crate::http::AppState;

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    reports::routes().merge(snapshots::routes())
}
