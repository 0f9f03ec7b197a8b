//! `cargo xtask check`: everything that can be said about the code without running it.

use crate::{
    session::{Failure, Session, cargo},
    stages::Stages,
    tools::{self, WASM},
};

/// The Worker that the edge is compared with; Wasm only, as the edge is.
const EMPTY: &str = "empty-worker";

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const CLIPPY: &[&str] =
    &["clippy", "--workspace", "--exclude", "edge", "--exclude", EMPTY, "--all-targets", "--all-features", "--", "-D", "warnings"];
/// `shared` once more, as it must compile for both.
const CLIPPY_WASM: &[&str] =
    &["clippy", "--package", "edge", "--package", EMPTY, "--package", "shared", "--lib", "--target", WASM, "--", "-D", "warnings"];
/// With private items: these crates are read by those who work on them, and by nobody else.
const DOC: &[&str] = &["doc", "--workspace", "--exclude", "edge", "--exclude", EMPTY, "--no-deps", "--document-private-items"];
const DOC_WASM: &[&str] = &["doc", "--package", "edge", "--lib", "--no-deps", "--document-private-items", "--target", WASM];

/// Runs every check, prints the count, and fails when one failed.
pub(crate) fn run(session: &Session) -> Result<(), Failure> {
    let mut stages = Stages::default();
    if stages.check(session, "setup", || tools::install_all(session)) {
        add(session, &mut stages);
    }
    stages.finish(session)
}

/// Runs every check, each as a stage.
pub(crate) fn add(session: &Session, stages: &mut Stages) {
    for (name, arguments) in [("format", FORMAT), ("clippy", CLIPPY), ("clippy, wasm32", CLIPPY_WASM)] {
        stages.check(session, name, || session.run(cargo().args(arguments)));
    }
    for (name, arguments) in [("documentation", DOC), ("documentation, wasm32", DOC_WASM)] {
        stages.check(session, name, || session.run(cargo().args(arguments).env("RUSTDOCFLAGS", "-D warnings")));
    }
    stages.check(session, "dependencies (deny)", || {
        let mut deny = tools::command(&tools::deny(session)?);
        session.run(deny.args(["--all-features", "--locked", "check", "bans", "licenses", "sources"]))
    });
    stages.check(session, "unused dependencies", || session.run(tools::command(&tools::machete(session)?).args(["--with-metadata", "."])));
}
