//! The control plane over HTTP, and its program: all that needs no Worker, no browser and no machine of its own.
//!
//! The folders are the paths: `POST /v1/apps/{app}/deployments/{deployment}/promotions` is tested by `v1/apps/deployments/promotions.rs`, a path's last
//! resource by a file or a folder of its name. `devices` has the paths of devices, `internal` what only the edge calls, `dashboard` the pages. What is no
//! path: `access`, the table of who may do what; `attacks`; `documents`, what README.md and `docs` say; `jobs` and `mail`; `program` and its commands;
//! `migrations`, `sql` and `stuck_transactions`; and `units`, functions of control by themselves. Start reading at `access`.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod access;
mod attacks;
mod dashboard;
mod devices;
mod documents;
mod internal;
mod jobs;
mod journey;
mod mail;
mod migrations;
mod program;
mod sql;
mod stuck_transactions;
mod units;
mod v1;
