//! `cargo xtask bench edge`: measures update checks that the edge answers from memory, compared with empty Workers and one in plain JavaScript.
//!
//! Every Worker runs alone in a plain workerd. All take turns in each round, and ratios are compared within a round, so that other load on the
//! machine affects all of them alike. CPU time per request is affected the least.
//!
//! This release's Worker and the previous one's share their turns ([`ORDER`]), because a bound depends on their ratio. Then both load large
//! snapshots ([`loads`]).

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use clap::{Args, value_parser};
use xtask::{leash::Leashed, paths, probe, workerd::Workerd};

use super::loads;
use super::values::{self, Values};
use crate::{
    previous::Previous,
    session::{Failure, Session, say},
    tools::{self, Kit},
    worker::{self, Recipe},
};

const CONNECTIONS: u32 = 16;
/// The Worker of this release, and that of the previous one.
const EDGE: &str = "edge";
const PREVIOUS: &str = "edge of the previous release";
/// The most CPU time of a check from memory, compared with the previous release.
const MOST: f64 = 1.05;
/// Who takes the parts of a turn that two Workers share: a machine that gets steadily slower or faster meanwhile affects both alike.
const ORDER: [usize; 4] = [0, 1, 1, 0];
/// The modules of the edge.
pub(super) const WORKER: [&str; 3] = ["entry.js", "index.js", "index_bg.wasm"];
const STARTS: usize = 5;
/// The number and range of the newest enabled release, which the checks request.
const NEWEST: (u32, &str) = (49, "^1.2.0");

/// The command's options.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Number of rounds; each Worker gets one turn per round
    #[arg(long, default_value_t = 10, value_parser = value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds per turn
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    seconds: u32,
}

/// A Worker to measure.
pub(super) struct Subject {
    pub(super) name: &'static str,
    /// The names of its modules and the files to copy them from, main module first.
    pub(super) modules: Vec<(&'static str, PathBuf)>,
    /// The requests to send.
    pub(super) checks: Vec<Check>,
    /// What KV gives, if it is the edge.
    pub(super) values: Option<Values>,
}

/// A request, and the text that the response must contain.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) path: String,
    pub(super) expected: &'static str,
}

/// A running Worker.
pub(super) struct Running {
    pub(super) leash: Leashed,
    port: u16,
}

/// The measurements of one check, per round.
#[derive(Default)]
struct Measured {
    rates: Vec<f64>,
    cpu_microseconds: Vec<f64>,
}

/// What a Worker did in a turn.
#[derive(Clone, Copy, Default)]
struct Turn {
    requests: f64,
    seconds: f64,
    cpu_seconds: f64,
}

impl std::ops::AddAssign for Turn {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.seconds += other.seconds;
        self.cpu_seconds += other.cpu_seconds;
    }
}

impl Measured {
    fn push(&mut self, turn: Turn) {
        self.rates.push(turn.requests / turn.seconds);
        self.cpu_microseconds.push(turn.cpu_seconds * 1e6 / turn.requests);
    }
}

/// Measures and prints the table.
pub(crate) fn run(session: &Session, options: &Options) -> Result<(), Failure> {
    let kit = Kit::for_worker(session)?;
    let (edge, empty) = (Recipe::edge(), Recipe::empty());
    worker::build_recipe(session, &kit, &edge)?;
    worker::build_recipe(session, &kit, &empty)?;
    let previous = Previous::find(session)?.worker(session)?;
    let folder = paths::target().join("bench-edge");
    fs::create_dir_all(&folder)?;
    let json = values::small()?;
    fs::write(folder.join("snapshot.json"), &json)?;

    let subjects = subjects(&edge, &empty, &previous, json)?;
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

    let measured = rounds(session, options, &subjects, &running)?;
    drop(running);
    print(&subjects, &measured, &first_answers)?;
    println!();
    let is_slow = compare(&subjects, &measured);
    let loads = loads::measure(session, &folder, [&edge.folder, &previous], options.rounds)?;
    println!("{loads}");
    if is_slow || loads.are_slow() {
        return Err(Failure::Message("a check takes too much longer than in the previous release".to_owned()));
    }
    Ok(())
}

/// Lets every Worker answer its requests in each round.
fn rounds(session: &Session, options: &Options, subjects: &[Subject], running: &[Running]) -> Result<Vec<Vec<Measured>>, Failure> {
    let wrk = tools::Wrk::find(session)?;
    let mut measured: Vec<Vec<Measured>> =
        subjects.iter().map(|subject| subject.checks.iter().map(|_| Measured::default()).collect()).collect();
    // The first seconds do not count, because workerd is still compiling hot code.
    for round in 0..=options.rounds {
        let seconds = if round == 0 { options.seconds.min(3) } else { options.seconds };
        say(if round == 0 { "warming up".to_owned() } else { format!("round {round} of {}", options.rounds) });
        for sharers in sharers(subjects) {
            let workers: Vec<(usize, &Subject, &Running)> =
                sharers.iter().filter_map(|place| Some((*place, subjects.get(*place)?, running.get(*place)?))).collect();
            let Some((_, first, _)) = workers.first() else { continue };
            for check in 0..first.checks.len() {
                let turns = turn(session, &wrk, &workers, check, seconds)?;
                for ((place, ..), turn) in workers.iter().zip(turns) {
                    if let Some(measured) = measured.get_mut(*place).and_then(|checks| checks.get_mut(check)).filter(|_| round > 0) {
                        measured.push(turn);
                    }
                }
            }
        }
    }
    Ok(measured)
}

/// The places of the Workers, those that share their turns together.
fn sharers(subjects: &[Subject]) -> Vec<Vec<usize>> {
    let place = |name: &str| subjects.iter().position(|subject| subject.name == name);
    let pair: Vec<usize> = [EDGE, PREVIOUS].into_iter().filter_map(place).collect();
    let others = (0..subjects.len()).filter(|place| !pair.contains(place)).map(|place| vec![place]);
    others.chain([pair.clone()]).collect()
}

/// One turn: all of the time for one Worker, or parts of it in [`ORDER`] for two.
fn turn(
    session: &Session,
    wrk: &tools::Wrk,
    workers: &[(usize, &Subject, &Running)],
    check: usize,
    seconds: u32,
) -> Result<Vec<Turn>, Failure> {
    let (order, seconds): (&[usize], u32) = if workers.len() == 1 { (&[0], seconds) } else { (&ORDER, seconds.div_ceil(2)) };
    let mut turns = vec![Turn::default(); workers.len()];
    for place in order {
        let worker = workers.get(*place).and_then(|(_, subject, running)| Some((running, subject.checks.get(check)?)));
        let (Some((running, check)), Some(turn)) = (worker, turns.get_mut(*place)) else { continue };
        *turn += load(session, wrk, running, check, seconds)?;
    }
    Ok(turns)
}

fn subjects(edge: &Recipe, empty: &Recipe, previous: &Path, json: String) -> Result<Vec<Subject>, Failure> {
    let sources = paths::root().join("bench/edge");
    let (number, range) = NEWEST;
    let check = |more: &str| {
        format!(
            "/v1/public/svc/update_check?deployment_key={}&app_version=1.2.3\
             &client_unique_id=8a5b3d2e-0f1c-4a7b-9c3d-1e2f3a4b5c6d{more}",
            values::KEY
        )
    };
    let offered = |more: &str| Check {
        name: "update offered",
        path: check(&format!("&label=v44&package_hash={}{more}", values::hash(number - 5))),
        expected: "\"label\":\"v49\"",
    };
    let up_to_date = |more: &str| Check {
        name: "up to date",
        path: check(&format!("&label=v{number}&package_hash={}{more}", values::hash(number))),
        expected: "\"is_available\":false",
    };
    let nothing = || vec![Check { name: "", path: "/".to_owned(), expected: "ok" }];
    // The JavaScript Worker does not implement ranges, so the request names the right one.
    let hint = format!("&range={}", range.replace('^', "%5E"));
    let unsigned = Values::unsigned(&json);
    Ok(vec![
        Subject {
            name: "empty Rust Worker",
            modules: built(&empty.folder, &["index.js", "index_bg.wasm"]),
            checks: nothing(),
            values: None,
        },
        Subject {
            name: EDGE,
            modules: built(&edge.folder, &WORKER),
            checks: vec![offered(""), up_to_date("")],
            values: Some(Values::signed(json, [values::KEY.to_owned()])?),
        },
        Subject { name: PREVIOUS, modules: built(previous, &WORKER), checks: vec![offered(""), up_to_date("")], values: Some(unsigned) },
        Subject { name: "empty JS Worker", modules: vec![("empty.js", sources.join("empty.js"))], checks: nothing(), values: None },
        Subject {
            name: "JS Worker that parses",
            modules: vec![("parse.js", sources.join("parse.js"))],
            checks: vec![offered(&hint), up_to_date(&hint)],
            values: None,
        },
    ])
}

/// The modules of a Worker in this folder.
pub(super) fn built(folder: &Path, names: &[&'static str]) -> Vec<(&'static str, PathBuf)> {
    names.iter().map(|name| (*name, folder.join(name))).collect()
}

/// Writes the configuration of a workerd with only this Worker. For the edge, a second Worker serves KV, which the edge reads every five seconds.
pub(super) fn configure(folder: &Path, subject: &Subject) -> Result<PathBuf, Failure> {
    let folder = folder.join(subject.name.replace(' ', "-"));
    fs::create_dir_all(&folder)?;
    fs::copy(folder.with_file_name("snapshot.json"), folder.join("snapshot.json"))?;
    let Values { json, lines } = subject.values.clone().unwrap_or_default();
    fs::write(folder.join("kv.js"), KV)?;
    fs::write(folder.join("value.txt"), json)?;
    fs::write(folder.join("lines.json"), serde_json::to_string(&lines).map_err(std::io::Error::other)?)?;
    let mut modules = Vec::new();
    for (name, file) in &subject.modules {
        fs::copy(file, folder.join(name)).map_err(|error| Failure::Message(format!("{}: {error}", file.display())))?;
        let kind = if Path::new(name).extension().is_some_and(|extension| extension == "wasm") { "wasm" } else { "esModule" };
        modules.push(format!("(name = \"{name}\", {kind} = embed \"{name}\")"));
    }
    modules.push("(name = \"snapshot.json\", text = embed \"snapshot.json\")".to_owned());
    let bindings = if subject.values.is_some() { EDGE_BINDINGS } else { "" };
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
      (name = "kv.js", esModule = embed "kv.js"),
      (name = "value.txt", text = embed "value.txt"),
      (name = "lines.json", json = embed "lines.json"),
    ])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
"#;
const KV: &str = "import json from 'value.txt'; import lines from 'lines.json';
export default { fetch(request) {
  const key = decodeURIComponent(new URL(request.url).pathname).split('/').pop();
  return new Response((lines[key] ?? '') + json);
} };";
const EDGE_BINDINGS: &str = r#"
      (name = "CONTROL_URL", text = "http://control.localhost"), (name = "BASE_URL", text = "https://updates.example.com"),
      (name = "EDGE_SECRET", text = "a-text-that-is-no-secret-but-as-long-as-one"), (name = "DOWNLOAD_SECRET", text = "a-text-that-is-no-secret-but-as-long-as-one"),
      (name = "SNAPSHOTS", kvNamespace = "kv")"#;
/// Starts a workerd and waits until it answers.
pub(super) fn start(session: &Session, config: &Path) -> Result<Running, Failure> {
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
pub(super) fn verify(worker: &Running, check: &Check) -> Result<(), Failure> {
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

/// Sends a request again and again, for so many seconds.
fn load(session: &Session, wrk: &tools::Wrk, worker: &Running, check: &Check, seconds: u32) -> Result<Turn, Failure> {
    let mut command = wrk.command();
    command.args(["--threads", "1", "--connections", &CONNECTIONS.to_string(), "--duration", &format!("{seconds}s")]);
    command.arg(format!("http://127.0.0.1:{}{}", worker.port, check.path));
    let before = cpu_seconds(worker.leash.id());
    let printed = session.output(&mut command)?;
    let cpu_seconds = cpu_seconds(worker.leash.id()).zip(before).map_or(f64::NAN, |(after, before)| after - before);
    let fault = printed.lines().find(|line| line.contains("Non-2xx") || line.contains("Socket errors"));
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<f64>().ok());
    let rate = number(printed.lines().find_map(|line| line.strip_prefix("Requests/sec:")));
    let count = number(printed.lines().find_map(|line| line.trim().split_once(" requests in ")).map(|(count, _)| count));
    match (fault, rate.zip(count)) {
        (None, Some((rate, requests))) if rate > 0.0 => Ok(Turn { requests, seconds: requests / rate, cpu_seconds }),
        _ => Err(Failure::Message(format!("{}: some requests failed:\n{printed}", check.path))),
    }
}

/// The CPU time that a process has used so far; only on Linux.
pub(super) fn cpu_seconds(process: u32) -> Option<f64> {
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

/// Prints the ratios of the CPU time of checks from memory to that of the previous release. Returns whether one is too high.
fn compare(subjects: &[Subject], measured: &[Vec<Measured>]) -> bool {
    let of = |name: &str| {
        let place = subjects.iter().position(|subject| subject.name == name);
        place.and_then(|place| Some((&subjects.get(place)?.checks, measured.get(place)?)))
    };
    let Some(((checks, new), (_, old))) = of(EDGE).zip(of(PREVIOUS)) else { return false };
    let mut is_slow = false;
    for ((check, new), old) in checks.iter().zip(new).zip(old) {
        let ratios: Vec<f64> = new.cpu_microseconds.iter().zip(&old.cpu_microseconds).map(|(new, old)| new / old).collect();
        let (ratio, rounds) = (median(&ratios), ratios.len());
        println!("{}: {ratio:.3} times the CPU time of the previous release (at most {MOST}), median of {rounds} rounds", check.name);
        is_slow |= ratio > MOST;
    }
    is_slow
}

pub(super) fn median(values: &[f64]) -> f64 {
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

    use super::{Options, median};

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
}
