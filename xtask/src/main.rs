//! `cargo xtask …`: the commands for development. Each installs what it needs by itself, says so, and is quick the second time.

mod bench;
mod browser;
mod check;
mod common_passwords;
mod dev;
mod fuzz;
mod imports;
mod lock;
mod npm;
mod postgres;
mod python;
mod screenshots;
mod secrets;
mod session;
mod soak;
mod stages;
mod summary;
mod test;
mod tools;
mod wasm;
mod worker;

use std::{env, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::session::{Failure, Session};

/// Commands for development; each installs what it needs into the repository's `node_modules` and into `UPDRAFT_CACHE` (default ~/.cache/updraft)
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", max_term_width = 120)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the control plane and the edge on this machine until Ctrl-C
    Dev(dev::Options),
    /// Every check and every test, on SQLite and PostgreSQL; with arguments, only the tests that they select. Without arguments it installs
    /// Debian's Chromium and its driver where they are missing and this is root
    Test {
        /// Arguments for `cargo nextest run`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        selection: Vec<String>,
    },
    /// Formatting, imports, lints, documentation, dependencies: no tests
    Check,
    /// Check the imports of the control plane's modules against control/imports.toml and print a summary
    Imports {
        /// List which file needs which instead
        #[arg(long)]
        arrows: bool,
        // The list of exceptions is to get shorter by hand.
        #[arg(long, hide = true, conflicts_with = "arrows")]
        write: bool,
    },
    /// Build the Worker into edge/build, when something changed
    EdgeBuild,
    /// How fast things are, beside what could be done at best
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Send generated requests to every operation of the API, so long with each kind of credential, and judge the answers by the OpenAPI document
    FuzzApi(fuzz::Plan),
    /// Random events reach a control plane that is killed meanwhile, and every counter is compared with what the set of events says; on both
    /// databases when none is named
    #[command(args_conflicts_with_subcommands = true)]
    Soak {
        #[command(subcommand)]
        other: Option<soak::Other>,
        #[command(flatten)]
        plan: soak::Plan,
    },
    /// Recreate the pictures of the dashboard's pages in docs/screenshots, with the browser of the tests
    Screenshots,
    /// Recreate the list of common passwords in control/data, from the Python package that has the largest one
    CommonPasswords,
    /// Install what the other commands need, and nothing else
    Setup,
}

fn main() -> ExitCode {
    let mut arguments: Vec<_> = env::args_os().collect();
    // Of `test -- …` nextest is to get the dashes too, of which clap takes two away.
    if arguments.get(2).is_some_and(|argument| argument == "--") {
        arguments.insert(2, "--".into());
    }
    let Arguments { command } = Arguments::parse_from(arguments);
    match Session::start().and_then(|session| run(&session, command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

fn run(session: &Session, command: Command) -> Result<(), Failure> {
    match command {
        Command::Dev(options) => dev::run(session, &options),
        Command::Test { selection } => test::run(session, &selection),
        Command::Check => check::run(session),
        Command::Imports { arrows: true, .. } => imports::print_arrows(session),
        Command::Imports { write: true, .. } => imports::write(session),
        Command::Imports { .. } => imports::run(session),
        Command::EdgeBuild => tools::Kit::for_worker(session).and_then(|kit| worker::build_within_limit(session, &kit)),
        Command::Bench(bench) => bench::run(session, &bench),
        Command::FuzzApi(plan) => fuzz::run(session, &plan),
        Command::Soak { other: Some(soak::Other::Edge), .. } => soak::run_edge(session),
        Command::Soak { other: Some(soak::Other::Attacks), .. } => soak::run_attacks(session),
        Command::Soak { other: None, plan } => soak::run(session, &plan),
        Command::Screenshots => screenshots::run(session),
        Command::CommonPasswords => common_passwords::run(session),
        Command::Setup => tools::install_all(session),
    }
}

fn report(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Said(text) => {
            eprintln!("xtask: {text}");
            ExitCode::FAILURE
        }
        Failure::Counted => ExitCode::FAILURE,
        Failure::Interrupted => ExitCode::from(130),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{Arguments, Command};

    #[test]
    fn commands_are_sound_and_nextest_gets_its_arguments_as_they_are() {
        Arguments::command().debug_assert();
        let given = ["-E", "test(a)", "--", "--exact", "--help"];
        let parsed = Arguments::try_parse_from(["xtask", "test"].into_iter().chain(given)).unwrap();
        assert!(matches!(parsed.command, Command::Test { selection } if selection == given));
        for wrong in
            [&["imports", "--arows"][..], &["check", "now"], &["bench"], &["bench", "edges"], &["soak", "edge", "--seed", "1"], &[]]
        {
            assert!(Arguments::try_parse_from(["xtask"].iter().chain(wrong)).is_err(), "{wrong:?}");
        }
    }
}
