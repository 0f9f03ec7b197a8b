//! Soak test of imports: apps of a second Updraft are imported by a program that is killed again and again. In the end everything is as if it had never
//! been killed.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use control::testing::Clock;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::program::program;
use crate::random::Random;
use crate::wait::{patience, until};
use crate::{Bundle, Client, Options, TestApp};

/// The size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Apps at the source.
    pub apps: usize,
    /// Their deployments in all.
    pub deployments: usize,
    /// Their releases in all.
    pub releases: usize,
    /// The number of kills.
    pub kills: usize,
    /// Update checks that both servers are asked in the end.
    pub checks: usize,
    /// When to kill.
    pub point: Point,
    /// The seed.
    pub seed: u64,
}

/// When an import is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// After a random number of lines of progress: the same on every machine.
    Line,
    /// The same, and a random time after that: anywhere, also where no line begins.
    Time,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    plan: Plan,
    /// Imports that were killed before they ended.
    pub killed: usize,
    /// How long an import takes that is not killed.
    whole: Duration,
    /// Descriptions of all errors; empty on success.
    pub faults: Vec<String>,
}

impl Display for Outcome {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let Plan { apps, deployments, releases, kills, seed, .. } = self.plan;
        writeln!(to, "{apps} apps, {deployments} deployments, {releases} releases, seed {seed}")?;
        writeln!(to, "a whole import took {:.1} s; killed before its end: {} times of {kills}", self.whole.as_secs_f64(), self.killed)?;
        match self.faults.as_slice() {
            [] => write!(
                to,
                "the killed import and the whole one are equal, and equal to the source, also in {} update checks",
                self.plan.checks
            ),
            faults => write!(to, "FAULTS:\n{}", faults.join("\n")),
        }
    }
}

/// A deployment: name, key, releases.
pub type Deployment = (String, String, Vec<Value>);

/// The releases of a deployment, without what differs between servers: the addresses, whose signatures expire.
pub async fn history(client: &Client, app: &str, deployment: &str) -> Vec<Value> {
    let answer = client.get(&format!("/v1/apps/{app}/deployments/{deployment}/history")).await.assert(200);
    let mut releases = answer["history"].as_array().unwrap().clone();
    for release in &mut releases {
        let members = release.as_object_mut().unwrap();
        for address in ["blobUrl", "manifestBlobUrl"] {
            members.remove(address);
        }
    }
    releases
}

/// Everything that an account has, by app.
pub async fn everything(client: &Client) -> BTreeMap<String, Vec<Deployment>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut found = BTreeMap::new();
    for app in client.get("/v1/apps").await.assert(200)["apps"].as_array().unwrap() {
        let app = text(&app["name"]);
        let mut deployments = Vec::new();
        let listed = client.get(&format!("/v1/apps/{app}/deployments")).await.assert(200);
        for deployment in listed["deployments"].as_array().unwrap() {
            let (name, key) = (text(&deployment["name"]), text(&deployment["key"]));
            let releases = history(client, &app, &name).await;
            deployments.push((name, key, releases));
        }
        found.insert(app, deployments);
    }
    found
}

/// A control plane to import from or into, without the limits that many uploads meet, and the account `name`@example.com.
async fn server(name: &str) -> (TestApp, Client) {
    let options = Options { has_machine_clock: true, ..Options::default() };
    let options = ["UPLOADS", "ACCOUNT_UPLOADS", "MANAGEMENT_API", "ACCOUNT_MANAGEMENT_API"]
        .into_iter()
        .fold(options, |options, limit| options.with(&format!("LIMIT_{limit}"), "1000000/1m"));
    let app = TestApp::spawn_with(options).await;
    let client = app.sign_up(name).await;
    (app, client)
}

/// A control plane to import into, with an account for one of the collaborators.
async fn target() -> (TestApp, Client) {
    let (app, client) = server("ada").await;
    app.sign_up("bob").await;
    (app, client)
}

/// Random apps: releases of every kind, many with the same packages.
async fn fill(client: &Client, plan: Plan, random: &mut Random) {
    let mut places: Vec<(String, String)> = Vec::new();
    for number in 0..plan.apps {
        let app = format!("App-{number}");
        client.create_app(&app).await;
        places.extend([(app.clone(), "Production".to_owned()), (app, "Staging".to_owned())]);
    }
    for number in places.len()..plan.deployments {
        let (app, name) = (format!("App-{}", number % plan.apps), format!("Channel-{number}"));
        client.post(&format!("/v1/apps/{app}/deployments"), json!({ "name": name })).await.assert(201);
        places.push((app, name));
    }
    for number in 0..plan.releases {
        let (app, deployment) = random.one_of(&places).clone();
        let path = format!("/v1/apps/{app}/deployments/{deployment}");
        // The package of an earlier release again, as promotions have it; never that of the newest one, which is refused.
        let content = Bundle::script(&format!("content {}", number - random.place(number.min(3) + 1))).0;
        let range = *random.one_of(&["1.0.0", "^1.0.0", "1.2.x", "*", ">=1.0.0 <2.1.0"]);
        let mut info = json!({ "appVersion": range, "isMandatory": random.chance(20), "isDisabled": random.chance(10) });
        if random.chance(70) {
            info["description"] = json!(format!("Release {number}\nwith two lines ☀"));
        }
        // An unfinished rollout refuses the next release.
        let answer = client.upload(&app, &deployment, &content, info).await;
        assert!([201, 409].contains(&answer.status.as_u16()), "{}", answer.text());
        if answer.status != 201 {
            client.upload(&app, &deployment, format!("file {number}").as_bytes(), json!({ "appVersion": range })).await.assert(201);
        }
        if random.chance(10) {
            client.post(&format!("{path}/rollbacks"), json!({})).await;
        }
    }
    for (app, deployment) in &places {
        let body = json!({ "packageInfo": { "appVersion": "2.0.0", "rollout": random.below(98) + 1 } });
        if random.chance(50) {
            let content = format!("the last of {app} {deployment}");
            client.upload(app, deployment, content.as_bytes(), body["packageInfo"].clone()).await.assert(201);
        }
    }
}

/// Gives some people access to each app, and lets devices report to each deployment that has releases.
async fn live(source: &TestApp, client: &Client, places: &BTreeMap<String, Vec<Deployment>>) {
    for name in ["bob", "eve"] {
        source.sign_up(name).await;
    }
    for (number, (app, deployments)) in places.iter().enumerate() {
        let name = if number % 2 == 0 { "bob" } else { "eve" };
        client.post(&format!("/v1/apps/{app}/collaborators/{name}@example.com"), json!({})).await.assert(201);
        for (deployment, key, releases) in deployments {
            let Some(newest) = releases.last() else { continue };
            let report = json!({
                "deployment_key": key, "app_version": "1.0.0", "label": newest["label"], "status": "DeploymentSucceeded",
                "client_unique_id": "a device",
            });
            source.anonymous().post("/v0.1/public/codepush/report_status/deploy", report).await.assert(200);
            until("it is counted", async || (client.metrics(app, deployment).await != json!({})).then_some(())).await;
        }
    }
}

/// Who has access to each app, with their roles, and what the other server had counted for each deployment.
async fn people_and_counts(client: &Client, places: &BTreeMap<String, Vec<Deployment>>) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (app, deployments) in places {
        let mut people = client.get(&format!("/v1/apps/{app}/collaborators")).await.assert(200)["collaborators"].take();
        people.as_object_mut().unwrap().values_mut().for_each(|person| *person = person["permission"].take());
        found.insert(app.clone(), people);
        for (deployment, ..) in deployments {
            let counted = client.get(&format!("/v1/apps/{app}/deployments/{deployment}/metrics/imported")).await.assert(200);
            found.insert(format!("{app}/{deployment}"), counted["metrics"].clone());
        }
    }
    found
}

/// The program, importing into this control plane.
fn start(app: &TestApp, from: &str, key: &Path) -> Child {
    let mut command = Command::new(program());
    command.args(["import", "codepush", "--owner", "ada@example.com", "--from", from, "--key-file"]).arg(key);
    command
        .env_clear()
        .envs(app.settings())
        .kill_on_drop(true)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Imports to the end. Returns how many lines of progress it had, or what it said if it failed.
async fn whole(app: &TestApp, from: &str, key: &Path) -> Result<usize, String> {
    let output = timeout(patience() * 5, start(app, from, key).wait_with_output()).await.expect("the import ends").unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(text.lines().count()) } else { Err(text) }
}

/// Kills an import after some lines, and some time. Returns whether it was still running.
async fn kill_after(mut child: Child, lines: usize, time: Duration) -> bool {
    let mut printed = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..lines {
        if timeout(patience(), printed.next_line()).await.expect("it says how far it is").unwrap().is_none() {
            break;
        }
    }
    if time.is_zero() {
        return killed(child).await;
    }
    // Read, so that the program never blocks on a full pipe.
    let reading = tokio::spawn(async move { while let Ok(Some(_)) = printed.next_line().await {} });
    let _over = timeout(time, child.wait()).await;
    let was_running = killed(child).await;
    reading.abort();
    was_running
}

async fn killed(mut child: Child) -> bool {
    // It may have ended already.
    let _ended = child.start_kill();
    timeout(patience(), child.wait()).await.expect("a killed program ends").unwrap().code().is_none()
}

/// Runs it. The program is the one of [`program`].
pub async fn run(plan: Plan) -> Outcome {
    let mut random = Random::new(plan.seed);
    let (source, grace) = server("grace").await;
    fill(&grace, plan, &mut random).await;
    let expected = everything(&grace).await;
    live(&source, &grace, &expected).await;
    let key = source.folder().join("key");
    std::fs::write(&key, grace.token()).unwrap();
    let mut faults = Vec::new();

    let (never, of_never) = target().await;
    let begun = Clock::System.now();
    let lines = whole(&never, &source.base, &key).await.unwrap_or_else(|text| {
        faults.push(format!("the import that is not killed: {text}"));
        1
    });
    let took = Duration::from_millis((Clock::System.now().0 - begun.0).unsigned_abs());
    let mut killed_ones = vec![target().await];
    let mut count = 0;
    // Some end before they are killed. What is imported is not downloaded again, so nothing is left to kill then: the next ones go into another server.
    for _ in 0..plan.kills * 5 {
        let Some((often, _)) = killed_ones.last().filter(|_| count < plan.kills) else { break };
        let child = start(often, &source.base, &key);
        let was_killed = match plan.point {
            Point::Line => kill_after(child, random.place(lines) + 1, Duration::ZERO).await,
            Point::Time => {
                let of_a_line = took / u32::try_from(lines).unwrap();
                let share = f64::from(u32::try_from(random.below(1_000)).unwrap()) / 1_000.0;
                kill_after(child, random.place(lines), of_a_line.mul_f64(share)).await
            }
        };
        count += usize::from(was_killed);
        if !was_killed {
            killed_ones.push(target().await);
        }
    }
    let whole_ones = people_and_counts(&of_never, &expected).await;
    // What a killed import had not finished writing stays in `.tmp` until the server starts again.
    let is_whole = |path: &String| !path.contains("/.tmp/");
    // By the names of the files, because the apps have other ids in each server.
    let stored = |app: &TestApp| -> Vec<(String, u64)> {
        let whole = sizes(&app.folder().join("blobs")).into_iter().filter(|(path, _)| is_whole(path));
        let mut named: Vec<_> = whole.map(|(path, size)| (path.rsplit('/').next().unwrap_or_default().to_owned(), size)).collect();
        named.sort_unstable();
        named
    };
    for (often, client) in &killed_ones {
        faults.extend(whole(often, &source.base, &key).await.err().map(|text| format!("the import after all kills: {text}")));
        if people_and_counts(client, &expected).await != whole_ones {
            faults.push("collaborators or counts differ after kills".to_owned());
        }
        if stored(&never) != stored(often) {
            let (mut missing, mut more) = (stored(&never), stored(often));
            for file in stored(often) {
                let _same = missing.iter().position(|other| *other == file).map(|place| missing.remove(place));
            }
            for file in stored(&never) {
                let _same = more.iter().position(|other| *other == file).map(|place| more.remove(place));
            }
            faults.push(format!("a killed import stored other files: without {missing:?}, and {more:?} instead"));
        }
    }
    let all = std::iter::once(("never killed", &of_never, &never)).chain(killed_ones.iter().map(|(app, client)| ("killed", client, app)));
    for (what, client, app) in all {
        let found = everything(client).await;
        if found != expected {
            faults.push(format!("{what}: differs from the source:\n{found:#?}\nthe source:\n{expected:#?}"));
        }
        faults.extend(app.verify_audit().await.err().map(|fault| format!("{what}: the audit trail: {fault}")));
    }
    for (app, deployments) in &expected {
        for (deployment, ..) in deployments {
            let there = grace.metrics(app, deployment).await;
            if whole_ones.get(&format!("{app}/{deployment}")) != Some(&there) {
                faults.push(format!("{app}/{deployment}: the counts are not those of the source, {there}"));
            }
        }
    }
    if whole_ones.values().all(|people| people["bob@example.com"] != "Developer") {
        faults.push("nobody has got access".to_owned());
    }
    if count < plan.kills {
        faults.push(format!("only {count} imports were killed before their end"));
    }
    let checked = match killed_ones.first() {
        Some((first, _)) => compare(first, &source.base, &expected, plan.checks).await,
        None => String::new(),
    };
    if !checked.contains(&format!("Checks: {0}. Equal: {0}.", plan.checks)) {
        faults.push(format!("update checks: {checked}"));
    }
    Outcome { plan, killed: count, whole: took, faults }
}

/// Asks both servers the same update checks, and returns what the program says.
async fn compare(app: &TestApp, from: &str, everything: &BTreeMap<String, Vec<Deployment>>, checks: usize) -> String {
    let mut command = Command::new(program());
    command.args(["import", "compare", "--from", from, "--rate", "1000/s", "--checks", &checks.to_string()]);
    for (name, deployments) in everything {
        // One without releases has no answer to compare.
        for (deployment, _, _) in deployments.iter().filter(|(_, _, releases)| !releases.is_empty()) {
            command.args(["--deployment", &format!("ada@example.com:{name}/{deployment}")]);
        }
    }
    command.env_clear().envs(app.settings()).kill_on_drop(true).stdin(Stdio::null());
    let output = timeout(patience() * 5, command.output()).await.expect("the comparison ends").unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The sizes of all files below a folder.
fn sizes(folder: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            found.extend(sizes(&entry.path()));
        } else {
            found.insert(entry.path().display().to_string(), entry.metadata().unwrap().len());
        }
    }
    found
}
