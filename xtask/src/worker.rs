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
    session::{Failure, Session, cargo, say, target},
    tools::{self, Kit, WASM},
    wasm,
};

/// What the README promises of the Worker's Wasm, in bytes after gzip.
const LARGEST: usize = 200_000;

/// Packages that would bloat the Worker or cannot work in it; each stands for itself and for those that begin with it and a dash.
const BANNED: [&str; 5] = ["axum", "hyper", "regex", "sqlx", "reqwest"];
/// Features with the same effect, with their package.
const BANNED_FEATURES: [(&str, &str); 3] = [("tokio", "net"), ("worker", "http"), ("worker", "axum")];

const INPUTS: [&str; 6] = ["edge", "shared", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "package-lock.json"];
const OUTPUTS: [&str; 2] = ["edge/build/index.js", "edge/build/index_bg.wasm"];
/// Holds the digests of both.
const STAMP: &str = "edge/build/.inputs";

/// Makes `edge/build` when its inputs changed, or when something else has written there, and fails when the Worker has grown too large.
pub(crate) fn build_within_limit(session: &Session, kit: &Kit) -> Result<(), Failure> {
    if build(session, kit)? <= LARGEST { Ok(()) } else { Err(Failure::Said("the Worker's Wasm is too large".to_owned())) }
}

/// The same without a limit. Prints the size, and gives it in bytes after gzip.
pub(crate) fn build(session: &Session, kit: &Kit) -> Result<usize, Failure> {
    let root = paths::root();
    // `dev` and `test` at once would write `edge/build` over each other; this file is one that neither writes.
    let _lock = lock::hold(&root.join("edge/Cargo.toml"))?;
    let wasm = root.join("edge/build/index_bg.wasm");
    let stamp = root.join(STAMP);
    let inputs = digest(&root, &INPUTS, &kit.versions)?;
    let stamped = |inputs: &str| Ok::<_, Failure>(format!("{inputs} {}", digest(&root, &OUTPUTS, "")?));
    if fs::read_to_string(&stamp).ok() == Some(stamped(&inputs)?) {
        say("edge/build is up to date");
    } else {
        check_dependencies(session)?;
        say("building the Worker into edge/build");
        let mut command = tools::command(&kit.worker_build);
        command.arg("--release").current_dir(root.join("edge")).env("PATH", paths::path_with(&kit.node)?);
        // worker-build downloads what these do not name.
        command.env("WASM_BINDGEN_BIN", &kit.wasm_bindgen);
        command.env("WASM_OPT_BIN", root.join("node_modules/binaryen/bin/wasm-opt"));
        command.env("ESBUILD_BIN", root.join("node_modules/esbuild/bin/esbuild"));
        // Its own stack says nothing of what is wrong with the Worker.
        command.env("RUST_BACKTRACE", "0");
        session.run(&mut command)?;
        strip_names(&wasm)?;
        fs::write(stamp, stamped(&inputs)?)?;
    }
    size(&wasm)
}

/// Takes the functions' names out of what is deployed, an eighth of its size; a copy with them stays for reading stack traces.
fn strip_names(wasm: &Path) -> Result<(), Failure> {
    let named = fs::read(wasm)?;
    let stripped = wasm::without_names(&named).ok_or_else(|| Failure::Said(format!("{} is no Wasm module", wasm.display())))?;
    let copy = target().join("edge-with-names.wasm");
    fs::create_dir_all(target())?;
    fs::write(&copy, named)?;
    fs::write(wasm, stripped)?;
    Ok(())
}

fn size(wasm: &Path) -> Result<usize, Failure> {
    let bytes = fs::read(wasm).map_err(|error| Failure::Said(format!("{}: {error}", wasm.display())))?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&bytes)?;
    let gzipped = encoder.finish()?.len();
    let kilobytes = |size: usize| format!("{}.{} KB", size / 1000, size % 1000 / 100);
    say(format!("the Worker's Wasm: {}, {} gzipped (at most {})", kilobytes(bytes.len()), kilobytes(gzipped), kilobytes(LARGEST)));
    Ok(gzipped)
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
