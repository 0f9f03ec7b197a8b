//! `cargo xtask check`: everything that can be said about the code without running it.

use std::process::Command;

use crate::{
    imports,
    session::{Failure, Session, cargo},
    stages::Stages,
    tools::{self, WASM},
};

/// The Worker that the edge is compared with; Wasm only, as the edge is.
const EMPTY: &str = "empty-worker";

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const CLIPPY: &[&str] =
    &["clippy", "--workspace", "--exclude", "edge", "--exclude", EMPTY, "--all-targets", "--all-features", "--", "-D", "warnings"];
/// With private items: these crates are read by those who work on them, and by nobody else.
const DOC: &[&str] = &["doc", "--workspace", "--exclude", "edge", "--exclude", EMPTY, "--no-deps", "--document-private-items"];

/// `shared` once more, as it must compile for both. In the profile that the Worker is built in: procedural macros are compiled once for both, and what
/// runs beside this, in the other profile, does not wait for the same folder.
const CLIPPY_WASM: &[&str] = &[
    "clippy",
    "--release",
    "--package",
    "edge",
    "--package",
    EMPTY,
    "--package",
    "shared",
    "--lib",
    "--target",
    WASM,
    "--",
    "-D",
    "warnings",
];
const DOC_WASM: &[&str] = &["doc", "--release", "--package", "edge", "--lib", "--no-deps", "--document-private-items", "--target", WASM];

/// Runs every check, prints the count, and fails when one failed.
pub(crate) fn run(session: &Session) -> Result<(), Failure> {
    let mut stages = Stages::default();
    if stages.check(session, "setup", || tools::install_all(session)) {
        stages.side_by_side(|stages| add_native(session, stages), |stages| add_wasm(&session.lane("worker"), stages));
    }
    stages.finish(session)
}

/// Adds the checks of all that runs natively.
pub(crate) fn add_native(session: &Session, stages: &mut Stages) {
    stages.check(session, "format", || session.run(cargo().args(FORMAT)));
    stages.check(session, "imports", || imports::check(session));
    stages.check(session, "dependencies (deny)", || {
        let mut deny = tools::command(&tools::deny(session)?);
        session.run(deny.args(["--all-features", "--locked", "check", "bans", "licenses", "sources"]))
    });
    stages.check(session, "unused dependencies", || {
        session.run(tools::command(&tools::shear(session)?).args(["shear", "--locked", "--deny-warnings"]))
    });
    stages.check(session, "clippy", || session.run(cargo().args(CLIPPY)));
    stages.check(session, "documentation", || session.run(strict(cargo().args(DOC))));
}

/// Adds the checks of all that runs as Wasm.
pub(crate) fn add_wasm(session: &Session, stages: &mut Stages) {
    stages.check(session, "clippy, wasm32", || session.run(cargo().args(CLIPPY_WASM)));
    stages.check(session, "documentation, wasm32", || session.run(strict(cargo().args(DOC_WASM))));
}

fn strict(doc: &mut Command) -> &mut Command {
    doc.env("RUSTDOCFLAGS", "-D warnings")
}
