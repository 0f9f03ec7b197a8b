//! `cargo xtask bench …`: how fast things are, beside what could be done at best. Each measurement compares within one run on one machine, so that
//! ratios mean something on any.
//!
//! `edge` measures the Worker; `load` starts the drivers of `bench/load` and of `tests/benches`, which measure the control plane.

mod edge;
mod load;

use crate::session::{Failure, Session};

/// Runs the benchmark of this name.
pub(crate) fn run(session: &Session, name: &str, arguments: &[String]) -> Result<(), Failure> {
    match (name, arguments) {
        ("edge", _) => edge::Options::parse(arguments).and_then(|options| edge::run(session, &options)),
        ("attacks", []) => load::attacks(session),
        ("logins", []) => load::logins(session),
        ("checks" | "reports", _) => load::drive(session, name, arguments),
        _ => Err(Failure::Said(format!(
            "`bench {name}` is no benchmark, or takes no arguments: there are attacks, edge, logins, checks and reports"
        ))),
    }
}
