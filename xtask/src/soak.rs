//! `cargo xtask soak`: sends 200,000 random events from 5,000 devices to a release build of the control plane, which is killed 20 times meanwhile, and
//! compares the counters with the expected values; on SQLite, then on PostgreSQL. `cargo xtask soak edge`: floods of random requests, and many devices
//! at once. `cargo xtask soak attacks`: attacks with connections alone, and a planted panic. `cargo xtask soak import`: imports that are killed.
//! `cargo xtask soak storage`: random changes of what is stored, by a program that is killed. `cargo xtask soak diffs`: diffs, made by one. `cargo xtask soak upgrade`: the way from the previous release
//! to this one, under load.

use std::env;

use clap::{Args, Subcommand, ValueEnum};
use xtask::paths;

use crate::{
    postgres::Cluster,
    previous::Previous,
    session::{self, Failure, Session, say},
    tools::Kit,
    worker,
};

/// The other soak tests.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum Other {
    /// Send floods of random requests and 256 concurrent devices to the edge for some minutes; memory, rows and calls must stay within their bounds
    Edge,
    /// Attack a release build with a planted panic, slow headers, idle connections, HTTP/2 and large internal bodies; it must survive, serve others,
    /// and stay below 100 MB of memory
    Attacks,
    /// Import 3 apps, 8 deployments and 1,000 releases from a second Updraft with a release build that is killed 20 times; in the end everything must be as
    /// if it had never been killed
    Import,
    /// Upload, promote, roll back and delete 10,000 times at random, in a folder and in a bucket, with a release build that is killed 400 times on each; every
    /// release must keep its bundle, and nothing else may stay
    Storage,
    /// Release, promote and roll back 160 times with a release build that is killed 40 times while it makes the diffs; in the end every release must have its
    /// diffs, each must give the release's files, and nothing else may stay
    Diffs,
    /// Upgrade the control plane and the edge from the previous release, step by step as documented, under load; no check, report or download may fail, and
    /// every answer must stay equal
    Upgrade(Upgrade),
}

/// The options of `soak upgrade`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Upgrade {
    /// Keep what the previous release wrote in tests/samples/previous-release, where tests read it
    #[arg(long)]
    keep_samples: bool,
}

/// The command's options, passed on to the soak test.
#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct Plan {
    /// Number of random events
    #[arg(long, default_value_t = 200_000)]
    events: u64,
    /// Number of devices that send them
    #[arg(long, default_value_t = 5_000)]
    clients: u64,
    /// Number of times to kill the control plane
    #[arg(long, default_value_t = 20)]
    kills: u64,
    /// Seed for reproducible events
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run only on this database
    #[arg(long)]
    database: Option<Database>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Database {
    Sqlite,
    Postgres,
}

/// Runs the load on the edge, and fails if a bound is exceeded.
pub(crate) fn run_edge(session: &Session) -> Result<(), Failure> {
    worker::build_within_limit(session, &Kit::for_worker(session)?)?;
    session.run(session::cargo().args(["bench", "--package", "tests", "--bench", "soak", "--profile", "dev", "--", "edge"]))
}

/// Runs the attacks on a separate release build with planted panics, and fails if a bound is exceeded.
pub(crate) fn run_attacks(session: &Session) -> Result<(), Failure> {
    // In a separate directory, so that nobody mistakes this program for the shipped one.
    let target = paths::target().join("planted-control");
    let mut build = session::cargo();
    build.args(["build", "--release", "--package", "control", "--bin", "updraft-control", "--features", "planted-panic"]);
    session.run(build.env("CARGO_TARGET_DIR", &target))?;
    let mut command = session::cargo();
    command.args(["bench", "--package", "tests", "--bench", "soak", "--profile", "dev", "--", "attacks"]);
    session.run(command.env("UPDRAFT_CONTROL", target.join("release/updraft-control")))
}

/// Runs imports that are killed, and fails if anything differs in the end.
pub(crate) fn run_import(session: &Session) -> Result<(), Failure> {
    run_killed(session, "import")
}

/// Runs random changes of what is stored, and fails if a release lost its bundle, or something stayed.
pub(crate) fn run_storage(session: &Session) -> Result<(), Failure> {
    run_killed(session, "storage")
}

/// Runs releases whose diffs are made by a program that is killed, and fails if one is missing or wrong, or something stayed.
pub(crate) fn run_diffs(session: &Session) -> Result<(), Failure> {
    run_killed(session, "diffs")
}

/// Runs the upgrade from the previous release, and fails if a request failed or an answer changed.
pub(crate) fn run_upgrade(session: &Session, options: Upgrade) -> Result<(), Failure> {
    let previous = Previous::find(session)?;
    let (old_worker, old_control) = (previous.worker(session)?, previous.control(session)?);
    worker::build_within_limit(session, &Kit::for_worker(session)?)?;
    session.run(session::cargo().args(["build", "--package", "control", "--bin", "updraft-control"]))?;
    let mut command = session::cargo();
    command.args(["bench", "--package", "tests", "--bench", "soak", "--profile", "dev", "--", "upgrade"]);
    command.args(options.keep_samples.then_some("--keep-samples"));
    session.run(command.env("UPDRAFT_PREVIOUS_WORKER", old_worker).env("UPDRAFT_PREVIOUS_CONTROL", old_control))
}

/// Runs a soak test that kills the release build.
fn run_killed(session: &Session, name: &str) -> Result<(), Failure> {
    session.run(session::cargo().args(["build", "--release", "--package", "control", "--bin", "updraft-control"]))?;
    let mut command = session::cargo();
    command.args(["bench", "--package", "tests", "--bench", "soak", "--profile", "dev", "--", name]);
    session.run(command.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")))
}

/// Runs the soak test, and fails if a counter is wrong.
pub(crate) fn run(session: &Session, plan: &Plan) -> Result<(), Failure> {
    session.run(session::cargo().args(["build", "--release", "--package", "control", "--bin", "updraft-control"]))?;
    if plan.database != Some(Database::Postgres) {
        say("on SQLite");
        soak(session, plan, &[("TEST_DATABASE", "sqlite")])?;
    }
    if plan.database == Some(Database::Sqlite) {
        return Ok(());
    }
    let given = env::var("TEST_POSTGRES_URL").ok().filter(|url| !url.is_empty());
    let is_required = plan.database.is_some() || env::var_os("UPDRAFT_REQUIRE_POSTGRES").is_some_and(|value| value == "1");
    if given.is_none() && !is_required && !Cluster::is_installed() {
        say("PostgreSQL is not installed (initdb was not found): the soak test ran on SQLite only");
        return Ok(());
    }
    say("on PostgreSQL");
    let (_cluster, url) = if let Some(url) = given {
        (None, url)
    } else {
        let cluster = Cluster::start(session)?;
        let url = cluster.url();
        (Some(cluster), url)
    };
    soak(session, plan, &[("TEST_DATABASE", "postgres"), ("TEST_POSTGRES_URL", &url)])
}

fn soak(session: &Session, plan: &Plan, environment: &[(&str, &str)]) -> Result<(), Failure> {
    let mut command = session::cargo();
    command.args(["bench", "--package", "tests", "--bench", "soak", "--profile", "dev", "--"]);
    let numbers = [("--events", plan.events), ("--clients", plan.clients), ("--kills", plan.kills), ("--seed", plan.seed)];
    command.args(numbers.iter().flat_map(|(name, number)| [(*name).to_owned(), number.to_string()]));
    command.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")).envs(environment.iter().copied());
    session.run(&mut command)
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::{Database, Plan};

    #[test]
    fn options_are_numbers_and_a_database() {
        let command = Plan::augment_args(Command::new("soak").no_binary_name(true));
        let read = |arguments: &[&str]| Plan::from_arg_matches(&command.clone().try_get_matches_from(arguments).ok()?).ok();
        let plan = Plan { events: 200_000, clients: 5_000, kills: 20, seed: 1, database: None };
        assert_eq!(read(&[]), Some(plan));
        let plan = Plan { events: 1_000, clients: 5_000, kills: 20, seed: 7, database: Some(Database::Postgres) };
        assert_eq!(read(&["--events", "1000", "--seed=7", "--database", "postgres"]), Some(plan));
        assert_eq!(read(&["--database=sqlite"]).map(|plan| plan.database), Some(Some(Database::Sqlite)));
        for wrong in [&["--events"][..], &["--events", "many"], &["--kills", "-1"], &["--database", "oracle"], &["--hours", "1"], &["5"]] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
