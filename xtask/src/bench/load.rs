//! Benchmarks of the control plane, run against a release build.

use clap::Args;
use xtask::paths;

use crate::session::{self, Failure, Session};
use crate::tools::{self, Kit};
use crate::worker;

/// Options for update checks.
#[derive(Debug, Args)]
pub(crate) struct Checks {
    /// Number of rounds; each subject gets one turn per round
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// Seconds per turn
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Concurrent connections
    #[arg(long, default_value_t = 32)]
    connections: u64,
}

impl Checks {
    pub(super) fn numbers(&self) -> Vec<(&'static str, u64)> {
        vec![("--rounds", self.rounds), ("--seconds", self.seconds), ("--connections", self.connections)]
    }
}

/// Options for reports.
#[derive(Debug, Args)]
pub(crate) struct ReportLoad {
    /// Number of rounds; each subject gets one turn per round
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// Reports per turn
    #[arg(long, default_value_t = 20_000)]
    reports: u64,
    /// Concurrent batches
    #[arg(long, default_value_t = 4)]
    batches: u64,
    /// Concurrent connections
    #[arg(long, default_value_t = 256)]
    connections: u64,
    /// Devices that are already in the table; without this option, it runs with 10 thousand and with 1 million
    #[arg(long)]
    clients: Option<u64>,
}

impl ReportLoad {
    pub(super) fn numbers(&self) -> Vec<(&'static str, u64)> {
        let numbers =
            [("--rounds", self.rounds), ("--reports", self.reports), ("--batches", self.batches), ("--connections", self.connections)];
        numbers.into_iter().chain(self.clients.map(|clients| ("--clients", clients))).collect()
    }
}

/// Options for pages.
#[derive(Debug, Args)]
pub(crate) struct Pages {
    /// Number of requests of each page
    #[arg(long, default_value_t = 20)]
    rounds: u64,
    /// Releases of the deployment
    #[arg(long, default_value_t = 1_000)]
    releases: u64,
    /// Days of history
    #[arg(long, default_value_t = 400)]
    days: u64,
    /// Devices
    #[arg(long, default_value_t = 2_000_000)]
    devices: u64,
    /// Devices in the database to compare with
    #[arg(long, default_value_t = 2_000)]
    few: u64,
}

impl Pages {
    pub(super) fn numbers(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("--rounds", self.rounds),
            ("--releases", self.releases),
            ("--days", self.days),
            ("--devices", self.devices),
            ("--few", self.few),
        ]
    }
}

/// Runs concurrent logins.
pub(super) fn logins(session: &Session) -> Result<(), Failure> {
    session.run(session::cargo().args(["build", "--release", "--package", "control", "--bin", "updraft-control"]))?;
    let mut bench = session::cargo();
    bench.args(["bench", "--package", "tests", "--bench", "logins", "--profile", "dev"]);
    session.run(bench.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")))
}

/// Runs diffs beside update checks and reports.
pub(super) fn diffs(session: &Session) -> Result<(), Failure> {
    session.run(session::cargo().args(["build", "--release", "--package", "control", "--bin", "updraft-control"]))?;
    let mut bench = session::cargo();
    bench.args(["bench", "--package", "tests", "--bench", "diffs", "--profile", "dev"]);
    session.run(bench.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")))
}

/// Runs downloads.
pub(super) fn downloads(session: &Session) -> Result<(), Failure> {
    let nginx = tools::nginx(session)?;
    session.run(session::cargo().args(["build", "--release", "--package", "control", "--bin", "updraft-control"]))?;
    let mut bench = session::cargo();
    bench.args(["bench", "--package", "tests", "--bench", "downloads", "--profile", "dev"]);
    session.run(bench.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")).env("UPDRAFT_NGINX", nginx))
}

/// Runs update checks, reports or pages. The load driver compares the results with their limits.
pub(super) fn drive(session: &Session, name: &str, numbers: &[(&str, u64)]) -> Result<(), Failure> {
    let packages = ["--package", "control", "--bin", "updraft-control", "--package", "load", "--bin", "load"];
    session.run(session::cargo().args(["build", "--release"]).args(packages))?;
    let mut driver = std::process::Command::new(paths::target().join("release/load"));
    let numbers = numbers.iter().flat_map(|(name, number)| [(*name).to_owned(), number.to_string()]);
    session.run(driver.arg(name).args(numbers).env_remove("UPDRAFT_CONTROL"))
}

/// Measures how the longest history of a free account affects others, at the control plane and at the edge.
pub(super) fn attacks(session: &Session) -> Result<(), Failure> {
    worker::build_within_limit(session, &Kit::for_worker(session)?)?;
    session.run(session::cargo().args(["build", "--release", "--package", "control", "--bin", "updraft-control"]))?;
    let mut bench = session::cargo();
    bench.args(["bench", "--package", "tests", "--bench", "attacks", "--profile", "dev"]);
    session.run(bench.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")))
}
