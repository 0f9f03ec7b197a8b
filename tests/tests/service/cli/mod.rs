//! The program `updraft` against a real server: commands, their JSON, exit codes and refusals.
//!
//! A file per noun or concern. Sign-in in a real browser is in the test binary `browser`.

mod api;
mod apps;
mod columns;
mod failures;
mod help;
mod init;
mod installing;
mod metrics;
mod react_native;
mod releases;
mod schemas;
mod servers;
mod shells;
mod signing;
mod wrong_input;
