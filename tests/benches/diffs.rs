//! How much the making of diffs costs others: p99 of update checks and of reports while ten diffs of a bundle of 150 MB are made, and without, in five interleaved
//! rounds. Only the ratios mean something elsewhere.
//!
//! The program is the one in `UPDRAFT_CONTROL`. Fails if it needs 200 MB of memory, or if either p99 is more than twice that without, in the median.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark fails by panicking")]

use std::io::{Cursor, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use control::testing::{Db, on, on_write};
use serde_json::json;
use tests::Client;
use tests::program::Serving;
use tests::random::Random;
use tests::soak::server::Place;
use tests::wait::until;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Files of a bundle; each has a megabyte, and one differs from bundle to bundle.
const FILES: u64 = 150;
const ROUNDS: usize = 5;
/// Diffs in a round.
const DIFFS: i64 = 10;
/// The most memory of the program, in KiB.
const MOST_MEMORY: u64 = 200_000;
const MOST_SLOWER: f64 = 2.0;
/// Requests of each kind are sent this often, by each of four senders.
const EVERY: Duration = Duration::from_millis(8);
const SENDERS: usize = 4;

/// A bundle of 150 MB that cannot be compressed. `version` decides the content of one file.
fn bundle(version: u64) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for number in 0..FILES {
        let mut random = Random::new(if number == 0 { 1_000 + version } else { number });
        let bytes: Vec<u8> = (0..1_000_000 / 8).flat_map(|_| random.bits().to_le_bytes()).collect();
        writer.start_file(format!("CodePush/assets/{number}.png"), options).unwrap();
        writer.write_all(&bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The value that 99 % of the values do not exceed, in milliseconds.
fn p99(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[(times.len() - 1) * 99 / 100].as_secs_f64() * 1_000.0
}

/// Sends update checks and reports until the work is done; returns the p99 of each, in milliseconds, and how long it took.
async fn load(base: &str, key: &str, number: &Arc<AtomicUsize>, work: impl Future<Output = ()>) -> (f64, f64, Duration) {
    let is_over = Arc::new(AtomicBool::new(false));
    let mut senders = JoinSet::new();
    for _ in 0..SENDERS {
        let (client, key, is_over, number) = (Client::new(base, None), key.to_owned(), Arc::clone(&is_over), Arc::clone(number));
        senders.spawn(async move {
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let (mut checks, mut reports) = (Vec::new(), Vec::new());
            let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0");
            while !is_over.load(Ordering::Relaxed) {
                ticks.tick().await;
                let began = Instant::now();
                client.get(&path).await.assert_status(200);
                checks.push(began.elapsed());
                let device = format!("device {}", number.fetch_add(1, Ordering::Relaxed));
                let report = json!({ "deployment_key": key, "client_unique_id": device, "label": "v6" });
                let began = Instant::now();
                client.post("/v1/public/svc/report_status/download", report).await.assert_status(200);
                reports.push(began.elapsed());
            }
            (checks, reports)
        });
    }
    let began = Instant::now();
    work.await;
    let took = began.elapsed();
    is_over.store(true, Ordering::Relaxed);
    let (mut checks, mut reports) = (Vec::new(), Vec::new());
    for (some_checks, some_reports) in senders.join_all().await {
        checks.extend(some_checks);
        reports.extend(some_reports);
    }
    (p99(&mut checks), p99(&mut reports), took)
}

struct Run {
    db: Db,
    /// The folder of bundles.
    blobs: std::path::PathBuf,
}

impl Run {
    async fn number(&self, sql: &'static str) -> i64 {
        let mut tx = self.db.read().await.unwrap();
        on!(tx, |conn| sqlx::query_scalar(sql).fetch_one(conn).await).unwrap()
    }

    /// Waits until all diffs are made.
    async fn made(&self) {
        until("all diffs are made", async || (self.number("SELECT COUNT(*) FROM release_diffs").await == DIFFS).then_some(())).await;
        assert_eq!(self.number("SELECT COUNT(*) FROM package_diffs WHERE blob_sha256 IS NOT NULL").await, DIFFS);
    }

    /// Forgets all diffs and has them made again.
    async fn again(&self) {
        const STORED: &str = "SELECT app_id, sha256 FROM blobs WHERE is_diff";
        let mut tx = self.db.write().await.unwrap();
        let stored: Vec<(String, String)> = on!(tx, |conn| sqlx::query_as(STORED).fetch_all(conn).await).unwrap();
        for sql in [
            "DELETE FROM release_diffs",
            "DELETE FROM package_diffs",
            "DELETE FROM blobs WHERE is_diff",
            "INSERT INTO outbox (kind, key, payload, created_time, next_attempt_time, attempts, lease_owner, lease_until, unsettled_until) \
                SELECT 'diffs', id, NULL, 0, 0, 0, NULL, 0, 0 FROM apps WHERE TRUE ON CONFLICT (kind, key) DO UPDATE SET next_attempt_time = 0",
        ] {
            on_write!(tx, |conn| sqlx::query(sql).execute(conn).await).unwrap();
        }
        for (app, sha256) in stored {
            std::fs::remove_file(self.blobs.join(app).join(&sha256[..2]).join(&sha256)).unwrap();
        }
        tx.commit().await.unwrap();
    }
}

/// Five bundles in both deployments, and another one on top of each.
async fn releases(serving: &Serving, token: String) -> String {
    let client = Client::new(&serving.base, Some(token));
    let (production, _) = client.create_app("demo").await;
    let info = || json!({ "appVersion": "1.0.0" });
    for version in 1..=5 {
        client.upload("demo", "Staging", &bundle(version), info()).await.assert(201);
        let promotion = json!({ "destination": "Production", "packageInfo": {} });
        client.post("/v1/apps/demo/deployments/Staging/promotions", promotion).await.assert(201);
    }
    client.upload("demo", "Staging", &bundle(6), info()).await.assert(201);
    client.upload("demo", "Production", &bundle(7), info()).await.assert(201);
    production
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main]
async fn main() -> ExitCode {
    let (mut place, token) = Place::make(10).await;
    // The releases first, and only then their diffs: all of them.
    place.set([("UPDRAFT_DIFFS".to_owned(), "off".to_owned())]);
    let serving = place.start().await;
    let key = releases(&serving, token).await;
    serving.stop().await;
    place.set([("UPDRAFT_DIFFS".to_owned(), "on".to_owned())]);
    let run = Run { db: Db::open(&place.database_url()).await.unwrap(), blobs: Path::new(&place.data()).join("blobs") };
    let serving = place.start().await;
    run.made().await;
    serving.process().forget_peak();
    let number = Arc::new(AtomicUsize::new(0));
    let (mut checks, mut reports) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        run.again().await;
        let with = load(&serving.base, &key, &number, run.made()).await;
        // As long as it took with them, and long enough for a p99.
        let without = load(&serving.base, &key, &number, tokio::time::sleep(with.2.max(Duration::from_secs(2)))).await;
        checks.push(with.0 / without.0);
        reports.push(with.1 / without.1);
        println!(
            "round {round}: {DIFFS} diffs in {:.2} s; p99 of checks {:.2} ms with, {:.2} ms without; of reports {:.2} ms with, {:.2} ms without",
            with.2.as_secs_f64(),
            with.0,
            without.0,
            with.1,
            without.1
        );
    }
    let (checks, reports, peak) = (median(checks), median(reports), serving.process().peak());
    println!("p99 while {DIFFS} diffs of a bundle of 150 MB are made, to that without, median of {ROUNDS} rounds:");
    println!("  update checks {checks:.2}, reports {reports:.2} (bound of both: {MOST_SLOWER})");
    println!("  {} MB of memory at most (bound: {} MB)", peak / 1_000, MOST_MEMORY / 1_000);
    serving.stop().await;
    if checks > MOST_SLOWER || reports > MOST_SLOWER || peak >= MOST_MEMORY { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
