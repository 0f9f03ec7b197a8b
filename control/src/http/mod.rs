//! Everything that speaks HTTP: the layers around every handler, the extractors, and one folder for each surface.
//!
//! Rules of the business are not here; they are in [`crate::domain`]. Start reading at [`api`].

pub mod api;
pub mod dashboard;
pub mod devices;
pub mod edge;
pub mod extract;
pub mod layer;
pub mod reserved;
pub mod state;

pub use state::{AppState, Front, HttpSettings};
