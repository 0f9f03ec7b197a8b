//! SQL of tallies: what of one kind an account had too much of, until it is summed up.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::infra::db::{ReadTx, WriteTx};
use crate::on;

// Locks the row, or makes it and so locks its key.
const ADD: &str = "INSERT INTO tallies (kind, account_id, since, count, due) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (kind, account_id) DO UPDATE SET count = tallies.count + excluded.count RETURNING count";
const DUE: &str = "SELECT kind, account_id FROM tallies WHERE due <= $1 ORDER BY due LIMIT $2";
// Repeats the condition of DUE: another replica may have been faster.
const CLOSE: &str = "DELETE FROM tallies WHERE kind = $1 AND account_id = $2 AND due <= $3 RETURNING since, count";

/// Every statement of this file.
pub const SQL: &[&str] = &[ADD, DUE, CLOSE];

/// What a tally has counted, and since when.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Tally {
    /// The time of the first.
    pub since: UnixMillis,
    /// How many there were.
    pub count: i64,
}

/// Counts more; whether they are the first. `due` is when they are summed up.
pub async fn add(tx: &mut WriteTx, kind: &str, account: &AccountId, more: i64, now: UnixMillis, due: UnixMillis) -> sqlx::Result<bool> {
    let count: i64 = on!(tx, |conn| sqlx::query_scalar(ADD).bind(kind).bind(account).bind(now).bind(more).bind(due).fetch_one(conn).await)?;
    Ok(count == more)
}

/// The kinds and accounts of tallies that are due, the longest due first.
pub async fn due(tx: &mut ReadTx, now: UnixMillis, limit: i64) -> sqlx::Result<Vec<(String, AccountId)>> {
    on!(tx, |conn| sqlx::query_as(DUE).bind(now).bind(limit).fetch_all(conn).await)
}

/// Takes a tally away that is due.
pub async fn close(tx: &mut WriteTx, kind: &str, account: &AccountId, now: UnixMillis) -> sqlx::Result<Option<Tally>> {
    on!(tx, |conn| sqlx::query_as(CLOSE).bind(kind).bind(account).bind(now).fetch_optional(conn).await)
}
