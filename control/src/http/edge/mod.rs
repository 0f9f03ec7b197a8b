//! What the edge asks of the control plane: signed calls, and the bindings of an edge without Cloudflare.
//!
//! What devices ask is in [`crate::http::devices`]. Start reading at [`calls`].

pub mod bindings;
pub mod calls;
pub mod reports;

pub use calls::{InternalCall, InternalSlots, internal};
pub use reports::{note, read, routes};
