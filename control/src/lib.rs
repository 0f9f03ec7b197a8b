//! Updraft's control plane: accounts, apps, deployments, releases, snapshots for the edge, and the counts that come back.
//!
//! Floors, from the top: [`server`] puts the parts together; [`http`] speaks HTTP, [`jobs`] run beside the requests, [`config`] reads the settings;
//! [`domain`] holds the rules; [`infra`] what they stand on. Nothing imports a floor above its own (`cargo xtask imports`). Start reading at [`server`].
//!
//! Public are [`testing`], for other packages, and what the program needs, `main.rs`; nobody else names that.

pub mod config;
pub mod domain;
#[expect(unreachable_pub, reason = "`pub` says what other modules may use; what leaves the crate is in `testing`")]
mod http;
pub mod infra;
pub mod jobs;
pub mod server;
pub mod testing;
