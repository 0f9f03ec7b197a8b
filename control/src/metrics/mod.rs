//! The counts of a deployment as its people see them: now, and in `history` by day. They are made in `reports`.

pub mod history;
pub mod http;
pub mod repo;

pub use http::routes;
