//! `cargo xtask …`: the development commands. Each installs what it needs, prints what it installs, and is fast the second time.

mod bench;
mod browser;
mod check;
mod common_passwords;
mod dev;
mod fuzz;
mod imports;
mod lock;
mod npm;
mod packages;
mod postgres;
mod previous;
mod projects;
mod prose;
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

/// Development commands. Each installs what it needs into `node_modules` of the repository and into `UPDRAFT_CACHE` (default: ~/.cache/updraft)
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
    /// Run every check and every test, on SQLite and PostgreSQL; with arguments, only the tests that they select. Without arguments and as root, it
    /// also installs Debian's Chromium and its driver if they are missing
    Test {
        /// Arguments for `cargo nextest run`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        selection: Vec<String>,
    },
    /// Check formatting, imports, wording, lints, documentation and dependencies, without tests
    Check,
    /// Check the imports of the control plane's modules against control/imports.toml and print a summary
    Imports {
        /// List which file depends on which instead
        #[arg(long)]
        arrows: bool,
        // Hidden, because the list of exceptions should only shrink, by hand.
        #[arg(long, hide = true, conflicts_with = "arrows")]
        write: bool,
    },
    /// Build the Worker into edge/build if something changed
    EdgeBuild,
    /// Measure performance and compare it with a theoretical best
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Send generated requests to every operation of the API with each kind of credential, and check the responses against the OpenAPI document
    FuzzApi(fuzz::Plan),
    /// Send random events to a control plane while killing it repeatedly, and compare every counter with the expected value; on both databases by
    /// default
    #[command(args_conflicts_with_subcommands = true)]
    Soak {
        #[command(subcommand)]
        other: Option<soak::Other>,
        #[command(flatten)]
        plan: soak::Plan,
    },
    /// Recreate the screenshots of the dashboard in docs/screenshots, with the tests' browser
    Screenshots,
    /// Build archives and npm packages of the CLI for this machine's platform, with completions, manual pages and checksums
    Dist(packages::Options),
    /// Recreate the list of common passwords in control/data, from the Python package with the largest list
    CommonPasswords,
    /// Only install what the other commands need
    Setup,
}

fn main() -> ExitCode {
    let mut arguments: Vec<_> = env::args_os().collect();
    // For `test -- …`: clap removes one `--`, but nextest should get it too.
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
        Command::Soak { other: Some(soak::Other::Import), .. } => soak::run_import(session),
        Command::Soak { other: Some(soak::Other::Storage), .. } => soak::run_storage(session),
        Command::Soak { other: Some(soak::Other::Diffs), .. } => soak::run_diffs(session),
        Command::Soak { other: Some(soak::Other::Upgrade(options)), .. } => soak::run_upgrade(session, options),
        Command::Soak { other: None, plan } => soak::run(session, &plan),
        Command::Screenshots => screenshots::run(session),
        Command::Dist(options) => packages::run(session, &options),
        Command::CommonPasswords => common_passwords::run(session),
        Command::Setup => tools::install_all(session),
    }
}

fn report(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Message(text) => {
            eprintln!("xtask: {text}");
            ExitCode::FAILURE
        }
        Failure::Reported => ExitCode::FAILURE,
        Failure::Interrupted => ExitCode::from(130),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use clap::{CommandFactory, Parser};

    use super::{Arguments, Command};

    #[test]
    fn commands_are_valid_and_nextest_gets_its_arguments_unchanged() {
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

    /// Adds the help of a command and of all below it. The documents' commands are compared with it.
    fn add_help(command: &mut clap::Command, words: &str, helps: &mut String) {
        write!(helps, "#{words} --help\n\n{}\n", command.render_help()).unwrap();
        for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
            add_help(below, &format!("{words} {}", below.get_name()), helps);
        }
    }

    #[test]
    fn the_help_of_every_command_is_the_one_that_was_reviewed() {
        // Not the width of the terminal that the test runs in.
        let mut command = Arguments::command().term_width(100);
        command.build();
        let mut helps = String::new();
        add_help(&mut command, "", &mut helps);
        insta::assert_snapshot!("help", helps);
    }
}
