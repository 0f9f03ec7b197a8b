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

use crate::session::{Failure, Session};

const HELP: &str = "\
Commands for development; each installs what it needs into the repository's node_modules and into UPDRAFT_CACHE (default ~/.cache/updraft).

cargo xtask dev [--port 8787] [--control-port 8080] [--data ./data]
    run the control plane and the edge on this machine until Ctrl-C
cargo xtask test [arguments for `cargo nextest run`]
    every check and every test, on SQLite and PostgreSQL; with arguments, only the tests that they select.
    Without arguments it installs Debian's Chromium and its driver where they are missing and this is root
cargo xtask check
    formatting, imports, lints, documentation, dependencies: no tests
cargo xtask imports [--arrows]
    check the imports of the control plane's modules against control/imports.toml and print a summary; with --arrows, list which file needs which
cargo xtask edge-build
    build the Worker into edge/build, when something changed
cargo xtask bench edge [--rounds 5] [--seconds 10]
    requests per second and CPU time of an update check, beside Workers that do nothing; wrk is unpacked into the cache where it is missing
cargo xtask bench checks [--rounds 5] [--seconds 4] [--connections 32]
    update checks at the control plane, beside a handler that does nothing, both built for release and held to one core
cargo xtask bench reports [--rounds 5] [--reports 20000] [--batches 4] [--connections 256] [--clients N]
    reports at the control plane on SQLite, in batches and one by one, beside a bare loop over the same transactions
cargo xtask bench logins
    200 logins at once, and what wrong passwords tell about who has an account, on the program built for release
cargo xtask bench attacks
    900 promotions with the longest description: what checks of that key cost control and the edge then, and what another account's checks notice
cargo xtask fuzz-api [--minutes 5] [--seed N]
    ask every operation of the interface generated questions, so long with each kind of credential, and judge the answers by its document
cargo xtask soak [--events 200000] [--clients 5000] [--kills 20] [--seed 1] [--database sqlite|postgres]
    random events reach a control plane that is killed meanwhile, and every counter is compared with what the set of events says; on both databases
    when none is named
cargo xtask soak edge
    floods of random requests and 256 devices at once reach the edge, for some minutes: what they may cost in memory, rows and calls is bounded
cargo xtask soak attacks
    a planted panic, slow heads, idle connections, HTTP/2 and large internal bodies reach the program built for release: it lives, others are served, and
    its memory stays below 100 MB
cargo xtask screenshots
    make the pictures of the dashboard's pages in docs/screenshots anew, with the browser of the tests
cargo xtask common-passwords
    make the list of common passwords in control/data anew, from the Python package that has the largest one
cargo xtask setup
    install what the other commands need, and nothing else
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("--help", [].as_slice()),
    };
    let session = match Session::start() {
        Ok(session) => session,
        Err(failure) => return report(&failure),
    };
    let wants_help = command != "test" && rest.iter().any(|argument| matches!(argument.as_str(), "--help" | "-h"));
    let done = match (if wants_help { "--help" } else { command }, rest) {
        ("dev", _) => dev::Options::parse(rest).and_then(|options| dev::run(&session, &options)),
        ("test", _) => test::run(&session, rest),
        ("check", []) => check::run(&session),
        ("imports", []) => imports::run(&session),
        ("imports", [option]) if option == "--arrows" => imports::print_arrows(&session),
        // Not in the help: the list of exceptions is to get shorter by hand.
        ("imports", [option]) if option == "--write" => imports::write(&session),
        ("edge-build", []) => tools::Kit::for_worker(&session).and_then(|kit| worker::build_within_limit(&session, &kit)),
        ("bench", [what, rest @ ..]) => bench::run(&session, what, rest),
        ("fuzz-api", _) => fuzz::Plan::read(rest).and_then(|plan| fuzz::run(&session, &plan)),
        ("soak", [what]) if what == "edge" => soak::run_edge(&session),
        ("soak", [what]) if what == "attacks" => soak::run_attacks(&session),
        ("soak", _) => soak::Plan::read(rest).and_then(|plan| soak::run(&session, &plan)),
        ("screenshots", []) => screenshots::run(&session),
        ("common-passwords", []) => common_passwords::run(&session),
        ("setup", []) => tools::install_all(&session),
        ("--help" | "-h" | "help", _) => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(Failure::Said(format!("`{}` is no command\n\n{HELP}", arguments.join(" ")))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
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
