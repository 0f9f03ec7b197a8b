//! The stages of a long command: each is announced, timed and counted; the last line is the total count.

use std::{thread, time::Instant};

use crate::{
    session::{Failure, Session},
    summary::Timed,
};

/// The number of slowest tests to list at the end.
const SLOWEST: usize = 20;

/// The number of tests and checks that passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Count {
    /// The count of a single check.
    pub(crate) fn one(passed: bool) -> Self {
        Self { passed: u64::from(passed), failed: u64::from(!passed) }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

/// The finished stages.
#[derive(Default)]
pub(crate) struct Stages {
    done: Vec<(&'static str, Count, f64)>,
    tests: Vec<Timed>,
    notes: Vec<String>,
}

impl Stages {
    /// Runs a stage that counts as one check.
    pub(crate) fn check(&mut self, session: &Session, name: &'static str, work: impl FnOnce() -> Result<(), Failure>) -> bool {
        self.count(session, name, || work().map(|()| Count::one(true))).failed == 0
    }

    /// Runs a stage that returns its own count. A stage that cannot finish counts as one failure; after an interruption, no stage starts.
    pub(crate) fn count(&mut self, session: &Session, name: &'static str, work: impl FnOnce() -> Result<Count, Failure>) -> Count {
        if session.is_interrupted() {
            return Count::one(false);
        }
        session.print("");
        session.print(&format!("=== {name}"));
        let watch = Stopwatch::start();
        let count = work().unwrap_or_else(|failure| {
            session.print(&format!("{name}: {failure}"));
            Count::one(false)
        });
        let seconds = watch.seconds();
        session.print(&format!("=== {name}: {}, {seconds:.1} s", words(count)));
        self.done.push((name, count, seconds));
        count
    }

    /// Runs two independent groups of stages in parallel. The stages of the first are listed first.
    pub(crate) fn side_by_side(&mut self, one: impl FnOnce(&mut Self), other: impl FnOnce(&mut Self) + Send) {
        let others = thread::scope(|scope| {
            let running = scope.spawn(|| {
                let mut stages = Self::default();
                other(&mut stages);
                stages
            });
            one(self);
            // The thread has already printed its panic.
            running.join().unwrap_or_else(|_| Self { done: vec![("the other lane", Count::one(false), 0.0)], ..Self::default() })
        });
        self.done.extend(others.done);
        self.tests.extend(others.tests);
        self.notes.extend(others.notes);
    }

    /// Adds tests that ran; the slowest are listed at the end.
    pub(crate) fn add_tests(&mut self, tests: Vec<Timed>) {
        self.tests.extend(tests);
    }

    /// Prints a note, now and again at the end.
    pub(crate) fn note(&mut self, text: String) {
        println!("{text}");
        self.notes.push(text);
    }

    /// Prints every stage and, as the last line, the total. Fails if anything failed, if nothing was counted, or if interrupted.
    pub(crate) fn finish(mut self, session: &Session) -> Result<(), Failure> {
        self.tests.sort_by(|one, next| next.seconds.total_cmp(&one.seconds));
        // Nextest prints failed tests again at the end of the run.
        self.tests.dedup();
        if !self.tests.is_empty() {
            println!("\nSlowest tests:");
        }
        for test in self.tests.iter().take(SLOWEST) {
            println!("{:>7.1} s  {} {}", test.seconds, test.stage, test.name);
        }
        println!();
        for (name, count, seconds) in &self.done {
            println!("{name:<40} {seconds:>7.1} s  {}", words(*count));
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
            (false, _) => Err(Failure::Reported),
        }
    }
}

fn words(count: Count) -> String {
    format!("{} passed, {} failed", count.passed, count.failed)
}

/// The only code that reads the time, to print how long a stage took.
struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "durations are only printed; no test depends on the clock here")]
    fn start() -> Self {
        Self(Instant::now())
    }

    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
