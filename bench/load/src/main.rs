//! Load drivers of the control plane, run by `cargo xtask bench reports` and `cargo xtask bench checks`.
//!
//! `connections` asks over many connections and counts, `server` starts what is asked, `data` fills databases, `figures` makes medians and tables;
//! `checks` and `reports` are the two measurements. Everything stays on loopback. Start reading at either of the two.

mod checks;
mod connections;
mod data;
mod figures;
mod options;
mod reports;
mod server;

use std::process::ExitCode;

/// Why a measurement could not be made.
type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["checks", rest @ ..] => checks::run(rest).await,
        ["reports", rest @ ..] => reports::run(rest).await,
        ["empty", port] => server::serve_empty(port).await.map(|()| true),
        _ => Err("the drivers are `checks` and `reports`".into()),
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
