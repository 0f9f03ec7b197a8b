//! Reports at the control plane, in the batches of the edge and one by one, beside a bare loop over the same transactions without HTTP.
//!
//! Server and loop have a copy each of the same SQLite database. In each round both count the same reports: the server first, the loop then in groups
//! of the size that the server's transactions turned out to have. So the two differ by HTTP, JSON, signatures and waiting alone, and in the end both
//! must have counted the same.

use std::cell::Cell;

use control::testing::{Clock, Db, Dice, counting, on};
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
use crate::connections::{Tally, ask};
use crate::data::{self, App, Sequence};
use crate::figures::{Series, number};
use crate::server::{self, SECRET, Server};

/// Releases of the two deployments; most clients and reports are of the first.
const RELEASES: [u32; 2] = [50, 50];
/// The rows of the clients' table.
const CLIENTS: [u64; 2] = [10_000, 1_000_000];
/// Binary versions that are reported, and how many the service counts by name unless told otherwise.
const BINARIES: u64 = 20;
const MOST_BINARIES: u32 = 200;
/// Where batches go.
const BATCHES_PATH: &str = "/internal/v1/reports";

/// What is promised: at least this share of the bare loop's rate.
const LEAST_SHARE: f64 = 0.30;

const TOTALS: &str = "SELECT CAST(SUM(active) AS BIGINT), CAST(SUM(downloaded) AS BIGINT), CAST(SUM(installed) AS BIGINT), \
    CAST(SUM(failed) AS BIGINT) FROM metric_counters";

/// How reports come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Batches,
    Direct,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Batches => "batches of 100",
            Self::Direct => "one by one",
        }
    }

    /// What is aimed at, in reports per second.
    fn aim(self) -> f64 {
        match self {
            Self::Batches => 10_000.0,
            Self::Direct => 4_000.0,
        }
    }
}

/// How much is done.
struct Plan {
    rounds: u32,
    /// Reports in each round.
    reports: u32,
    /// Batches under way at once.
    batches: u32,
    /// Direct reports under way at once.
    connections: u32,
}

/// What was measured of one way, round by round.
#[derive(Debug, Default)]
struct Measured {
    rate: Series,
    bare: Series,
    /// The server's rate in percent of the bare loop's.
    share: Series,
    /// Reports in one transaction.
    group: Series,
    milliseconds: Series,
    /// Microseconds of the server's CPU time for each report, and of the loop's.
    cpu: Series,
    bare_cpu: Series,
    /// The percentage of the bare loop's time in which it waits for the disk: what it is faster without.
    disk: Series,
}

/// The server with its database, and the two that loops work on.
struct Scene {
    folder: TempDir,
    app: App,
    clients: u64,
    server: Server,
    bare: Db,
    /// The one that does not wait for the disk.
    hasty: Db,
}

/// Measures, prints the table, and says whether the promise holds.
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
        for way in [Way::Batches, Way::Direct] {
            let measured = scene.measure(&plan, way).await?;
            holds &= measured.share.median() >= LEAST_SHARE * 100.0;
            lines.push(line(clients, way, &measured));
        }
        notes.push(scene.finish().await?);
    }
    println!(
        "| clients | reports | reports/s | aim | bare loop/s | share % | in a transaction | 99 % within ms | CPU µs | loop's CPU µs | loop waits for the disk % | bound by |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    lines.iter().chain(&notes).for_each(|line| println!("{line}"));
    let verdict = if holds { "holds" } else { "IS MISSED" };
    println!("At least {:.0} % of the bare loop's rate: {verdict}", LEAST_SHARE * 100.0);
    Ok(holds)
}

fn line(clients: u64, way: Way, measured: &Measured) -> String {
    let Measured { rate, bare, share, group, milliseconds, cpu, bare_cpu, disk } = measured;
    let reached = if rate.median() >= way.aim() { "reached" } else { "missed" };
    let (name, aim, group, milliseconds, disk) = (way.name(), way.aim(), group.median(), milliseconds.median(), disk.median());
    format!(
        "| {clients} | {name} | {rate:.0} | {aim:.0}: {reached} | {bare:.0} | {share:.0} | {group:.0} | {milliseconds:.1} | {cpu:.0} | \
         {bare_cpu:.0} | {disk:.0} | {} |",
        bound(measured)
    )
}

/// What holds the server back the most. SQLite has one writer at a time, so that at best it is as fast as the loop, whose time is its statements' and the
/// disk's.
fn bound(measured: &Measured) -> &'static str {
    match (measured.share.median(), measured.disk.median()) {
        (..50.0, _) => "what surrounds the transactions: HTTP and JSON",
        (_, 50.0..) => "the disk, for which the one writer waits",
        _ => "the statements of the one writer",
    }
}

impl Scene {
    async fn new(clients: u64) -> Result<Self, Failure> {
        eprintln!("making {clients} clients");
        let folder = tempfile::tempdir()?;
        let place = |name: &str| folder.path().join(name);
        for name in ["served", "bare", "hasty"] {
            std::fs::create_dir(place(name))?;
        }
        let db = Db::open(&data::address(&place("served"))).await?;
        let app = data::app(&db, &RELEASES).await?;
        data::clients(&db, &app, clients).await?;
        // All that it has is in the one file then.
        db.close().await;
        for name in ["bare", "hasty"] {
            std::fs::copy(place("served").join("updraft.db"), place(name).join("updraft.db"))?;
        }
        let server = Server::control(&place("served"), None, &[]).await?;
        let said = server.said().into_iter().find_map(|line| Some(line.split_once("database=")?.1.to_owned()));
        let said = said.ok_or("the server does not say how it writes")?;
        eprintln!("the server says of its database: {said}");
        if !said.contains("synchronous=FULL") {
            return Err("the server does not write with synchronous=FULL".into());
        }
        let bare = Db::open(&data::address(&place("bare"))).await?;
        let hasty = open_hasty(&data::address(&place("hasty"))).await?;
        Ok(Self { folder, app, clients, server, bare, hasty })
    }

    async fn measure(&self, plan: &Plan, way: Way) -> Result<Measured, Failure> {
        let mut measured = Measured::default();
        let mut sequence = Sequence::new(self.clients + u64::from(way == Way::Direct));
        for round in 0..=plan.rounds {
            // The first one warms up and counts for nobody.
            eprintln!("{} clients, {}: round {round} of {}", self.clients, way.name(), plan.rounds);
            let reports = (0..plan.reports).map(|_| self.report(&mut sequence)).collect::<Result<Vec<_>, _>>()?;
            let (tally, group, cpu) = self.serve(plan, way, &reports).await?;
            let before = server::cpu("self")?;
            let bare = count(&self.bare, &reports, group).await?;
            let bare_cpu = server::cpu("self")? - before;
            let hasty = count(&self.hasty, &reports, group).await?;
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
            measured.disk.add((1.0 - hasty / bare).max(0.0) * 100.0);
        }
        Ok(measured)
    }

    /// Has the server count the reports; gives what it took, the reports in one of its transactions, and its CPU time in seconds.
    async fn serve(&self, plan: &Plan, way: Way, reports: &[Report]) -> Result<(Tally, usize, f64), Failure> {
        let (requests, connections) = match way {
            Way::Batches => (self.batches(reports)?, plan.batches),
            Way::Direct => (self.singles(reports), plan.connections),
        };
        let place = Cell::new(0_usize);
        let next = || {
            let request = requests.get(place.get());
            place.set(place.get() + 1);
            request.map(Vec::as_slice)
        };
        let accepted = format!("\"accepted\":{MAX_BATCH_REPORTS}");
        let expected = match way {
            Way::Batches => accepted.as_bytes(),
            Way::Direct => shared::wire::report::REPORT_OK.as_bytes(),
        };
        let (commits, cpu) = (self.commits()?, self.server.cpu()?);
        let tally = ask(self.server.port, usize::try_from(connections)?, next, |body| {
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

    /// The transactions that the server has committed so far: SQLite counts them in the header of its WAL index, bytes 8 to 12 (its description of
    /// the format, section 2.1).
    fn commits(&self) -> Result<u32, Failure> {
        let index = std::fs::read(self.folder.path().join("served/updraft.db-shm"))?;
        let counter = index.get(8..12).and_then(|bytes| bytes.try_into().ok()).ok_or("a WAL index without header")?;
        Ok(u32::from_ne_bytes(counter))
    }

    /// A report of one of the clients, or, of a hundred, two that have no id.
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
        let id = ReportId::v7(received, Dice::System.bytes()?);
        Ok(Report { id, received, report: NewReport { deployment_key: deployment.key.clone(), client_id, event } })
    }

    /// The requests that the edge's queue consumer makes of them.
    fn batches(&self, reports: &[Report]) -> Result<Vec<Vec<u8>>, Failure> {
        let (secrets, now) = (Secrets::parse(SECRET)?, Clock::System.now());
        let batches = reports.chunks(MAX_BATCH_REPORTS).map(|chunk| {
            let body = format!("{{\"reports\":[{}]}}", chunk.iter().map(Report::to_text).collect::<Vec<_>>().join(","));
            let signature = sign_call(&secrets, "POST", BATCHES_PATH, now, body.as_bytes());
            self.request(BATCHES_PATH, &format!("X-Updraft-Signature: {signature}\r\n"), &body)
        });
        Ok(batches.collect())
    }

    /// The requests that clients make of them.
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

    /// Ends all, and compares what was counted.
    async fn finish(self) -> Result<String, Failure> {
        let peak = self.server.peak()?;
        self.server.stop();
        let served = Db::open(&data::address(&self.folder.path().join("served"))).await?;
        let counted = [totals(&served).await?, totals(&self.bare).await?, totals(&self.hasty).await?];
        for db in [served, self.bare, self.hasty] {
            db.close().await;
        }
        let [served, bare, hasty] = &counted;
        if served != bare || bare != hasty {
            return Err(format!("the server and the loops have counted different things: {counted:?}").into());
        }
        let clients = self.clients;
        Ok(format!("{clients} clients: server and loop have counted the same; the server had at most {peak} MiB of memory"))
    }
}

/// Counts the reports in groups of this size, and gives the seconds that it took.
async fn count(db: &Db, reports: &[Report], group: usize) -> Result<f64, Failure> {
    let began = Instant::now();
    for reports in reports.chunks(group) {
        counting::store(db, MOST_BINARIES, reports, Clock::System.now()).await?;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// The writer of [`Db::open`]'s database in all but one thing: it does not wait for the disk.
async fn open_hasty(address: &str) -> Result<Db, Failure> {
    let options = Db::sqlite_writer(address, SqliteSynchronous::Off)?;
    let pool = SqlitePoolOptions::new().max_connections(1).test_before_acquire(false).connect_with(options).await?;
    Ok(Db::Sqlite { read: pool.clone(), write: pool })
}

/// What all counters say together.
async fn totals(db: &Db) -> Result<(i64, i64, i64, i64), Failure> {
    let mut tx = db.read().await?;
    Ok(on!(tx, |conn| sqlx::query_as(TOTALS).fetch_one(conn).await)?)
}
