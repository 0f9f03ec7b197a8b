//! The program `updraft` against a real server: commands, their JSON, exit codes and refusals.
//!
//! A file per noun or concern. Sign-in in a real browser is in the test binary `browser`.

mod apps;
mod failures;
mod help;
mod releases;
mod schemas;
mod servers;
