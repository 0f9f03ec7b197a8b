//! `cargo xtask bench …`: how fast things are, beside what could be done at best. Each measurement compares within one run on one machine, so that
//! ratios mean something on any.
//!
//! `edge` measures the Worker; `load` starts the drivers of `bench/load` and of `tests/benches`, which measure the control plane.

mod edge;
mod load;

use clap::Subcommand;

use crate::session::{Failure, Session};

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Requests per second and CPU time of an update check at the edge, beside Workers that do nothing; wrk is unpacked into the cache where it is
    /// missing
    Edge(edge::Options),
    /// Update checks at the control plane, beside a handler that does nothing, both built for release and held to one core
    Checks(load::Checks),
    /// Reports at the control plane on SQLite, in batches and one by one, beside a bare loop over the same transactions
    Reports(load::ReportLoad),
    /// 200 logins at once, and what wrong passwords tell about who has an account, on the program built for release
    Logins,
    /// 900 promotions with the longest description: what checks of that key cost control and the edge then, and what another account's checks notice
    Attacks,
}

/// Runs it.
pub(crate) fn run(session: &Session, bench: &Bench) -> Result<(), Failure> {
    match bench {
        Bench::Edge(options) => edge::run(session, options),
        Bench::Checks(options) => load::drive(session, "checks", &options.numbers()),
        Bench::Reports(options) => load::drive(session, "reports", &options.numbers()),
        Bench::Logins => load::logins(session),
        Bench::Attacks => load::attacks(session),
    }
}
