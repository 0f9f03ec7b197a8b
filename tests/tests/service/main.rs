//! Tests of the control plane over HTTP and of its program: everything that needs no Worker, no browser and no machine of its own.
//!
//! The folders mirror the URLs: `POST /v1/apps/{app}/deployments/{deployment}/promotions` is tested by `v1/apps/deployments/promotions.rs`. `devices` has
//! the paths for devices, `internal` those for the edge, `dashboard` the pages. Not organized by URL are `access`, the table of permissions; `attacks`; `cli`, the
//! program `updraft`; `codepush`, the management API of CodePush with its own CLI;
//! `imports`, moving apps here from other servers; `documents`, the claims of README.md and `docs`; `jobs` and `mail`; `program` and its commands; `previous_release`, `migrations`, `sql` and `stuck_transactions`; and
//! `units`, the unit tests of control's modules. Start reading at `access`.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod access;
mod attacks;
mod cli;
mod codepush;
mod dashboard;
mod devices;
mod documents;
mod imports;
mod internal;
mod jobs;
mod journey;
mod mail;
mod migrations;
mod previous_release;
mod program;
mod sql;
mod stuck_transactions;
mod units;
mod v1;
