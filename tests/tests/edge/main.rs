//! The Worker under wrangler, with and without the real control plane.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod aborts;
mod bundles_in_r2;
mod checks;
mod configuration;
mod diffs;
mod effects;
mod equality;
mod first_steps;
mod freshness;
mod generated;
mod logins;
mod outage;
mod panics;
mod pass_through;
mod previous_release;
mod react_native;
mod readme;
mod replay;
mod reports;
mod rotation;
mod sdk;
mod sdk_sync;
mod self_hosted;
mod signed_snapshots;
mod snapshots;
mod stand_in;
mod sweep;
mod untrusted_responses;
