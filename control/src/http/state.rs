//! The state behind every handler: the rules' context, and what HTTP alone keeps in memory.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use axum::extract::FromRef;
use ipnet::IpNet;
use shared::api::health::Checks;
use shared::limit::Limiter;
use shared::signature::Secrets;
use shared::time::UnixMillis;

use super::devices::Collector;
use super::extract::InternalSlots;
use super::layer::connections::{Bounds, Table, Vouched};
use crate::domain::context::Context;
use crate::domain::snapshot::Snapshots;
use crate::infra::challenge::TurnstileConfig;
use crate::infra::db::Db;

/// What HTTP was told.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Signs what edge and control say to each other.
    pub edge_secret: Secrets,
    /// How many connections there may be, and how long they may wait.
    pub connections: Bounds,
    /// The human-verification challenge that pages show; `None`: never asked for.
    pub turnstile: Option<TurnstileConfig>,
}

/// The last answer of the readiness checks, with its time. Those who ask while one is under way wait for it and start none.
#[derive(Debug, Default)]
pub struct HealthCache(pub(super) tokio::sync::Mutex<Option<(UnixMillis, Arc<Checks>)>>);

/// What HTTP alone keeps in memory.
#[derive(Debug)]
pub struct Front {
    /// What it was told.
    pub settings: HttpSettings,
    /// Takes direct reports and commits many in one transaction.
    pub collector: Collector,
    /// Counts reports by client address and deployment.
    pub reporters: Mutex<Limiter>,
    /// Counts reports by client address alone.
    pub reporting_addresses: Mutex<Limiter>,
    /// Counts what browsers report of pages, by client address: anybody may send that, and fill this one alone.
    pub policy_reports: Mutex<Limiter>,
    /// The clients' connections.
    pub connections: Arc<Table>,
    /// Addresses that an edge has signed something from.
    pub vouched: Vouched,
    /// Turns for bodies of the edge.
    pub internal: InternalSlots,
    /// The last answer of the readiness checks.
    pub health: HealthCache,
}

impl Front {
    /// With nothing counted and nobody connected.
    pub fn new(settings: HttpSettings, collector: Collector) -> Self {
        let connections = Arc::new(Table::new(settings.connections));
        Self {
            settings,
            collector,
            reporters: Mutex::default(),
            reporting_addresses: Mutex::default(),
            policy_reports: Mutex::default(),
            connections,
            vouched: Vouched::default(),
            internal: InternalSlots::default(),
            health: HealthCache::default(),
        }
    }
}

/// A shared handle to both.
#[derive(Clone, Debug)]
pub struct AppState {
    /// What the rules go by.
    pub context: Arc<Context>,
    /// What HTTP goes by.
    pub front: Arc<Front>,
    /// What update checks are answered from.
    pub snapshots: Snapshots,
}

impl Deref for AppState {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

impl FromRef<AppState> for Db {
    fn from_ref(state: &AppState) -> Self {
        state.db.clone()
    }
}
