//! Builds the Worker: runs `worker-build` with local tools only, and checks dependencies and size.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use xtask::paths;

use crate::{
    lock, npm,
    session::{Failure, Session, cargo, say},
    tools::{self, Kit, WASM},
    wasm,
};

/// The limit for the Worker's Wasm that the README promises, in bytes after gzip.
const MAX_SIZE: usize = 216_000;

/// Packages that would bloat the Worker or cannot work in it. Each also bans packages with its name and a dash as a prefix.
const BANNED: [&str; 5] = ["axum", "hyper", "regex", "sqlx", "reqwest"];
/// Banned features with their package, for the same reasons.
const BANNED_FEATURES: [(&str, &str); 3] = [("tokio", "net"), ("worker", "http"), ("worker", "axum")];

/// The inputs of every Wasm build besides its own directory.
const COMMON_INPUTS: [&str; 5] = ["shared", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "package-lock.json"];
/// The outputs of every build.
const COMMON_OUTPUTS: [&str; 2] = ["index.js", "index_bg.wasm"];
/// The file in a build's directory with the digests of inputs and outputs.
const STAMP: &str = ".inputs";
/// The Worker's main module: handwritten, copied to the outputs.
const ENTRY: &str = "entry.js";

/// A Worker in Rust and its build settings.
pub(crate) struct Recipe {
    /// The root of the repository that has the package: this one, or an earlier state of it.
    source: PathBuf,
    /// Cargo's target directory.
    target: PathBuf,
    /// The package's directory, relative to that root.
    package: &'static str,
    /// The output directory.
    pub(crate) folder: PathBuf,
    features: &'static [&'static str],
    /// Whether the package has its own main module.
    has_entry: bool,
}

impl Recipe {
    /// The Worker as deployed.
    pub(crate) fn edge() -> Self {
        Self::here("edge", paths::root().join("edge/build"))
    }

    /// The Worker with planted panics, for the tests of panics.
    pub(crate) fn planted() -> Self {
        Self { features: &["planted-panic"], ..Self::here("edge", paths::target().join(paths::PLANTED)) }
    }

    /// The empty Worker that the edge is compared with.
    pub(crate) fn empty() -> Self {
        Self { has_entry: false, ..Self::here("bench/edge/empty-rust", paths::target().join("bench-empty-rust")) }
    }

    /// The Worker of another state of the repository, whose root is `source`, built into `folder`.
    pub(crate) fn of(source: PathBuf, target: PathBuf, folder: PathBuf) -> Self {
        Self { source, target, ..Self::here("edge", folder) }
    }

    fn here(package: &'static str, folder: PathBuf) -> Self {
        Self { source: paths::root(), target: paths::target(), package, folder, features: &[], has_entry: true }
    }

    /// Whether this is the Worker of this repository as deployed.
    fn is_deployed(&self) -> bool {
        self.package == "edge" && self.features.is_empty() && self.source == paths::root()
    }

    /// The outputs.
    fn outputs(&self) -> Vec<&'static str> {
        COMMON_OUTPUTS.into_iter().chain(self.has_entry.then_some(ENTRY)).collect()
    }

    /// The Wasm module.
    pub(crate) fn wasm(&self) -> PathBuf {
        self.folder.join("index_bg.wasm")
    }
}

/// Builds `edge/build` if inputs or outputs have changed, and fails if the Worker is too large.
pub(crate) fn build_within_limit(session: &Session, kit: &Kit) -> Result<(), Failure> {
    if build(session, kit)? <= MAX_SIZE { Ok(()) } else { Err(Failure::Message("the Worker's Wasm is too large".to_owned())) }
}

/// Builds without a limit. Prints the size and returns it, in bytes after gzip.
pub(crate) fn build(session: &Session, kit: &Kit) -> Result<usize, Failure> {
    let recipe = Recipe::edge();
    build_recipe(session, kit, &recipe)?;
    let (raw, gzipped) = size(&recipe.wasm())?;
    say(format!("the Worker's Wasm: {}, {} gzipped (limit: {})", kilobytes(raw), kilobytes(gzipped), kilobytes(MAX_SIZE)));
    Ok(gzipped)
}

/// Builds a Worker if its inputs or outputs have changed.
pub(crate) fn build_recipe(session: &Session, kit: &Kit, recipe: &Recipe) -> Result<(), Failure> {
    let (root, source) = (paths::root(), &recipe.source);
    let package = source.join(recipe.package);
    // Concurrent `dev` and `test` would overwrite each other's outputs. Lock a file that neither writes.
    let _lock = lock::hold(&package.join("Cargo.toml"))?;
    let inputs: Vec<&str> = COMMON_INPUTS.into_iter().chain([recipe.package]).collect();
    let inputs = digest(source, &inputs, &format!("{} {}", kit.versions, recipe.features.join(",")))?;
    let stamp = recipe.folder.join(STAMP);
    let stamped = |inputs: &str| Ok::<_, Failure>(format!("{inputs} {}", digest(&recipe.folder, &recipe.outputs(), "")?));
    let shown = recipe.folder.strip_prefix(&root).unwrap_or(&recipe.folder).display();
    if fs::read_to_string(&stamp).ok() == Some(stamped(&inputs)?) {
        say(format!("{shown} is up to date"));
        return Ok(());
    }
    if recipe.package == "edge" && *source == root {
        check_dependencies(session)?;
    }
    say(format!("building the Worker into {shown}"));
    let mut command = tools::command(&kit.worker_build);
    command.arg("--release").arg("--out-dir").arg(&recipe.folder).current_dir(&package).env("PATH", paths::path_with(&kit.node)?);
    command.env("CARGO_TARGET_DIR", &recipe.target);
    command.args(recipe.features.iter().flat_map(|feature| ["--features", feature]));
    // worker-build would download tools that are not set here.
    command.env("WASM_BINDGEN_BIN", &kit.wasm_bindgen);
    command.env("WASM_OPT_BIN", root.join("node_modules/binaryen/bin/wasm-opt"));
    command.env("ESBUILD_BIN", root.join("node_modules/esbuild/bin/esbuild"));
    // worker-build's own backtrace would not help with errors in the Worker.
    command.env("RUST_BACKTRACE", "0");
    session.run(&mut command)?;
    strip_names(recipe)?;
    if recipe.has_entry {
        fs::copy(package.join(ENTRY), recipe.folder.join(ENTRY))?;
    }
    fs::write(stamp, stamped(&inputs)?)?;
    Ok(())
}

/// Removes function names, an eighth of the size, from the deployed Wasm; keeps a copy with names to read stack traces.
fn strip_names(recipe: &Recipe) -> Result<(), Failure> {
    let wasm = recipe.wasm();
    let named = fs::read(&wasm)?;
    let stripped = wasm::without_names(&named).ok_or_else(|| Failure::Message(format!("{} is not a Wasm module", wasm.display())))?;
    if recipe.is_deployed() {
        fs::create_dir_all(paths::target())?;
        fs::write(paths::target().join("edge-with-names.wasm"), named)?;
    }
    fs::write(wasm, stripped)?;
    Ok(())
}

/// A file's size, raw and after gzip.
pub(crate) fn size(file: &Path) -> Result<(usize, usize), Failure> {
    let bytes = fs::read(file).map_err(|error| Failure::Message(format!("{}: {error}", file.display())))?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&bytes)?;
    Ok((bytes.len(), encoder.finish()?.len()))
}

/// Formats a number of bytes.
pub(crate) fn kilobytes(size: usize) -> String {
    format!("{}.{} KB", size / 1000, size % 1000 / 100)
}

fn check_dependencies(session: &Session) -> Result<(), Failure> {
    let mut tree = cargo();
    tree.args([
        "tree",
        "--package",
        "edge",
        "--target",
        WASM,
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}|{f}",
    ]);
    let printed = session.output(&mut tree)?;
    let found = banned(&printed);
    if found.is_empty() { Ok(()) } else { Err(Failure::Message(format!("the Worker must not depend on {}", found.join(", ")))) }
}

/// The lines `name version (…)|feature,feature` of a dependency tree that contain something banned.
fn banned(tree: &str) -> Vec<&str> {
    let is_banned = |line: &&str| {
        let (package, features) = line.split_once('|').unwrap_or((line, ""));
        let name = package.split(' ').next().unwrap_or_default();
        let by_name = BANNED.iter().any(|banned| name.strip_prefix(banned).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')));
        by_name
            || BANNED_FEATURES.iter().any(|(owner, banned)| name == *owner && features.split([',', ' ']).any(|feature| feature == *banned))
    };
    let mut found: Vec<&str> = tree.lines().filter(is_banned).collect();
    found.dedup();
    found
}

/// A digest of these files and directories; missing ones count as empty.
fn digest(root: &Path, names: &[&str], versions: &str) -> Result<String, Failure> {
    let mut files = Vec::new();
    for name in names {
        collect(&root.join(name), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    hash.update(versions);
    for file in files {
        let bytes = fs::read(&file)?;
        hash.update(file.strip_prefix(root).unwrap_or(&file).as_os_str().as_encoded_bytes());
        // The length distinguishes two files from one with the contents of both.
        hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(bytes);
    }
    Ok(npm::hex(&hash.finalize()))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if path.is_file() {
        files.push(path.to_path_buf());
    } else if path.is_dir() {
        for entry in fs::read_dir(path)? {
            let entry = entry?.path();
            // Outputs, and directories that no Worker build reads.
            if !["build", "target", "tests", "benches", ".wrangler"].map(OsStr::new).contains(&entry.file_name().unwrap_or_default()) {
                collect(&entry, files)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::banned;

    #[test]
    fn banned_packages_and_features_are_found_in_a_tree() {
        let tree = "edge v0.1.0 (/edge)|\nworker v0.8.7|default,queue\ntokio v1.54.0|sync\nhyper-util v0.1.0|\nregex-lite v0.1.0|\nserde_regex v1.0.0|\n";
        assert_eq!(banned(tree), ["hyper-util v0.1.0|", "regex-lite v0.1.0|"]);
        assert_eq!(banned("worker v0.8.7|default,http\ntokio v1.54.0|net,sync"), ["worker v0.8.7|default,http", "tokio v1.54.0|net,sync"]);
    }
}
