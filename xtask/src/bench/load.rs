//! The benchmarks of the control plane: built for release, and run against the program as it is shipped.

use clap::Args;
use xtask::paths;

use crate::session::{self, Failure, Session};
use crate::tools::Kit;
use crate::worker;

/// How long update checks are measured.
#[derive(Debug, Args)]
pub(crate) struct Checks {
    /// Rounds, in each of which everything takes its turn
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// Seconds of each turn
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Connections at once
    #[arg(long, default_value_t = 32)]
    connections: u64,
}

impl Checks {
    pub(super) fn numbers(&self) -> Vec<(&'static str, u64)> {
        vec![("--rounds", self.rounds), ("--seconds", self.seconds), ("--connections", self.connections)]
    }
}

/// How many reports are measured.
#[derive(Debug, Args)]
pub(crate) struct ReportLoad {
    /// Rounds, in each of which everything takes its turn
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// Reports of each turn
    #[arg(long, default_value_t = 20_000)]
    reports: u64,
    /// Batches at once
    #[arg(long, default_value_t = 4)]
    batches: u64,
    /// Connections at once
    #[arg(long, default_value_t = 256)]
    connections: u64,
    /// Clients that are in the table before; without it a table of 10 thousand and one of 1 million
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

/// Logins at once.
pub(super) fn logins(session: &Session) -> Result<(), Failure> {
    session.run(session::cargo().args(["build", "--release", "--package", "control", "--bin", "updraft-control"]))?;
    let mut bench = session::cargo();
    bench.args(["bench", "--package", "tests", "--bench", "logins", "--profile", "dev"]);
    session.run(bench.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")))
}

/// Update checks, or reports. The drivers judge the numbers.
pub(super) fn drive(session: &Session, name: &str, numbers: &[(&str, u64)]) -> Result<(), Failure> {
    let packages = ["--package", "control", "--bin", "updraft-control", "--package", "load", "--bin", "load"];
    session.run(session::cargo().args(["build", "--release"]).args(packages))?;
    let mut driver = std::process::Command::new(paths::target().join("release/load"));
    let numbers = numbers.iter().flat_map(|(name, number)| [(*name).to_owned(), number.to_string()]);
    session.run(driver.arg(name).args(numbers).env_remove("UPDRAFT_CONTROL"))
}

/// What a free account's longest history costs others, at the control plane and at the edge.
pub(super) fn attacks(session: &Session) -> Result<(), Failure> {
    worker::build_within_limit(session, &Kit::for_worker(session)?)?;
    session.run(session::cargo().args(["build", "--release", "--package", "control", "--bin", "updraft-control"]))?;
    let mut bench = session::cargo();
    bench.args(["bench", "--package", "tests", "--bench", "attacks", "--profile", "dev"]);
    session.run(bench.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")))
}
