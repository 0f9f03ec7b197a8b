//! Measures reports at the control plane, in the edge's batches and one by one, compared with a bare loop over the same transactions without HTTP.
//!
//! Server and loop each have a copy of the same SQLite database. In each round, both count the same reports: first the server, then the loop, in groups
//! of the average size of the server's transactions. So they differ only in HTTP, JSON, signatures and waiting. At the end, both must have the same
//! counts.

use std::cell::Cell;

use control::testing::{Clock, Db, Entropy, counting, on};
use serde_json::{Value, json};
use shared::ids::ReportId;
use shared::keys::{BinaryVersion, ClientId, Label};
use shared::report::{Event, NewReport, Report};
use shared::signature::{Secrets, sign_call};
use shared::wire::report::MAX_BATCH_REPORTS;
use sqlx::sqlite::{SqlitePoolOptions, SqliteSynchronous};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::Failure;
use crate::connections::{Tally, send};
use crate::data::{self, App, Sequence};
use crate::figures::{Series, number};
use crate::server::{self, SECRET, Server};

/// The numbers of releases in the two deployments. Most devices and reports belong to the first.
const RELEASES: [u32; 2] = [50, 50];
/// The numbers of rows in the clients table.
const CLIENTS: [u64; 2] = [10_000, 1_000_000];
/// The number of app versions in reports.
const BINARIES: u64 = 20;
/// The service's default limit of app versions that are counted by name.
const MAX_BINARIES: u32 = 200;
/// The path that batches are posted to.
const BATCHES_PATH: &str = "/internal/v1/reports";

/// The promised minimum share of the bare loop's rate.
const MIN_SHARE: f64 = 0.30;

const TOTALS: &str = "SELECT CAST(SUM(active) AS BIGINT), CAST(SUM(downloaded) AS BIGINT), CAST(SUM(installed) AS BIGINT), \
    CAST(SUM(failed) AS BIGINT) FROM metric_counters";

/// How reports are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Batches,
    Direct,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Batches => "batches of 100",
            Self::Direct => "one by one",
        }
    }

    /// The goal, in reports per second.
    fn goal(self) -> f64 {
        match self {
            Self::Batches => 10_000.0,
            Self::Direct => 4_000.0,
        }
    }
}

/// The amount of work.
struct Plan {
    rounds: u32,
    /// Reports in each round.
    reports: u32,
    /// Concurrent batches.
    batches: u32,
    /// Concurrent direct reports.
    connections: u32,
}

/// The measurements of one mode, per round.
#[derive(Debug, Default)]
struct Measured {
    rate: Series,
    bare: Series,
    /// The server's rate as a percentage of the bare loop's.
    share: Series,
    /// Reports per transaction.
    group: Series,
    milliseconds: Series,
    /// CPU time per report of the server and of the loop, in microseconds.
    cpu: Series,
    bare_cpu: Series,
    /// The percentage of the bare loop's time spent waiting for the disk: the time that it saves without syncing.
    disk: Series,
}

/// The server with its database, and the databases of the two loops.
struct Scene {
    folder: TempDir,
    app: App,
    clients: u64,
    server: Server,
    bare: Db,
    /// The database that does not sync to disk.
    unsynced: Db,
}

/// Measures, prints the table, and returns whether the limit is met.
pub(crate) async fn run(arguments: &[&str]) -> Result<bool, Failure> {
    let mut plan = Plan { rounds: 5, reports: 20_000, batches: 4, connections: 256 };
    let mut clients = 0;
    let Plan { rounds, reports, batches, connections } = &mut plan;
    let known = &mut [
        ("--rounds", rounds),
        ("--reports", reports),
        ("--batches", batches),
        ("--connections", connections),
        ("--clients", &mut clients),
    ];
    crate::options::read(arguments, known)?;
    let sizes = if clients == 0 { CLIENTS.to_vec() } else { vec![clients.into()] };
    let (mut lines, mut notes, mut holds) = (Vec::new(), Vec::new(), true);
    for clients in sizes {
        let scene = Scene::new(clients).await?;
        for mode in [Mode::Batches, Mode::Direct] {
            let measured = scene.measure(&plan, mode).await?;
            holds &= measured.share.median() >= MIN_SHARE * 100.0;
            lines.push(line(clients, mode, &measured));
        }
        notes.push(scene.finish().await?);
    }
    println!(
        "| devices | reports | reports/s | goal | bare loop/s | share % | per transaction | p99 ms | CPU µs | loop's CPU µs | loop waits for disk % | bottleneck |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    lines.iter().chain(&notes).for_each(|line| println!("{line}"));
    let verdict = if holds { "met" } else { "MISSED" };
    println!("At least {:.0} % of the bare loop's rate: {verdict}", MIN_SHARE * 100.0);
    Ok(holds)
}

fn line(clients: u64, mode: Mode, measured: &Measured) -> String {
    let Measured { rate, bare, share, group, milliseconds, cpu, bare_cpu, disk } = measured;
    let reached = if rate.median() >= mode.goal() { "reached" } else { "missed" };
    let (name, goal, group, milliseconds, disk) = (mode.name(), mode.goal(), group.median(), milliseconds.median(), disk.median());
    format!(
        "| {clients} | {name} | {rate:.0} | {goal:.0}: {reached} | {bare:.0} | {share:.0} | {group:.0} | {milliseconds:.1} | {cpu:.0} | \
         {bare_cpu:.0} | {disk:.0} | {} |",
        bound(measured)
    )
}

/// The server's bottleneck. SQLite has a single writer, so the server is at best as fast as the loop, which spends its time on statements and the
/// disk.
fn bound(measured: &Measured) -> &'static str {
    match (measured.share.median(), measured.disk.median()) {
        (..50.0, _) => "HTTP and JSON around the transactions",
        (_, 50.0..) => "the disk that the single writer waits for",
        _ => "the statements of the single writer",
    }
}

impl Scene {
    async fn new(clients: u64) -> Result<Self, Failure> {
        eprintln!("creating {clients} devices");
        let folder = tempfile::tempdir()?;
        let place = |name: &str| folder.path().join(name);
        for name in ["served", "bare", "unsynced"] {
            std::fs::create_dir(place(name))?;
        }
        let db = Db::open(&data::address(&place("served"))).await?;
        let app = data::app(&db, &RELEASES).await?;
        data::clients(&db, &app, clients).await?;
        // Closing moves everything into the one file.
        db.close().await;
        for name in ["bare", "unsynced"] {
            std::fs::copy(place("served").join("updraft.db"), place(name).join("updraft.db"))?;
        }
        let server = Server::control(&place("served"), None, &[]).await?;
        let output = server.output().into_iter().find_map(|line| Some(line.split_once("database=")?.1.to_owned()));
        let output = output.ok_or("the server did not log its database settings")?;
        eprintln!("database of the server: {output}");
        if !output.contains("synchronous=FULL") {
            return Err("the server does not use synchronous=FULL".into());
        }
        let bare = Db::open(&data::address(&place("bare"))).await?;
        let unsynced = open_unsynced(&data::address(&place("unsynced"))).await?;
        Ok(Self { folder, app, clients, server, bare, unsynced })
    }

    async fn measure(&self, plan: &Plan, mode: Mode) -> Result<Measured, Failure> {
        let mut measured = Measured::default();
        let mut sequence = Sequence::new(self.clients + u64::from(mode == Mode::Direct));
        for round in 0..=plan.rounds {
            // The first round is a warm-up and does not count.
            eprintln!("{} devices, {}: round {round} of {}", self.clients, mode.name(), plan.rounds);
            let reports = (0..plan.reports).map(|_| self.report(&mut sequence)).collect::<Result<Vec<_>, _>>()?;
            let (tally, group, cpu) = self.serve(plan, mode, &reports).await?;
            let before = server::cpu("self")?;
            let bare = count(&self.bare, &reports, group).await?;
            let bare_cpu = server::cpu("self")? - before;
            let unsynced = count(&self.unsynced, &reports, group).await?;
            if round == 0 {
                continue;
            }
            let all = f64::from(plan.reports);
            measured.rate.add(all / tally.seconds);
            measured.bare.add(all / bare);
            measured.share.add(bare / tally.seconds * 100.0);
            measured.group.add(number(u64::try_from(group)?));
            measured.milliseconds.add(tally.milliseconds(99));
            measured.cpu.add(cpu * 1e6 / all);
            measured.bare_cpu.add(bare_cpu * 1e6 / all);
            measured.disk.add((1.0 - unsynced / bare).max(0.0) * 100.0);
        }
        Ok(measured)
    }

    /// Sends the reports to the server; returns the responses, the average number of reports per transaction, and the server's CPU time in seconds.
    async fn serve(&self, plan: &Plan, mode: Mode, reports: &[Report]) -> Result<(Tally, usize, f64), Failure> {
        let (requests, connections) = match mode {
            Mode::Batches => (self.batches(reports)?, plan.batches),
            Mode::Direct => (self.singles(reports), plan.connections),
        };
        let place = Cell::new(0_usize);
        let next = || {
            let request = requests.get(place.get());
            place.set(place.get() + 1);
            request.map(Vec::as_slice)
        };
        let accepted = format!("\"accepted\":{MAX_BATCH_REPORTS}");
        let expected = match mode {
            Mode::Batches => accepted.as_bytes(),
            Mode::Direct => shared::wire::report::REPORT_OK.as_bytes(),
        };
        let (commits, cpu) = (self.commits()?, self.server.cpu()?);
        let tally = send(self.server.port, usize::try_from(connections)?, next, |body| {
            body.windows(expected.len()).any(|window| window == expected)
        })
        .await?;
        let cpu = self.server.cpu()? - cpu;
        let commits = self.commits()?.wrapping_sub(commits).max(1);
        if tally.noted != tally.answers || tally.answers != u64::try_from(requests.len())? {
            return Err("not every report was accepted".into());
        }
        Ok((tally, reports.len().div_ceil(usize::try_from(commits)?), cpu))
    }

    /// The number of transactions that the server has committed. SQLite counts them in bytes 8 to 12 of the WAL-index header (section 2.1 of the format
    /// description).
    fn commits(&self) -> Result<u32, Failure> {
        let index = std::fs::read(self.folder.path().join("served/updraft.db-shm"))?;
        let counter = index.get(8..12).and_then(|bytes| bytes.try_into().ok()).ok_or("a WAL index without header")?;
        Ok(u32::from_ne_bytes(counter))
    }

    /// A report of a random device; 2 % have no client ID.
    fn report(&self, sequence: &mut Sequence) -> Result<Report, Failure> {
        let place = usize::from(sequence.below(10) == 0);
        let deployment = self.app.deployments.get(place).ok_or("no such deployment")?;
        let label = Label::new(deployment.releases - u32::try_from(sequence.below(8))?).ok_or("no such label")?;
        let event = match sequence.below(100) {
            0..5 => Event::Binary { app_version: BinaryVersion::try_from(format!("1.{}.0", sequence.below(BINARIES)))? },
            5..10 => Event::Failed { label },
            10..55 => Event::Downloaded { label },
            _ => Event::Installed { label },
        };
        let client = data::client(sequence.below(self.clients));
        let client_id = if sequence.below(50) == 0 { None } else { Some(ClientId::try_from(client)?) };
        let received = Clock::System.now();
        let id = ReportId::v7(received, Entropy::System.bytes()?);
        Ok(Report { id, received, report: NewReport { deployment_key: deployment.key.clone(), client_id, event } })
    }

    /// The requests that the edge's queue consumer would send.
    fn batches(&self, reports: &[Report]) -> Result<Vec<Vec<u8>>, Failure> {
        let (secrets, now) = (Secrets::parse(SECRET)?, Clock::System.now());
        let batches = reports.chunks(MAX_BATCH_REPORTS).map(|chunk| {
            let body = format!("{{\"reports\":[{}]}}", chunk.iter().map(Report::to_text).collect::<Vec<_>>().join(","));
            let signature = sign_call(&secrets, "POST", BATCHES_PATH, now, body.as_bytes());
            self.request(BATCHES_PATH, &format!("X-Updraft-Signature: {signature}\r\n"), &body)
        });
        Ok(batches.collect())
    }

    /// The requests that devices would send.
    fn singles(&self, reports: &[Report]) -> Vec<Vec<u8>> {
        let single = |Report { report, .. }: &Report| {
            let mut body = json!({ "deployment_key": report.deployment_key.as_str(), "app_version": "1.0.0" });
            let (path, members): (_, &[(&str, String)]) = match &report.event {
                Event::Binary { app_version } => ("deploy", &[("app_version", app_version.to_string())]),
                Event::Installed { label } => ("deploy", &[("label", label.to_string()), ("status", "DeploymentSucceeded".to_owned())]),
                Event::Failed { label } => ("deploy", &[("label", label.to_string()), ("status", "DeploymentFailed".to_owned())]),
                Event::Downloaded { label } => ("download", &[("label", label.to_string())]),
            };
            if let Value::Object(body) = &mut body {
                body.extend(members.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str()))));
                body.extend(report.client_id.iter().map(|id| ("client_unique_id".to_owned(), Value::from(id.as_str()))));
            }
            self.request(&format!("/v1/public/svc/report_status/{path}"), "", &body.to_string())
        };
        reports.iter().map(single).collect()
    }

    fn request(&self, path: &str, header: &str, body: &str) -> Vec<u8> {
        let (port, length) = (self.server.port, body.len());
        format!("POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n{header}Content-Length: {length}\r\n\r\n{body}")
            .into_bytes()
    }

    /// Stops everything and compares the counts.
    async fn finish(self) -> Result<String, Failure> {
        let peak = self.server.peak()?;
        self.server.stop();
        let served = Db::open(&data::address(&self.folder.path().join("served"))).await?;
        let counted = [totals(&served).await?, totals(&self.bare).await?, totals(&self.unsynced).await?];
        for db in [served, self.bare, self.unsynced] {
            db.close().await;
        }
        let [served, bare, unsynced] = &counted;
        if served != bare || bare != unsynced {
            return Err(format!("the counts of server and loops differ: {counted:?}").into());
        }
        let clients = self.clients;
        Ok(format!("{clients} devices: the counts of server and loops are equal; peak memory of the server: {peak} MiB"))
    }
}

/// Counts the reports in groups of this size, and returns the duration in seconds.
async fn count(db: &Db, reports: &[Report], group: usize) -> Result<f64, Failure> {
    let began = Instant::now();
    for reports in reports.chunks(group) {
        counting::store(db, MAX_BINARIES, reports, Clock::System.now()).await?;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// Opens a database as [`Db::open`] does, except that it does not sync to disk.
async fn open_unsynced(address: &str) -> Result<Db, Failure> {
    let options = Db::sqlite_writer(address, SqliteSynchronous::Off)?;
    let pool = SqlitePoolOptions::new().max_connections(1).test_before_acquire(false).connect_with(options).await?;
    Ok(Db::Sqlite { read: pool.clone(), write: pool })
}

/// The totals of all counters.
async fn totals(db: &Db) -> Result<(i64, i64, i64, i64), Failure> {
    let mut tx = db.read().await?;
    Ok(on!(tx, |conn| sqlx::query_as(TOTALS).fetch_one(conn).await)?)
}
