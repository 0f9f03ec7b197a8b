//! What the edge asks of the control plane: signed calls, and the bindings of an edge without Cloudflare.
//!
//! What devices ask is in [`crate::http::devices`], how a call is verified in [`crate::http::extract::internal_call`]. Start reading at [`routes`].

pub mod bindings;
pub mod reports;

pub use reports::{note, read, routes};
