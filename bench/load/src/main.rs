//! Load tests of the control plane, run by `cargo xtask bench reports`, `cargo xtask bench checks` and `cargo xtask bench pages`.
//!
//! `checks`, `reports` and `pages` are the measurements; `quiet` adds what checks cost at low load, and the memory that closed connections leave. `connections`
//! sends requests over many connections, `server` starts servers, `data` fills databases, `figures` formats medians. Everything stays on loopback. Start reading at `checks`, `reports` or
//! `pages`.

mod checks;
mod connections;
mod data;
mod figures;
mod options;
mod pages;
mod quiet;
mod reports;
mod server;

use std::process::ExitCode;

/// Why a measurement failed.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["checks", rest @ ..] => checks::run(rest).await,
        ["pages", rest @ ..] => pages::run(rest).await,
        ["reports", rest @ ..] => reports::run(rest).await,
        ["empty", port] => server::serve_empty(port).await.map(|()| true),
        _ => Err("usage: load checks|pages|reports".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("load: {failure}");
            ExitCode::FAILURE
        }
    }
}
