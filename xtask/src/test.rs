//! `cargo xtask test`: the checks, then every test on SQLite, and again on PostgreSQL what touches the database.

use std::env;

use crate::{
    browser, check,
    postgres::Cluster,
    session::{Failure, Session, cargo, say},
    stages::{Count, Stages},
    summary,
    tools::{self, Kit},
    worker,
};

/// Which tests a run of nextest is about, and whether it is a fault when it has none to run.
#[derive(Clone, Copy)]
enum Tests<'s> {
    /// All, or all of a package by these arguments.
    All(&'s [&'s str]),
    /// Those that the developer's arguments select. They may have nothing to do with this stage's database; that some ran is seen by the sum.
    Selected(&'s [String]),
}

/// Runs everything, or with arguments for nextest only the tests that they select, prints the count, and fails when anything failed, or when
/// no test ran.
pub(crate) fn run(session: &Session, selection: &[String]) -> Result<(), Failure> {
    let mut stages = Stages::default();
    let mut has_browser = false;
    let is_ready = stages.check(session, "setup", || {
        tools::install_all(session)?;
        // Of a selection the browser's tests themselves say what they lack: nothing of the system's is installed for the sake of others.
        if selection.is_empty() {
            has_browser = browser::install(session)?;
        }
        Ok(())
    });
    if is_ready && selection.is_empty() {
        add_all(session, &mut stages, has_browser);
    } else if is_ready {
        add_selected(session, &mut stages, selection);
    }
    stages.finish(session)
}

fn add_all(session: &Session, stages: &mut Stages, has_browser: bool) {
    check::add(session, stages);
    build_worker(session, stages);
    // Outside of the default members: built alone, so that control's features never leak into it.
    stages.count(session, "tests, the Worker's pure parts", || nextest(session, Tests::All(&["--package", "edge"]), "default", &[]));
    if has_browser {
        on_both(session, stages, Tests::All(&[]));
    } else {
        stages.note("there is no browser (chromium with chromedriver): the tests that need one were left out".to_owned());
        on_both(session, stages, Tests::All(&["--filterset", "not binary(/^(browser|dashboard_browser)$/)"]));
    }
}

fn add_selected(session: &Session, stages: &mut Stages, selection: &[String]) {
    build_worker(session, stages);
    // Tests run it, and cargo makes it only where all of the workspace is built.
    stages.check(session, "the control plane's build", || session.run(cargo().args(["build", "--bin", "updraft-control"])));
    let ran = on_both(session, stages, Tests::Selected(selection));
    if ran == Count::default() {
        stages.check(session, "selection", || Err(Failure::Said(format!("no test is selected by `{}`", selection.join(" ")))));
    }
}

fn build_worker(session: &Session, stages: &mut Stages) {
    stages.check(session, "the Worker's build", || worker::build_within_limit(session, &Kit::for_worker(session)?));
    stages.check(session, "the Worker's build with panics on demand", || {
        worker::make(session, &Kit::for_worker(session)?, &worker::Recipe::planted())
    });
}

/// Runs the tests on SQLite and, where there is one, on PostgreSQL; gives the sum of both.
fn on_both(session: &Session, stages: &mut Stages, tests: Tests<'_>) -> Count {
    let sqlite = stages.count(session, "tests, SQLite", || nextest(session, tests, "default", &[("TEST_DATABASE", "sqlite")]));
    sqlite.plus(on_postgres(session, stages, tests))
}

fn on_postgres(session: &Session, stages: &mut Stages, tests: Tests<'_>) -> Count {
    const NAME: &str = "tests, PostgreSQL";
    if let Some(url) = env::var("TEST_POSTGRES_URL").ok().filter(|url| !url.is_empty()) {
        return stages.count(session, NAME, || nextest_on_postgres(session, tests, &url));
    }
    if !Cluster::is_installed() && env::var_os("UPDRAFT_REQUIRE_POSTGRES").is_none_or(|value| value != "1") {
        stages.note("PostgreSQL is not installed (no initdb): the tests ran on SQLite only".to_owned());
        return Count::default();
    }
    stages.count(session, NAME, || {
        let cluster = Cluster::start(session)?;
        nextest_on_postgres(session, tests, &cluster.url())
    })
}

fn nextest_on_postgres(session: &Session, tests: Tests<'_>, url: &str) -> Result<Count, Failure> {
    nextest(session, tests, "postgres", &[("TEST_DATABASE", "postgres"), ("TEST_POSTGRES_URL", url)])
}

fn nextest(session: &Session, tests: Tests<'_>, profile: &str, environment: &[(&str, &str)]) -> Result<Count, Failure> {
    let mut command = tools::command(&tools::nextest(session)?);
    command.args(["nextest", "run", "--no-fail-fast", "--profile", profile]);
    match tests {
        Tests::All(arguments) => command.arg("--no-tests=fail").args(arguments),
        Tests::Selected(arguments) => command.arg("--no-tests=pass").args(arguments),
    };
    command.envs(environment.iter().copied());
    let mut printed = None;
    let status = session.run_and_read_errors(&mut command, |line| printed = summary::of_nextest(line).or(printed))?;
    if !status.success() {
        say(format!("nextest ended with {status}"));
    } else if printed.is_none() {
        say("nextest did not say how many tests it ran");
    }
    Ok(judge(printed, status.success(), matches!(tests, Tests::All(_))))
}

/// The count of a run of nextest that printed this summary: with a failure more where the summary has none and yet not all is well, as when
/// the build failed.
fn judge(printed: Option<Count>, is_success: bool, must_run: bool) -> Count {
    let count = printed.unwrap_or_default();
    let is_enough = printed.is_some() && (count.passed > 0 || !must_run);
    if count.failed > 0 || (is_success && is_enough) { count } else { count.plus(Count::one(false)) }
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::stages::Count;

    #[test]
    fn what_ran_is_counted_as_it_was_printed() {
        for must_run in [true, false] {
            assert_eq!(judge(Some(Count { passed: 3, failed: 0 }), true, must_run), Count { passed: 3, failed: 0 });
            assert_eq!(judge(Some(Count { passed: 3, failed: 2 }), false, must_run), Count { passed: 3, failed: 2 });
        }
    }

    #[test]
    fn an_end_without_a_summary_or_with_a_status_that_it_does_not_explain_is_one_failure() {
        for must_run in [true, false] {
            assert_eq!(judge(None, true, must_run), Count { passed: 0, failed: 1 });
            assert_eq!(judge(None, false, must_run), Count { passed: 0, failed: 1 });
            assert_eq!(judge(Some(Count { passed: 3, failed: 0 }), false, must_run), Count { passed: 3, failed: 1 });
        }
    }

    #[test]
    fn nothing_to_run_is_a_failure_only_where_all_should_have_run() {
        assert_eq!(judge(Some(Count::default()), true, true), Count { passed: 0, failed: 1 });
        assert_eq!(judge(Some(Count::default()), true, false), Count::default());
    }
}
