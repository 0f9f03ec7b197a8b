//! The Worker under `wrangler dev`, with a control plane that publishes to wrangler's local version of Cloudflare's KV API.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use shared::hash::BlobKey;
use tempfile::TempDir;
use toml::Table;
use xtask::edge::{Consumer, DevServer};
use xtask::leash::{Leashed, StopBy};
use xtask::{paths, probe};

use crate::app::{DOWNLOAD_SECRET, EDGE_SECRET, Options, TestApp};
use crate::client::{Answer, Client};
use crate::output::Output;
use crate::process::Process;
use crate::signed;
use crate::wait::eventually;

/// The KV namespace for development in `wrangler.toml`.
pub const NAMESPACE: &str = "updraft-snapshots";

/// The bucket of dead letters for development in `wrangler.toml`.
pub const DEAD_LETTERS: &str = "updraft-dead-letters";
/// The bucket of bundles.
const BUNDLES: &str = "updraft-bundles";

/// The S3 credentials of that bucket in tests: the ID of a key, and the key.
pub const BUCKET_KEY: (&str, &str) = ("letters-of-the-tests", "bucket-secret-of-the-tests-0123456789ab");

/// How a test's edge differs from `wrangler.toml`.
#[derive(Clone, Debug, Default)]
pub struct EdgeOptions {
    /// Settings of the control plane.
    pub control: Options,
    /// Worker variables.
    pub variables: BTreeMap<String, String>,
    /// The consumer of reports.
    pub reports: Consumer,
    /// Bindings to remove from the Worker.
    pub missing: Vec<&'static str>,
    /// The URL of another control plane than a [`TestApp`], such as a scripted one.
    pub stand_in: Option<String>,
    /// The folder of KV and R2, for Workers that share them. Otherwise each has its own.
    pub storage: Option<PathBuf>,
    /// The folder of a build of the Worker other than `edge/build`.
    pub worker: Option<PathBuf>,
    /// The Worker's `EDGE_SECRET`, if it differs from the control plane's.
    pub edge_secret: Option<String>,
}

impl EdgeOptions {
    /// Adds a Worker variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// Always refreshes snapshots, so that a test sees recent changes.
    #[must_use]
    pub fn without_memory(self) -> Self {
        self.with("SNAPSHOT_FRESH_MS", "0").with("SNAPSHOT_STALE_MS", "0")
    }

    /// Without the binding of this name.
    #[must_use]
    pub fn without(mut self, binding: &'static str) -> Self {
        self.missing.push(binding);
        self
    }
}

/// A Worker under test.
#[derive(Debug)]
pub struct Edge {
    /// Its URL, which is also the service's base URL; without a trailing slash.
    pub base: String,
    /// The output of the Worker and wrangler.
    pub output: Output,
    kv_api: String,
    secret: String,
    leash: Leashed,
    _folder: TempDir,
}

/// A Worker and the control plane behind it.
#[derive(Debug)]
pub struct EdgeApp {
    /// The Worker, stopped before the control plane.
    pub edge: Edge,
    /// The control plane.
    pub control: TestApp,
}

impl EdgeApp {
    /// Both, with the settings of `wrangler.toml`.
    pub async fn spawn() -> Self {
        Self::spawn_with(EdgeOptions::default()).await
    }

    /// Both, with other settings. Ready once the control plane's health is seen through the Worker.
    pub async fn spawn_with(options: EdgeOptions) -> Self {
        let (server, folder) = server(&options);
        let mut settings = options.control.clone();
        // The Worker uses the machine's clock, and the two must agree.
        settings.has_machine_clock = true;
        // Responses may contain a base URL other than the listening address.
        let base_url = options.variables.get("BASE_URL").cloned().unwrap_or_else(|| server.base_url());
        let settings = settings
            .with("BASE_URL", base_url)
            .with("KV_API", server.kv_api())
            .with("KV_NAMESPACE", NAMESPACE)
            .with("KV_TOKEN", "any text serves the local API");
        let control = TestApp::spawn_with(settings).await;
        let server = DevServer { control_url: control.base.clone(), ..server };
        let mut edge = Edge::start(&server, folder, &options.missing);
        edge.ready("/v1/health").await;
        Self { edge, control }
    }

    /// A client of a new account, at the edge.
    pub async fn sign_up(&self, name: &str) -> Client {
        self.control.sign_up(name).await.at(&self.edge.base)
    }

    /// A client without a credential, at the edge.
    pub fn anonymous(&self) -> Client {
        Client::new(&self.edge.base, None)
    }

    /// Waits until a check by a new device with binary 1.0.0 is offered this label at the edge.
    pub async fn until_offered(&self, key: &str, label: &str) -> Answer {
        self.until_offered_to("", key, label).await
    }

    /// Like [`Self::until_offered`], for the device with this client ID.
    pub async fn until_offered_to(&self, client_id: &str, key: &str, label: &str) -> Answer {
        let client = self.anonymous();
        let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0&client_unique_id={client_id}");
        eventually(&format!("{label} at the edge"), async || {
            let answer = client.get(&path).await;
            if answer.status == 200 && answer.json()["update_info"]["label"] == label { Ok(answer) } else { Err(answer.text()) }
        })
        .await
    }

    /// Waits until the snapshot of this deployment has arrived at the edge, so that the Worker does not need the control plane.
    pub async fn until_pushed(&self, key: &str) {
        eventually("the snapshot in KV", async || self.edge.kv_value(key).await.map(drop).ok_or_else(|| "no value".to_owned())).await;
    }
}

/// Waits until the counters of a deployment are exactly these.
pub async fn until_counted(client: &Client, app: &str, deployment: &str, expected: &Value) {
    eventually(&format!("{expected}"), async || {
        let metrics = client.metrics(app, deployment).await;
        if metrics == *expected { Ok(()) } else { Err(metrics.to_string()) }
    })
    .await;
}

impl Edge {
    /// A Worker in front of the scripted control plane at `options.stand_in`. Ready once it responds.
    pub async fn before(options: &EdgeOptions) -> Self {
        let (server, folder) = server(options);
        let mut edge = Self::start(&server, folder, &options.missing);
        edge.ready("/internal").await;
        edge
    }

    fn start(server: &DevServer, folder: TempDir, missing: &[&str]) -> Self {
        let command = server.command().unwrap_or_else(|error| panic!("the Worker cannot be started: {error}"));
        change_config(server, |config| {
            open_bucket(config);
            leave_out(config, missing);
        });
        let output = Output::default();
        let lines = output.clone();
        let leash = Leashed::spawn(command, StopBy::Terminate, move |line| lines.push(line)).unwrap();
        let secret = server.edge_secret.clone();
        Self { base: server.base_url(), output, kv_api: server.kv_api(), secret, leash, _folder: folder }
    }

    /// Waits for any response from the Worker, or for a 200 if the control plane is required.
    async fn ready(&mut self, path: &str) {
        let client = Client::new(&self.base, None);
        eventually("the Worker to start", async || {
            if let Some(status) = self.leash.status() {
                panic!("wrangler exited with {status}");
            }
            match client.request(Method::GET, path).timeout(Duration::from_secs(10)).send().await {
                Ok(answer) if answer.status() == 200 || path == "/internal" => Ok(()),
                Ok(answer) => Err(answer.text().await.unwrap_or_default()),
                Err(error) => Err(error.to_string()),
            }
        })
        .await;
    }

    /// The runtime's processes: the one that serves the Worker, and wrangler's proxy.
    pub fn runtimes(&self) -> Vec<Process> {
        let found = Process(self.leash.id()).descendants("workerd");
        assert!(!found.is_empty(), "wrangler has not started workerd");
        found
    }

    /// The JSON of the KV value for this deployment key, which must be signed.
    pub async fn kv_value(&self, key: &str) -> Option<Value> {
        self.kv_text(key).await.map(|text| signed::json(key, text.as_bytes()))
    }

    /// The KV value for this deployment key.
    pub async fn kv_text(&self, key: &str) -> Option<String> {
        let client = Client::new(&self.kv_api, None);
        let answer = client.get(&format!("/storage/kv/namespaces/{NAMESPACE}/values/deployment%2F{key}")).await;
        (answer.status == 200).then(|| answer.text())
    }

    /// Overwrites the KV value for this deployment key with this snapshot, signed with the Worker's secret.
    pub async fn put_snapshot(&self, key: &str, json: &str) {
        self.put_kv(key, &signed::sign(&self.secret, key, json)).await;
    }

    /// Overwrites the KV value for this deployment key with any text.
    pub async fn put_kv(&self, key: &str, value: &str) {
        let pairs = serde_json::json!([{ "key": format!("deployment/{key}"), "value": value }]);
        let client = Client::new(&self.kv_api, None);
        let path = format!("/storage/kv/namespaces/{NAMESPACE}/bulk");
        client.send(client.request(Method::PUT, &path).json(&pairs)).await.assert(200);
    }

    /// Puts the bytes of a bundle into R2; `blob` is `{app}/{sha256}`.
    pub async fn put_bundle(&self, blob: &BlobKey, bytes: &[u8]) {
        let client = Client::new(&self.kv_api, None);
        let path = format!("/r2/buckets/updraft-bundles/objects/{}", blob.to_string().replace('/', "%2F"));
        client.send(client.request(Method::PUT, &path).body(bytes.to_vec())).await.assert(200);
    }

    /// The settings with which a control plane publishes to this KV and stores bundles in this R2, by their full names.
    pub fn settings_of_control(&self) -> [(String, String); 6] {
        let settings = [
            ("UPDRAFT_KV_API", self.kv_api.clone()),
            ("UPDRAFT_KV_NAMESPACE", NAMESPACE.to_owned()),
            ("UPDRAFT_KV_TOKEN", "any text serves the local API".to_owned()),
            ("UPDRAFT_STORAGE", self.bundles()),
            ("AWS_ACCESS_KEY_ID", BUCKET_KEY.0.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", BUCKET_KEY.1.to_owned()),
        ];
        settings.map(|(name, value)| (name.to_owned(), value))
    }

    /// The bucket of dead letters for `updraft-control reports replay --from`; [`BUCKET_KEY`] has its credentials.
    pub fn bucket(&self) -> String {
        self.bucket_of(DEAD_LETTERS)
    }

    /// The bucket of bundles, for `UPDRAFT_STORAGE`; [`BUCKET_KEY`] has its credentials.
    pub fn bundles(&self) -> String {
        self.bucket_of(BUNDLES)
    }

    fn bucket_of(&self, name: &str) -> String {
        format!("s3://{name}?endpoint={}&region=auto", self.kv_api.replace("local/explorer/api", "local/r2/s3"))
    }

    /// Puts an object into the bucket of dead letters, which normally only the edge does.
    pub async fn put_dead_letter(&self, name: &str, bytes: &[u8]) {
        let client = Client::new(&self.kv_api, None);
        let path = format!("/r2/buckets/{DEAD_LETTERS}/objects/{}", name.replace('/', "%2F"));
        client.send(client.request(Method::PUT, &path).body(bytes.to_vec())).await.assert(200);
    }

    /// The names of all objects in the bucket of dead letters.
    pub async fn dead_letters(&self) -> Vec<String> {
        let client = Client::new(&self.kv_api, None);
        let listed = client.get("/r2/buckets/updraft-dead-letters/objects?per_page=1000").await.assert(200);
        listed["result"].as_array().unwrap().iter().map(|object| object["key"].as_str().unwrap().to_owned()).collect()
    }

    /// The text of a dead letter.
    pub async fn dead_letter(&self, name: &str) -> String {
        let client = Client::new(&self.kv_api, None);
        let name = name.replace('/', "%2F");
        let answer = client.get(&format!("/r2/buckets/updraft-dead-letters/objects/{name}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text()
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.output.show("wrangler");
        }
    }
}

fn server(options: &EdgeOptions) -> (DevServer, TempDir) {
    let folder = TempDir::new().unwrap();
    let port = probe::free_port().unwrap();
    let server = DevServer {
        root: paths::root(),
        worker: options.worker.clone().unwrap_or_else(|| paths::root().join("edge/build")),
        work: folder.path().join("work"),
        persist: options.storage.clone().unwrap_or_else(|| folder.path().join("persist")),
        port,
        public_port: port,
        control_url: options.stand_in.clone().unwrap_or_default(),
        edge_secret: options.edge_secret.clone().unwrap_or_else(|| EDGE_SECRET.to_owned()),
        download_secret: DOWNLOAD_SECRET.to_owned(),
        variables: options.variables.clone(),
        reports: options.reports,
    };
    (server, folder)
}

/// Changes the generated configuration.
fn change_config(server: &DevServer, change: impl FnOnce(&mut Table)) {
    let path = server.work.join("wrangler.toml");
    let mut config: Table = fs::read_to_string(&path).unwrap().parse().unwrap();
    change(&mut config);
    fs::write(path, config.to_string()).unwrap();
}

/// Enables the S3 API for the buckets, as on Cloudflare.
fn open_bucket(config: &mut Table) {
    let buckets = config["r2_buckets"].as_array_mut().unwrap().iter_mut().filter_map(toml::Value::as_table_mut);
    let key = format!("accessKeyId = \"{}\"\nsecretAccessKey = \"{}\"", BUCKET_KEY.0, BUCKET_KEY.1);
    for bucket in buckets {
        let local = Table::from_iter([("experimental_s3_credentials".to_owned(), toml::Value::Table(key.parse().unwrap()))]);
        bucket.insert("local_dev".to_owned(), toml::Value::Table(local));
    }
}

/// Removes bindings.
fn leave_out(config: &mut Table, missing: &[&str]) {
    for binding in missing {
        let mut lists = Vec::new();
        let (queues, others): (Vec<_>, Vec<_>) = config.iter_mut().partition(|(name, _)| *name == "queues");
        lists.extend(queues.into_iter().filter_map(|(_, queues)| queues.get_mut("producers")?.as_array_mut()));
        lists.extend(others.into_iter().filter_map(|(_, list)| list.as_array_mut()));
        let mut removed = 0;
        for list in lists {
            let before = list.len();
            list.retain(|entry| entry.get("binding").and_then(toml::Value::as_str) != Some(binding));
            removed += before - list.len();
        }
        assert_eq!(removed, 1, "{binding} is not exactly one binding in wrangler.toml");
    }
}
