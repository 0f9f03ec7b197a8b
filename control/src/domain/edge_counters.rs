//! What the edge and the comparison with KV did not trust: forged, altered or kept-back snapshots, and altered bundles.
//!
//! Each call of an isolate is a row, so that a repeated call counts once. Health is degraded for ten minutes after the newest row.

use shared::time::UnixMillis;
use shared::wire::edge::{Distrusted, EdgeCounters};

use crate::domain::error::Result;
use crate::infra::db::expiry::Expiry;
use crate::infra::db::{Db, ReadTx};
use crate::{on, on_write};

/// How long rows are kept, in milliseconds: two days.
const KEPT: i64 = 48 * 3_600_000;

const ADD: &str = "INSERT INTO edge_counters (isolate, sequence, received_time, distrusted, old, replayed, altered_bundles) \
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (isolate, sequence) DO NOTHING";
const NEWEST: &str = "SELECT MAX(received_time) FROM edge_counters";
const EXPIRED: &str = "SELECT isolate, CAST(sequence AS TEXT) FROM edge_counters WHERE received_time <= $1 ORDER BY received_time LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM edge_counters WHERE isolate = $1 AND sequence = CAST($2 AS BIGINT) AND received_time <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[ADD, NEWEST, EXPIRED, DELETE_EXPIRED];

/// Old rows.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: KEPT };

/// Records a call, unless it was recorded before, and logs it.
pub async fn record(db: &Db, call: &EdgeCounters, now: UnixMillis) -> Result<()> {
    let Distrusted { distrusted, old, replayed, altered_bundles } = call.counts;
    let mut tx = db.write().await?;
    let added = on_write!(tx, |conn| sqlx::query(ADD)
        .bind(&call.isolate)
        .bind(call.sequence)
        .bind(now)
        .bind(i64::from(distrusted))
        .bind(i64::from(old))
        .bind(i64::from(replayed))
        .bind(i64::from(altered_bundles))
        .execute(conn)
        .await)?;
    tx.commit().await?;
    if added > 0 {
        tracing::warn!(distrusted, old, replayed, altered_bundles, "the edge was given what control has not written");
    }
    Ok(())
}

/// When the newest row was received; `None` without one.
pub async fn newest(tx: &mut ReadTx) -> sqlx::Result<Option<UnixMillis>> {
    on!(tx, |conn| sqlx::query_scalar(NEWEST).fetch_one(conn).await)
}
