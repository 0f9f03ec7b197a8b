//! The benchmarks of the control plane: built for release, and run against the program as it is shipped.

use xtask::paths;

use crate::session::{self, Failure, Session};
use crate::tools::Kit;
use crate::worker;

/// Logins at once.
pub(super) fn logins(session: &Session) -> Result<(), Failure> {
    session.run(session::cargo().args(["build", "--release", "--package", "control", "--bin", "updraft-control"]))?;
    let mut bench = session::cargo();
    bench.args(["bench", "--package", "tests", "--bench", "logins", "--profile", "dev"]);
    session.run(bench.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")))
}

/// Update checks, or reports. The drivers know their own arguments.
pub(super) fn drive(session: &Session, name: &str, arguments: &[String]) -> Result<(), Failure> {
    let packages = ["--package", "control", "--bin", "updraft-control", "--package", "load", "--bin", "load"];
    session.run(session::cargo().args(["build", "--release"]).args(packages))?;
    let mut driver = std::process::Command::new(paths::target().join("release/load"));
    session.run(driver.arg(name).args(arguments).env_remove("UPDRAFT_CONTROL"))
}

/// What a free account's longest history costs others, at the control plane and at the edge.
pub(super) fn attacks(session: &Session) -> Result<(), Failure> {
    worker::build_within_limit(session, &Kit::for_worker(session)?)?;
    session.run(session::cargo().args(["build", "--release", "--package", "control", "--bin", "updraft-control"]))?;
    let mut bench = session::cargo();
    bench.args(["bench", "--package", "tests", "--bench", "attacks", "--profile", "dev"]);
    session.run(bench.env("UPDRAFT_CONTROL", paths::target().join("release/updraft-control")))
}
