//! The operator's settings for authorizing CLIs.

use shared::limit::Rate;

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
