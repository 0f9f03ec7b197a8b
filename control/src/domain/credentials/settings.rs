//! The operator's settings for sessions.

/// Lifetimes of sessions, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// A dashboard session.
    pub dashboard: i64,
    /// A dashboard session that is not used.
    pub idle: i64,
    /// A CLI credential.
    pub cli: i64,
    /// The maximum age of a login or re-authentication for operations that give lasting access.
    pub freshness: i64,
}
