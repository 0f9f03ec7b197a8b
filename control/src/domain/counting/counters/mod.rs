//! A deployment's current counters. Their daily values are in [`super::history`]; [`super::service`] updates them.

mod listing;
pub mod repo;

pub use listing::{list, totals};
pub use repo::Totals;
