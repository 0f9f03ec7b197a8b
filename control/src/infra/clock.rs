//! Time and randomness, injected through [`Clock`] and [`Entropy`].

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use shared::time::UnixMillis;

/// The source of the time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The system clock.
    System,
    /// A clock that only moves when a test advances it.
    Test(TestClock),
}

impl Clock {
    /// The current time, in Unix milliseconds.
    pub fn now(&self) -> UnixMillis {
        match self {
            Self::System => UnixMillis(system_millis()),
            Self::Test(clock) => clock.now(),
        }
    }
}

/// A clock for tests; clones share one time.
#[derive(Clone, Debug)]
pub struct TestClock {
    now: Arc<AtomicI64>,
    step: Arc<AtomicI64>,
}

impl TestClock {
    /// A clock that is set to `start`.
    pub fn at(start: UnixMillis) -> Self {
        Self { now: Arc::new(AtomicI64::new(start.0)), step: Arc::default() }
    }

    /// A clock that starts at the system time, for tests with another program that uses the real time, such as the Worker.
    pub fn starting_now() -> Self {
        Self::at(UnixMillis(system_millis()))
    }

    /// The time of this clock.
    pub fn now(&self) -> UnixMillis {
        UnixMillis(self.now.fetch_add(self.step.load(Ordering::SeqCst), Ordering::SeqCst))
    }

    /// Moves the clock by `millis`, backwards when negative.
    pub fn advance(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::SeqCst);
    }

    /// From now on, moves the clock by `millis` after each reading, as if everything took long.
    pub fn step(&self, millis: i64) {
        self.step.store(millis, Ordering::SeqCst);
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the system clock")]
fn system_millis() -> i64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}

/// The source of randomness.
#[derive(Clone, Debug)]
pub enum Entropy {
    /// The operating system's generator.
    System,
    /// A fixed sequence for tests, different on each call; clones share it.
    Test(Arc<AtomicU64>),
}

impl Entropy {
    /// A fixed sequence for tests.
    pub fn test() -> Self {
        Self::Test(Arc::new(AtomicU64::new(1)))
    }

    /// `N` random bytes. Fails if the operating system provides none.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], getrandom::Error> {
        let mut bytes = [0_u8; N];
        match self {
            Self::System => fill(&mut bytes)?,
            Self::Test(counter) => {
                // splitmix64: every call returns different bytes, which is all that tests need.
                let mut state = counter.fetch_add(1, Ordering::SeqCst).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                for chunk in bytes.chunks_mut(8) {
                    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let mut mixed = state;
                    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                    mixed ^= mixed >> 31;
                    for (to, from) in chunk.iter_mut().zip(mixed.to_le_bytes()) {
                        *to = from;
                    }
                }
            }
        }
        Ok(bytes)
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks the operating system for randomness")]
fn fill(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
    getrandom::fill(bytes)
}
