//! `cargo xtask test`: runs the checks, every test on SQLite, and the tests that use the database again on PostgreSQL.

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

/// The tests of a nextest run, and whether it is an error if there are none.
#[derive(Clone, Copy)]
enum Tests<'s> {
    /// All tests, or all that these arguments select, such as those of a package.
    All(&'s [&'s str]),
    /// The tests that the developer selected. There may be none for this stage's database; the total shows whether any ran.
    Selected(&'s [String]),
}

/// Runs everything, or only the tests that the arguments for nextest select, and prints the count. Fails if anything failed or no test ran.
pub(crate) fn run(session: &Session, selection: &[String]) -> Result<(), Failure> {
    let mut stages = Stages::default();
    if selection.is_empty() {
        add_all(session, &mut stages);
    } else if stages.check(session, "setup", || tools::install_all(session)) {
        // For a selection, no system packages are installed, since other tests may not need them; browser tests report what is missing.
        add_selected(session, &mut stages, selection);
    }
    stages.finish(session)
}

/// Until the tests start, runs two independent lanes in parallel, because much of a build uses only one core.
fn add_all(session: &Session, stages: &mut Stages) {
    let worker = session.lane("worker");
    let (mut is_ready, mut has_worker, mut has_browser) = (false, false, false);
    stages.side_by_side(
        |stages| {
            is_ready = stages.check(session, "setup", || {
                tools::install_programs(session)?;
                has_browser = browser::install(session)?;
                Ok(())
            });
            if is_ready {
                check::add_native(session, stages);
                stages.check(session, "build of the tests", || build_tests(session));
            }
        },
        |stages| {
            has_worker = stages.check(&worker, "setup, the Worker", || {
                Kit::for_worker(&worker)?;
                tools::install_projects(&worker)
            });
            if has_worker {
                check::add_wasm(&worker, stages);
                build_worker(&worker, stages);
            }
        },
    );
    if !is_ready || !has_worker {
        return;
    }
    // Not a default member: built separately, so that control's features never leak into it.
    count_tests(session, stages, "tests, the Worker's native parts", "edge", Tests::All(&["--package", "edge"]), "default", &[]);
    if has_browser {
        on_both(session, stages, Tests::All(&[]));
    } else {
        stages.note("no browser (chromium with chromedriver), no tmux or no keyring (gnome-keyring with dbus) was found: the tests that need them were skipped".to_owned());
        on_both(session, stages, Tests::All(&["--filterset", "not binary(browser)"]));
    }
}

/// Builds everything that nextest builds, with the same features.
fn build_tests(session: &Session) -> Result<(), Failure> {
    session.run(cargo().args(["test", "--no-run", "--quiet"]))
}

fn add_selected(session: &Session, stages: &mut Stages, selection: &[String]) {
    build_worker(session, stages);
    // Tests run these programs, but cargo builds them only with the whole workspace.
    stages.check(session, "build of the programs", || session.run(cargo().args(["build", "--bin", "updraft-control", "--bin", "updraft"])));
    let ran = on_both(session, stages, Tests::Selected(selection));
    if ran == Count::default() {
        stages.check(session, "selection", || Err(Failure::Message(format!("no test matches `{}`", selection.join(" ")))));
    }
}

fn build_worker(session: &Session, stages: &mut Stages) {
    stages.check(session, "build of the Worker", || worker::build_within_limit(session, &Kit::for_worker(session)?));
    stages.check(session, "build of the Worker with planted panics", || {
        worker::build_recipe(session, &Kit::for_worker(session)?, &worker::Recipe::planted())
    });
}

/// Runs the tests on SQLite and, if available, on PostgreSQL; returns the total count.
fn on_both(session: &Session, stages: &mut Stages, tests: Tests<'_>) -> Count {
    let sqlite = count_tests(session, stages, "tests, SQLite", "SQLite", tests, "default", &[("TEST_DATABASE", "sqlite")]);
    let in_bucket = [("TEST_DATABASE", "sqlite"), ("TEST_STORAGE", "s3")];
    // Of selected tests, those that it would run anyway.
    let bucket = count_tests(session, stages, "tests, bundles in a bucket", "bucket", tests, "bucket", &in_bucket);
    sqlite.plus(bucket).plus(on_postgres(session, stages, tests))
}

fn on_postgres(session: &Session, stages: &mut Stages, tests: Tests<'_>) -> Count {
    let cluster = match env::var("TEST_POSTGRES_URL").ok().filter(|url| !url.is_empty()) {
        Some(_) => None,
        None if !Cluster::is_installed() && env::var_os("UPDRAFT_REQUIRE_POSTGRES").is_none_or(|value| value != "1") => {
            stages.note("PostgreSQL is not installed (initdb was not found): the tests ran on SQLite only".to_owned());
            return Count::default();
        }
        None => {
            let mut cluster = None;
            if !stages.check(session, "PostgreSQL", || Cluster::start(session).map(|started| cluster = Some(started))) {
                return Count::one(false);
            }
            cluster
        }
    };
    let url = cluster.as_ref().map(Cluster::url);
    let mut environment = vec![("TEST_DATABASE", "postgres")];
    environment.extend(url.as_deref().map(|url| ("TEST_POSTGRES_URL", url)));
    count_tests(session, stages, "tests, PostgreSQL", "PostgreSQL", tests, "postgres", &environment)
}

/// Adds a nextest run as a stage; `label` marks its tests in the list of the slowest.
fn count_tests(
    session: &Session,
    stages: &mut Stages,
    name: &'static str,
    label: &'static str,
    tests: Tests<'_>,
    profile: &str,
    environment: &[(&str, &str)],
) -> Count {
    let mut timed = Vec::new();
    let count =
        stages.count(session, name, || nextest(session, tests, profile, environment, |line| timed.extend(summary::of_test(label, line))));
    stages.add_tests(timed);
    count
}

fn nextest(
    session: &Session,
    tests: Tests<'_>,
    profile: &str,
    environment: &[(&str, &str)],
    mut each_line: impl FnMut(&str),
) -> Result<Count, Failure> {
    let mut command = tools::command(&tools::nextest(session)?);
    command.args(["nextest", "run", "--no-fail-fast", "--profile", profile]);
    match tests {
        Tests::All(arguments) => command.arg("--no-tests=fail").args(arguments),
        Tests::Selected(arguments) => command.arg("--no-tests=pass").args(arguments),
    };
    command.envs(environment.iter().copied());
    let mut printed = None;
    let status = session.run_and_read_errors(&mut command, |line| {
        printed = summary::of_nextest(line).or(printed);
        each_line(line);
    })?;
    if !status.success() {
        say(format!("nextest exited with {status}"));
    } else if printed.is_none() {
        say("nextest did not print how many tests it ran");
    }
    Ok(outcome(printed, status.success(), matches!(tests, Tests::All(_))))
}

/// The count of a nextest run with this summary. Adds a failure if the run failed although the summary has none, as after a failed build.
fn outcome(printed: Option<Count>, is_success: bool, must_run: bool) -> Count {
    let count = printed.unwrap_or_default();
    let is_enough = printed.is_some() && (count.passed > 0 || !must_run);
    if count.failed > 0 || (is_success && is_enough) { count } else { count.plus(Count::one(false)) }
}

#[cfg(test)]
mod tests {
    use super::outcome;
    use crate::stages::Count;

    #[test]
    fn the_printed_summary_is_the_count() {
        for must_run in [true, false] {
            assert_eq!(outcome(Some(Count { passed: 3, failed: 0 }), true, must_run), Count { passed: 3, failed: 0 });
            assert_eq!(outcome(Some(Count { passed: 3, failed: 2 }), false, must_run), Count { passed: 3, failed: 2 });
        }
    }

    #[test]
    fn a_missing_summary_or_an_unexplained_status_is_one_failure() {
        for must_run in [true, false] {
            assert_eq!(outcome(None, true, must_run), Count { passed: 0, failed: 1 });
            assert_eq!(outcome(None, false, must_run), Count { passed: 0, failed: 1 });
            assert_eq!(outcome(Some(Count { passed: 3, failed: 0 }), false, must_run), Count { passed: 3, failed: 1 });
        }
    }

    #[test]
    fn no_tests_are_a_failure_only_if_all_should_have_run() {
        assert_eq!(outcome(Some(Count::default()), true, true), Count { passed: 0, failed: 1 });
        assert_eq!(outcome(Some(Count::default()), true, false), Count::default());
    }
}
