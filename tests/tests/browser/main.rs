//! The service in a real browser: the dashboard's pages, and what pages of other origins may ask and read.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod dashboard;
mod origins;
