//! `cargo xtask bench edge`: measures update checks that the edge answers from memory, compared with empty Workers and one in plain JavaScript.
//!
//! Every Worker runs alone in a plain workerd. All take turns in each round, and ratios are compared within a round, so that other load on the
//! machine affects all of them alike. CPU time per request is affected the least.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::{Args, value_parser};
use shared::{
    hash::Sha256Hex,
    ids::{AppId, DeploymentId},
    keys::{DeploymentKey, Label},
    signature::Secrets,
    snapshot::{DiffSource, HistoryRelease, Snapshot, SnapshotHeader, SnapshotKeys},
    time::UnixMillis,
};
use xtask::{leash::Leashed, paths, probe, workerd::Workerd};

use crate::{
    session::{Failure, Session, say},
    tools::{self, Kit},
    worker::{self, Recipe},
};

const CONNECTIONS: u32 = 16;
const STARTS: usize = 5;
const RELEASES: u32 = 50;
const KEY: &str = "the-key-of-a-benchmark";
/// The number and range of the newest enabled release, which the checks request.
const NEWEST: (u32, &str) = (49, "^1.2.0");
const RANGES: [&str; 5] = ["1.0.0", "^1.2.0", "~2.0.3", ">=3.0.0 <3.5.0 || 3.6.x", "4.x"];

/// The command's options.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Number of rounds; each Worker gets one turn per round
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds per turn
    #[arg(long, default_value_t = 10, value_parser = value_parser!(u32).range(1..))]
    seconds: u32,
}

/// A Worker to measure.
struct Subject {
    name: &'static str,
    /// The names of its modules and the files to copy them from, main module first.
    modules: Vec<(&'static str, PathBuf)>,
    /// The requests to send.
    checks: Vec<Check>,
    is_edge: bool,
}

/// A request, and the text that the response must contain.
struct Check {
    name: &'static str,
    path: String,
    expected: &'static str,
}

/// A running Worker.
struct Running {
    leash: Leashed,
    port: u16,
}

/// The measurements of one check, per round.
#[derive(Default)]
struct Measured {
    rates: Vec<f64>,
    cpu_microseconds: Vec<f64>,
}

/// Measures and prints the table.
pub(crate) fn run(session: &Session, options: &Options) -> Result<(), Failure> {
    let kit = Kit::for_worker(session)?;
    let (edge, empty) = (Recipe::edge(), Recipe::empty());
    worker::build_recipe(session, &kit, &edge)?;
    worker::build_recipe(session, &kit, &empty)?;
    let wrk = tools::Wrk::find(session)?;
    let folder = paths::target().join("bench-edge");
    fs::create_dir_all(&folder)?;
    let json = snapshot()?;
    fs::write(folder.join("snapshot.txt"), signed(&json)?)?;
    fs::write(folder.join("snapshot.json"), json)?;

    let subjects = subjects(&edge, &empty);
    let mut first_answers = Vec::new();
    let mut running = Vec::new();
    for subject in &subjects {
        say(format!("{}: {STARTS} starts", subject.name));
        let config = configure(&folder, subject)?;
        let mut times = Vec::new();
        for _ in 0..STARTS {
            times.push(first_answer(session, &config, subject)?);
        }
        first_answers.push(median(&times));
        let worker = start(session, &config)?;
        for check in &subject.checks {
            verify(&worker, check)?;
        }
        running.push(worker);
    }

    let mut measured: Vec<Vec<Measured>> =
        subjects.iter().map(|subject| subject.checks.iter().map(|_| Measured::default()).collect()).collect();
    // The first seconds do not count, because workerd is still compiling hot code.
    for round in 0..=options.rounds {
        let seconds = if round == 0 { options.seconds.min(3) } else { options.seconds };
        say(if round == 0 { "warming up".to_owned() } else { format!("round {round} of {}", options.rounds) });
        for ((subject, worker), measured) in subjects.iter().zip(&running).zip(&mut measured) {
            for (check, measured) in subject.checks.iter().zip(measured) {
                let (rate, cpu) = load(session, &wrk, worker, check, seconds)?;
                if round > 0 {
                    measured.rates.push(rate);
                    measured.cpu_microseconds.push(cpu);
                }
            }
        }
    }
    print(&subjects, &measured, &first_answers)
}

fn subjects(edge: &Recipe, empty: &Recipe) -> Vec<Subject> {
    let sources = paths::root().join("bench/edge");
    let (number, range) = NEWEST;
    let check = |more: &str| {
        format!(
            "/v1/public/svc/update_check?deployment_key={KEY}&app_version=1.2.3\
             &client_unique_id=8a5b3d2e-0f1c-4a7b-9c3d-1e2f3a4b5c6d{more}"
        )
    };
    let offered = |more: &str| Check {
        name: "update offered",
        path: check(&format!("&label=v44&package_hash={}{more}", hash(number - 5))),
        expected: "\"label\":\"v49\"",
    };
    let up_to_date = |more: &str| Check {
        name: "up to date",
        path: check(&format!("&label=v{number}&package_hash={}{more}", hash(number))),
        expected: "\"is_available\":false",
    };
    let nothing = || vec![Check { name: "", path: "/".to_owned(), expected: "ok" }];
    // The JavaScript Worker does not implement ranges, so the request names the right one.
    let hint = format!("&range={}", range.replace('^', "%5E"));
    let built = |recipe: &Recipe, name: &'static str| (name, recipe.folder.join(name));
    vec![
        Subject {
            name: "empty Rust Worker",
            modules: vec![built(empty, "index.js"), built(empty, "index_bg.wasm")],
            checks: nothing(),
            is_edge: false,
        },
        Subject {
            name: "edge",
            modules: vec![built(edge, "entry.js"), built(edge, "index.js"), built(edge, "index_bg.wasm")],
            checks: vec![offered(""), up_to_date("")],
            is_edge: true,
        },
        Subject { name: "empty JS Worker", modules: vec![("empty.js", sources.join("empty.js"))], checks: nothing(), is_edge: false },
        Subject {
            name: "JS Worker that parses",
            modules: vec![("parse.js", sources.join("parse.js"))],
            checks: vec![offered(&hint), up_to_date(&hint)],
            is_edge: false,
        },
    ]
}

fn hash(number: u32) -> Sha256Hex {
    Sha256Hex::of(&number.to_le_bytes())
}

/// The JSON of a deployment's snapshot as the publisher writes it.
fn snapshot() -> Result<String, Failure> {
    // The edge would look for a newer one than this if it were old.
    #[expect(clippy::disallowed_methods, reason = "the edge compares it with the machine's clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let created = UnixMillis(i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
    let header = SnapshotHeader { deployment: DeploymentId::v7(created, [1; 10]), app: AppId::v7(created, [2; 10]), version: 1, created };
    let releases: Vec<HistoryRelease> = (1..=RELEASES)
        .rev()
        .zip(RANGES.into_iter().cycle())
        .filter_map(|(number, range)| {
            Some(HistoryRelease {
                label: Label::new(number)?,
                range: range.to_owned(),
                package_hash: hash(number),
                is_mandatory: false,
                is_disabled: number % 10 == 0,
                rollout: None,
                description: Some("Fixes the crash on start when offline".to_owned()),
                size: 1_000_000,
                blob: hash(number + RELEASES),
                diffs: (1..6)
                    .map(|step| DiffSource { source_hash: hash(number.saturating_sub(step)), blob: hash(number + step), size: 9_000 })
                    .collect(),
            })
        })
        .collect();
    Snapshot::publish(&header, &releases).map_err(|fault| Failure::Message(fault.to_string()))
}

/// The value for KV: the JSON, signed for [`KEY`].
fn signed(json: &str) -> Result<String, Failure> {
    let secrets = Secrets::parse(SECRET).map_err(|fault| Failure::Message(fault.to_string()))?;
    let key = DeploymentKey::try_from(KEY).map_err(|fault| Failure::Message(fault.to_string()))?;
    Ok(SnapshotKeys::derive(&secrets).sign(&key, json))
}

/// Writes the configuration of a workerd with only this Worker. For the edge, a second Worker serves KV, which the edge reads every five seconds.
fn configure(folder: &Path, subject: &Subject) -> Result<PathBuf, Failure> {
    let folder = folder.join(subject.name.replace(' ', "-"));
    fs::create_dir_all(&folder)?;
    for name in ["snapshot.json", "snapshot.txt"] {
        fs::copy(folder.with_file_name(name), folder.join(name))?;
    }
    let mut modules = Vec::new();
    for (name, file) in &subject.modules {
        fs::copy(file, folder.join(name)).map_err(|error| Failure::Message(format!("{}: {error}", file.display())))?;
        let kind = if Path::new(name).extension().is_some_and(|extension| extension == "wasm") { "wasm" } else { "esModule" };
        modules.push(format!("(name = \"{name}\", {kind} = embed \"{name}\")"));
    }
    modules.push("(name = \"snapshot.json\", text = embed \"snapshot.json\")".to_owned());
    let bindings = if subject.is_edge { EDGE_BINDINGS } else { "" };
    let config = CONFIG.replace("MODULES", &modules.join(", ")).replace("BINDINGS", bindings);
    let path = folder.join("workerd.capnp");
    fs::write(&path, config)?;
    Ok(path)
}

const CONFIG: &str = r#"using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (compatibilityDate = "2026-11-17", modules = [MODULES], bindings = [BINDINGS])),
    (name = "kv", worker = (compatibilityDate = "2026-11-17", modules = [
      (name = "kv.js", esModule = "import text from 'snapshot.txt'; export default { fetch: () => new Response(text) };"),
      (name = "snapshot.txt", text = embed "snapshot.txt"),
    ])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
"#;
const SECRET: &str = "a-text-that-is-no-secret-but-as-long-as-one";
const EDGE_BINDINGS: &str = r#"
      (name = "CONTROL_URL", text = "http://control.localhost"), (name = "BASE_URL", text = "https://updates.example.com"),
      (name = "EDGE_SECRET", text = "a-text-that-is-no-secret-but-as-long-as-one"), (name = "DOWNLOAD_SECRET", text = "a-text-that-is-no-secret-but-as-long-as-one"),
      (name = "SNAPSHOTS", kvNamespace = "kv")"#;

/// Starts a workerd and waits until it answers.
fn start(session: &Session, config: &Path) -> Result<Running, Failure> {
    let port = probe::free_port()?;
    let workerd = Workerd {
        root: paths::root(),
        config: config.to_path_buf(),
        sockets: BTreeMap::from([("http".to_owned(), (Ipv4Addr::LOCALHOST, port).into())]),
        externals: BTreeMap::new(),
        environment: BTreeMap::new(),
    };
    let mut leash = workerd.start(|line| say(format!("workerd: {line}")))?;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if let Some(status) = leash.status() {
            return Err(Failure::Message(format!("workerd exited with {status}")));
        }
        if session.is_interrupted() {
            return Err(Failure::Interrupted);
        }
        thread::park_timeout(Duration::from_millis(1));
    }
    Ok(Running { leash, port })
}

/// The milliseconds from connecting to a workerd that has just started to listen until the first response is complete.
fn first_answer(session: &Session, config: &Path, subject: &Subject) -> Result<f64, Failure> {
    let worker = start(session, config)?;
    let Some(check) = subject.checks.first() else { return Ok(0.0) };
    #[expect(clippy::disallowed_methods, reason = "this measures wall-clock time")]
    let begin = std::time::Instant::now();
    verify(&worker, check)?;
    Ok(begin.elapsed().as_secs_f64() * 1000.0)
}

/// Sends one request and checks the response.
fn verify(worker: &Running, check: &Check) -> Result<(), Failure> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, worker.port))?;
    write!(stream, "GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", check.path)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.starts_with("HTTP/1.1 200 ") && answer.contains(check.expected) {
        Ok(())
    } else {
        Err(Failure::Message(format!("the response to {} does not contain {}: {answer}", check.path, check.expected)))
    }
}

/// Requests per second, and workerd's CPU time per request in microseconds.
fn load(session: &Session, wrk: &tools::Wrk, worker: &Running, check: &Check, seconds: u32) -> Result<(f64, f64), Failure> {
    let mut command = wrk.command();
    command.args(["--threads", "1", "--connections", &CONNECTIONS.to_string(), "--duration", &format!("{seconds}s")]);
    command.arg(format!("http://127.0.0.1:{}{}", worker.port, check.path));
    let before = cpu_seconds(worker.leash.id());
    let printed = session.output(&mut command)?;
    let spent = cpu_seconds(worker.leash.id()).zip(before).map_or(f64::NAN, |(after, before)| after - before);
    let fault = printed.lines().find(|line| line.contains("Non-2xx") || line.contains("Socket errors"));
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<f64>().ok());
    let rate = number(printed.lines().find_map(|line| line.strip_prefix("Requests/sec:")));
    let count = number(printed.lines().find_map(|line| line.trim().split_once(" requests in ")).map(|(count, _)| count));
    match (fault, rate.zip(count)) {
        (None, Some((rate, count))) => Ok((rate, spent * 1e6 / count)),
        _ => Err(Failure::Message(format!("{}: some requests failed:\n{printed}", check.path))),
    }
}

/// The CPU time that a process has used so far; only on Linux.
fn cpu_seconds(process: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before `)` may contain spaces. After it, fields 12 and 13 are user and system time in ticks, 100 per second.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Vec<f64> = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    (ticks.len() == 2).then(|| ticks.iter().sum::<f64>() / 100.0)
}

fn print(subjects: &[Subject], measured: &[Vec<Measured>], first_answers: &[f64]) -> Result<(), Failure> {
    let baseline = measured.first().and_then(|checks| checks.first());
    let baseline: &[f64] = baseline.map(|measured| measured.rates.as_slice()).unwrap_or_default();
    println!("| Worker | requests/s | % of empty Rust Worker (lowest–highest) | CPU µs/request | first response ms | Wasm, gzipped |");
    println!("|---|---|---|---|---|---|");
    for ((subject, checks), first_answer) in subjects.iter().zip(measured).zip(first_answers) {
        let wasm = subject.modules.iter().find(|(name, _)| *name == "index_bg.wasm").map(|(_, file)| worker::size(file)).transpose()?;
        let wasm = wasm.map_or("–".to_owned(), |(raw, gzipped)| format!("{}, {}", worker::kilobytes(raw), worker::kilobytes(gzipped)));
        for (check, measured) in subject.checks.iter().zip(checks) {
            let ratios: Vec<f64> = measured.rates.iter().zip(baseline).map(|(rate, base)| rate / base * 100.0).collect();
            let (lowest, highest) = ratios.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), ratio| (low.min(*ratio), high.max(*ratio)));
            let name = if check.name.is_empty() { subject.name.to_owned() } else { format!("{}, {}", subject.name, check.name) };
            let (rate, ratio, cpu) = (median(&measured.rates), median(&ratios), median(&measured.cpu_microseconds));
            println!("| {name} | {rate:.0} | {ratio:.0} % ({lowest:.0}–{highest:.0}) | {cpu:.0} | {first_answer:.1} | {wasm} |");
        }
    }
    Ok(())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.get(middle.wrapping_sub(1))) {
        (Some(upper), Some(lower)) if sorted.len().is_multiple_of(2) => f64::midpoint(*lower, *upper),
        (Some(value), _) => *value,
        (None, _) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::{Options, median, snapshot};

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_the_two_middle_values() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn options_are_numbers_above_zero() {
        let command = Options::augment_args(Command::new("edge").no_binary_name(true));
        let parse = |arguments: &[&str]| Options::from_arg_matches(&command.clone().try_get_matches_from(arguments)?);
        let options = parse(&["--seconds", "2", "--rounds", "1"]).unwrap();
        assert_eq!((options.rounds, options.seconds), (1, 2));
        assert!(parse(&["--seconds"]).is_err() && parse(&["--rounds", "0"]).is_err() && parse(&["--loud", "1"]).is_err());
    }

    #[test]
    fn the_snapshot_can_be_published() {
        assert!(snapshot().unwrap().contains("\"l\":49"));
    }
}
