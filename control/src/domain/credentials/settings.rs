//! What the operator decides about sessions.

/// How long sessions last, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// A dashboard session.
    pub dashboard: i64,
    /// A dashboard session that nobody uses.
    pub idle: i64,
    /// A command line's credential.
    pub cli: i64,
    /// How old a login or a re-authentication may be that gives lasting access.
    pub freshness: i64,
}

impl Default for SessionLimits {
    fn default() -> Self {
        const DAY: i64 = 86_400_000;
        Self { dashboard: 14 * DAY, idle: 3 * DAY, cli: 90 * DAY, freshness: 15 * 60_000 }
    }
}
