//! SQL of counting: existing deployments and labels, devices' rows, and the IDs of reports without a client ID.
//!
//! Lists take one statement per 500 values. Their SQL text depends on the number of values, so they are not kept as prepared statements.

use std::collections::{BTreeMap, BTreeSet};

use shared::ids::{AppId, DeploymentId, ReportId};
use shared::keys::DeploymentKey;
use shared::time::UnixMillis;

use super::flags::Flags;
use super::rules::{Client, Epochs, Place, Stamp};
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const DELETE_IDS: &str =
    "DELETE FROM report_ids WHERE id IN (SELECT id FROM report_ids WHERE received_time < $1 ORDER BY received_time LIMIT $2)";

const DEPLOYMENTS: &str = "SELECT id, app_id, deployment_key, counting_epoch, key_since FROM deployments WHERE deployment_key IN ([?])";
const EPOCHS: &str = "SELECT id, counting_epoch FROM deployments WHERE id IN ([?])";
// SQLite would run (deployment_id, label) IN (VALUES …) by reading the whole index. It keeps the order of a CROSS JOIN.
const KNOWN_LABELS: &str = "WITH wanted (deployment, number) AS (VALUES [(?, ?)]) SELECT deployment_id, label FROM wanted CROSS JOIN releases \
    WHERE deployment_id = deployment AND label = CAST(number AS BIGINT)";
const INSERT_IDS: &str = "INSERT INTO report_ids (id, received_time) VALUES [(?, ?)] ON CONFLICT (id) DO NOTHING RETURNING id";
const LOCK_CLIENTS: &str = "INSERT INTO report_clients (app_id, client, deployment_id, epoch, place, place_time, place_report, flags) \
    VALUES [(?, ?, NULL, 0, NULL, 0, '', '{}')] ON CONFLICT (app_id, client) DO UPDATE SET epoch = report_clients.epoch \
    RETURNING app_id, client, deployment_id, epoch, place, place_time, place_report, flags, binary_version";
const WRITE_CLIENTS: &str = "INSERT INTO report_clients (app_id, client, deployment_id, epoch, place, place_time, place_report, flags, \
    binary_version) VALUES [(?, ?, ?, ?, ?, ?, ?, ?, ?)] ON CONFLICT (app_id, client) DO UPDATE SET deployment_id = excluded.deployment_id, \
    epoch = excluded.epoch, place = excluded.place, place_time = excluded.place_time, place_report = excluded.place_report, \
    flags = excluded.flags, binary_version = excluded.binary_version";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[DELETE_IDS, DEPLOYMENTS, EPOCHS, KNOWN_LABELS, INSERT_IDS, LOCK_CLIENTS, WRITE_CLIENTS];

/// Maximum number of values in one statement.
pub const CHUNK: usize = 500;

/// The key of a device's row; rows are locked in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientKey {
    /// The app.
    pub app: AppId,
    /// The first 16 bytes of the SHA-256 of the client ID.
    pub client: [u8; 16],
}

/// A deployment that exists.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct DeploymentRow {
    /// Its ID.
    pub id: DeploymentId,
    /// Its app.
    pub app_id: AppId,
    /// Its key.
    pub deployment_key: DeploymentKey,
    /// Its counting epoch; counters of an older epoch count as absent.
    pub counting_epoch: i64,
    /// Earlier reports belong to a deleted deployment that had the key before.
    pub key_since: UnixMillis,
}

#[derive(sqlx::FromRow)]
struct ClientRow {
    app_id: AppId,
    client: Vec<u8>,
    deployment_id: Option<DeploymentId>,
    epoch: i64,
    place: Option<String>,
    place_time: UnixMillis,
    place_report: String,
    flags: String,
    binary_version: Option<String>,
}

/// The deployments that have these keys now.
pub async fn deployments(tx: &mut ReadTx, keys: &BTreeSet<&DeploymentKey>) -> sqlx::Result<BTreeMap<DeploymentKey, DeploymentRow>> {
    let keys: Vec<_> = keys.iter().collect();
    let mut found = BTreeMap::new();
    for chunk in keys.chunks(CHUNK) {
        let sql = tx.listed(DEPLOYMENTS, chunk.len());
        let rows: Vec<DeploymentRow> = on!(tx, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for key in chunk {
                query = query.bind(key.as_str());
            }
            query.fetch_all(conn).await
        })?;
        found.extend(rows.into_iter().map(|row| (row.deployment_key.clone(), row)));
    }
    Ok(found)
}

/// The counting epochs of these deployments; deleted deployments are missing.
pub async fn epochs(tx: &mut ReadTx, ids: &BTreeSet<&DeploymentId>) -> sqlx::Result<Epochs> {
    let ids: Vec<_> = ids.iter().collect();
    let mut found = Epochs::new();
    for chunk in ids.chunks(CHUNK) {
        let sql = tx.listed(EPOCHS, chunk.len());
        let rows: Vec<(DeploymentId, i64)> = on!(tx, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for id in chunk {
                query = query.bind(id.as_str());
            }
            query.fetch_all(conn).await
        })?;
        found.extend(rows);
    }
    Ok(found)
}

/// The existing ones among these releases, as (deployment, label number).
pub async fn known_labels(tx: &mut ReadTx, wanted: &BTreeSet<(&DeploymentId, u32)>) -> sqlx::Result<BTreeSet<(DeploymentId, u32)>> {
    let wanted: Vec<_> = wanted.iter().collect();
    let mut found = BTreeSet::new();
    for chunk in wanted.chunks(CHUNK) {
        let sql = tx.listed(KNOWN_LABELS, chunk.len());
        let rows: Vec<(DeploymentId, i64)> = on!(tx, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for (deployment, label) in chunk {
                query = query.bind(deployment.as_str()).bind(i64::from(*label));
            }
            query.fetch_all(conn).await
        })?;
        found.extend(rows.into_iter().filter_map(|(deployment, label)| Some((deployment, u32::try_from(label).ok()?))));
    }
    Ok(found)
}

/// Inserts the IDs of reports without a client ID, and returns those that are new.
pub async fn insert_ids(tx: &mut WriteTx, ids: &BTreeSet<&ReportId>, now: UnixMillis) -> sqlx::Result<BTreeSet<ReportId>> {
    let ids: Vec<_> = ids.iter().collect();
    let mut new = BTreeSet::new();
    for chunk in ids.chunks(CHUNK) {
        let sql = tx.listed(INSERT_IDS, chunk.len());
        let rows: Vec<ReportId> = on!(tx, |conn| {
            let mut query = sqlx::query_scalar(sql).persistent(false);
            for id in chunk {
                query = query.bind(id.as_str()).bind(now);
            }
            query.fetch_all(conn).await
        })?;
        new.extend(rows);
    }
    Ok(new)
}

/// Deletes at most `limit` IDs inserted before `before`, oldest first, and returns their number.
pub async fn delete_ids(tx: &mut WriteTx, before: UnixMillis, limit: i64) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE_IDS).bind(before).bind(limit).execute(conn).await)
}

/// Locks and reads the rows of these devices, and creates missing ones. `keys` must ascend.
///
/// It is an upsert that changes nothing, because a missing row cannot be locked. On PostgreSQL, two replicas that see a new device at the same time would
/// both read nothing and both count it. SQLite has a single writer and would not need it.
pub async fn lock_clients<'k>(tx: &mut WriteTx, keys: impl Iterator<Item = &'k ClientKey>) -> sqlx::Result<BTreeMap<ClientKey, Client>> {
    let keys: Vec<_> = keys.collect();
    let mut found = BTreeMap::new();
    for chunk in keys.chunks(CHUNK) {
        let sql = tx.listed(LOCK_CLIENTS, chunk.len());
        let rows: Vec<ClientRow> = on!(tx, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for key in chunk {
                query = query.bind(key.app.as_str()).bind(key.client.as_slice());
            }
            query.fetch_all(conn).await
        })?;
        for row in rows {
            let (key, client) = row.read()?;
            found.insert(key, client);
        }
    }
    Ok(found)
}

impl ClientRow {
    fn read(self) -> sqlx::Result<(ClientKey, Client)> {
        let client = self.client.try_into().map_err(|_| sqlx::Error::Decode("a client's digest is not 16 bytes long".into()))?;
        let place = match (self.deployment_id, self.place) {
            (Some(deployment), Some(bucket)) => Some(Place { deployment, epoch: self.epoch, bucket }),
            _ => None,
        };
        let newest = match self.place_report.as_str() {
            "" => None,
            id => Some(Stamp { received: self.place_time, report: ReportId::try_from(id).map_err(decode)? }),
        };
        // A row that cannot be parsed fails its batch: counting the device again would produce a wrong number that nobody notices.
        let flags: Flags = serde_json::from_str(&self.flags).map_err(decode)?;
        Ok((ClientKey { app: self.app_id, client }, Client { place, waiting: self.binary_version, newest, flags }))
    }
}

fn decode(error: impl std::error::Error + Send + Sync + 'static) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}

/// Stores rows read by [`lock_clients`], in key order.
pub async fn write_clients(tx: &mut WriteTx, clients: &[(ClientKey, Client)]) -> sqlx::Result<()> {
    for chunk in clients.chunks(CHUNK) {
        let mut rows = Vec::with_capacity(chunk.len());
        for (key, client) in chunk {
            rows.push((key, client, serde_json::to_string(&client.flags).map_err(|error| sqlx::Error::Encode(Box::new(error)))?));
        }
        let sql = tx.listed(WRITE_CLIENTS, rows.len());
        on_write!(tx, |conn| {
            let mut query = sqlx::query(sql).persistent(false);
            for (key, client, flags) in &rows {
                let (place, newest) = (client.place.as_ref(), client.newest.as_ref());
                query = query
                    .bind(key.app.as_str())
                    .bind(key.client.as_slice())
                    .bind(place.map(|place| place.deployment.as_str()))
                    .bind(place.map_or(0, |place| place.epoch))
                    .bind(place.map(|place| place.bucket.as_str()))
                    .bind(newest.map_or(UnixMillis(0), |stamp| stamp.received))
                    .bind(newest.map_or("", |stamp| stamp.report.as_str()))
                    .bind(flags.as_str())
                    .bind(client.waiting.as_deref());
            }
            query.execute(conn).await
        })?;
    }
    Ok(())
}
