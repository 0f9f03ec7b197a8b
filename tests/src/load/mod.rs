//! Many requests at the edge: what they may cost in memory, rows and calls of the control plane, and that each is answered. In short they are tests,
//! at length `cargo xtask soak edge`.
//!
//! `flood` is what unauthenticated clients send; `connections` is what many devices do. Start reading at [`Size`].

pub mod connections;
pub mod flood;

/// Unlimited, so that it is the other bounds that hold.
const ANY_NUMBER: &str = "1000000000/1m";

/// How much is sent, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Random checks in a flood, and random reports.
    pub requests: usize,
    /// Over connections that stay open, before memory is compared, so long and so many checks: V8 takes the room that it works in step by step, as it
    /// likes, and then stays there.
    pub warm_seconds: usize,
    /// See `warm_seconds`.
    pub warm_checks: u64,
    /// So long memory is compared; at least 4.
    pub seconds: usize,
    /// And for at least so many checks: on a busy machine they take longer, and a leak is counted in checks.
    pub checks: u64,
}

impl Size {
    /// What the tests run.
    pub const SHORT: Self = Self { requests: 5_000, warm_seconds: 8, warm_checks: 20_000, seconds: 10, checks: 20_000 };
    /// What the soak runs.
    pub const LONG: Self = Self { requests: 20_000, warm_seconds: 15, warm_checks: 60_000, seconds: 60, checks: 500_000 };

    /// Clients who send a flood's reports: fewer than those, so that they repeat themselves.
    fn clients(self) -> u64 {
        self.requests as u64 * 3 / 10
    }
}

/// Everything at this size, one after the other. Panics where a bound does not hold.
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
