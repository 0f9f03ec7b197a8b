//! SQL of tallies: counts of an account's failures of one kind, until they are summed up.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::event::{Event, Notice};
use crate::infra::db::{ReadTx, WriteTx};
use crate::on;

// Locks the row, or inserts it and so locks its key.
const ADD: &str = "INSERT INTO tallies (kind, account_id, since, count, due) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (kind, account_id) DO UPDATE SET count = tallies.count + excluded.count RETURNING count";
const DUE: &str = "SELECT kind, account_id FROM tallies WHERE due <= $1 ORDER BY due LIMIT $2";
// Repeats the condition of DUE: another replica may have been faster.
const CLOSE: &str = "DELETE FROM tallies WHERE kind = $1 AND account_id = $2 AND due <= $3 RETURNING since, count";

/// Every statement of this file.
pub const SQL: &[&str] = &[ADD, DUE, CLOSE];

/// What a tally counts.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Failures: the first one is in the audit trail.
    Failure(Event),
    /// Notices that were held back.
    Notice(Notice),
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Failure(event) => event.as_str(),
            Self::Notice(notice) => notice.as_str(),
        }
    }

    /// `None` for a kind of another version, which sums it up.
    fn stored(text: &str) -> Option<Self> {
        if text.starts_with("notice/") { text.parse().ok().map(Self::Notice) } else { text.parse().ok().map(Self::Failure) }
    }
}

/// A tally's count and start.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Tally {
    /// The time of the first failure.
    pub since: UnixMillis,
    /// The number of failures.
    pub count: i64,
}

/// Adds to a tally; returns whether these are the first. `due` is when the tally is summed up.
pub async fn add(tx: &mut WriteTx, kind: Kind, account: &AccountId, more: i64, now: UnixMillis, due: UnixMillis) -> sqlx::Result<bool> {
    let count: i64 =
        on!(tx, |conn| sqlx::query_scalar(ADD).bind(kind.as_str()).bind(account).bind(now).bind(more).bind(due).fetch_one(conn).await)?;
    Ok(count == more)
}

/// The kinds and accounts of due tallies, longest due first.
pub async fn due(tx: &mut ReadTx, now: UnixMillis, limit: i64) -> sqlx::Result<Vec<(Kind, AccountId)>> {
    let rows: Vec<(String, AccountId)> = on!(tx, |conn| sqlx::query_as(DUE).bind(now).bind(limit).fetch_all(conn).await)?;
    Ok(rows.into_iter().filter_map(|(kind, account)| Some((Kind::stored(&kind)?, account))).collect())
}

/// Removes and returns a due tally.
pub async fn close(tx: &mut WriteTx, kind: Kind, account: &AccountId, now: UnixMillis) -> sqlx::Result<Option<Tally>> {
    on!(tx, |conn| sqlx::query_as(CLOSE).bind(kind.as_str()).bind(account).bind(now).fetch_optional(conn).await)
}
