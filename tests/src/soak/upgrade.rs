//! Soak test of the upgrade from the previous release to this one, in the order of docs/deploying.md: devices check, report and download without pause,
//! while one Worker after the other is deployed and the control plane is replaced. Nothing fails, and no answer changes.
//!
//! `cargo xtask soak upgrade` builds the previous release, the one of `tests/previous-release`. [`samples`](super::samples) keeps what it wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use serde_json::json;
use shared::keys::DeploymentKey;
use tempfile::TempDir;
use xtask::probe;

use crate::Client;
use crate::app::{DOWNLOAD_SECRET, EDGE_SECRET, ENCRYPTION_KEY};
use crate::edge::EdgeOptions;
use crate::people::PASSWORD;
use crate::program::{self, Serving, run_other};
use crate::signed::keys_of;
use crate::site::{Site, Tally};

/// Checks in each step.
const CHECKS: u64 = 500;
/// The owner of the apps.
pub const OWNER: &str = "ada@example.com";

/// What `cargo xtask soak upgrade` has built.
#[derive(Clone, Debug)]
pub struct Previous {
    /// The folder of the Worker.
    pub worker: PathBuf,
    /// The program of the control plane.
    pub control: PathBuf,
}

impl Previous {
    /// The one in `UPDRAFT_PREVIOUS_WORKER` and `UPDRAFT_PREVIOUS_CONTROL`.
    pub fn built() -> Self {
        let path = |name| std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask soak upgrade`")).into();
        Self { worker: path("UPDRAFT_PREVIOUS_WORKER"), control: path("UPDRAFT_PREVIOUS_CONTROL") }
    }
}

/// A control plane on one address and one data folder, whichever program runs.
#[derive(Debug)]
pub struct Control {
    /// Its URL, without a trailing slash.
    pub base: String,
    settings: BTreeMap<String, String>,
    serving: Option<Serving>,
    folder: TempDir,
}

impl Control {
    /// Starts this program on an empty folder, behind the Workers of this site, with the account [`OWNER`].
    pub async fn start(program: &Path, site: &Site) -> Self {
        let folder = TempDir::new().unwrap();
        let address = format!("127.0.0.1:{}", probe::free_port().unwrap());
        let any_number = "1000000000/1m";
        let own = [
            ("DATA_DIR", folder.path().display().to_string()),
            ("LISTEN", address.clone()),
            ("EDGE_SECRET", EDGE_SECRET.to_owned()),
            ("DOWNLOAD_SECRET", DOWNLOAD_SECRET.to_owned()),
            ("ENCRYPTION_KEY", ENCRYPTION_KEY.to_owned()),
            ("LIMIT_MANAGEMENT_API", any_number.to_owned()),
            ("LIMIT_ACCOUNT_MANAGEMENT_API", any_number.to_owned()),
        ];
        let mut settings = site.settings_of_control();
        settings.extend(own.map(|(name, value)| (format!("UPDRAFT_{name}"), value)));
        let mut control = Self { base: format!("http://{address}"), settings, serving: None, folder };
        control.serving = Some(Serving::start_other(program, &control.settings).await);
        let create = ["account", "create", "--email", OWNER, "--password-stdin"];
        let created = run_other(program, &control.settings, &create, &format!("{PASSWORD}\n")).await;
        assert_eq!(created.code, Some(0), "{}", created.err);
        control
    }

    /// A session of [`OWNER`].
    pub async fn log_in(&self) -> Client {
        let anonymous = Client::new(&self.base, None);
        let session = anonymous.post("/v1/auth/login", json!({ "email": OWNER, "password": PASSWORD })).await.assert(200);
        anonymous.with_token(Some(session["accessKey"].as_str().unwrap().to_owned()))
    }

    /// The file of its database.
    pub fn database(&self) -> PathBuf {
        self.folder.path().join("updraft.db")
    }

    /// Stops the program.
    pub async fn stop(&mut self) {
        self.serving.take().expect("it is running").stop().await;
    }

    /// Starts this program on the same data.
    async fn restart(&mut self, program: &Path) {
        self.serving = Some(Serving::start_other(program, &self.settings).await);
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What devices did in each step.
    steps: Vec<(&'static str, Tally)>,
    /// Descriptions of all errors; empty on success.
    pub faults: Vec<String>,
}

impl Display for Outcome {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        for (number, (step, Tally { checks, reports, downloads })) in self.steps.iter().enumerate() {
            writeln!(to, "{number}. {step}: {checks} checks, {reports} reports, {downloads} downloads")?;
        }
        for fault in self.faults.iter().take(20) {
            writeln!(to, "WRONG: {fault}")?;
        }
        match self.faults.len() {
            0 => write!(to, "no check, report or download failed, and every answer was the previous release's"),
            count => write!(to, "{count} faults"),
        }
    }
}

struct Run {
    site: Site,
    control: Control,
    owner: Client,
    /// What devices did until the last step.
    before: Tally,
    known: BTreeSet<String>,
    outcome: Outcome,
}

impl Run {
    /// Ends a step: devices ask for a while, before and after a release changes.
    async fn step(&mut self, name: &'static str) {
        self.site.more(CHECKS / 2).await;
        self.site.change(&self.owner).await;
        self.site.more(CHECKS / 2).await;
        let (now, before) = (self.site.tally(), self.before);
        let done = Tally {
            checks: now.checks - before.checks,
            reports: now.reports - before.reports,
            downloads: now.downloads - before.downloads,
        };
        self.before = now;
        self.outcome.steps.push((name, done));
        let faults = self.site.faults();
        self.note(name, faults);
    }

    /// Adds the faults that are new.
    fn note(&mut self, step: &str, faults: Vec<String>) {
        for fault in faults {
            if self.known.insert(fault.clone()) {
                self.outcome.faults.push(format!("{step}: {fault}"));
            }
        }
    }

    async fn deploy(&mut self, worker: EdgeOptions) {
        self.site.deploy(&self.owner, &self.control.base, worker).await;
    }

    /// Every snapshot in KV is signed.
    async fn check_signatures(&mut self) {
        let keys = keys_of(EDGE_SECRET);
        for key in self.site.keys() {
            let value = self.site.cloud.kv_text(&key).await.unwrap_or_default();
            if keys.verify(&DeploymentKey::try_from(key.as_str()).unwrap(), value.as_bytes()).is_err() {
                self.outcome.faults.push(format!("the snapshot of {key} in KV is not signed after all were published again: {value}"));
            }
        }
    }
}

/// Runs it.
pub async fn run(previous: &Previous) -> Outcome {
    let old = || EdgeOptions { worker: Some(previous.worker.clone()), ..EdgeOptions::default() };
    let allowing = || EdgeOptions::default().with("SNAPSHOT_UNSIGNED", "allow");
    let site = Site::start().await;
    let control = Control::start(&previous.control, &site).await;
    let owner = control.log_in().await;
    site.publish(&owner).await;
    let mut run = Run { site, control, owner, before: Tally::default(), known: BTreeSet::new(), outcome: Outcome::default() };

    run.deploy(old()).await;
    run.step("the previous release").await;
    run.deploy(allowing()).await;
    run.step("the new Worker, which allows unsigned snapshots, before the old control plane").await;
    run.deploy(old()).await;
    run.step("back to the old Worker").await;
    run.deploy(allowing()).await;
    run.step("the new Worker again").await;

    run.control.stop().await;
    run.site.more(CHECKS).await;
    run.control.restart(&program::program()).await;
    run.step("the new control plane").await;
    let published = program::run(&run.control.settings, &["snapshots", "publish", "--all"]).await;
    if published.code != Some(0) {
        run.outcome.faults.push(format!("snapshots publish --all: {}", published.err));
    }
    run.check_signatures().await;
    run.step("all snapshots signed").await;
    run.deploy(EdgeOptions::default()).await;
    run.step("the new Worker, which allows only signed ones").await;

    // What is in KV is enough.
    run.control.stop().await;
    run.site.more(CHECKS).await;
    run.control.restart(&program::program()).await;
    run.step("a restart of the new control plane").await;
    let faults = run.site.finish(&run.owner).await;
    run.note("in the end", faults);
    let health = run.owner.get("/v1/health").await.assert(200);
    if health["checks"]["edge"] != "ok" {
        run.outcome.faults.push(format!("in the end: {health}"));
    }
    run.control.stop().await;
    run.outcome
}
