//! The performance of concurrent logins, and whether response times reveal who has an account. Starts the control plane's program with SQLite in a
//! temporary folder, measures, prints the results, and fails if one exceeds its limit.
//!
//! The program is `updraft-control` next to this one, or the one in `UPDRAFT_CONTROL`; measure a release build.

#![expect(clippy::unwrap_used, reason = "a failed measurement panics")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use control::testing;
use control::testing::credentials;
use tempfile::TempDir;
use tests::people::{PASSWORD, login};
use tests::wait::until;
use tests::{Client, Clock, Db, Entropy, output::Output};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};
use xtask::leash::{self, Leashed, StopBy};
use xtask::probe;

/// Concurrent logins.
const AT_ONCE: usize = 200;
/// The number of accounts, and of addresses without one, to guess passwords for.
const GUESSED: usize = 100;
/// The number of other requests timed on an idle server, and their interval: at full speed they would be a load themselves.
const IDLE: usize = 2_000;
const EVERY: Duration = Duration::from_millis(2);

/// The promised limits.
const MOST_MEMORY_KIB: u64 = 150 * 1024;
const MOST_SLOWER: f64 = 5.0;
const MOST_DIFFERENT: f64 = 0.10;

fn program() -> PathBuf {
    let given = std::env::var_os("UPDRAFT_CONTROL").map(PathBuf::from);
    given.unwrap_or_else(|| std::env::current_exe().unwrap().parent().and_then(Path::parent).unwrap().join("updraft-control"))
}

/// Creates the accounts, all with one password, and returns a key of the first.
async fn people(folder: &Path) -> String {
    std::fs::create_dir_all(folder).unwrap();
    let db = Db::open(&format!("sqlite://{}", folder.join("updraft.db").display())).await.unwrap();
    let (now, hash) = (Clock::System.now(), credentials::hash(PASSWORD, &Entropy::System).unwrap());
    let mut tx = db.write().await.unwrap();
    let mut first = None;
    for number in 0..GUESSED {
        let email = format!("known{number}@example.com");
        let account = testing::account(&mut tx, &email, &hash, testing::account_limits().unwrap(), now).await.unwrap();
        first.get_or_insert(account);
    }
    let key = testing::access_key(&mut tx, &first.unwrap(), "bench", 86_400_000, now).await.unwrap();
    tx.commit().await.unwrap();
    db.close().await;
    key
}

/// The program's peak memory, in KiB.
fn peak(server: &Leashed) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// The duration of a request.
async fn timed(client: &Client, path: &str) -> Duration {
    let began = Instant::now();
    client.get(path).await.assert_status(200);
    began.elapsed()
}

fn ticks() -> Interval {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// The value that `share` of the values do not exceed.
fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index in a short list")]
    let place = ((times.len() - 1) as f64 * share).round() as usize;
    times.get(place).copied().unwrap()
}

#[tokio::main]
async fn main() {
    let folder = TempDir::new().unwrap();
    let key = people(folder.path()).await;
    let port = probe::free_port().unwrap();
    let mut command = leash::command(program(), StopBy::Terminate);
    command.arg("serve").env_clear().env("UPDRAFT_DATA_DIR", folder.path()).env("UPDRAFT_LISTEN", format!("127.0.0.1:{port}"));
    // The work is measured, not the rate limits.
    for limit in ["LOGIN_ADDRESS", "LOGIN_STOP"] {
        command.env(format!("UPDRAFT_LIMIT_{limit}"), "100000/1s");
    }
    let output = Output::default();
    let said = output.clone();
    let server = Leashed::spawn(command, StopBy::Terminate, move |line| said.push(line)).unwrap();
    until("the server responds", async || probe::responds(port, "/v1/health?live").then_some(())).await;
    let other = Client::new(&format!("http://127.0.0.1:{port}"), Some(key));
    let is_served = logins(&other, &server).await;
    let is_silent = guesses(&other).await;
    drop(server);
    if !(is_served && is_silent) {
        std::process::exit(1);
    }
}

/// Many concurrent correct logins, and other requests meanwhile.
async fn logins(other: &Client, server: &Leashed) -> bool {
    let mut idle = Vec::new();
    let mut ticks = ticks();
    for _ in 0..IDLE {
        ticks.tick().await;
        idle.push(timed(other, "/v1/apps").await);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let beside = {
        let (other, is_over) = (other.clone(), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut times = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                ticks.tick().await;
                times.push(timed(&other, "/v1/apps").await);
            }
            times
        })
    };
    let began = Instant::now();
    let all: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let client = other.with_token(None);
            tokio::spawn(async move { client.post("/v1/auth/login", login("known0@example.com", PASSWORD)).await.status.as_u16() })
        })
        .collect();
    let (mut succeeded, mut put_off, mut failed) = (0, 0, 0);
    for one in all {
        match one.await.unwrap() {
            200 => succeeded += 1,
            503 => put_off += 1,
            _ => failed += 1,
        }
    }
    let took = began.elapsed();
    is_over.store(true, Ordering::Relaxed);
    let mut busy = beside.await.unwrap();
    let memory = peak(server);
    let (calm, loaded) = (quantile(&mut idle, 0.99), quantile(&mut busy, 0.99));
    let ratio = loaded.as_secs_f64() / calm.as_secs_f64();
    println!("{AT_ONCE} correct logins at once: {succeeded} succeeded, {put_off} were put off (503), {failed} failed, in {took:.2?}");
    println!("greatest memory of the program: {} MiB (at most {})", memory / 1024, MOST_MEMORY_KIB / 1024);
    println!(
        "other requests: idle p50 {:.2?}, p99 {calm:.2?} of {}; beside the logins p50 {:.2?}, p99 {loaded:.2?} of {}: {ratio:.1} times (at most {MOST_SLOWER})",
        quantile(&mut idle, 0.5),
        idle.len(),
        quantile(&mut busy, 0.5),
        busy.len(),
    );
    failed == 0 && succeeded > 0 && memory < MOST_MEMORY_KIB && ratio <= MOST_SLOWER
}

/// One wrong password each for addresses with and without an account, alternating.
async fn guesses(other: &Client) -> bool {
    let client = other.with_token(None);
    let guess = async |name: String| {
        let began = Instant::now();
        client.post("/v1/auth/login", login(&format!("{name}@example.com"), "wrong")).await.assert_status(401);
        began.elapsed()
    };
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for number in 0..GUESSED {
        known.push(guess(format!("known{number}")).await);
        unknown.push(guess(format!("unknown{number}")).await);
    }
    let (known, unknown) = (quantile(&mut known, 0.5), quantile(&mut unknown, 0.5));
    let difference = (known.as_secs_f64() / unknown.as_secs_f64() - 1.0).abs();
    println!(
        "one wrong password each: median {known:.2?} for {GUESSED} accounts, {unknown:.2?} for {GUESSED} unknown addresses: {:.1} % apart (less than {:.0} %)",
        difference * 100.0,
        MOST_DIFFERENT * 100.0
    );
    difference < MOST_DIFFERENT
}
