//! Deletes expired rows.

use shared::time::UnixMillis;

use super::Db;
use crate::{on, on_write};

/// Maximum number of rows of one kind to delete in one step.
const BATCH: i64 = 200;

/// A kind of row that expires, defined by its area: how to select expired rows by key, and how to delete one. The second statement repeats the condition
/// of the first, because the row may have been used in between.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    /// Selects the keys of expired rows, as two texts; `$1` is the time, `$2` the limit.
    pub due: &'static str,
    /// Deletes the row with the key `$1`, `$2` if it had expired at `$3`.
    pub delete: &'static str,
    /// How long to keep the row after the time in it, in milliseconds.
    pub after: i64,
}

impl Expiry {
    /// Deletes expired rows, each in its own transaction: requests wait for no more than one row, and no deadlock is possible. Returns whether there may be
    /// more.
    pub async fn step(&self, db: &Db, now: UnixMillis) -> sqlx::Result<bool> {
        let before = now.plus_millis(-self.after);
        let mut tx = db.read().await?;
        let due: Vec<(String, String)> = on!(tx, |conn| sqlx::query_as(self.due).bind(before).bind(BATCH).fetch_all(conn).await)?;
        drop(tx);
        for (first, second) in &due {
            let mut tx = db.write().await?;
            on_write!(tx, |conn| sqlx::query(self.delete).bind(first).bind(second).bind(before).execute(conn).await)?;
            tx.commit().await?;
        }
        Ok(i64::try_from(due.len()).unwrap_or(BATCH) >= BATCH)
    }
}
