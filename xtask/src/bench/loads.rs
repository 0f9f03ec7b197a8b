//! What it costs the edge to load a snapshot of 2 MiB that it does not have in memory, compared with the Worker of the previous release.
//!
//! Each check is for another key: a Worker neither verifies nor parses again what it has seen.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use super::edge::{self, Check, Subject, WORKER, built, median};
use super::values::{self, Values};
use crate::session::{Failure, Session, say};

/// Loads that do not count, because workerd is still compiling, and those that do.
const FIRST: usize = 20;
const LOADS: usize = 100;
/// The most CPU time of a load, compared with the previous release.
const MOST: f64 = 1.2;

/// The CPU time of a load in each round, in seconds: of this release's Worker, and of the previous one's.
#[derive(Debug)]
pub(super) struct Loads(Vec<[f64; 2]>);

impl Loads {
    fn ratio(&self) -> f64 {
        median(&self.0.iter().map(|[new, old]| new / old).collect::<Vec<_>>())
    }

    pub(super) fn are_slow(&self) -> bool {
        self.ratio() > MOST
    }
}

impl Display for Loads {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let of = |pick: fn(&[f64; 2]) -> f64| median(&self.0.iter().map(pick).collect::<Vec<_>>()) * 1_000.0;
        let (ratio, new, old, rounds) = (self.ratio(), of(|round| round[0]), of(|round| round[1]), self.0.len());
        write!(
            to,
            "load of 2 MiB: {new:.1} ms of CPU time, {old:.1} ms in the previous release: {ratio:.3} times (at most {MOST}), median of {rounds} rounds"
        )
    }
}

/// Measures the Workers in these folders, the new one first, in turn.
pub(super) fn measure(session: &Session, folder: &Path, [new, old]: [&Path; 2], rounds: u32) -> Result<Loads, Failure> {
    let json = values::large()?;
    let keys: Vec<String> = (0..FIRST + LOADS).map(|number| format!("{}-{number:04}", values::KEY)).collect();
    let unsigned = Values::unsigned(&json);
    let subject = |name, folder, values| Subject { name, modules: built(folder, &WORKER), checks: Vec::new(), values: Some(values) };
    let subjects =
        [subject("edge that loads", new, Values::signed(json, keys.clone())?), subject("previous edge that loads", old, unsigned)];
    let mut measured = Vec::new();
    for round in 1..=rounds {
        say(format!("loads, round {round} of {rounds}"));
        let mut of_round = [0.0; 2];
        for (spent, subject) in of_round.iter_mut().zip(&subjects) {
            *spent = turn(session, folder, subject, &keys)?;
        }
        measured.push(of_round);
    }
    Ok(Loads(measured))
}

/// The CPU time of a load, in seconds.
fn turn(session: &Session, folder: &Path, subject: &Subject, keys: &[String]) -> Result<f64, Failure> {
    let worker = edge::start(session, &edge::configure(folder, subject)?)?;
    let used = || edge::cpu_seconds(worker.leash.id()).unwrap_or(f64::NAN);
    let mut before = 0.0;
    for (number, key) in keys.iter().enumerate() {
        if number == FIRST {
            before = used();
        }
        let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.2.3&client_unique_id=bench");
        edge::verify(&worker, &Check { name: "", path, expected: values::LARGE_LABEL })?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a hundred")]
    Ok((used() - before) / LOADS as f64)
}
