//! The cost that a free account can cause for others: it promotes one release with the longest description 900 times, each for its own version, and
//! its key is checked repeatedly. This measures what a check costs the control plane and the edge (a bare workerd), and the latency of another
//! account's checks meanwhile. A second pair of programs without the attack alternates with it in each round, so that other load affects both equally.
//!
//! The program is `updraft-control` next to this one, or the one in `UPDRAFT_CONTROL`; measure a release build. The edge is the one built by
//! `cargo xtask bench attacks`.

#![expect(clippy::unwrap_used, reason = "a failed measurement panics")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use control::testing;
use serde_json::json;
use tempfile::TempDir;
use tests::app::{DOWNLOAD_SECRET, EDGE_SECRET};
use tests::people::PASSWORD_HASH;
use tests::process::Process;
use tests::program::Serving;
use tests::self_hosted::Edge;
use tests::{Client, Clock, Db};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};
use xtask::probe;

const ENCRYPTION_KEY: &str = "s1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Attempted promotions.
const PROMOTIONS: usize = 900;
/// Repetitions of each measurement.
const ROUNDS: usize = 5;
/// Concurrent checks while the cost of one is measured, and the duration.
const AT_ONCE: usize = 8;
const LENGTH: Duration = Duration::from_secs(2);
/// The interval of checks of the attacker's key while the other account's checks are timed.
const EVERY: Duration = Duration::from_millis(4);
/// The other account's checks in each round: from cache, and after a change.
const WARM: usize = 300;
const COLD: usize = 20;

/// The promised limits as ratios to the values without the attack: a check of the attacker's key, another account's check from cache, and one after a
/// change.
const MOST: [(&str, f64); 3] =
    [("a check of the attacker's key", 3.0), ("another account's check", 1.2), ("another account's check after a change", 2.0)];

/// A control plane with two accounts, and two edges in front of it: one with a cache, and one that fetches for each check.
struct Place {
    control: Serving,
    edge: Edge,
    forgetful: Edge,
    mallory: Client,
    ada: Client,
    /// The attacker's key, and the other account's.
    keys: [String; 2],
    // Dropped last.
    _folder: TempDir,
}

async fn people(folder: &Path) -> [String; 2] {
    let db = Db::open(&format!("sqlite://{}", folder.join("updraft.db").display())).await.unwrap();
    let (now, mut tx) = (Clock::System.now(), db.write().await.unwrap());
    let mut made = Vec::new();
    for email in ["mallory@example.com", "ada@example.com"] {
        let account = testing::account(&mut tx, email, PASSWORD_HASH, testing::account_limits().unwrap(), now).await.unwrap();
        made.push(testing::access_key(&mut tx, &account, "bench", 86_400_000, now).await.unwrap());
    }
    tx.commit().await.unwrap();
    db.close().await;
    made.try_into().unwrap()
}

impl Place {
    async fn make() -> Self {
        let folder = TempDir::new().unwrap();
        let [mallory, ada] = people(folder.path()).await;
        let [port, forgetful_port, bindings] = [(); 3].map(|()| probe::free_port().unwrap());
        let bindings = format!("127.0.0.1:{bindings}");
        let any_number = "1000000000/1m";
        let settings = [
            ("DATA_DIR", folder.path().to_str().unwrap()),
            ("BASE_URL", &format!("http://localhost:{port}")),
            ("BINDINGS_LISTEN", &bindings),
            ("EDGE_SECRET", EDGE_SECRET),
            ("DOWNLOAD_SECRET", DOWNLOAD_SECRET),
            ("ENCRYPTION_KEY", ENCRYPTION_KEY),
            // The work is measured, not the rate limits.
            ("LIMIT_MANAGEMENT_API", any_number),
            ("LIMIT_ACCOUNT_MANAGEMENT_API", any_number),
            ("LOG", "error"),
        ];
        let settings: BTreeMap<_, _> = settings.into_iter().map(|(name, value)| (format!("UPDRAFT_{name}"), value.to_owned())).collect();
        let control = Serving::start(&settings).await;
        let edge = Edge::start(port, &control.base, &bindings, &[]).await;
        let ages = [("SNAPSHOT_FRESH_MS", "0"), ("SNAPSHOT_STALE_MS", "0")];
        let forgetful = Edge::start(forgetful_port, &control.base, &bindings, &ages).await;
        let [mallory, ada] = [mallory, ada].map(|key| Client::new(&control.base, Some(key)));
        let mut keys = Vec::new();
        for client in [&mallory, &ada] {
            let (production, _) = client.create_app("app").await;
            let info = json!({ "appVersion": "1.0.0", "description": "Fixes the crash on start when offline" });
            client.upload("app", "Production", b"script", info).await.assert(201);
            keys.push(production);
        }
        Self { control, edge, forgetful, mallory, ada, keys: keys.try_into().unwrap(), _folder: folder }
    }

    /// Runs the attack; returns the number of accepted promotions.
    async fn attack(&self) -> usize {
        let info = json!({ "appVersion": "1.0.0", "description": "€".repeat(10_000) });
        self.mallory.upload("app", "Staging", b"script of its own", info).await.assert(201);
        let mut taken = 0;
        for number in 0..PROMOTIONS {
            let body = json!({ "destination": "Production", "packageInfo": { "appVersion": format!("2.0.{number}") } });
            match self.mallory.post("/v1/apps/app/deployments/Staging/promotions", body).await {
                answer if answer.status == 201 => taken += 1,
                answer => drop(answer.refused(409)),
            }
        }
        taken
    }

    /// Invalidates the cache for the other account's next check.
    async fn change(&self, number: usize) {
        let body = json!({ "packageInfo": { "isMandatory": number.is_multiple_of(2) } });
        self.ada.patch("/v1/apps/app/deployments/Production/release", body).await.assert(200);
    }
}

/// The server that devices send checks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DayRange {
    Control,
    Edge,
}

impl DayRange {
    fn base(self, place: &Place) -> &str {
        match self {
            Self::Control => &place.control.base,
            Self::Edge => &place.edge.base,
        }
    }

    fn process(self, place: &Place) -> Process {
        match self {
            Self::Control => place.control.process(),
            Self::Edge => place.edge.process(),
        }
    }
}

async fn check(client: &Client, key: &str, app_version: &str) {
    let answer = client.get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version={app_version}")).await;
    answer.assert_status(200);
}

/// CPU time in microseconds for one check of the attacker's key: of the first release, or after the attack of the promoted ones in turn.
async fn cost(place: &Place, asked: DayRange, versions: usize) -> f64 {
    let (is_over, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let before = asked.process(place).cpu();
    let mut devices = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (client, key) = (Client::new(asked.base(place), None), place.keys[0].clone());
        let (is_over, count) = (Arc::clone(&is_over), Arc::clone(&count));
        devices.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let number = count.fetch_add(1, Ordering::Relaxed);
                check(&client, &key, &version(number, versions)).await;
            }
        });
    }
    let mut length = interval(LENGTH);
    length.tick().await;
    length.tick().await;
    is_over.store(true, Ordering::Relaxed);
    while let Some(device) = devices.join_next().await {
        device.unwrap();
    }
    (asked.process(place).cpu() - before) * 1e6 / as_number(count.load(Ordering::Relaxed))
}

/// The app version of a device with the attacker's app.
fn version(number: usize, versions: usize) -> String {
    if versions == 0 { "1.0.0".to_owned() } else { format!("2.0.{}", number % versions) }
}

#[expect(clippy::cast_precision_loss, reason = "counts of requests are small")]
fn as_number(count: usize) -> f64 {
    count as f64
}

/// Median latency in milliseconds of the other account's checks, from cache and after a change, while the attacker's key is checked at a steady rate.
async fn others(place: &Place, asked: DayRange, versions: usize) -> [f64; 2] {
    let mut attackers = JoinSet::new();
    let (base, key) = (asked.base(place).to_owned(), place.keys[0].clone());
    attackers.spawn(async move {
        let (client, mut ticks, mut under_way) = (Client::new(&base, None), interval(EVERY), JoinSet::new());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        for number in 0.. {
            ticks.tick().await;
            if under_way.len() >= AT_ONCE {
                under_way.join_next().await;
            }
            let (client, key) = (client.clone(), key.clone());
            under_way.spawn(async move { check(&client, &key, &version(number, versions)).await });
        }
    });
    let warm = Client::new(asked.base(place), None);
    let mut times = Vec::new();
    check(&warm, &place.keys[1], "1.0.0").await;
    for _ in 0..WARM {
        times.push(timed(&warm, &place.keys[1]).await);
    }
    let cold = if asked == DayRange::Edge { Client::new(&place.forgetful.base, None) } else { warm };
    let mut cold_times = Vec::new();
    for number in 0..COLD {
        place.change(number).await;
        cold_times.push(timed(&cold, &place.keys[1]).await);
    }
    attackers.shutdown().await;
    [times, cold_times].map(|mut times| median(&mut times) * 1e3)
}

async fn timed(client: &Client, key: &str) -> f64 {
    let began = Instant::now();
    check(client, key, "1.0.0").await;
    began.elapsed().as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap()
}

#[tokio::main]
async fn main() -> ExitCode {
    let (calm, attacked) = (Place::make().await, Place::make().await);
    let versions = attacked.attack().await;
    println!("{versions} of {PROMOTIONS} promotions were taken");
    let mut holds = true;
    for asked in [DayRange::Control, DayRange::Edge] {
        // By promise: without the attack, with it, and the ratio of each round.
        let mut measured: [[Vec<f64>; 3]; 3] = Default::default();
        for round in 0..=ROUNDS {
            eprintln!("{asked:?}: {}", if round == 0 { "warming up".to_owned() } else { format!("round {round} of {ROUNDS}") });
            let mut values = Vec::new();
            for (place, versions) in [(&calm, 0), (&attacked, versions)] {
                let cost = cost(place, asked, versions).await;
                let [warm, cold] = others(place, asked, versions).await;
                values.push([cost, warm, cold]);
            }
            let [[calm_cost, calm_warm, calm_cold], [cost, warm, cold]] = values.try_into().unwrap();
            let pairs = [(calm_cost, cost), (calm_warm, warm), (calm_cold, cold)];
            for ((calm, attacked), [without, with, ratio]) in pairs.into_iter().zip(&mut measured).filter(|_| round > 0) {
                without.push(calm);
                with.push(attacked);
                ratio.push(attacked / calm);
            }
        }
        println!("| {asked:?} | without | with the attack | times | at most |");
        println!("|---|---|---|---|---|");
        for (((what, most), unit), mut values) in MOST.into_iter().zip(["µs of CPU", "ms", "ms"]).zip(measured) {
            let [without, with, ratio] = values.each_mut().map(|values| median(values));
            println!("| {what}, {unit} | {without:.2} | {with:.2} | {ratio:.2} | {most} |");
            holds &= ratio <= most;
        }
        let [calm, attacked] = [&calm, &attacked].map(|place| asked.process(place).peak() >> 10);
        println!("| greatest memory, MiB | {calm} | {attacked} | | |");
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
