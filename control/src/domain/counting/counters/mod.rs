//! The counts of a deployment as its people see them now; by day they are in [`super::history`]. They are made in [`super::service`].

mod listing;
pub mod repo;

pub use listing::list;
