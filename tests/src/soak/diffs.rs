//! Soak test of diffs: releases, promotions and rollbacks, while the program that makes their diffs is killed at random moments. In the end every release has the
//! diffs that it should have, each gives exactly the release's files, and nothing is stored that nothing needs.
//!
//! Time does not pass here: while the program is down, leases end, and before the end the last uses of all bundles are moved into the past.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{self, Display, Formatter};
use std::io::{Cursor, Read};

use control::testing::{Clock, Db, on, on_write};
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use sqlx::AssertSqlSafe;

use super::server::Place;
use crate::diffs::open;
use crate::program::Serving;
use crate::random::Random;
use crate::wait::until;
use crate::{Bundle, Client};

const APPS: [&str; 2] = ["First", "Second"];
const DEPLOYMENTS: [&str; 2] = ["Production", "Staging"];
/// Files of a package.
const FILES: usize = 60;
/// The size of a file.
const SIZE: usize = 4_000;
/// What is needed, by its rows.
const NEEDED: &str = "SELECT app_id, blob_sha256 FROM releases UNION SELECT app_id, manifest_sha256 FROM releases WHERE manifest_sha256 IS NOT NULL \
    UNION SELECT r.app_id, d.blob_sha256 FROM release_diffs d JOIN releases r ON r.id = d.release_id";
const STORED: &str = "SELECT app_id, sha256 FROM blobs";

/// The size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Releases, promotions and rollbacks.
    pub releases: usize,
    /// How often the program is killed.
    pub kills: usize,
    /// Pairs of packages whose diff must be made, at least.
    pub least: usize,
    /// The seed.
    pub seed: u64,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    plan: Plan,
    /// Pairs of packages whose diff was made.
    pub made: usize,
    /// Diffs that were made more than once, because the program was killed after it.
    pub again: usize,
    /// Diffs that devices are offered in the end.
    pub offered: usize,
    /// Descriptions of all errors; empty on success.
    pub faults: Vec<String>,
}

impl Display for Outcome {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let Plan { releases, kills, least: _, seed } = self.plan;
        writeln!(to, "{releases} releases, {kills} kills, seed {seed}")?;
        writeln!(to, "{} diffs made, {} of them more than once; {} offered in the end", self.made, self.again, self.offered)?;
        match self.faults.as_slice() {
            [] => write!(to, "every release has its diffs, each gives the release's files, and nothing else is stored"),
            faults => write!(to, "FAULTS:\n{}", faults.join("\n")),
        }
    }
}

/// A package: the contents of its files, each named by a seed, and the signature.
#[derive(Clone, Debug)]
struct Package {
    files: BTreeMap<String, u64>,
    signature: Option<u64>,
}

impl Package {
    fn first(random: &mut Random) -> Self {
        let files = (0..FILES).map(|number| (format!("CodePush/assets/{number}.png"), random.bits())).collect();
        Self { files, signature: None }
    }

    /// The next version: few files differ.
    fn next(mut self, random: &mut Random) -> Self {
        let names: Vec<String> = self.files.keys().cloned().collect();
        self.files.insert(random.one_of(&names).clone(), random.bits());
        if random.chance(30) {
            self.files.remove(random.one_of(&names));
            self.files.insert(format!("CodePush/new/{}.png", random.below(1_000)), random.bits());
        }
        self.signature = random.chance(50).then(|| random.bits());
        self
    }

    fn bundle(&self) -> Bundle {
        let mut files: Vec<(String, Vec<u8>)> = self.files.iter().map(|(name, seed)| (name.clone(), noise(*seed))).collect();
        files.extend(self.signature.map(|seed| ("CodePush/.codepushrelease".to_owned(), seed.to_string().into_bytes())));
        Bundle::of(&files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect::<Vec<_>>())
    }
}

/// Bytes that cannot be compressed.
fn noise(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..SIZE / 8).flat_map(|_| random.bits().to_le_bytes()).collect()
}

struct Run {
    place: Place,
    token: String,
    db: Db,
    random: Random,
    packages: BTreeMap<&'static str, Package>,
    outcome: Outcome,
}

impl Run {
    /// One release of some kind. The program may be killed meanwhile.
    async fn release(&mut self, client: &Client) {
        let (app, deployment) = (*self.random.one_of(&APPS), *self.random.one_of(&DEPLOYMENTS));
        let path = |rest: &str| format!("/v1/apps/{app}/deployments/{deployment}/{rest}");
        let request = match self.random.below(10) {
            0 => client.request(reqwest::Method::POST, &path("rollbacks")).json(&json!({})),
            1 => {
                let to = DEPLOYMENTS.iter().find(|name| **name != deployment).unwrap();
                client.request(reqwest::Method::POST, &path("promotions")).json(&json!({ "destination": to, "packageInfo": {} }))
            }
            _ => {
                let next = self.packages[app].clone().next(&mut self.random);
                let package = reqwest::multipart::Part::bytes(next.bundle().0).file_name("bundle.zip");
                self.packages.insert(app, next);
                let info = reqwest::multipart::Part::text(json!({ "appVersion": "1.0.0" }).to_string());
                let form = reqwest::multipart::Form::new().part("package", package).part("packageInfo", info);
                client.request(reqwest::Method::POST, &path("releases")).multipart(form)
            }
        };
        drop(request.send().await);
    }

    async fn number(&self, sql: &'static str) -> usize {
        let mut tx = self.db.read().await.unwrap();
        let count: i64 = on!(tx, |conn| sqlx::query_scalar(sql).fetch_one(conn).await).unwrap();
        usize::try_from(count).unwrap()
    }

    async fn change(&self, sql: &str) {
        let mut tx = self.db.write().await.unwrap();
        on_write!(tx, |conn| sqlx::query(AssertSqlSafe(sql)).execute(conn).await).unwrap();
        tx.commit().await.unwrap();
    }

    async fn pairs(&self, sql: &'static str) -> BTreeSet<(String, String)> {
        let mut tx = self.db.read().await.unwrap();
        let rows: Vec<(String, String)> = on!(tx, |conn| sqlx::query_as(sql).fetch_all(conn).await).unwrap();
        rows.into_iter().collect()
    }

    async fn open(&self) -> i64 {
        open(&self.db, Clock::System.now().as_millis()).await
    }

    async fn settled(&self) {
        until("all diffs are made", async || (self.open().await == 0).then_some(())).await;
    }

    /// The files of a stored archive, whose bytes must be those of its name.
    fn stored(&mut self, app: &str, sha256: &str) -> BTreeMap<String, Vec<u8>> {
        let path = self.place.data().join("blobs").join(app).join(&sha256[..2]).join(sha256);
        let bytes = std::fs::read(path).unwrap_or_default();
        if Sha256Hex::of(&bytes).as_str() != sha256 {
            self.outcome.faults.push(format!("{app}/{sha256} is missing or damaged"));
            return BTreeMap::new();
        }
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        (0..archive.len())
            .map(|number| {
                let mut entry = archive.by_index(number).unwrap();
                let (name, mut bytes) = (entry.name().unwrap().into_owned(), Vec::new());
                entry.read_to_end(&mut bytes).unwrap();
                (name, bytes)
            })
            .collect()
    }

    /// Each newest release has a diff from each of the five packages before it, and each diff gives the release's files.
    async fn check(&mut self, client: &Client) {
        let blobs: BTreeMap<String, String> = self.texts("SELECT id, app_id FROM releases").await.into_iter().collect();
        let app_ids: HashSet<&String> = blobs.values().collect();
        assert_eq!(app_ids.len(), APPS.len());
        for app in APPS {
            for deployment in DEPLOYMENTS {
                let history = client.get(&format!("/v1/apps/{app}/deployments/{deployment}/history")).await.assert(200)["history"].take();
                let releases: Vec<Value> = history.as_array().unwrap().iter().rev().cloned().collect();
                let Some(newest) = releases.first() else { continue };
                let mut earlier: Vec<&str> = Vec::new();
                for release in &releases[1..] {
                    let hash = release["packageHash"].as_str().unwrap();
                    if hash != newest["packageHash"] && !earlier.contains(&hash) {
                        earlier.push(hash);
                    }
                }
                for hash in earlier.into_iter().take(5).filter(|hash| newest["diffPackageMap"].get(*hash).is_none()) {
                    self.outcome.faults.push(format!("{app}/{deployment}: no diff from {hash} to {}", newest["label"]));
                }
            }
        }
        let offered = self.texts_of_diffs().await;
        self.outcome.offered = offered.len();
        for (app, base, target, diff) in offered {
            let (mut device, target_files, mut diff_files) =
                (self.stored(&app, &base), self.stored(&app, &target), self.stored(&app, &diff));
            let marker: Value = serde_json::from_slice(&diff_files.remove("hotcodepush.json").unwrap_or_default()).unwrap_or_default();
            for name in marker["deletedFiles"].as_array().into_iter().flatten() {
                device.remove(name.as_str().unwrap());
            }
            device.extend(diff_files);
            if device != target_files {
                self.outcome.faults.push(format!("{app}: the diff {diff} from {base} does not give {target}"));
            }
        }
    }

    async fn texts(&self, sql: &'static str) -> Vec<(String, String)> {
        self.pairs(sql).await.into_iter().collect()
    }

    /// The app, the bundle of a release with the source hash, the bundle of the release, and the diff.
    async fn texts_of_diffs(&self) -> Vec<(String, String, String, String)> {
        const SQL: &str = "SELECT DISTINCT t.app_id, b.blob_sha256, t.blob_sha256, d.blob_sha256 FROM release_diffs d \
            JOIN releases t ON t.id = d.release_id JOIN releases b ON b.package_hash = d.source_hash AND b.deployment_id = t.deployment_id";
        let mut tx = self.db.read().await.unwrap();
        on!(tx, |conn| sqlx::query_as(SQL).fetch_all(conn).await).unwrap()
    }
}

/// Runs it. The program is the one of [`program`](crate::program::program).
pub async fn run(plan: Plan) -> Outcome {
    let (place, token) = Place::make(1_000).await;
    let db = Db::open(&place.database_url()).await.unwrap();
    let mut random = Random::new(plan.seed);
    let packages = APPS.into_iter().map(|app| (app, Package::first(&mut random))).collect();
    let outcome = Outcome { plan, made: 0, again: 0, offered: 0, faults: Vec::new() };
    let mut run = Run { place, token, db, random, packages, outcome };
    let mut serving: Option<Serving> = Some(run.place.start().await);
    let client = |serving: &Serving, token: &str| Client::new(&serving.base, Some(token.to_owned()));
    for app in APPS {
        client(serving.as_ref().unwrap(), &run.token).create_app(app).await;
    }
    let mut killed = 0;
    for done in 1..=plan.releases {
        let current = match serving.take() {
            Some(serving) => serving,
            None => run.place.start().await,
        };
        run.release(&client(&current, &run.token)).await;
        if killed < plan.kills && killed * plan.releases < done * plan.kills {
            // At any moment of the work: before it begins, within it, and after some diffs.
            let more = usize::try_from(run.random.below(4)).unwrap();
            let before = run.number("SELECT COUNT(*) FROM package_diffs").await;
            until("some diffs are made", async || {
                let made = run.number("SELECT COUNT(*) FROM package_diffs").await;
                let open = run.open().await;
                (made >= before + more || open == 0).then_some(())
            })
            .await;
            current.kill().await;
            killed += 1;
            // As if the lease had run out.
            run.change("UPDATE outbox SET lease_until = 0 WHERE kind = 'diffs'").await;
        } else {
            // Otherwise the next release replaces many before their diffs are made.
            if run.random.chance(75) {
                run.settled().await;
            }
            serving = Some(current);
        }
    }
    let current = match serving.take() {
        Some(serving) => serving,
        None => run.place.start().await,
    };
    // A long turn goes on a few seconds later, and so does the look at the newest packages.
    let soon = || Clock::System.now().as_millis() + 20_000;
    until("nothing is left to do", async || (open(&run.db, soon()).await == 0).then_some(())).await;
    let asking = client(&current, &run.token);
    run.check(&asking).await;
    run.outcome.made = run.number("SELECT COUNT(*) FROM package_diffs WHERE blob_sha256 IS NOT NULL").await;
    run.outcome.again = run.number("SELECT COUNT(*) FROM package_diffs WHERE times > 1").await;
    if run.outcome.made < plan.least {
        run.outcome.faults.push(format!("only {} diffs were made, not {}", run.outcome.made, plan.least));
    }
    current.kill().await;
    run.change(&format!("UPDATE blobs SET last_used_time = last_used_time - {}", 49 * 60 * 60 * 1_000)).await;
    let serving = run.place.start().await;
    until("what nothing needs is deleted", async || (run.pairs(STORED).await == run.pairs(NEEDED).await).then_some(())).await;
    let left = std::fs::read_dir(run.place.data().join("blobs/.tmp")).into_iter().flatten().count();
    if left > 0 {
        run.outcome.faults.push(format!("{left} temporary files are left"));
    }
    serving.stop().await;
    run.outcome
}
