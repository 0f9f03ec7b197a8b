//! Load on the edge: the memory, rows and control plane calls that many requests may cost, and that each gets a response. The short form runs as
//! tests, the long one as `cargo xtask soak edge`.
//!
//! `flood` simulates attackers, `connections` many devices. Start reading at [`Size`].

pub mod connections;
pub mod flood;

/// Unlimited, so that the other limits apply.
const ANY_NUMBER: &str = "1000000000/1m";

/// The amount and duration of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The number of random checks in a flood, and of random reports.
    pub requests: usize,
    /// The duration of the warm-up over open connections before memory is compared: V8 grows its heap in steps and then stays there.
    pub warm_seconds: usize,
    /// The minimum number of checks in the warm-up.
    pub warm_checks: u64,
    /// The duration of the comparison of memory; at least 4.
    pub seconds: usize,
    /// The minimum number of checks in the comparison: on a busy machine they take longer, and a leak is counted per check.
    pub checks: u64,
}

impl Size {
    /// The size for tests.
    pub const SHORT: Self = Self { requests: 5_000, warm_seconds: 8, warm_checks: 20_000, seconds: 10, checks: 20_000 };
    /// The size for the soak test.
    pub const LONG: Self = Self { requests: 20_000, warm_seconds: 15, warm_checks: 60_000, seconds: 60, checks: 500_000 };

    /// The number of clients that send a flood's reports: fewer than reports, so that they repeat themselves.
    fn clients(self) -> u64 {
        self.requests as u64 * 3 / 10
    }
}

/// Runs everything at this size, one after the other. Panics if a bound is exceeded.
pub async fn run(size: Size) {
    println!("checks of random keys");
    flood::random_checks(size).await;
    println!("random reports through the queue");
    flood::random_reports(size).await;
    println!("random checks and reports without an edge");
    flood::without_an_edge(size).await;
    println!("one flood after the other");
    flood::one_after_the_other(size).await;
    println!("connections that stay open");
    connections::on_a_bare_workerd(size).await;
}
