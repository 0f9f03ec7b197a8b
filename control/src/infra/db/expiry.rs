//! Rows that are over at a time.

use shared::time::UnixMillis;

use super::Db;
use crate::{on, on_write};

/// Rows of each kind that go in one step.
const BATCH: i64 = 200;

/// A kind of rows, as the area that owns them says it: which are over at a time, by their keys, and how one goes. The second statement repeats the condition
/// of the first, since the row may have been used again.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    /// Selects two texts, the key; `$1` is the time, `$2` how many.
    pub due: &'static str,
    /// Deletes the row of the key `$1`, `$2`, if it was over at `$3`.
    pub delete: &'static str,
    /// How long after the time in the row, in milliseconds.
    pub after: i64,
}

impl Expiry {
    /// Deletes rows that are over now, each in a transaction of its own, so that no request waits for longer than that, and not in a circle. Gives whether
    /// there may be more.
    pub async fn step(&self, db: &Db, now: UnixMillis) -> sqlx::Result<bool> {
        let over = now.plus_millis(-self.after);
        let mut tx = db.read().await?;
        let due: Vec<(String, String)> = on!(tx, |conn| sqlx::query_as(self.due).bind(over).bind(BATCH).fetch_all(conn).await)?;
        drop(tx);
        for (first, second) in &due {
            let mut tx = db.write().await?;
            on_write!(tx, |conn| sqlx::query(self.delete).bind(first).bind(second).bind(over).execute(conn).await)?;
            tx.commit().await?;
        }
        Ok(i64::try_from(due.len()).unwrap_or(BATCH) >= BATCH)
    }
}
