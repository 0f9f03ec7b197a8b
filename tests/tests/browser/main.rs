//! The service in a real browser: the dashboard's pages, and cross-origin requests.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod cli;
mod dashboard;
mod origins;
mod uploads;
