//! Stages of a long command: each is announced, timed and counted, and the count is the last line.

use std::time::Instant;

use crate::session::{Failure, Session};

/// How many tests and checks passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Count {
    /// One check.
    pub(crate) fn one(passed: bool) -> Self {
        Self { passed: u64::from(passed), failed: u64::from(!passed) }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

/// The stages so far.
#[derive(Default)]
pub(crate) struct Stages {
    done: Vec<(&'static str, Count, f64)>,
    notes: Vec<String>,
}

impl Stages {
    /// Runs a stage that counts as one check.
    pub(crate) fn check(&mut self, session: &Session, name: &'static str, work: impl FnOnce() -> Result<(), Failure>) -> bool {
        self.count(session, name, || work().map(|()| Count::one(true))).failed == 0
    }

    /// Runs a stage that counts by itself, and gives its count. A stage that cannot be finished counts as one failure; once interrupted, none
    /// is begun.
    pub(crate) fn count(&mut self, session: &Session, name: &'static str, work: impl FnOnce() -> Result<Count, Failure>) -> Count {
        if session.is_interrupted() {
            return Count::one(false);
        }
        println!("\n=== {name}");
        let watch = Stopwatch::start();
        let count = work().unwrap_or_else(|failure| {
            println!("{name}: {failure}");
            Count::one(false)
        });
        let seconds = watch.seconds();
        println!("=== {name}: {}, {seconds:.1} s", words(count));
        self.done.push((name, count, seconds));
        count
    }

    /// Something to be read again at the end.
    pub(crate) fn note(&mut self, text: String) {
        println!("{text}");
        self.notes.push(text);
    }

    /// Prints every stage and, as the last line, the sum. Fails when anything failed, when nothing was counted, or when interrupted.
    pub(crate) fn finish(self, session: &Session) -> Result<(), Failure> {
        println!();
        for (name, count, seconds) in &self.done {
            println!("{name:<28} {seconds:>7.1} s  {}", words(*count));
        }
        for note in &self.notes {
            println!("{note}");
        }
        let mut sum = self.done.iter().fold(Count::default(), |sum, (_, count, _)| sum.plus(*count));
        if session.is_interrupted() {
            println!("interrupted");
            sum.failed = sum.failed.max(1);
        }
        println!("{}", words(sum));
        match (session.is_interrupted(), sum) {
            (true, _) => Err(Failure::Interrupted),
            (false, Count { passed: 1.., failed: 0 }) => Ok(()),
            (false, _) => Err(Failure::Counted),
        }
    }
}

fn words(count: Count) -> String {
    format!("{} passed, {} failed", count.passed, count.failed)
}

/// The one place that reads the time: to tell the developer how long a stage took.
struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "times of stages are only printed; nothing here is tested against a clock")]
    fn start() -> Self {
        Self(Instant::now())
    }

    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
