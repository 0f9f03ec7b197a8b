//! Recent metrics: what the reports of each minute have changed, for two days.
//!
//! The transaction that counts reports adds to one row per deployment, counter and minute of receipt. So over any minutes, the sums equal the changes of the
//! counters, and a report that arrives late or twice changes nothing here that it does not change there. Start reading at [`read`].

pub mod repo;

use std::collections::BTreeMap;

use shared::keys::Label;
use shared::time::UnixMillis;

use super::rules::Change;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::context::Context;
use crate::domain::deployments::service as deployments;
use crate::domain::error::Result;
use crate::infra::db::Db;

/// A minute in milliseconds.
const MINUTE: i64 = 60_000;
/// The longest range, in minutes: how long the rows are kept.
pub const MAX_MINUTES: u16 = 2_880;
/// How much longer the rows are kept than they are read and written, in milliseconds: replicas' clocks may differ.
const GRACE: i64 = 3_600_000;

/// The recent changes of a deployment's counters.
#[derive(Clone, Debug)]
pub struct Recent {
    /// The beginning of the range.
    pub from: UnixMillis,
    /// The end of the range: that of the current minute.
    pub to: UnixMillis,
    /// The minutes of a step.
    pub step: u16,
    /// The steps in which something changed, oldest first: the beginning of each, and the changes by label or binary version.
    pub points: BTreeMap<UnixMillis, BTreeMap<String, Change>>,
}

/// The minutes of a step in a range of this many minutes, so that there are at most about 200 steps.
const fn step(minutes: u16) -> u16 {
    match minutes {
        0..=120 => 1,
        121..=600 => 5,
        _ => 15,
    }
}

/// Reads the last minutes, the current one included. Steps begin at whole multiples of their length, so the first may begin a little earlier than asked for.
/// Errors: 404.
pub async fn read(app: &Context, grant: &AppGrant<ReadMetrics>, deployment: &str, minutes: u16) -> Result<Recent> {
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), deployment).await?;
    let step = step(minutes);
    let step_millis = i64::from(step) * MINUTE;
    let to = app.now().minute().plus_millis(MINUTE);
    let earliest = to.plus_millis(-i64::from(minutes) * MINUTE);
    let from = earliest.plus_millis(-earliest.0.rem_euclid(step_millis));
    let rows = repo::list(&mut tx, &deployment.id, deployment.counting_epoch, (from, to), step_millis).await?;
    let mut points = BTreeMap::<_, BTreeMap<_, _>>::new();
    for row in rows {
        let change = Change { active: row.active, downloaded: row.downloaded, installed: row.installed, failed: row.failed };
        if change != Change::default() {
            points.entry(row.time).or_default().insert(row.place, change);
        }
    }
    Ok(Recent { from, to, step, points })
}

/// The counters of a release in its first two days: at the end of each step, from its creation until now. `None` if it is older, because its first minutes
/// are no longer kept. Errors: 404.
pub async fn first_days(
    app: &Context,
    grant: &AppGrant<ReadMetrics>,
    deployment: &str,
    label: Label,
    released: UnixMillis,
) -> Result<Option<Vec<(UnixMillis, Change)>>> {
    let now = app.now().minute().plus_millis(MINUTE);
    let minutes = (now.0 - released.minute().0) / MINUTE;
    let Some(minutes) = u16::try_from(minutes).ok().filter(|minutes| *minutes <= MAX_MINUTES) else { return Ok(None) };
    let step_millis = i64::from(step(minutes)) * MINUTE;
    let from = released.plus_millis(-released.0.rem_euclid(step_millis));
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), deployment).await?;
    let rows = repo::list_of(&mut tx, (&deployment.id, deployment.counting_epoch), (from, now), &label.to_string(), step_millis).await?;
    let changes: BTreeMap<_, _> = rows.into_iter().map(|row| (row.time, row)).collect();
    let times = (0..).map(|number| from.plus_millis(number * step_millis)).take_while(|time| *time < now);
    let mut total = Change::default();
    let counts = times.map(|time| {
        if let Some(row) = changes.get(&time) {
            total += Change { active: row.active, downloaded: row.downloaded, installed: row.installed, failed: row.failed };
        }
        (time, total)
    });
    Ok(Some(counts.collect()))
}

/// Since when reports are added, in milliseconds before now.
fn kept() -> i64 {
    i64::from(MAX_MINUTES) * MINUTE
}

/// Deletes the oldest minute if it is no longer kept. Returns whether there may be more.
pub async fn purge(db: &Db, now: UnixMillis) -> sqlx::Result<bool> {
    let mut tx = db.write().await?;
    let deleted = repo::delete_oldest(&mut tx, now.plus_millis(-kept() - GRACE)).await?;
    tx.commit().await?;
    Ok(deleted > 0)
}
