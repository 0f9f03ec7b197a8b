//! The operator's limits for accounts, and how long registrations stay pending.

/// Limits of an account; each account stores its own.
#[derive(Clone, Copy, Debug)]
pub struct AccountLimits {
    /// Maximum number of API keys that are neither revoked nor expired.
    pub api_keys: u32,
    /// Days of daily history.
    pub retention_days: u32,
    /// Maximum bundle size of its apps, in bytes.
    pub upload_bytes: u64,
}

/// How long a registration stays pending, in milliseconds. The link in its mail expires earlier.
pub const PENDING_LIFETIME: i64 = 7 * 86_400_000;
