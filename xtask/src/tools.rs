//! The programs that building and checking need, each of one version, kept in the cache between runs and between clones.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use toml::{Table, Value};
use xtask::paths;

use crate::{
    lock, npm, python,
    session::{Failure, Session, cargo, forget_own_package, say},
};

/// The target of the Worker.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

const WORKER_BUILD: Tool = Tool { package: "worker-build", version: "0.8.7", program: "worker-build" };
const DENY: Tool = Tool { package: "cargo-deny", version: "0.20.2", program: "cargo-deny" };
const MACHETE: Tool = Tool { package: "cargo-machete", version: "0.9.2", program: "cargo-machete" };
const NEXTEST: Tool = Tool { package: "cargo-nextest", version: "0.9.143", program: "cargo-nextest" };
/// The oldest nextest that reads `.config/nextest.toml`, as the number after `0.9.`.
const OLDEST_NEXTEST: u32 = 100;

/// A program from the registry.
struct Tool<'t> {
    package: &'t str,
    version: &'t str,
    program: &'t str,
}

/// What building the Worker takes.
pub(crate) struct Kit {
    /// Node.js for wrangler, esbuild and wasm-opt.
    pub(crate) node: PathBuf,
    pub(crate) worker_build: PathBuf,
    pub(crate) wasm_bindgen: PathBuf,
    /// Changes when one of the tools does.
    pub(crate) versions: String,
}

impl Kit {
    /// Installs what is missing of: the Wasm target, the npm packages, wasm-bindgen, worker-build.
    pub(crate) fn for_worker(session: &Session) -> Result<Self, Failure> {
        wasm_target(session)?;
        npm::install(session)?;
        let node = paths::node(&paths::root())?;
        // wasm-bindgen's program and library must be of the very same version.
        let version = locked_version("wasm-bindgen")?;
        let bindgen = Tool { package: "wasm-bindgen-cli", version: &version, program: "wasm-bindgen" };
        let versions = format!("worker-build {} wasm-bindgen {version}", WORKER_BUILD.version);
        Ok(Self { node, worker_build: WORKER_BUILD.install(session)?, wasm_bindgen: bindgen.install(session)?, versions })
    }
}

/// Installs everything that any command needs.
pub(crate) fn install_all(session: &Session) -> Result<(), Failure> {
    Kit::for_worker(session)?;
    deny(session)?;
    machete(session)?;
    nextest(session)?;
    python::install(session, paths::TEST_PACKAGES)?;
    Ok(())
}

/// cargo-deny, installed when missing.
pub(crate) fn deny(session: &Session) -> Result<PathBuf, Failure> {
    DENY.install(session)
}

/// cargo-machete, installed when missing.
pub(crate) fn machete(session: &Session) -> Result<PathBuf, Failure> {
    MACHETE.install(session)
}

/// cargo-nextest: the developer's own when it is new enough, as building it takes minutes.
pub(crate) fn nextest(session: &Session) -> Result<PathBuf, Failure> {
    if let Some(found) = paths::on_path("cargo-nextest") {
        let printed = session.output(Command::new(&found).args(["nextest", "--version"])).unwrap_or_default();
        let patch = printed.split_whitespace().nth(1).and_then(|version| version.strip_prefix("0.9.")?.parse::<u32>().ok());
        if patch.is_some_and(|patch| patch >= OLDEST_NEXTEST) {
            return Ok(found);
        }
    }
    NEXTEST.install(session)
}

/// Adds the Wasm target to the pinned toolchain when it is missing.
pub(crate) fn wasm_target(session: &Session) -> Result<(), Failure> {
    let root = paths::root();
    let mut ask = Command::new("rustc");
    ask.args(["--print", "target-libdir", "--target", WASM]).current_dir(&root);
    let folder = session.output(&mut ask)?;
    if Path::new(folder.trim()).is_dir() {
        return Ok(());
    }
    if paths::on_path("rustup").is_none() {
        return Err(Failure::Said(format!("the Rust toolchain lacks the target {WASM}, and there is no rustup to add it")));
    }
    say(format!("adding the target {WASM} to the Rust toolchain"));
    session.run(Command::new("rustup").args(["target", "add", WASM]).current_dir(&root))
}

/// A command that runs one of the programs as cargo would run it.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    forget_own_package(&mut command);
    command
}

impl Tool<'_> {
    /// The program, built into the cache first when it is not there.
    fn install(&self, session: &Session) -> Result<PathBuf, Failure> {
        let cache = paths::cache()?;
        let tools = cache.join("tools");
        let home = tools.join(format!("{}-{}", self.package, self.version));
        let program = home.join("bin").join(self.program);
        if program.is_file() {
            return Ok(program);
        }
        fs::create_dir_all(&tools)?;
        // Two commands at once, of two clones say: the second waits, and then finds the work done.
        let _lock = lock::hold(&tools.join(".lock"))?;
        if program.is_file() {
            return Ok(program);
        }
        say(format!("building {} {} into {} (once; this takes a few minutes)", self.package, self.version, home.display()));
        // Renamed only when it is complete, so that an interrupted build is not taken as done.
        let unfinished = tools.join(format!(".unfinished-{}", self.package));
        match self.build(session, cache.join("tools-target"), &unfinished, &["--locked"]) {
            // Not each package's own lock file can be resolved everywhere: one may name a version that was withdrawn, or that a mirror lacks.
            Err(Failure::Said(reason)) => {
                say(format!("{reason}; once more, without the lock file of {}: with the newest dependencies that fit", self.package));
                self.build(session, cache.join("tools-target"), &unfinished, &[])?;
            }
            done => done?,
        }
        remove(&home)?;
        fs::rename(&unfinished, &home)?;
        Ok(program)
    }

    /// Builds the program into an empty folder `home`.
    fn build(&self, session: &Session, target: PathBuf, home: &Path, options: &[&str]) -> Result<(), Failure> {
        remove(home)?;
        let mut build = cargo();
        build.args(["install", "--quiet", &format!("{}@{}", self.package, self.version), "--root"]).arg(home).args(options);
        // Programs that run for a second need no whole-program optimisation, which would take most of the time.
        build.env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_RELEASE_LTO", "off");
        build.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16").env("CARGO_PROFILE_RELEASE_DEBUG", "0");
        session.run(&mut build)
    }
}

/// wrk, which loads a server with requests over HTTP.
pub(crate) struct Wrk {
    program: PathBuf,
    /// Where its library is, when it is not installed but only unpacked.
    libraries: Option<PathBuf>,
}

impl Wrk {
    /// The one on `PATH`; else Debian's packages, unpacked into the cache, which needs no rights.
    pub(crate) fn find(session: &Session) -> Result<Self, Failure> {
        const PACKAGES: [&str; 2] = ["wrk", "libluajit-5.1-2"];
        if let Some(program) = paths::on_path("wrk") {
            return Ok(Self { program, libraries: None });
        }
        let tools = paths::cache()?.join("tools");
        let home = tools.join("wrk");
        if !home.is_dir() {
            if paths::on_path("apt-get").is_none() || paths::on_path("dpkg").is_none() {
                return Err(Failure::Said("wrk is needed, and is not on PATH".to_owned()));
            }
            say(format!("unpacking Debian's {} into {}", PACKAGES.join(" and "), home.display()));
            let unfinished = tools.join(".unfinished-wrk");
            remove(&unfinished)?;
            fs::create_dir_all(&unfinished)?;
            session.output(Command::new("apt-get").arg("download").args(PACKAGES).current_dir(&unfinished))?;
            for entry in fs::read_dir(&unfinished)? {
                let package = entry?.path();
                session.run(Command::new("dpkg").arg("-x").arg(package).arg(&unfinished))?;
            }
            fs::rename(&unfinished, &home)?;
        }
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

fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// The version of `package` in `Cargo.lock`.
fn locked_version(package: &str) -> Result<String, Failure> {
    let text = fs::read_to_string(paths::root().join("Cargo.lock"))?;
    let lock: Table = text.parse().map_err(|error| Failure::Said(format!("Cargo.lock: {error}")))?;
    let packages = lock.get("package").and_then(Value::as_array).into_iter().flatten();
    let found = packages.filter_map(Value::as_table).find(|entry| entry.get("name").and_then(Value::as_str) == Some(package));
    let version = found.and_then(|entry| entry.get("version")).and_then(Value::as_str);
    version.map(str::to_owned).ok_or_else(|| Failure::Said(format!("Cargo.lock does not name {package}")))
}
