//! SQL of limits.

use shared::time::UnixMillis;

use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

// Locks the row, or inserts it and so locks its key: concurrent transactions are serialized on both databases.
const LOCK: &str = "INSERT INTO limit_counts (name, subject, times, forget_time) VALUES ($1, $2, '[]', $3) \
    ON CONFLICT (name, subject) DO UPDATE SET name = excluded.name RETURNING times";
const FIND: &str = "SELECT times FROM limit_counts WHERE name = $1 AND subject = $2";
const STORE: &str = "UPDATE limit_counts SET times = $3, forget_time = $4 WHERE name = $1 AND subject = $2";
const CLEAR: &str = "DELETE FROM limit_counts WHERE name = $1 AND subject = $2";

const EXPIRED: &str = "SELECT name, subject FROM limit_counts WHERE forget_time <= $1 ORDER BY forget_time LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM limit_counts WHERE name = $1 AND subject = $2 AND forget_time <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[LOCK, FIND, STORE, CLEAR, EXPIRED, DELETE_EXPIRED];

/// Counts whose window has passed.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: 0 };

/// Locks a row and returns its times, a JSON list.
pub async fn lock(tx: &mut WriteTx, name: &str, subject: &str, now: UnixMillis) -> sqlx::Result<String> {
    on!(tx, |conn| sqlx::query_scalar(LOCK).bind(name).bind(subject).bind(now).fetch_one(conn).await)
}

/// Reads the times of a row, without a lock.
pub async fn find(tx: &mut ReadTx, name: &str, subject: &str) -> sqlx::Result<Option<String>> {
    on!(tx, |conn| sqlx::query_scalar(FIND).bind(name).bind(subject).fetch_optional(conn).await)
}

/// Writes the times of a row, and when the row may be deleted.
pub async fn store(tx: &mut WriteTx, name: &str, subject: &str, times: &str, forget: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(STORE).bind(name).bind(subject).bind(times).bind(forget).execute(conn).await)
}

/// Deletes a row.
pub async fn clear(tx: &mut WriteTx, name: &str, subject: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CLEAR).bind(name).bind(subject).execute(conn).await)
}
