//! Updraft's control plane: accounts, apps, deployments, releases, metrics, and snapshots for the edge.
//!
//! Layers, from the top: [`server`] assembles the parts; [`http`] handles HTTP, [`jobs`] run in the background, [`config`] reads the settings;
//! [`domain`] holds the business rules; [`infra`] is what they build on. No layer imports one above it (`cargo xtask imports`). Start reading at [`server`].
//!
//! The public API is [`testing`], for other packages. All other public modules are for `main.rs` only.

pub mod config;
pub mod domain;
#[expect(unreachable_pub, reason = "`pub` says what other modules may use; what leaves the crate is in `testing`")]
mod http;
pub mod infra;
pub mod jobs;
pub mod server;
pub mod testing;
