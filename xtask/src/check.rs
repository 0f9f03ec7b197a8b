//! `cargo xtask check`: all static checks of the code.

use std::process::Command;

use crate::{
    imports, prose,
    session::{Failure, Session, cargo},
    stages::Stages,
    tools::{self, WASM},
};

/// The Worker that the edge is compared with; Wasm-only, like the edge.
const EMPTY: &str = "empty-worker";

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const CLIPPY: &[&str] =
    &["clippy", "--workspace", "--exclude", "edge", "--exclude", EMPTY, "--all-targets", "--all-features", "--", "-D", "warnings"];
/// With private items: only people who work on these crates read their docs.
const DOC: &[&str] = &["doc", "--workspace", "--exclude", "edge", "--exclude", EMPTY, "--no-deps", "--document-private-items"];

/// Includes `shared` again, because it must compile for both targets. Uses the Worker's profile, so that procedural macros compile only once, and so
/// that parallel builds in the other profile do not wait for a lock on the same directory.
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

/// Runs every check, prints the count, and fails if any check fails.
pub(crate) fn run(session: &Session) -> Result<(), Failure> {
    let mut stages = Stages::default();
    if stages.check(session, "setup", || tools::install_all(session)) {
        stages.side_by_side(|stages| add_native(session, stages), |stages| add_wasm(&session.lane("worker"), stages));
    }
    stages.finish(session)
}

/// Adds the checks of native code.
pub(crate) fn add_native(session: &Session, stages: &mut Stages) {
    stages.check(session, "format", || session.run(cargo().args(FORMAT)));
    stages.check(session, "imports", || imports::check(session));
    stages.check(session, "prose", || prose::check(session));
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

/// Adds the checks of Wasm code.
pub(crate) fn add_wasm(session: &Session, stages: &mut Stages) {
    stages.check(session, "clippy, wasm32", || session.run(cargo().args(CLIPPY_WASM)));
    stages.check(session, "documentation, wasm32", || session.run(strict(cargo().args(DOC_WASM))));
}

fn strict(doc: &mut Command) -> &mut Command {
    doc.env("RUSTDOCFLAGS", "-D warnings")
}
