//! Everything about HTTP: the layers around every handler, the extractors, and one folder for each surface.
//!
//! Business rules are in [`crate::domain`]. Start reading at [`api`].

pub mod api;
pub mod codepush;
pub mod dashboard;
pub mod devices;
pub mod edge;
pub mod extract;
mod history;
pub mod layer;
pub mod present;
pub mod reserved;
pub mod state;

pub use state::{AppState, Front, HttpSettings};
