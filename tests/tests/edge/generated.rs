//! Edge and control plane, with the same thousands of generated checks against generated histories that were pushed to KV by the real publisher.

use control::testing::releases::{self, NewReleaseRow, ReleaseMethod, ReleaseRow};
use control::testing::snapshots;
use reqwest::Method;
use serde_json::json;
use shared::hash::Sha256Hex;
use shared::ids::{AppId, ReleaseId};
use shared::keys::DeploymentKey;
use shared::snapshot::Snapshot;
use shared::wire::path::{self, Job};
use tests::Client;
use tests::edge::EdgeApp;

use super::equality::{both, same_of};

/// Every form of range in the golden table of the wire format.
const RANGES: &[&str] = &[
    "^1.2.0",
    "1.2",
    "1.2.x",
    "1",
    "1.2 - 1.4",
    "*",
    "",
    ">=1.2.3 <1.2.7",
    "1.0.0",
    "2.0.0",
    "~1.2.3",
    "1.x || >=2.5.0 || 5.0.0 - 7.2.3",
    "^1.2.3-beta.1",
    "<2.0.0",
];
const VERSIONS: &[&str] = &[
    "1.0.0",
    "1",
    "1.2",
    "1.2.5",
    "1.2.7",
    "1.4.9",
    "2.0.0",
    "2.6.1",
    "0.9.0",
    "1.2.3-beta.2",
    "v1.2.3",
    "1.0.0+abc",
    "9.9.9",
    "5.0",
    "1.2.3.4",
    "",
];
const CLIENTS: &[&str] =
    &["", "device-1", "device-2", "8a5b3d2e-0f1c-4a7b-9c3d-1e2f3a4b5c6d", "日本-クライアント", "😀client", "a", "e", "f"];

/// A generator with the same numbers in every run.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }
}

/// Stores a history like one of releases, patches, promotions and rollbacks, and queues its snapshot. Returns the hashes, oldest first.
async fn history(app: &EdgeApp, owner: &Client, name: &str, length: usize, numbers: &mut RandomNumbers) -> (String, Vec<String>) {
    owner.post("/v1/apps/app/deployments", json!({ "name": name })).await.assert(201);
    let key = owner.deployment_key("app", name).await;
    let state = app.control.state();
    let mut tx = state.db.write().await.unwrap();
    let id = app.control.texts("SELECT id FROM apps", &[]).await.remove(0);
    let app_id = AppId::try_from(id.as_str()).unwrap();
    // Few ranges in a long history, since an app has few binaries in use.
    let ranges: Vec<&str> = (0..if length > 100 { 5 } else { 3 }).map(|_| numbers.pick(RANGES)).collect();
    let mut hashes: Vec<String> = Vec::new();
    for _ in 0..length {
        let label = releases::next_label(&mut tx, &app_id, name).await.unwrap().unwrap();
        let again = !hashes.is_empty() && numbers.one_in(4);
        let hash = if again {
            hashes[numbers.below(hashes.len())].clone()
        } else {
            Sha256Hex::of(format!("{name} {}", label.last_label).as_bytes()).to_string()
        };
        let row = ReleaseRow {
            id: ReleaseId::v7(state.now(), state.entropy.bytes().unwrap()),
            label: label.last_label,
            app_version: numbers.pick(&ranges).to_owned(),
            description: (!numbers.one_in(3)).then(|| format!("notes of {}", label.last_label)),
            is_mandatory: numbers.one_in(4),
            is_disabled: numbers.one_in(4),
            rollout: numbers.one_in(3).then(|| i64::try_from(1 + numbers.below(99)).unwrap()),
            package_hash: Sha256Hex::try_from(hash.as_str()).unwrap(),
            blob_sha256: Sha256Hex::of(hash.as_bytes()),
            manifest_sha256: None,
            size: i64::try_from(1 + numbers.below(5_000_000)).unwrap(),
            release_method: if again { ReleaseMethod::Rollback } else { ReleaseMethod::Upload },
            original_label: None,
            original_deployment: None,
            released_by: "ada@example.com".to_owned(),
            upload_time: state.now(),
        };
        releases::insert(&mut tx, &NewReleaseRow { deployment: &label.id, app: &app_id, row: &row }).await.unwrap();
        hashes.push(hash);
    }
    snapshots::enqueue(&mut tx, &DeploymentKey::try_from(key.as_str()).unwrap(), state.now()).await.unwrap();
    tx.commit().await.unwrap();
    state.publisher.wake();
    (key, hashes)
}

/// A check by one device, in either dialect.
fn question(key: &str, hashes: &[String], numbers: &mut RandomNumbers) -> Vec<(&'static str, String)> {
    let in_camel = numbers.one_in(2);
    let name = |snake, camel| if in_camel { camel } else { snake };
    let mut pairs = vec![
        (name("deployment_key", "deploymentKey"), key.to_owned()),
        (name("app_version", "appVersion"), numbers.pick(VERSIONS).to_owned()),
        (name("client_unique_id", "clientUniqueId"), numbers.pick(CLIENTS).to_owned()),
    ];
    let current = (!hashes.is_empty() && !numbers.one_in(4)).then(|| numbers.below(hashes.len()));
    if let Some(current) = current.filter(|_| !numbers.one_in(4)) {
        pairs.push((name("package_hash", "packageHash"), hashes[current].clone()));
    }
    if let Some(current) = current.filter(|_| !numbers.one_in(3)) {
        pairs.push(("label", format!("v{}", current + 1)));
    }
    if numbers.one_in(8) {
        pairs.push((name("is_companion", "isCompanion"), "true".to_owned()));
    }
    pairs
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_generated_checks_get_identical_answers() {
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    owner.create_app("app").await;
    let mut numbers = RandomNumbers(0x5eed);
    let mut deployments = Vec::new();
    for number in 0..29 {
        let length = numbers.below(13);
        deployments.push(history(&app, &owner, &format!("D{number}"), length, &mut numbers).await);
    }
    deployments.push(history(&app, &owner, "Long", 1_000, &mut numbers).await);
    for (key, hashes) in &deployments {
        tests::wait::eventually("the whole history in KV", async || {
            let text = app.edge.kv_value(key).await.ok_or("nothing")?.to_string();
            let releases = Snapshot::parse(text.as_bytes()).unwrap().releases().len();
            if releases == hashes.len() { Ok(()) } else { Err(format!("{releases} of {}", hashes.len())) }
        })
        .await;
    }
    let paths: Vec<String> = path::all().into_iter().filter(|(_, endpoint)| endpoint.job == Job::Check).map(|(path, _)| path).collect();
    let clients = both(&app);
    let (mut asked, mut offered, mut refused) = (0, 0, 0);
    for (number, (key, hashes)) in deployments.iter().cycle().take(3_200).enumerate() {
        let pairs = question(key, hashes, &mut numbers);
        let method = if number % 9 == 0 { Method::HEAD } else { Method::GET };
        let answer = same_of(&clients, &method, &paths[number % paths.len()], |request| request.query(&pairs)).await;
        asked += 1;
        offered += u32::from(answer.text().contains("/bundles/"));
        refused += u32::from(answer.status != 200);
    }
    assert!(asked >= 3_000 && offered > 500 && refused > 100, "{asked} asked, {offered} offered, {refused} refused");
}
