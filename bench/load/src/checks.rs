//! Measures update checks at the control plane, compared with an empty handler.
//!
//! Both are served in the same mode on the same core, and take turns in each round. The limits are on ratios of CPU time within a round, which other
//! load on the machine affects the least.

use std::cell::Cell;
use std::time::Duration;

use control::testing::Db;
use tokio::time::Instant;

use crate::Failure;
use crate::connections::{Tally, send};
use crate::data::{self, Deployment, RANGES, Sequence, is_disabled, package_hash};
use crate::figures::{Series, number};
use crate::server::{self, Server};

/// The numbers of releases in the two deployments.
const RELEASES: [u32; 2] = [50, 1_000];
/// The path of checks, also of the empty handler.
pub(crate) const CHECKS: &str = "/v1/public/svc/update_check";
/// The number of prepared requests, which are sent repeatedly.
const REQUESTS: u64 = 8_192;
/// The percentage of devices with the newest release.
const UP_TO_DATE: u64 = 95;

/// The promised limit for the CPU time of a check, as a multiple of the empty handler's.
const MAX_VS_EMPTY: f64 = 3.0;
/// The promised limit for the CPU time of a check with 1,000 releases, as a multiple of that with 50.
const MAX_VS_FEW: f64 = 2.0;

/// The measurements of one subject, per round.
#[derive(Debug, Default)]
struct Measured {
    rate: Series,
    /// CPU time per request, in microseconds.
    cpu: Series,
    milliseconds: Series,
    /// CPU time per request, as a multiple of the baseline's.
    ratio: Series,
}

/// Measures, prints the table, and returns whether the limits are met.
pub(crate) async fn run(arguments: &[&str]) -> Result<bool, Failure> {
    let (mut rounds, mut seconds, mut connections) = (5, 4, 32);
    crate::options::read(arguments, &mut [("--rounds", &mut rounds), ("--seconds", &mut seconds), ("--connections", &mut connections)])?;
    let core = server::one_core();
    let folder = tempfile::tempdir()?;
    let db = Db::open(&data::address(folder.path())).await?;
    let app = data::app(&db, &RELEASES).await?;
    db.close().await;
    let control = Server::control(folder.path(), core, &[]).await?;
    let empty = Server::empty(core).await?;

    let mut subjects = Vec::new();
    for deployment in &app.deployments {
        let requests = requests(deployment)?;
        if subjects.is_empty() {
            // The same requests, so that only their processing differs.
            subjects.push(("empty handler".to_owned(), &empty, requests.clone(), false));
        }
        subjects.push((format!("check, {} releases", deployment.releases), &control, requests, true));
    }
    let mut measured: Vec<Measured> = subjects.iter().map(|_| Measured::default()).collect();
    for round in 0..=rounds {
        // The first round is a warm-up and does not count.
        eprintln!("{}", if round == 0 { "warming up".to_owned() } else { format!("round {round} of {rounds}") });
        let time = Duration::from_secs(if round == 0 { 1 } else { seconds.into() });
        let mut costs: Vec<f64> = Vec::new();
        for ((name, server, requests, is_check), measured) in subjects.iter().zip(&mut measured) {
            let before = server.cpu()?;
            let tally = load(server.port, usize::try_from(connections)?, requests, time).await?;
            let cpu = (server.cpu()? - before) * 1e6 / number(tally.answers);
            if *is_check {
                verify(name, &tally)?;
            }
            if round > 0 {
                measured.rate.add(tally.rate());
                measured.cpu.add(cpu);
                measured.milliseconds.add(tally.milliseconds(99));
                // Each is compared with the previous one: few releases with the empty handler, many releases with few.
                measured.ratio.add(costs.last().map_or(1.0, |base| cpu / base));
            }
            costs.push(cpu);
        }
    }
    println!("{connections} connections; {}", core.map_or("on all cores".to_owned(), |core| format!("each on core {core}")));
    println!("| served | requests/s | CPU µs/request | p99 ms | CPU vs. line above |");
    println!("|---|---|---|---|---|");
    for ((name, ..), measured) in subjects.iter().zip(&measured) {
        let Measured { rate, cpu, milliseconds, ratio } = measured;
        println!("| {name} | {rate:.0} | {cpu:.1} | {milliseconds:.1} | {ratio:.2} |");
    }
    println!("Peak memory of the control plane: {} MiB", control.peak()?);
    let ratios: Vec<f64> = measured.iter().skip(1).map(|measured| measured.ratio.median()).collect();
    let mut holds = true;
    for ((what, max), ratio) in [("an empty handler", MAX_VS_EMPTY), ("50 releases", MAX_VS_FEW)].into_iter().zip(ratios) {
        let verdict = if ratio <= max { "met" } else { "MISSED" };
        println!("At most {max} times the CPU time of {what}: {verdict} ({ratio:.2})");
        holds &= ratio <= max;
    }
    let requests = subjects.last().map(|(_, _, requests, _)| requests.as_slice()).unwrap_or_default();
    crate::quiet::low_load(&control, requests).await?;
    holds &= crate::quiet::memory(&control, requests).await?;
    control.stop();
    empty.stop();
    Ok(holds)
}

async fn load(port: u16, connections: usize, requests: &[Vec<u8>], time: Duration) -> Result<Tally, Failure> {
    let (until, place) = (Instant::now() + time, Cell::new(0_usize));
    let next = || {
        let request = requests.get(place.get() % requests.len())?;
        place.set(place.get() + 1);
        (Instant::now() < until).then_some(request.as_slice())
    };
    let offer = b"\"is_available\":true";
    send(port, connections, next, |body| body.windows(offer.len()).any(|window| window == offer)).await
}

/// Checks that the share of offered updates equals the share of devices without the newest release.
fn verify(name: &str, tally: &Tally) -> Result<(), Failure> {
    let percent = number(tally.noted) * 100.0 / number(tally.answers);
    let expected = number(100 - UP_TO_DATE);
    if (percent - expected).abs() < 1.5 { Ok(()) } else { Err(format!("{name}: {percent:.1} % were offered an update").into()) }
}

/// Requests of random devices.
fn requests(deployment: &Deployment) -> Result<Vec<Vec<u8>>, Failure> {
    let mut sequence = Sequence::new(7);
    let mut requests = Vec::new();
    for _ in 0..REQUESTS {
        let range = sequence.below(5);
        let (_, version) = RANGES.get(usize::try_from(range)?).ok_or("no such range")?;
        // Newest first; devices that are not up to date run an older one.
        let releases: Vec<u32> =
            (1..=deployment.releases).rev().filter(|label| u64::from((label - 1) % 5) == range && !is_disabled(*label)).collect();
        let place = if sequence.below(100) < UP_TO_DATE { 0 } else { 1 + sequence.below(u64::try_from(releases.len())? - 1) };
        let label = releases.get(usize::try_from(place)?).ok_or("no such release")?;
        let client = format!("{:08x}-0f1c-4a7b-9c3d-{:012x}", sequence.below(1 << 32), sequence.below(1 << 48));
        let request = format!(
            "GET {CHECKS}?deployment_key={}&app_version={version}&package_hash={}&label=v{label}&client_unique_id={client} \
             HTTP/1.1\r\nHost: updates.example.com\r\nAccept: application/json\r\nX-CodePush-Plugin-Name: react-native-code-push\r\n\
             X-CodePush-Plugin-Version: 9.0.0\r\nX-CodePush-SDK-Version: 4.2.1\r\nUser-Agent: okhttp/4.9.2\r\n\r\n",
            deployment.key.as_str(),
            package_hash(*label),
        );
        requests.push(request.into_bytes());
    }
    Ok(requests)
}
