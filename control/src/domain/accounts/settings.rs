//! What the operator decides about accounts, and how long registrations wait.

/// What an account may have; each account keeps its own.
#[derive(Clone, Copy, Debug)]
pub struct AccountLimits {
    /// API keys that are neither revoked nor expired.
    pub api_keys: u32,
    /// Days of daily history.
    pub retention_days: u32,
    /// The largest bundle of its apps, in bytes.
    pub upload_bytes: u64,
}

/// How long a registration waits, in milliseconds; its mail's link works for less.
pub const PENDING_LIFETIME: i64 = 7 * 86_400_000;
