//! The state of every handler: the domain's context, and what only HTTP keeps in memory.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use ipnet::IpNet;
use shared::api::health::Checks;
use shared::limit::Limiter;
use shared::signature::Secrets;
use shared::time::UnixMillis;

use super::devices::{Collector, Suspects};
use super::extract::InternalSlots;
use super::layer::connections::{Bounds, EdgeAddresses, Table};
use crate::domain::context::Context;
use crate::domain::deployments::first_checks::AwaitedChecks;
use crate::domain::diffs::listing::ListingTurns;
use crate::domain::releases::turns::Turns;
use crate::domain::snapshot::Snapshots;
use crate::infra::challenge::TurnstileConfig;

/// The settings of HTTP.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Signs requests between the edge and the control plane.
    pub edge_secret: Secrets,
    /// Whether whole bundles are verified while they are downloaded.
    pub verifies_bundles: bool,
    /// Limits and timeouts of connections.
    pub connections: Bounds,
    /// The human-verification challenge on pages; `None` if human verification is off.
    pub turnstile: Option<TurnstileConfig>,
}

/// The last result of the readiness checks, with its time. Requests that arrive during a check wait for its result instead of starting another.
#[derive(Debug, Default)]
pub struct HealthCache(pub(super) tokio::sync::Mutex<Option<(UnixMillis, Arc<Checks>)>>);

/// What only HTTP keeps in memory.
#[derive(Debug)]
pub struct Front {
    /// The settings.
    pub settings: HttpSettings,
    /// Receives direct reports and commits many in one transaction.
    pub collector: Collector,
    /// Counts reports per client address and deployment.
    pub reporters: Mutex<Limiter>,
    /// Counts reports per client address.
    pub reporting_addresses: Mutex<Limiter>,
    /// Counts CSP violation reports from browsers, per client address. Separate, because anyone can send these and fill it.
    pub policy_reports: Mutex<Limiter>,
    /// The clients' connections.
    pub connections: Arc<Table>,
    /// Addresses from which a validly signed request came recently.
    pub edge_addresses: EdgeAddresses,
    /// Permits for the bodies of the edge's calls.
    pub internal: InternalSlots,
    /// The last result of the readiness checks.
    pub health: HealthCache,
    /// The deployments whose first check somebody waits for.
    pub awaited_checks: AwaitedChecks,
    /// Turns to read and compare packages.
    pub package_turns: Turns,
    /// Turns to find out which diffs releases should have.
    pub diff_turns: Turns,
    /// Turns to find out what devices get.
    pub outlook_turns: Turns,
    /// Turns to search the descriptions of a deployment's releases: there can be hundreds of megabytes.
    pub search_turns: Turns,
    /// Turns to read and write imported histories.
    pub import_turns: Turns,
    /// Stored objects that may be lost.
    pub suspects: Suspects,
}

impl Front {
    /// The initial state: no counts, no connections.
    pub fn new(settings: HttpSettings, collector: Collector) -> Self {
        let connections = Arc::new(Table::new(settings.connections));
        Self {
            settings,
            collector,
            reporters: Mutex::default(),
            reporting_addresses: Mutex::default(),
            policy_reports: Mutex::default(),
            connections,
            edge_addresses: EdgeAddresses::default(),
            internal: InternalSlots::default(),
            health: HealthCache::default(),
            awaited_checks: AwaitedChecks::default(),
            package_turns: Turns::default(),
            diff_turns: Turns::default(),
            outlook_turns: Turns::default(),
            search_turns: Turns::default(),
            import_turns: Turns::default(),
            suspects: Suspects::default(),
        }
    }

    /// Turns to list a release's diffs.
    pub fn listing_turns(&self) -> ListingTurns<'_> {
        ListingTurns { histories: &self.diff_turns, packages: &self.package_turns }
    }
}

/// A shared handle to the domain's context and HTTP's state.
#[derive(Clone, Debug)]
pub struct AppState {
    /// The domain's context.
    pub context: Arc<Context>,
    /// HTTP's own state.
    pub front: Arc<Front>,
    /// The snapshots that update checks are answered from.
    pub snapshots: Snapshots,
}

impl Deref for AppState {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}
