//! The counts of a deployment as its people see them. They are made in `reports`; daily history is not here yet.

pub mod http;
pub mod repo;

pub use http::routes;
