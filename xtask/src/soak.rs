//! `cargo xtask soak`: 200,000 random events of 5,000 clients reach the control plane, built for release and killed 20 times meanwhile, and the counters
//! come to what the set of events says. On SQLite, and again on PostgreSQL. `cargo xtask soak edge`: floods of random requests, and many devices at once.
//! `cargo xtask soak attacks`: what strangers do with connections alone, and a planted panic.

use std::env;

use clap::{Args, Subcommand, ValueEnum};
use xtask::paths;

use crate::{
    postgres::Cluster,
    session::{self, Failure, Session, say},
    tools::Kit,
    worker,
};

/// What else can be soaked.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum Other {
    /// Floods of random requests and 256 devices at once reach the edge, for some minutes: what they may cost in memory, rows and calls is bounded
    Edge,
    /// A planted panic, slow heads, idle connections, HTTP/2 and large internal bodies reach the program built for release: it lives, others are
    /// served, and its memory stays below 100 MB
    Attacks,
}

/// What a run is asked for. The numbers are passed on as they are.
#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct Plan {
    /// Random events
    #[arg(long, default_value_t = 200_000)]
    events: u64,
    /// Clients that send them
    #[arg(long, default_value_t = 5_000)]
    clients: u64,
    /// How often the control plane is killed
    #[arg(long, default_value_t = 20)]
    kills: u64,
    /// Makes the same choices again
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// On this database alone
    #[arg(long)]
    database: Option<Database>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Database {
    Sqlite,
    Postgres,
}

/// Runs the load on the edge, and fails when a bound did not hold.
pub(crate) fn run_edge(session: &Session) -> Result<(), Failure> {
    worker::build_within_limit(session, &Kit::for_worker(session)?)?;
    session.run(session::cargo().args(["bench", "--package", "tests", "--bench", "soak", "--profile", "dev", "--", "edge"]))
}

/// Runs the attacks on a program of its own, built for release with panics on demand, and fails when a bound did not hold.
pub(crate) fn run_attacks(session: &Session) -> Result<(), Failure> {
    // In a folder of its own: nobody must take this program for the one that is shipped.
    let target = paths::target().join("planted-control");
    let mut build = session::cargo();
    build.args(["build", "--release", "--package", "control", "--bin", "updraft-control", "--features", "planted-panic"]);
    session.run(build.env("CARGO_TARGET_DIR", &target))?;
    let mut command = session::cargo();
    command.args(["bench", "--package", "tests", "--bench", "soak", "--profile", "dev", "--", "attacks"]);
    session.run(command.env("UPDRAFT_CONTROL", target.join("release/updraft-control")))
}

/// Runs it, and fails when a counter was wrong.
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
        say("PostgreSQL is not installed (no initdb): the soak ran on SQLite only");
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
    fn a_plan_is_numbers_and_a_database() {
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
