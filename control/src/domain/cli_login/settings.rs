//! The operator's settings for authorizing CLIs.

use shared::limit::Rate;

/// Limits for authorizing CLIs.
#[derive(Clone, Copy, Debug)]
pub struct CliLimits {
    /// Authorization requests per client address, both flows together.
    pub starts: Rate,
    /// Exchanges per client address; polls at the right interval do not count.
    pub tokens: Rate,
    /// Wrong user codes per account.
    pub resolves: Rate,
    /// How long a request can be approved, and exchanged in the device flow, in milliseconds.
    pub request: i64,
    /// How long an authorization code can be exchanged, in milliseconds.
    pub code: i64,
    /// The maximum age of the login that approves, for an account with two-factor authentication, in milliseconds.
    pub freshness: i64,
}
