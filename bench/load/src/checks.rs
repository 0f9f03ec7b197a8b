//! Update checks at the control plane, beside a handler that does nothing.
//!
//! Both are served in the same way, each held to the same one core, and take turns in each round. What is judged are ratios of CPU time within a
//! round: a machine that is busy with something else disturbs them the least.

use std::cell::Cell;
use std::time::Duration;

use control::testing::Db;
use tokio::time::Instant;

use crate::Failure;
use crate::connections::{Tally, ask};
use crate::data::{self, Deployment, RANGES, Sequence, is_disabled, package_hash};
use crate::figures::{Series, number};
use crate::server::{self, Server};

/// Releases of the two deployments.
const RELEASES: [u32; 2] = [50, 1_000];
/// The path of checks; the empty handler stands there, too.
pub(crate) const CHECKS: &str = "/v1/public/svc/update_check";
/// Questions that are made beforehand and asked over and over.
const QUESTIONS: u64 = 8_192;
/// Of a hundred devices, those that have the newest release.
const UP_TO_DATE: u64 = 95;

/// What is promised of the CPU time of a check: at most so many times that of the empty handler,
const MOST_OF_EMPTY: f64 = 3.0;
/// and with a thousand releases at most so many times that with fifty.
const MOST_OF_FEW: f64 = 2.0;

/// What was measured of one subject, round by round.
#[derive(Debug, Default)]
struct Measured {
    rate: Series,
    /// Microseconds of CPU time for each request.
    cpu: Series,
    milliseconds: Series,
    /// CPU time for each request, as so many times that of the subject it is compared with.
    ratio: Series,
}

/// Measures, prints the table, and says whether the promises hold.
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
        let questions = questions(deployment)?;
        if subjects.is_empty() {
            // The very same requests, so that what differs is what is done with them.
            subjects.push(("empty handler".to_owned(), &empty, questions.clone(), false));
        }
        subjects.push((format!("check, {} releases", deployment.releases), &control, questions, true));
    }
    let mut measured: Vec<Measured> = subjects.iter().map(|_| Measured::default()).collect();
    for round in 0..=rounds {
        // The first one warms up and counts for nobody.
        eprintln!("{}", if round == 0 { "warming up".to_owned() } else { format!("round {round} of {rounds}") });
        let time = Duration::from_secs(if round == 0 { 1 } else { seconds.into() });
        let mut costs: Vec<f64> = Vec::new();
        for ((name, server, questions, is_check), measured) in subjects.iter().zip(&mut measured) {
            let before = server.cpu()?;
            let tally = load(server.port, usize::try_from(connections)?, questions, time).await?;
            let cpu = (server.cpu()? - before) * 1e6 / number(tally.answers);
            if *is_check {
                verify(name, &tally)?;
            }
            if round > 0 {
                measured.rate.add(tally.rate());
                measured.cpu.add(cpu);
                measured.milliseconds.add(tally.milliseconds(99));
                // Each is compared with the one before it: the few releases with nothing, the many with the few.
                measured.ratio.add(costs.last().map_or(1.0, |base| cpu / base));
            }
            costs.push(cpu);
        }
    }
    println!("{connections} connections; {}", core.map_or("on all cores".to_owned(), |core| format!("each held to core {core}")));
    println!("| served | requests/s | CPU µs/request | 99 % within ms | CPU of the line above |");
    println!("|---|---|---|---|---|");
    for ((name, ..), measured) in subjects.iter().zip(&measured) {
        let Measured { rate, cpu, milliseconds, ratio } = measured;
        println!("| {name} | {rate:.0} | {cpu:.1} | {milliseconds:.1} | {ratio:.2} |");
    }
    println!("Most memory of the control plane: {} MiB", control.peak()?);
    let ratios: Vec<f64> = measured.iter().skip(1).map(|measured| measured.ratio.median()).collect();
    let mut holds = true;
    for ((what, most), ratio) in [("an empty handler", MOST_OF_EMPTY), ("50 releases", MOST_OF_FEW)].into_iter().zip(ratios) {
        let verdict = if ratio <= most { "holds" } else { "IS MISSED" };
        println!("At most {most} times the CPU time of {what}: {verdict} ({ratio:.2})");
        holds &= ratio <= most;
    }
    control.stop();
    empty.stop();
    Ok(holds)
}

async fn load(port: u16, connections: usize, questions: &[Vec<u8>], time: Duration) -> Result<Tally, Failure> {
    let (until, place) = (Instant::now() + time, Cell::new(0_usize));
    let next = || {
        let question = questions.get(place.get() % questions.len())?;
        place.set(place.get() + 1);
        (Instant::now() < until).then_some(question.as_slice())
    };
    let offer = b"\"is_available\":true";
    ask(port, connections, next, |body| body.windows(offer.len()).any(|window| window == offer)).await
}

/// As many are offered an update as there are devices without the newest release.
fn verify(name: &str, tally: &Tally) -> Result<(), Failure> {
    let percent = number(tally.noted) * 100.0 / number(tally.answers);
    let expected = number(100 - UP_TO_DATE);
    if (percent - expected).abs() < 1.5 { Ok(()) } else { Err(format!("{name}: {percent:.1} % were offered an update").into()) }
}

/// Requests as random devices send them.
fn questions(deployment: &Deployment) -> Result<Vec<Vec<u8>>, Failure> {
    let mut sequence = Sequence::new(7);
    let mut questions = Vec::new();
    for _ in 0..QUESTIONS {
        let range = sequence.below(5);
        let (_, version) = RANGES.get(usize::try_from(range)?).ok_or("no such range")?;
        // Newest first; what else is for this version is for devices that have not come so far.
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
        questions.push(request.into_bytes());
    }
    Ok(questions)
}
