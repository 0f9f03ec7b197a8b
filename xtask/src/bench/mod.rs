//! `cargo xtask bench …`: benchmarks, each with a baseline that shows the theoretical best. Both run on the same machine in the same run, so that
//! ratios are meaningful on any machine.
//!
//! `edge` measures the Worker; `load` starts the drivers in `bench/load` and `tests/benches`, which measure the control plane.

mod edge;
mod load;
mod loads;
mod values;

use clap::Subcommand;

use crate::session::{Failure, Session};

/// The benchmarks.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Measure requests per second and CPU time of update checks at the edge, compared with empty Workers and with the previous release; if wrk is
    /// missing, it is unpacked into the cache
    Edge(edge::Options),
    /// Measure update checks at the control plane, compared with an empty handler, both as release builds on one core
    Checks(load::Checks),
    /// Measure reports at the control plane on SQLite, in batches and one by one, compared with a bare loop over the same transactions
    Reports(load::ReportLoad),
    /// Measure the dashboard's pages of an app with a long history and millions of devices, and whether one becomes slower with more devices
    Pages(load::Pages),
    /// Measure 200 concurrent logins on a release build, and whether timing with wrong passwords reveals who has an account
    Logins,
    /// Measure update checks and reports while ten diffs of a bundle of 150 MB are made, compared with the same without, and the memory that it takes
    Diffs,
    /// Measure 200 parallel downloads of a bundle of 50 MB from the data folder and from a bucket, beside nginx; if nginx is missing, it is unpacked into the cache
    Downloads,
    /// Measure the cost of checks after 900 promotions with the longest description, at control and the edge, and the effect on another account
    Attacks,
}

/// Runs a benchmark.
pub(crate) fn run(session: &Session, bench: &Bench) -> Result<(), Failure> {
    match bench {
        Bench::Edge(options) => edge::run(session, options),
        Bench::Checks(options) => load::drive(session, "checks", &options.numbers()),
        Bench::Reports(options) => load::drive(session, "reports", &options.numbers()),
        Bench::Pages(options) => load::drive(session, "pages", &options.numbers()),
        Bench::Logins => load::logins(session),
        Bench::Diffs => load::diffs(session),
        Bench::Downloads => load::downloads(session),
        Bench::Attacks => load::attacks(session),
    }
}
