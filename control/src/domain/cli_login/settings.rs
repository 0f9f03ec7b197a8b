//! What the operator decides about how command lines are let in.

use shared::limit::Rate;

const MINUTE: i64 = 60_000;

/// Limits on the logins of command lines.
#[derive(Clone, Copy, Debug)]
pub struct CliLimits {
    /// Requests to be let in, of both ways together, per client address.
    pub starts: Rate,
    /// Exchanges per client address; polls that keep their interval are not counted.
    pub tokens: Rate,
    /// Wrong user codes per account.
    pub resolves: Rate,
    /// How long a request can be approved, and exchanged by a device, in milliseconds.
    pub request: i64,
    /// How long an authorization code can be exchanged, in milliseconds.
    pub code: i64,
    /// How old a login may be that approves for an account with a second factor, in milliseconds.
    pub freshness: i64,
}

impl Default for CliLimits {
    fn default() -> Self {
        Self {
            starts: Rate { count: 20, window: 10 * MINUTE },
            tokens: Rate { count: 1_000, window: 10 * MINUTE },
            resolves: Rate { count: 10, window: 15 * MINUTE },
            request: 10 * MINUTE,
            code: MINUTE,
            freshness: 15 * MINUTE,
        }
    }
}
