//! The Worker's build: `worker-build` with tools that are all on this machine, a look at its dependencies, and its size.

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

/// What the README promises of the Worker's Wasm, in bytes after gzip.
const LARGEST: usize = 212_000;

/// Packages that would bloat the Worker or cannot work in it; each stands for itself and for those that begin with it and a dash.
const BANNED: [&str; 5] = ["axum", "hyper", "regex", "sqlx", "reqwest"];
/// Features with the same effect, with their package.
const BANNED_FEATURES: [(&str, &str); 3] = [("tokio", "net"), ("worker", "http"), ("worker", "axum")];

/// What every build of Wasm reads, beside its own folder.
const COMMON_INPUTS: [&str; 5] = ["shared", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "package-lock.json"];
/// What every build makes.
const COMMON_OUTPUTS: [&str; 2] = ["index.js", "index_bg.wasm"];
/// In the folder of a build, the digests of both.
const STAMP: &str = ".inputs";
/// The Worker's main module: written by hand, and put beside what is made.
const ENTRY: &str = "entry.js";

/// One Worker in Rust, and how it is built.
pub(crate) struct Recipe {
    /// The package's folder, from the root.
    package: &'static str,
    /// The folder that the build goes into.
    pub(crate) folder: PathBuf,
    features: &'static [&'static str],
    /// Whether the package has a main module of its own.
    has_entry: bool,
}

impl Recipe {
    /// The Worker, as it is deployed.
    pub(crate) fn edge() -> Self {
        Self { package: "edge", folder: paths::root().join("edge/build"), features: &[], has_entry: true }
    }

    /// The same with panics on demand, for the test of what one costs.
    pub(crate) fn planted() -> Self {
        Self { package: "edge", folder: paths::target().join(paths::PLANTED), features: &["planted-panic"], has_entry: true }
    }

    /// The empty one that the edge is compared with.
    pub(crate) fn empty() -> Self {
        Self { package: "bench/edge/empty-rust", folder: paths::target().join("bench-empty-rust"), features: &[], has_entry: false }
    }

    /// What it makes.
    fn outputs(&self) -> Vec<&'static str> {
        COMMON_OUTPUTS.into_iter().chain(self.has_entry.then_some(ENTRY)).collect()
    }

    /// The Wasm module.
    pub(crate) fn wasm(&self) -> PathBuf {
        self.folder.join("index_bg.wasm")
    }
}

/// Makes `edge/build` when its inputs changed, or when something else has written there, and fails when the Worker has grown too large.
pub(crate) fn build_within_limit(session: &Session, kit: &Kit) -> Result<(), Failure> {
    if build(session, kit)? <= LARGEST { Ok(()) } else { Err(Failure::Said("the Worker's Wasm is too large".to_owned())) }
}

/// The same without a limit. Prints the size, and gives it in bytes after gzip.
pub(crate) fn build(session: &Session, kit: &Kit) -> Result<usize, Failure> {
    let recipe = Recipe::edge();
    make(session, kit, &recipe)?;
    let (raw, gzipped) = size(&recipe.wasm())?;
    say(format!("the Worker's Wasm: {}, {} gzipped (at most {})", kilobytes(raw), kilobytes(gzipped), kilobytes(LARGEST)));
    Ok(gzipped)
}

/// Makes one Worker when its inputs changed, or when something else has written into its folder.
pub(crate) fn make(session: &Session, kit: &Kit, recipe: &Recipe) -> Result<(), Failure> {
    let root = paths::root();
    let package = root.join(recipe.package);
    // `dev` and `test` at once would write one folder over each other; this file is one that neither writes.
    let _lock = lock::hold(&package.join("Cargo.toml"))?;
    let inputs: Vec<&str> = COMMON_INPUTS.into_iter().chain([recipe.package]).collect();
    let inputs = digest(&root, &inputs, &format!("{} {}", kit.versions, recipe.features.join(",")))?;
    let stamp = recipe.folder.join(STAMP);
    let stamped = |inputs: &str| Ok::<_, Failure>(format!("{inputs} {}", digest(&recipe.folder, &recipe.outputs(), "")?));
    let shown = recipe.folder.strip_prefix(&root).unwrap_or(&recipe.folder).display();
    if fs::read_to_string(&stamp).ok() == Some(stamped(&inputs)?) {
        say(format!("{shown} is up to date"));
        return Ok(());
    }
    if recipe.package == "edge" {
        check_dependencies(session)?;
    }
    say(format!("building the Worker into {shown}"));
    let mut command = tools::command(&kit.worker_build);
    command.arg("--release").arg("--out-dir").arg(&recipe.folder).current_dir(&package).env("PATH", paths::path_with(&kit.node)?);
    command.args(recipe.features.iter().flat_map(|feature| ["--features", feature]));
    // worker-build downloads what these do not name.
    command.env("WASM_BINDGEN_BIN", &kit.wasm_bindgen);
    command.env("WASM_OPT_BIN", root.join("node_modules/binaryen/bin/wasm-opt"));
    command.env("ESBUILD_BIN", root.join("node_modules/esbuild/bin/esbuild"));
    // Its own stack says nothing of what is wrong with the Worker.
    command.env("RUST_BACKTRACE", "0");
    session.run(&mut command)?;
    strip_names(recipe)?;
    if recipe.has_entry {
        fs::copy(package.join(ENTRY), recipe.folder.join(ENTRY))?;
    }
    fs::write(stamp, stamped(&inputs)?)?;
    Ok(())
}

/// Takes the functions' names out of what is deployed, an eighth of its size; a copy with them stays for reading stack traces.
fn strip_names(recipe: &Recipe) -> Result<(), Failure> {
    let wasm = recipe.wasm();
    let named = fs::read(&wasm)?;
    let stripped = wasm::without_names(&named).ok_or_else(|| Failure::Said(format!("{} is no Wasm module", wasm.display())))?;
    if recipe.package == "edge" && recipe.features.is_empty() {
        fs::create_dir_all(paths::target())?;
        fs::write(paths::target().join("edge-with-names.wasm"), named)?;
    }
    fs::write(wasm, stripped)?;
    Ok(())
}

/// A file's bytes, as they are and after gzip.
pub(crate) fn size(file: &Path) -> Result<(usize, usize), Failure> {
    let bytes = fs::read(file).map_err(|error| Failure::Said(format!("{}: {error}", file.display())))?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&bytes)?;
    Ok((bytes.len(), encoder.finish()?.len()))
}

/// Bytes in words.
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
    if found.is_empty() { Ok(()) } else { Err(Failure::Said(format!("the Worker must not depend on {}", found.join(", ")))) }
}

/// The lines `name version (…)|feature,feature` of a dependency tree that name something banned.
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

/// A digest of these files and folders; what does not exist counts as empty.
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
        // The length keeps two files apart from one that holds both.
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
            // Outputs, and what no build of the Worker reads.
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
