//! Updraft's control plane: accounts, apps, deployments, releases, snapshots for the edge, and the counts that come back.
//!
//! Floors, from the top: [`server`] puts the parts together; [`http`] speaks HTTP, [`jobs`] run beside the requests, [`config`] reads the settings;
//! [`domain`] holds the rules; [`infra`] what they stand on. Nothing imports a floor above its own (`cargo xtask imports`). Start reading at [`server`].

pub mod config;
pub mod domain;
pub mod http;
pub mod infra;
pub mod jobs;
pub mod server;
