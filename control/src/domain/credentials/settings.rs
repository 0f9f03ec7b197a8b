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
