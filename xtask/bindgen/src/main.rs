//! The part of the `wasm-bindgen` CLI that `worker-build` calls, on top of wasm-bindgen's own library.
//!
//! The published program is not used: it also contains a test runner with an HTTP client and server, which take most of its build time, and its
//! lock file cannot be resolved everywhere. This one is built from the workspace's lock file.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use wasm_bindgen_cli_support::Bindgen;

/// The options that `worker-build` passes.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the program that this one replaces")]
#[derive(Debug, Parser)]
#[command(name = "wasm-bindgen")]
struct Arguments {
    /// The Wasm file that cargo built.
    input: PathBuf,
    #[arg(long)]
    out_dir: PathBuf,
    #[arg(long)]
    out_name: Option<String>,
    #[arg(long)]
    target: Target,
    #[arg(long)]
    no_typescript: bool,
    #[arg(long)]
    no_demangle: bool,
    #[arg(long = "experimental-reset-state-function")]
    has_reset_state: bool,
    #[arg(long)]
    force_enable_abort_handler: bool,
}

/// The kinds of JavaScript output that a Worker needs.
#[derive(Clone, Debug, ValueEnum)]
enum Target {
    Bundler,
    Module,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut bindgen = Bindgen::new();
    match arguments.target {
        Target::Bundler => bindgen.bundler(true)?,
        Target::Module => bindgen.module(true)?,
    };
    if let Some(name) = &arguments.out_name {
        bindgen.out_name(name);
    }
    bindgen
        .input_path(&arguments.input)
        .demangle(!arguments.no_demangle)
        .typescript(!arguments.no_typescript)
        .reset_state_function(arguments.has_reset_state)
        .force_enable_abort_handler(arguments.force_enable_abort_handler)
        .generate(&arguments.out_dir)
}
