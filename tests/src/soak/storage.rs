//! Soak test of the storage of bundles: random uploads, promotions, rollbacks and deletions, several at once, against a program that is killed again and
//! again, while its deletion job deletes what nothing needs. No release ever loses its bundle, and in the end nothing is stored that no release needs.
//!
//! Time does not pass here: while the program is down, the last uses of all bundles are moved into the past.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use control::testing::{Db, on, on_write};
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::json;
use shared::hash::Sha256Hex;
use sqlx::AssertSqlSafe;
use tokio::task::JoinSet;

use super::server::Place;
use crate::bucket::TestBucket;
use crate::program::Serving;
use crate::random::Random;
use crate::wait::until;
use crate::{Bundle, Client};

const HOUR: i64 = 60 * 60 * 1_000;
const APPS: [&str; 2] = ["First", "Second"];
const DEPLOYMENTS: [&str; 3] = ["Production", "Staging", "Beta"];
/// Bundles that are uploaded again and again.
const CONTENTS: u64 = 10;
/// The size of a bundle that is sent to a bucket in parts.
const LARGE: usize = 9 << 20;
/// The most requests at once.
const AT_ONCE: u64 = 4;
/// What releases need.
const NEEDED: &str =
    "SELECT app_id, blob_sha256 FROM releases UNION SELECT app_id, manifest_sha256 FROM releases WHERE manifest_sha256 IS NOT NULL";
/// What is stored, by its rows.
const STORED: &str = "SELECT app_id, sha256 FROM blobs";

/// Where the bundles are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// In the data folder.
    Folder,
    /// In a bucket.
    Bucket,
}

/// The size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The storage.
    pub store: Store,
    /// Requests that change something.
    pub steps: usize,
    /// How often the program is killed.
    pub kills: usize,
    /// The seed.
    pub seed: u64,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    plan: Plan,
    /// How often each kind of request had each status.
    pub answers: BTreeMap<String, usize>,
    /// Bundles that were due for deletion at a start of the program.
    pub due: usize,
    /// Bundles in the end.
    pub left: usize,
    /// Descriptions of all errors; empty on success.
    pub faults: Vec<String>,
}

impl Display for Outcome {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let Plan { store, steps, kills, seed } = self.plan;
        writeln!(to, "{store:?}: {steps} requests, {kills} kills, seed {seed}")?;
        for (answer, count) in &self.answers {
            writeln!(to, "  {answer}: {count}")?;
        }
        writeln!(to, "due for deletion at a start: {}; left in the end: {}", self.due, self.left)?;
        match self.faults.as_slice() {
            [] => write!(to, "every release has its bundle, and nothing else is stored"),
            faults => write!(to, "FAULTS:\n{}", faults.join("\n")),
        }
    }
}

/// A change.
#[derive(Clone, Debug)]
enum Step {
    Upload {
        app: &'static str,
        to: &'static str,
        content: u64,
    },
    Promote {
        app: &'static str,
        from: &'static str,
        to: &'static str,
    },
    RollBack {
        app: &'static str,
        of: &'static str,
    },
    Clear {
        app: &'static str,
        of: &'static str,
    },
    /// Deletes a deployment, or creates it again.
    Deployment {
        app: &'static str,
        is_there: bool,
    },
    /// Deletes an app, or creates it again.
    App {
        app: &'static str,
        is_there: bool,
    },
}

impl Step {
    fn random(random: &mut Random, store: Store) -> Self {
        let (app, of) = (*random.one_of(&APPS), *random.one_of(&DEPLOYMENTS));
        let to = DEPLOYMENTS[random.place(DEPLOYMENTS.len())];
        let is_there = random.chance(50);
        match random.below(100) {
            // The large one takes longest.
            0 if store == Store::Bucket => Self::Upload { app, to: of, content: CONTENTS },
            0..50 => Self::Upload { app, to: of, content: random.below(CONTENTS) },
            50..70 => Self::Promote { app, from: of, to },
            70..78 => Self::RollBack { app, of },
            78..90 => Self::Clear { app, of },
            90..96 => Self::Deployment { app, is_there },
            _ => Self::App { app, is_there },
        }
    }

    fn request(&self, client: &Client) -> reqwest::RequestBuilder {
        let of = |app: &str, deployment: &str, rest: &str| format!("/v1/apps/{app}/deployments/{deployment}/{rest}");
        match *self {
            Self::Upload { app, to, content } => {
                let package = Part::bytes(bytes(content)).file_name("bundle.zip");
                let form = Form::new().part("package", package).part("packageInfo", Part::text(json!({ "appVersion": "*" }).to_string()));
                client.request(Method::POST, &of(app, to, "releases")).multipart(form)
            }
            Self::Promote { app, from, to } => {
                client.request(Method::POST, &of(app, from, "promotions")).json(&json!({ "destination": to, "packageInfo": {} }))
            }
            Self::RollBack { app, of: deployment } => client.request(Method::POST, &of(app, deployment, "rollbacks")).json(&json!({})),
            Self::Clear { app, of: deployment } => client.request(Method::DELETE, &of(app, deployment, "history")),
            Self::Deployment { app, is_there: true } => client.request(Method::DELETE, &format!("/v1/apps/{app}/deployments/Beta")),
            Self::Deployment { app, is_there: false } => {
                client.request(Method::POST, &format!("/v1/apps/{app}/deployments")).json(&json!({ "name": "Beta" }))
            }
            Self::App { app, is_there: true } => client.request(Method::DELETE, &format!("/v1/apps/{app}")),
            Self::App { app, is_there: false } => client.request(Method::POST, "/v1/apps").json(&json!({ "name": app })),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Upload { .. } => "upload",
            Self::Promote { .. } => "promotion",
            Self::RollBack { .. } => "rollback",
            Self::Clear { .. } => "clear",
            Self::Deployment { is_there: true, .. } => "deployment deleted",
            Self::Deployment { is_there: false, .. } => "deployment created",
            Self::App { is_there: true, .. } => "app deleted",
            Self::App { is_there: false, .. } => "app created",
        }
    }
}

/// The bytes of a bundle: most are archives, with a manifest; some a single file; one is large.
fn bytes(content: u64) -> Vec<u8> {
    match content {
        CONTENTS => vec![b'x'; LARGE],
        7.. => format!("a single file {content}").into_bytes(),
        _ => Bundle::script(&format!("content {content}")).0,
    }
}

/// The blobs that a query returns: app and hash.
type Blobs = BTreeSet<(String, String)>;

struct Run {
    plan: Plan,
    place: Place,
    token: String,
    bucket: Option<TestBucket>,
    db: Db,
    random: Random,
    outcome: Outcome,
}

impl Run {
    async fn blobs(&self, sql: &'static str) -> Blobs {
        let mut tx = self.db.read().await.unwrap();
        let rows: Vec<(String, String)> = on!(tx, |conn| sqlx::query_as(sql).fetch_all(conn).await).unwrap();
        rows.into_iter().collect()
    }

    /// The objects that are there.
    fn objects(&self) -> Blobs {
        let mut found = Blobs::new();
        if let Some(bucket) = &self.bucket {
            let names = bucket.objects().into_iter().filter(|name| !name.starts_with('.'));
            found.extend(names.map(|name| name.split_once('/').map(|(app, hash)| (app.to_owned(), hash.to_owned())).unwrap()));
            return found;
        }
        let folder = self.place.data().join("blobs");
        for app in names(&folder).into_iter().filter(|name| !name.starts_with('.')) {
            for part in names(&folder.join(&app)) {
                found.extend(names(&folder.join(&app).join(part)).into_iter().map(|hash| (app.clone(), hash)));
            }
        }
        found
    }

    fn content(&self, app: &str, hash: &str) -> Option<Vec<u8>> {
        match &self.bucket {
            Some(bucket) => bucket.content(&format!("{app}/{hash}")),
            None => std::fs::read(self.place.data().join("blobs").join(app).join(&hash[..2]).join(hash)).ok(),
        }
    }

    /// Every release has its bundle and its manifest, unaltered.
    async fn check(&mut self, when: &str) {
        for (app, hash) in self.blobs(NEEDED).await {
            let fault = match self.content(&app, &hash) {
                Some(bytes) if Sha256Hex::of(&bytes).as_str() == hash => continue,
                Some(_) => "other bytes",
                None => "no object",
            };
            self.outcome.faults.push(format!("{when}: a release needs {app}/{hash}, which has {fault}"));
        }
    }

    /// Moves all last uses into the past, as if so many hours had passed.
    async fn pass(&mut self, hours: i64) {
        for column in ["blobs SET last_used_time = last_used_time", "open_uploads SET started_time = started_time"] {
            let sql = format!("UPDATE {column} - {}", hours * HOUR);
            let mut tx = self.db.write().await.unwrap();
            on_write!(tx, |conn| sqlx::query(AssertSqlSafe(sql.as_str())).execute(conn).await).unwrap();
            tx.commit().await.unwrap();
        }
        if hours > 48 {
            let (stored, needed) = (self.blobs(STORED).await, self.blobs(NEEDED).await);
            self.outcome.due += stored.difference(&needed).count();
        }
    }

    /// Some requests at once. With `is_killed`, the program is killed after the first answer.
    async fn requests(&mut self, serving: Serving, count: u64, is_killed: bool) -> Option<Serving> {
        let client = Client::new(&serving.base, Some(self.token.clone()));
        let mut asking = JoinSet::new();
        for _ in 0..count {
            let step = Step::random(&mut self.random, self.plan.store);
            let request = step.request(&client);
            asking.spawn(async move {
                let status = match request.send().await {
                    Ok(answer) => answer.status().as_u16().to_string(),
                    Err(_) => "none".to_owned(),
                };
                format!("{} {status}", step.name())
            });
        }
        let mut serving = Some(serving);
        while let Some(answer) = asking.join_next().await {
            *self.outcome.answers.entry(answer.unwrap()).or_default() += 1;
            if is_killed && let Some(serving) = serving.take() {
                serving.kill().await;
            }
        }
        serving
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// Runs it. The program is the one of [`program`](crate::program::program).
pub async fn run(plan: Plan) -> Outcome {
    let (mut place, token) = Place::make(1_000).await;
    let bucket = (plan.store == Store::Bucket).then(TestBucket::start);
    if let Some(bucket) = &bucket {
        place.set(bucket.settings());
    }
    let db = Db::open(&place.database_url()).await.unwrap();
    let outcome = Outcome { plan, answers: BTreeMap::new(), due: 0, left: 0, faults: Vec::new() };
    let mut run = Run { plan, place, token, bucket, db, random: Random::new(plan.seed), outcome };

    let (mut done, mut killed) = (0, 0);
    let mut serving = Some(run.place.start().await);
    let client = Client::new(&serving.as_ref().unwrap().base, Some(run.token.clone()));
    for app in APPS {
        client.create_app(app).await;
        client.post(&format!("/v1/apps/{app}/deployments"), json!({ "name": "Beta" })).await.assert(201);
    }
    while done < plan.steps {
        let count = run.random.below(AT_ONCE) + 1;
        done += usize::try_from(count).unwrap();
        // Spread over the run; at the start of the program, the deletion job runs beside the first requests.
        let is_killed = killed < plan.kills && killed * plan.steps < done * plan.kills;
        let current = match serving.take() {
            Some(serving) => serving,
            None => run.place.start().await,
        };
        serving = run.requests(current, count, is_killed).await;
        if serving.is_none() {
            killed += 1;
            run.check(&format!("after kill {killed}")).await;
            let hours = *run.random.one_of(&[0, 1, 20, 30, 49, 49]);
            run.pass(hours).await;
        }
    }
    if let Some(serving) = serving {
        serving.kill().await;
    }
    run.check("after the last request").await;
    run.pass(49).await;
    let serving = run.place.start().await;
    until("what nothing needs is deleted", async || (run.blobs(STORED).await == run.blobs(NEEDED).await).then_some(())).await;
    run.check("in the end").await;
    serving.stop().await;
    let (stored, objects) = (run.blobs(STORED).await, run.objects());
    run.outcome.left = stored.len();
    if stored != objects {
        let missing: Vec<_> = stored.difference(&objects).collect();
        let orphans: Vec<_> = objects.difference(&stored).collect();
        run.outcome.faults.push(format!("rows and objects differ: missing {missing:?}, orphans {orphans:?}"));
    }
    if let Some(open) = run.bucket.as_ref().map(TestBucket::open_uploads).filter(|open| *open > 0) {
        run.outcome.faults.push(format!("{open} uploads in parts are still open"));
    }
    if killed < plan.kills || run.outcome.due == 0 {
        run.outcome.faults.push(format!("{killed} kills, {} bundles due: too few to mean anything", run.outcome.due));
    }
    run.db.close().await;
    run.outcome
}
