//! Floods of unauthenticated requests with random keys, labels, versions and client IDs: their resource use is bounded.

use super::{ANY_NUMBER, Size};

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use crate::edge::{EdgeApp, EdgeOptions};
use crate::random::Random;
use crate::relay::Relay;
use crate::self_hosted::SelfHosted;
use crate::wait::eventually;
use crate::{Bundle, Client, Options, TestApp};
use control::testing::Clock;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use xtask::probe;

const AT_ONCE: usize = 48;
const RELEASES: u64 = 3;
const BINARY_VERSIONS: i64 = 200;
const LOOK_UPS_PER_SECOND: i64 = 20;
/// In KiB, for 80,000 requests: V8's garbage varies. A leak of 1 KiB in each would be 78 MiB.
const MOST_GROWTH: u64 = 64 * 1024;
/// The possible statuses for unknown deployments: the control plane's response, or too many lookups.
const UNKNOWN_AT_EDGE: &[u16] = &[404, 503];

const DEPLOY: &str = "/v1/public/svc/report_status/deploy";
const DOWNLOAD: &str = "/v1/public/svc/report_status/download";

/// A valid key without a deployment.
fn random_key(random: &mut Random) -> String {
    let length = 16 + random.place(85);
    let mut key = format!("{:016x}", random.bits());
    while key.len() < length {
        key.push(char::from(*random.one_of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-_0123")));
    }
    key
}

/// A request and its allowed statuses.
struct Sent {
    method: Method,
    path: String,
    body: Option<Value>,
    allowed: &'static [u16],
}

/// The expected rows once everything is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rows {
    /// Devices with a row.
    clients: usize,
    /// Devices that run something.
    active: usize,
    /// Reports without a client ID.
    ids: usize,
}

fn check(key: &str, allowed: &'static [u16]) -> Sent {
    Sent { method: Method::GET, path: check_path(key), body: None, allowed }
}

fn check_path(key: &str) -> String {
    format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")
}

fn checks(size: Size, random: &mut Random, unknown: &'static [u16]) -> Vec<Sent> {
    (0..size.requests).map(|_| check(&random_key(random), unknown)).collect()
}

/// Reports for a deployment with [`RELEASES`] releases, and the expected rows.
fn reports(size: Size, random: &mut Random, key: &str, unknown: &'static [u16]) -> (Vec<Sent>, Rows) {
    let (mut all, mut clients, mut active, mut ids) = (Vec::new(), BTreeSet::new(), BTreeSet::new(), 0);
    for _ in 0..size.requests {
        let client = random.below(size.clients());
        let version = format!("{}.{}.{}", random.below(100), random.below(100), random.below(100));
        let number = 1 + random.below(400);
        let is_known = number <= RELEASES;
        let mut body = json!({ "deployment_key": key, "app_version": version, "label": format!("v{number}"), "client_unique_id": format!("c{client}") });
        let (mut path, mut allowed): (&str, &'static [u16]) = (DEPLOY, &[200]);
        match random.below(8) {
            // A binary version.
            0..=2 => {
                body.as_object_mut().unwrap().remove("label");
                clients.insert(client);
                active.insert(client);
            }
            kind @ (3 | 4) => {
                body["status"] = json!(if kind == 3 { "DeploymentSucceeded" } else { "DeploymentFailed" });
                if is_known {
                    clients.insert(client);
                }
                if is_known && kind == 3 {
                    active.insert(client);
                }
            }
            5 => {
                path = DOWNLOAD;
                if random.below(2) == 0 {
                    body.as_object_mut().unwrap().remove("client_unique_id");
                    ids += usize::from(is_known);
                } else if is_known {
                    clients.insert(client);
                }
            }
            6 => {
                body["deployment_key"] = json!(random_key(random));
                allowed = unknown;
            }
            _ => {
                let (name, value) = match random.below(3) {
                    0 => ("label", "latest".to_owned()),
                    1 => ("app_version", "1".repeat(101)),
                    _ => ("client_unique_id", format!("{client}\n")),
                };
                body[name] = json!(value);
                allowed = &[400];
            }
        }
        all.push(Sent { method: Method::POST, path: path.to_owned(), body: Some(body), allowed });
    }
    (all, Rows { clients: clients.len(), active: active.len(), ids })
}

/// Sends everything, [`AT_ONCE`] at a time, and counts the responses by status.
async fn send(client: &Client, requests: Vec<Sent>) -> BTreeMap<u16, u64> {
    let mut shares: Vec<Vec<Sent>> = (0..AT_ONCE).map(|_| Vec::new()).collect();
    for (number, request) in requests.into_iter().enumerate() {
        shares[number % AT_ONCE].push(request);
    }
    let mut sending = JoinSet::new();
    for share in shares {
        let client = client.clone();
        sending.spawn(async move {
            let mut statuses = BTreeMap::new();
            for sent in share {
                let request = client.request(sent.method, &sent.path);
                let answer = client.send(match &sent.body {
                    Some(body) => request.json(body),
                    None => request,
                });
                let answer = answer.await;
                let status = answer.status.as_u16();
                assert!(sent.allowed.contains(&status), "{} {:?}: {status} {}", sent.path, sent.body, answer.text());
                *statuses.entry(status).or_insert(0) += 1;
            }
            statuses
        });
    }
    let mut sum = BTreeMap::new();
    for (status, count) in sending.join_all().await.into_iter().flatten() {
        *sum.entry(status).or_insert(0) += count;
    }
    sum
}

async fn publish(owner: &Client) -> String {
    let (key, _) = owner.create_app("app").await;
    for number in 1..=RELEASES {
        let bundle = Bundle::script(&format!("release {number}"));
        owner.upload("app", "Production", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    key
}

/// Waits until everything is counted, and expects no row beyond the bounds.
async fn assert_rows(app: &TestApp, expected: &Rows) {
    let count = async |sql| usize::try_from(app.number(sql).await).unwrap();
    eventually("every report to be counted", async || {
        let rows = Rows {
            clients: count("SELECT COUNT(*) FROM report_clients").await,
            active: count("SELECT CAST(COALESCE(SUM(active), 0) AS BIGINT) FROM metric_counters").await,
            ids: count("SELECT COUNT(*) FROM report_ids").await,
        };
        if rows == *expected { Ok(()) } else { Err(format!("{rows:?} instead of {expected:?}")) }
    })
    .await;
    // A binary version is a place that does not look like a label; those beyond the limit are counted under `other`.
    let labels = app.number("SELECT COUNT(*) FROM metric_counters WHERE place LIKE 'v%'").await;
    let versions = app.number("SELECT COUNT(*) FROM metric_counters WHERE place NOT LIKE 'v%' AND place <> 'other'").await;
    let other = app.number("SELECT active FROM metric_counters WHERE place = 'other'").await;
    println!("{expected:?}; counters: {versions} binary versions, {labels} labels, {other} active under `other`");
    assert_eq!((versions, labels), (BINARY_VERSIONS, i64::try_from(RELEASES).unwrap()));
    assert!(other > 0);
}

/// An edge whose lookups at the control plane are counted.
struct Watched {
    app: EdgeApp,
    /// The key of a deployment with [`RELEASES`] releases.
    key: String,
    owner: Client,
    relay: Relay,
}

impl Watched {
    async fn spawn() -> Self {
        let listen = SocketAddr::from(([127, 0, 0, 1], probe::free_port().unwrap()));
        let relay = Relay::start(listen, "GET /internal/v1/snapshots/").await;
        let options = EdgeOptions { control: Options { listen: Some(listen), ..Options::default() }, ..EdgeOptions::default() };
        let app = EdgeApp::spawn_with(
            options.with("CONTROL_URL", relay.base.as_str()).with("LIMIT_REPORTS", ANY_NUMBER).with("LIMIT_REPORTS_ADDRESS", ANY_NUMBER),
        )
        .await;
        let owner = app.sign_up("ada").await;
        let key = publish(&owner).await;
        app.until_offered(&key, &format!("v{RELEASES}")).await;
        Self { app, key, owner, relay }
    }

    /// Sends everything, and expects no more lookups than allowed.
    async fn send(&self, requests: Vec<Sent>) -> BTreeMap<u16, u64> {
        let (asked, start) = (self.relay.counted(), Clock::System.now());
        let statuses = send(&self.app.anonymous(), requests).await;
        let asked = self.relay.counted() - asked;
        let seconds = 1 + (Clock::System.now().as_millis() - start.as_millis()) / 1_000;
        println!("{statuses:?} in {seconds} s; {asked} look-ups at control");
        // One more second, as the first one may have been partly over.
        assert!(i64::try_from(asked).unwrap() <= LOOK_UPS_PER_SECOND * (seconds + 1), "{asked} in {seconds} s");
        // Each 404 needed a lookup; one that timed out is no answer.
        assert!(statuses[&404] <= asked, "{statuses:?}: {asked} look-ups");
        statuses
    }
}

/// Checks of random keys are limited at the control plane, and those of others are served.
pub async fn random_checks(size: Size) {
    let edge = Watched::spawn().await;
    let client = edge.app.anonymous();
    edge.send(checks(size, &mut Random::new(0x9e37_79b9_7f4a_7c15), UNKNOWN_AT_EDGE)).await;

    // An unknown key is cached, so that it costs nothing when repeated.
    let again = "again-and-again-0123456789";
    eventually("a lookup within the limit", async || {
        let answer = client.get(&check_path(again)).await;
        if answer.status == 404 { Ok(()) } else { Err(answer.text()) }
    })
    .await;
    let asked = edge.relay.counted();
    assert_eq!(send(&client, (0..1_000).map(|_| check(again, &[404])).collect()).await, BTreeMap::from([(404, 1_000)]));
    assert_eq!(edge.relay.counted(), asked);
    edge.app.until_offered(&edge.key, &format!("v{RELEASES}")).await;
}

/// Random reports through the queue create only rows of devices and counters.
pub async fn random_reports(size: Size) {
    let edge = Watched::spawn().await;
    let (requests, expected) = reports(size, &mut Random::new(0x2545_f491_4f6c_dd1d), &edge.key, UNKNOWN_AT_EDGE);
    edge.send(requests).await;
    assert_rows(&edge.app.control, &expected).await;
    let metrics = edge.owner.metrics("app", "Production").await;
    assert_eq!(metrics.as_object().unwrap().len(), usize::try_from(BINARY_VERSIONS).unwrap() + 1 + usize::try_from(RELEASES).unwrap());
}

/// The same without an edge stays within the same bounds.
pub async fn without_an_edge(size: Size) {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_REPORTS", ANY_NUMBER).with("LIMIT_REPORTS_ADDRESS", ANY_NUMBER)).await;
    let key = publish(&app.sign_up("ada").await).await;
    let client = app.anonymous();
    client.get(&check_path(&key)).await.assert(200);
    let held = app.state().snapshots.bytes();
    let mut random = Random::new(0x2545_f491_4f6c_dd1d);
    let unknown: &[u16] = &[404];
    let mut requests = checks(size, &mut random, unknown);
    let (reports, expected) = reports(size, &mut random, &key, unknown);
    requests.extend(reports);
    let statuses = send(&client, requests).await;
    println!("{statuses:?}; the snapshots' cache holds {held} bytes");
    assert_eq!(app.state().snapshots.bytes(), held, "unknown keys occupy no snapshot slots");
    assert_rows(&app, &expected).await;
}

/// Repeated floods do not exhaust the isolate's memory.
pub async fn one_after_the_other(size: Size) {
    let app = SelfHosted::spawn(&[("LIMIT_REPORTS", ANY_NUMBER), ("LIMIT_REPORTS_ADDRESS", ANY_NUMBER)]).await;
    let key = publish(&app.control.sign_up("ada").await).await;
    let client = app.anonymous();
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let mut memory = Vec::new();
    // The first flood makes V8 grow its heap; afterwards every key, label, version and client is new, and nothing may grow.
    for _ in 0..3 {
        let mut requests = checks(size, &mut random, UNKNOWN_AT_EDGE);
        requests.extend(reports(size, &mut random, &key, UNKNOWN_AT_EDGE).0);
        println!("{:?}", send(&client, requests).await);
        memory.push(app.process().memory());
    }
    println!("workerd after each flood: {memory:?} KiB");
    assert!(memory[2] < memory[0] + MOST_GROWTH, "{memory:?}");
}
