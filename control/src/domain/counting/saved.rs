//! Estimates how many bytes diffs have saved.
//!
//! A device's first download report of a release adds the release's size minus the size of the diff from the release that the device's row says it runs. The
//! estimate depends on the order in which reports are counted, and on the diffs that exist then. The counts beside it do not.

use shared::keys::Label;

use super::repo::CHUNK;
use super::rules::{Changes, Place};
use crate::infra::db::ReadTx;
use crate::on;

// Three lookups by key for each update: SQLite keeps the order of a CROSS JOIN. A diff that is no smaller than the release saves nothing.
const SAVED: &str = "WITH wanted (number, deployment, target, source) AS (VALUES [(?, ?, ?, ?)]) \
    SELECT CAST(number AS BIGINT), r.size - d.size FROM wanted CROSS JOIN releases r CROSS JOIN releases s CROSS JOIN release_diffs d \
    WHERE r.deployment_id = deployment AND r.label = CAST(target AS BIGINT) AND s.deployment_id = deployment AND s.label = CAST(source AS BIGINT) \
    AND d.release_id = r.id AND d.source_hash = s.package_hash AND d.size < r.size";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[SAVED];

/// Some devices that run one release and have downloaded another one for the first time.
struct Update {
    /// The counter of the downloaded release.
    place: Place,
    target: Label,
    source: Label,
    devices: i64,
}

/// Sets the bytes that the batch's updates have saved. It takes no locks, and one statement for 500 pairs of releases; none if no device was updated.
pub async fn estimate(tx: &mut ReadTx, changes: &mut Changes) -> sqlx::Result<()> {
    let updates = updates(changes);
    for chunk in updates.chunks(CHUNK) {
        let sql = tx.listed(SAVED, chunk.len());
        let rows: Vec<(i64, i64)> = on!(tx, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for (number, update) in (0_i64..).zip(chunk) {
                query = query.bind(number).bind(&update.place.deployment);
                query = query.bind(i64::from(update.target.number())).bind(i64::from(update.source.number()));
            }
            query.fetch_all(conn).await
        })?;
        for (number, bytes) in rows {
            if let Some(update) = usize::try_from(number).ok().and_then(|number| chunk.get(number)) {
                changes.save(&update.place, bytes.saturating_mul(update.devices));
            }
        }
    }
    Ok(())
}

fn updates(changes: &Changes) -> Vec<Update> {
    let all = changes.0.iter().flat_map(|(place, increments)| increments.updated_from.iter().map(move |from| (place, from)));
    all.filter_map(|(place, (source, devices))| {
        let target = Label::try_from(place.bucket.as_str()).ok()?;
        Some(Update { place: place.clone(), target, source: *source, devices: *devices })
    })
    .collect()
}
