//! Updraft's control plane: accounts, apps, deployments, releases, snapshots for the edge, and the counts that come back.
//!
//! One folder per area: `http.rs` (handlers and their types), `service.rs` (the rules), `repo.rs` (SQL). Start reading at [`serve`] and [`router`].

pub mod accounts;
pub mod acquisition;
pub mod app;
pub mod apps;
pub mod audit;
pub mod auth;
pub mod bindings;
pub mod challenge;
pub mod cleanup;
pub mod clock;
pub mod collaborators;
pub mod config;
pub mod connections;
pub mod dashboard;
pub mod dates;
pub mod db;
pub mod deployments;
pub mod error;
pub mod health;
pub mod jobs;
pub mod limits;
pub mod mail;
pub mod metrics;
pub mod openapi;
pub mod quotas;
pub mod releases;
pub mod reports;
pub mod rotation;
pub mod router;
pub mod seal;
pub mod sealed;
pub mod serve;
pub mod snapshot;
pub mod sql;
pub mod storage;
pub mod telemetry;
pub mod traces;
pub mod under_way;
pub mod web;
pub mod work;
