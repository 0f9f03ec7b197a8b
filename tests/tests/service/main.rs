//! The control plane over HTTP, and its program: all that needs no Worker, no browser and no machine of its own.
//!
//! Start reading at `access`, the table of who may do what; the other modules are one for each area of the API, and `units` asks modules of control by
//! themselves.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod access;
mod api;
mod attacks;
mod cli_login;
mod counting;
mod dashboard;
mod journey;
mod mail;
mod metrics;
mod mfa;
mod migrations;
mod outbox;
mod program;
mod publisher;
mod releases;
mod roles_and_names;
mod sql;
mod units;
