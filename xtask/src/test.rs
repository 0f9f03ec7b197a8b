//! `cargo xtask test`: the checks, then every test on SQLite, and again on PostgreSQL what touches the database.

use std::env;

use crate::{
    check,
    postgres::Cluster,
    session::{Failure, Session, cargo, say},
    stages::{Count, Stages},
    summary,
    tools::{self, Kit},
    worker,
};

/// Runs everything, or with arguments for nextest only the tests that they select, prints the count, and fails when anything failed.
pub(crate) fn run(session: &Session, selection: &[String]) -> Result<(), Failure> {
    let mut stages = Stages::default();
    add(session, &mut stages, selection);
    stages.finish(session)
}

fn add(session: &Session, stages: &mut Stages, selection: &[String]) {
    let all = selection.is_empty();
    if !stages.check(session, "setup", || tools::install_all(session)) {
        return;
    }
    if all {
        check::add(session, stages);
    }
    stages.check(session, "the Worker's build", || worker::build_within_limit(session, &Kit::for_worker(session)?));
    if all {
        // Outside of the default members: built alone, so that control's features never leak into it.
        let edge = ["--package".to_owned(), "edge".to_owned()];
        stages.count(session, "tests, the Worker's pure parts", || nextest(session, &edge, "default", &[]));
    }
    stages.count(session, "tests, SQLite", || nextest(session, selection, "default", &[("TEST_DATABASE", "sqlite")]));
    on_postgres(session, stages, selection);
    if all {
        stages.count(session, "documentation tests", || documentation_tests(session));
    }
}

fn on_postgres(session: &Session, stages: &mut Stages, selection: &[String]) {
    if let Some(url) = env::var("TEST_POSTGRES_URL").ok().filter(|url| !url.is_empty()) {
        stages.count(session, "tests, PostgreSQL", || nextest_on_postgres(session, selection, &url));
        return;
    }
    if !Cluster::is_installed() && env::var_os("UPDRAFT_REQUIRE_POSTGRES").is_none_or(|value| value != "1") {
        stages.note("PostgreSQL is not installed (no initdb): the tests ran on SQLite only".to_owned());
        return;
    }
    stages.count(session, "tests, PostgreSQL", || {
        let cluster = Cluster::start(session)?;
        nextest_on_postgres(session, selection, &cluster.url())
    });
}

fn nextest_on_postgres(session: &Session, selection: &[String], url: &str) -> Result<Count, Failure> {
    nextest(session, selection, "postgres", &[("TEST_DATABASE", "postgres"), ("TEST_POSTGRES_URL", url)])
}

fn nextest(session: &Session, selection: &[String], profile: &str, environment: &[(&str, &str)]) -> Result<Count, Failure> {
    let mut command = tools::command(&tools::nextest(session)?);
    command.args(["nextest", "run", "--no-fail-fast", "--profile", profile]);
    if !selection.is_empty() {
        // What is selected may not touch the database at all; that some of it ran is seen by the sum.
        command.arg("--no-tests=pass").args(selection);
    }
    command.envs(environment.iter().copied());
    let mut count = None;
    let status = session.run_and_read_errors(&mut command, |line| count = summary::of_nextest(line).or(count))?;
    let count = count.unwrap_or_default();
    if status.success() {
        return Ok(count);
    }
    say(format!("nextest ended with {status}"));
    // Without a failed test it was the build that failed, or nothing was there to run.
    Ok(if count.failed == 0 { count.plus(Count::one(false)) } else { count })
}

fn documentation_tests(session: &Session) -> Result<Count, Failure> {
    let mut sum = Count::default();
    let mut command = cargo();
    command.args(["test", "--doc", "--package", "shared", "--package", "control"]);
    let status = session.run_and_read(&mut command, |line| {
        if let Some(count) = summary::of_test_program(line) {
            sum = sum.plus(count);
        }
    })?;
    Ok(if status.success() || sum.failed > 0 { sum } else { sum.plus(Count::one(false)) })
}
