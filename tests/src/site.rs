//! Workers that are deployed one after another, as on Cloudflare: they share KV and R2, and the old one serves until the new one does. Meanwhile devices
//! check, report and download without pause, and every answer is compared.
//!
//! Start reading at [`Site`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::edge::{Edge, EdgeOptions};
use crate::output::Output;
use crate::wait::{eventually, patience, until};
use crate::{Bundle, Client};

/// Devices that ask at the same time.
const DEVICES: u64 = 4;
/// The app of these devices.
const APP: &str = "app";
/// The app whose deployments only get reports, one deployment for each Worker.
const REPORTS: &str = "reports";
/// The deployment whose release changes.
const CHANGING: &str = "Production";
/// No address needs a control plane behind it.
const NO_CONTROL: &str = "http://127.0.0.1:9";

/// An address of devices: a Worker that is deployed.
#[derive(Debug)]
struct Address {
    base: String,
    /// The key of the deployment that its reports name.
    reports: String,
    /// Reports that it has accepted.
    reported: AtomicU64,
}

/// A Worker that is deployed.
#[derive(Debug)]
struct Deployed {
    edge: Edge,
    address: Arc<Address>,
    /// The deployment of [`REPORTS`].
    deployment: String,
}

/// What devices did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Update checks.
    pub checks: u64,
    /// Reports.
    pub reports: u64,
    /// Downloads.
    pub downloads: u64,
}

/// What devices share with the test.
#[derive(Debug, Default)]
struct Shared {
    addresses: Mutex<Vec<Arc<Address>>>,
    /// The answers that are right at the moment, by the path of the check.
    expected: Mutex<BTreeMap<String, Vec<Value>>>,
    tally: watch::Sender<Tally>,
    faults: Mutex<BTreeSet<String>>,
    is_over: AtomicBool,
}

/// Workers that share KV and R2, and the devices in front of them.
#[derive(Debug)]
pub struct Site {
    /// Serves Cloudflare's APIs of KV and R2, as long as the test runs. No device uses its Worker.
    pub cloud: Edge,
    storage: TempDir,
    current: Option<Deployed>,
    /// The output of every Worker that was deployed, oldest first.
    outputs: Vec<Output>,
    shared: Arc<Shared>,
    devices: JoinSet<()>,
    is_mandatory: bool,
}

impl Site {
    /// KV and R2, both empty, without a Worker for devices.
    pub async fn start() -> Self {
        let storage = TempDir::new().unwrap();
        let options =
            EdgeOptions { stand_in: Some(NO_CONTROL.to_owned()), storage: Some(storage.path().to_owned()), ..EdgeOptions::default() };
        let cloud = Edge::before(&options).await;
        Self { cloud, storage, current: None, outputs: Vec::new(), shared: Arc::default(), devices: JoinSet::new(), is_mandatory: false }
    }

    /// The settings of a control plane behind these Workers, by their full names.
    pub fn settings_of_control(&self) -> BTreeMap<String, String> {
        let base = ("UPDRAFT_BASE_URL".to_owned(), self.cloud.base.clone());
        self.cloud.settings_of_control().into_iter().chain([base]).collect()
    }

    /// The folder of KV and R2.
    pub fn storage(&self) -> &Path {
        self.storage.path()
    }

    /// Creates what devices ask for: a deployment whose release changes, one with an unfinished rollout, one without releases, and a deleted one.
    pub async fn publish(&self, owner: &Client) {
        owner.create_app(APP).await;
        owner.create_app(REPORTS).await;
        for name in ["Empty", "Deleted"] {
            owner.post(&format!("/v1/apps/{APP}/deployments"), json!({ "name": name })).await.assert(201);
        }
        let bundle = Bundle::script("the release");
        let upload = async |deployment: &str, info: Value| owner.upload(APP, deployment, &bundle.0, info).await.assert(201);
        upload(CHANGING, json!({ "appVersion": "1.0.0", "description": "what is new" })).await;
        upload("Staging", json!({ "appVersion": "^1.0.0", "rollout": 50 })).await;
        for (name, devices) in [(CHANGING, 1), ("Staging", 4), ("Empty", 1), ("Deleted", 1)] {
            let key = owner.deployment_key(APP, name).await;
            for device in 0..devices {
                let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0&client_unique_id=device-{device}");
                self.shared.expect(&path, Vec::new());
            }
        }
        owner.delete(&format!("/v1/apps/{APP}/deployments/Deleted")).await.assert_status(204);
    }

    /// The deployment keys of [`Site::publish`].
    pub fn keys(&self) -> BTreeSet<String> {
        let key = |path: &String| path.split(['=', '&']).nth(1).unwrap().to_owned();
        self.shared.expected.lock().unwrap().keys().map(key).collect()
    }

    /// Deploys a Worker of the control plane at `control`. Both Workers serve for a while; then the old one stops, once its reports are counted.
    pub async fn deploy(&mut self, owner: &Client, control: &str, options: EdgeOptions) {
        let deployment = format!("Worker{}", self.outputs.len() + 1);
        owner.post(&format!("/v1/apps/{REPORTS}/deployments"), json!({ "name": deployment })).await.assert(201);
        let reports = owner.deployment_key(REPORTS, &deployment).await;
        until("the deployment in KV", async || self.cloud.kv_text(&reports).await).await;
        let any_number = "1000000/1m";
        let options = options
            .without_memory()
            .with("BASE_URL", &self.cloud.base)
            .with("REPORT_RETRY_BASE_SECONDS", "1")
            .with("LIMIT_REPORTS", any_number)
            .with("LIMIT_REPORTS_ADDRESS", any_number);
        let options = EdgeOptions { stand_in: Some(control.to_owned()), storage: Some(self.storage.path().to_owned()), ..options };
        let edge = Edge::before(&options).await;
        self.outputs.push(edge.output.clone());
        let address = Arc::new(Address { base: edge.base.clone(), reports, reported: AtomicU64::new(0) });
        let old = self.current.replace(Deployed { edge, address: Arc::clone(&address), deployment });
        if let Some(old) = old {
            self.shared.addresses.lock().unwrap().push(address);
            self.more(100).await;
            self.retire(owner, old).await;
        } else {
            self.learn(control, &address.base).await;
            self.shared.addresses.lock().unwrap().push(address);
            for device in 0..DEVICES {
                self.devices.spawn(Arc::clone(&self.shared).ask(device));
            }
        }
        self.more(100).await;
    }

    /// Stops a Worker after its last request, and once all its reports are counted.
    async fn retire(&self, owner: &Client, old: Deployed) {
        self.shared.addresses.lock().unwrap().retain(|address| !Arc::ptr_eq(address, &old.address));
        // Each request holds the address.
        until("the old Worker's last answer", async || (Arc::strong_count(&old.address) == 1).then_some(())).await;
        self.until_counted(owner, &old).await;
        tokio::task::spawn_blocking(move || drop(old.edge)).await.unwrap();
    }

    async fn until_counted(&self, owner: &Client, of: &Deployed) {
        let reported = of.address.reported.load(Ordering::SeqCst);
        eventually("all reports to be counted", async || {
            let metrics = owner.metrics(REPORTS, &of.deployment).await;
            let counted = metrics["1.0.0"]["active"].as_u64().unwrap_or_default();
            if counted == reported { Ok(()) } else { Err(format!("{counted} of {reported}")) }
        })
        .await;
    }

    /// Learns the right answers: those on which the Worker and control agree.
    async fn learn(&self, control: &str, worker: &str) {
        for key in self.keys() {
            until("the snapshot in KV", async || self.cloud.kv_text(&key).await).await;
        }
        let client = Client::new("", None);
        for path in self.shared.paths() {
            let agreed = eventually("one answer of control and the Worker", async || {
                let (own, other) = (ask(&client, control, &path).await?.0, ask(&client, worker, &path).await?.0);
                if own == other { Ok(own) } else { Err(format!("control: {own}, the Worker: {other}")) }
            });
            let agreed = agreed.await;
            self.shared.expect(&path, vec![agreed]);
        }
    }

    /// Changes a release, and waits until the Worker answers accordingly. Until then, the old answer is right, too.
    pub async fn change(&mut self, owner: &Client) {
        self.is_mandatory = !self.is_mandatory;
        let key = owner.deployment_key(APP, CHANGING).await;
        let path = self.shared.paths().into_iter().find(|path| path.contains(&key)).unwrap();
        let before = self.shared.right(&path).pop().unwrap();
        let mut after = before.clone();
        after["body"]["update_info"]["is_mandatory"] = json!(self.is_mandatory);
        assert_ne!(before, after);
        self.shared.expect(&path, vec![before, after.clone()]);
        let info = json!({ "packageInfo": { "isMandatory": self.is_mandatory } });
        owner.patch(&format!("/v1/apps/{APP}/deployments/{CHANGING}/release"), info).await.assert(200);
        let worker = self.current.as_ref().unwrap().address.base.clone();
        let client = Client::new("", None);
        eventually("the change at the Worker", async || {
            let answer = ask(&client, &worker, &path).await?.0;
            if answer == after { Ok(()) } else { Err(answer.to_string()) }
        })
        .await;
        self.shared.expect(&path, vec![after]);
    }

    /// Waits until devices have checked this many times more.
    pub async fn more(&self, checks: u64) {
        let mut tally = self.shared.tally.subscribe();
        let enough = tally.borrow().checks + checks;
        timeout(patience(), tally.wait_for(|tally| tally.checks >= enough)).await.expect("devices check without pause").unwrap();
    }

    /// Everything that went wrong so far.
    pub fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = self.shared.faults.lock().unwrap().iter().cloned().collect();
        for output in &self.outputs {
            faults.extend(output.events("snapshot.distrusted").iter().map(|event| format!("a Worker logged {event}")));
        }
        faults
    }

    /// Calls for versions that control answered, but not as one that knows the Worker's secret.
    pub fn refused_calls(&self) -> Vec<Value> {
        let failed = self.outputs.iter().flat_map(|output| output.events("versions.control_failed"));
        failed.filter(|event| event.get("status").is_some()).collect()
    }

    /// What devices did so far.
    pub fn tally(&self) -> Tally {
        *self.shared.tally.borrow()
    }

    /// Lets devices finish their last request, waits until all reports are counted, and returns everything that went wrong.
    pub async fn finish(&mut self, owner: &Client) -> Vec<String> {
        self.shared.is_over.store(true, Ordering::SeqCst);
        while let Some(ended) = self.devices.join_next().await {
            ended.unwrap();
        }
        self.until_counted(owner, self.current.as_ref().unwrap()).await;
        self.faults()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for output in &self.outputs {
                output.show("wrangler");
            }
        }
    }
}

impl Shared {
    fn paths(&self) -> Vec<String> {
        self.expected.lock().unwrap().keys().cloned().collect()
    }

    /// The answers that are right at the moment.
    fn right(&self, path: &str) -> Vec<Value> {
        self.expected.lock().unwrap()[path].clone()
    }

    fn expect(&self, path: &str, answers: Vec<Value>) {
        self.expected.lock().unwrap().insert(path.to_owned(), answers);
    }

    fn fault(&self, what: String) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
    }

    /// A device: asks every Worker in turn, one question after the other, until the run is over.
    async fn ask(self: Arc<Self>, device: u64) {
        let client = Client::new("", None);
        let paths = self.paths();
        for round in device.. {
            if self.is_over.load(Ordering::SeqCst) {
                break;
            }
            let place = |number: u64, length: usize| usize::try_from(number).unwrap() % length;
            // Held until the answer is there.
            let (address, count) = {
                let addresses = self.addresses.lock().unwrap();
                (Arc::clone(&addresses[place(round, addresses.len())]), addresses.len())
            };
            let path = &paths[place(round / u64::try_from(count).unwrap(), paths.len())];
            if let Err(fault) = self.check(&client, &address, path, round).await {
                self.fault(fault);
            }
            if round % 5 == device
                && let Err(fault) = self.report(&client, &address, &format!("device-{device}-{round}")).await
            {
                self.fault(fault);
            }
        }
    }

    /// Checks, and downloads what is offered now and then.
    async fn check(&self, client: &Client, address: &Address, path: &str, round: u64) -> Result<(), String> {
        // An answer that was right when the check was sent.
        let right = self.right(path);
        let (answer, download) = ask(client, &address.base, path).await?;
        self.tally.send_modify(|tally| tally.checks += 1);
        // What is right may have changed meanwhile.
        if !right.contains(&answer) && !self.right(path).contains(&answer) {
            return Err(format!("{path}: {answer} instead of {right:?}"));
        }
        let Some(download) = download.filter(|_| round.is_multiple_of(7)) else { return Ok(()) };
        let bytes = bytes_of(client.at(&address.base).request(Method::GET, &download)).await?;
        let package = Bundle::script("the release").0;
        if Sha256::digest(&bytes) != Sha256::digest(package) {
            return Err(format!("{download}: {} other bytes", bytes.len()));
        }
        self.tally.send_modify(|tally| tally.downloads += 1);
        Ok(())
    }

    async fn report(&self, client: &Client, address: &Address, device: &str) -> Result<(), String> {
        let body = json!({ "deployment_key": address.reports, "app_version": "1.0.0", "client_unique_id": device });
        bytes_of(client.at(&address.base).request(Method::POST, "/v1/public/svc/report_status/deploy").json(&body)).await?;
        address.reported.fetch_add(1, Ordering::SeqCst);
        self.tally.send_modify(|tally| tally.reports += 1);
        Ok(())
    }
}

/// The status and body of a check's answer, without what differs between two answers that say the same; and the path of the download, if any.
async fn ask(client: &Client, base: &str, path: &str) -> Result<(Value, Option<String>), String> {
    let response = client.at(base).request(Method::GET, path).send().await.map_err(|error| format!("{path}: {error:?}"))?;
    let (status, bytes) = (response.status().as_u16(), response.bytes().await.map_err(|error| format!("{path}: {error:?}"))?);
    let mut body: Value = serde_json::from_slice(&bytes).map_err(|error| format!("{path}: {status}, {error}"))?;
    if let Some(fields) = body.as_object_mut() {
        fields.remove("requestId");
    }
    let mut download = None;
    if let Some(url) = body["update_info"]["download_url"].as_str().filter(|url| !url.is_empty()) {
        let start = url.find("/v1/").ok_or_else(|| format!("{path}: {url}"))?;
        download = Some(url[start..].to_owned());
        // The signature's time is another one in the next hour.
        let unsigned = url.split('?').next().unwrap_or_default().to_owned();
        body["update_info"]["download_url"] = json!(unsigned);
    }
    Ok((json!({ "status": status, "body": body }), download))
}

/// The body of a response, which must be a 200.
async fn bytes_of(request: RequestBuilder) -> Result<Vec<u8>, String> {
    let response = request.send().await.map_err(|error| format!("{error:?}"))?;
    let (url, status) = (response.url().path().to_owned(), response.status());
    let bytes = response.bytes().await.map_err(|error| format!("{url}: {error:?}"))?;
    if status == 200 { Ok(bytes.to_vec()) } else { Err(format!("{url}: {status}: {}", String::from_utf8_lossy(&bytes))) }
}
