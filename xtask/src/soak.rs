//! `cargo xtask soak`: 200,000 random events of 5,000 clients reach the control plane, built for release and killed 20 times meanwhile, and the counters
//! come to what the set of events says. On SQLite, and again on PostgreSQL. `cargo xtask soak edge`: floods of random requests, and many devices at once.
//! `cargo xtask soak attacks`: what strangers do with connections alone, and a planted panic.

use std::{collections::BTreeMap, env};

use xtask::paths;

use crate::{
    postgres::Cluster,
    session::{self, Failure, Session, say},
    tools::Kit,
    worker,
};

/// Options that are numbers, passed on as they are.
const NUMBERS: [&str; 4] = ["--events", "--clients", "--kills", "--seed"];

/// What a run is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    numbers: BTreeMap<String, u64>,
    sqlite: bool,
    /// Whether on PostgreSQL too, and whether it is a fault that there is none.
    postgres: Option<bool>,
}

impl Plan {
    /// Reads `--events N`, `--clients N`, `--kills N`, `--seed N` and `--database sqlite|postgres`, also as `--events=N`.
    pub(crate) fn read(arguments: &[String]) -> Result<Self, Failure> {
        let wrong = || {
            Failure::Said(
                "soak takes --events, --clients, --kills and --seed with a number each, --database with sqlite or postgres, and nothing else"
                    .to_owned(),
            )
        };
        let mut words = arguments.iter().flat_map(|argument| match argument.split_once('=') {
            Some((name, value)) => vec![name, value],
            None => vec![argument.as_str()],
        });
        let mut plan = Self { numbers: BTreeMap::new(), sqlite: true, postgres: Some(false) };
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(wrong)?;
            match (name, value) {
                ("--database", "sqlite") => (plan.sqlite, plan.postgres) = (true, None),
                ("--database", "postgres") => (plan.sqlite, plan.postgres) = (false, Some(true)),
                (name, value) if NUMBERS.contains(&name) => {
                    plan.numbers.insert(name.to_owned(), value.parse().map_err(|_| wrong())?);
                }
                _ => return Err(wrong()),
            }
        }
        Ok(plan)
    }
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
    if plan.sqlite {
        say("on SQLite");
        soak(session, plan, &[("TEST_DATABASE", "sqlite")])?;
    }
    let Some(is_required) = plan.postgres else { return Ok(()) };
    let given = env::var("TEST_POSTGRES_URL").ok().filter(|url| !url.is_empty());
    let is_required = is_required || env::var_os("UPDRAFT_REQUIRE_POSTGRES").is_some_and(|value| value == "1");
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
    command.args(plan.numbers.iter().flat_map(|(name, number)| [name.clone(), number.to_string()]));
    command.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")).envs(environment.iter().copied());
    session.run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn a_plan_is_numbers_and_a_database() {
        let read = |arguments: &[&str]| Plan::read(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>()).ok();
        let plan = read(&[]).unwrap();
        assert_eq!((plan.numbers.len(), plan.sqlite, plan.postgres), (0, true, Some(false)));
        let plan = read(&["--events", "1000", "--seed=7", "--database", "postgres"]).unwrap();
        assert_eq!((plan.numbers["--events"], plan.numbers["--seed"], plan.sqlite, plan.postgres), (1_000, 7, false, Some(true)));
        assert_eq!(read(&["--database=sqlite"]).map(|plan| (plan.sqlite, plan.postgres)), Some((true, None)));
        for wrong in [&["--events"][..], &["--events", "many"], &["--kills", "-1"], &["--database", "oracle"], &["--hours", "1"], &["5"]] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
