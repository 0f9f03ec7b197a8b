//! Decides every hour which binary versions have their own counter. Once all of a deployment's places are taken, the versions with the most active devices
//! get them, and the rest are counted as [`super::rules::OTHER`]. So invented versions cannot hide the real ones.
//!
//! The devices of a version that loses or gets a place are moved in steps. Each step is one transaction, which takes the same locks as a batch of reports, in
//! the same order. Between steps, every device is counted exactly once. The next round completes what was interrupted, and corrects the effects of batches
//! that had read the names before they changed. Replicas may run this concurrently.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use shared::ids::{AppId, DeploymentId};
use shared::time::UnixMillis;

use super::buckets::is_name;
use super::recent;
use super::repo::{self, CHUNK, ClientKey};
use super::rules::{Changes, Client, Place};
use super::service::is_unreadable;
use crate::domain::context::Context;
use crate::domain::counting::counters as metrics;
use crate::domain::deployments;
use crate::domain::error::chain;
use crate::infra::db::{Db, WriteTx};
use crate::{on, on_write};

// Finds the next one by the index, however many devices each has.
const NEXT: &str = "SELECT c.deployment_id, d.app_id, d.counting_epoch FROM report_clients c LEFT JOIN deployments d ON d.id = c.deployment_id \
    WHERE c.binary_version IS NOT NULL AND c.deployment_id > $1 ORDER BY c.deployment_id LIMIT 1";
const WAITING: &str = "SELECT binary_version, COUNT(*) FROM report_clients WHERE deployment_id = $1 AND epoch = $2 AND binary_version IS NOT NULL \
    AND place = 'other' GROUP BY binary_version ORDER BY COUNT(*) DESC, binary_version LIMIT $3";
const CLIENTS_WAITING: &str = "SELECT client FROM report_clients WHERE deployment_id = $1 AND epoch = $2 AND binary_version = $3 AND client > $4 \
    AND place = 'other' ORDER BY client LIMIT $5";
const DELETE_EMPTY: &str = "DELETE FROM metric_counters WHERE deployment_id = $1 AND epoch = $2 AND place = $3 AND active = 0";

const CLIENTS_AT: &str = "SELECT client FROM report_clients WHERE app_id = ? AND client > ? AND deployment_id = ? AND epoch = ? \
    AND place IN ([?]) ORDER BY client LIMIT ?";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[NEXT, WAITING, CLIENTS_WAITING, DELETE_EMPTY, CLIENTS_AT];

/// Devices that are moved in one transaction.
const STEP: usize = CHUNK;

/// A deployment with devices whose binary version waits for a place.
struct WaitingDeployment {
    deployment: DeploymentId,
    app: AppId,
    epoch: i64,
}

/// Which versions lose their place, and which get one if there is room.
#[derive(Debug, PartialEq, Eq)]
struct Exchange {
    losing: BTreeSet<String>,
    gaining: Vec<String>,
}

/// Compares the versions of each deployment in which a version waits for a place. Returns the number of failures; each is logged.
pub async fn round(app: &Context) -> usize {
    let max_named = usize::try_from(app.settings.limits.binary_versions).unwrap_or(usize::MAX);
    let (mut after, mut failures) = (String::new(), 0);
    loop {
        let found = match next(&app.db, &mut after).await {
            Ok(Some(found)) => found,
            Ok(None) => return failures,
            Err(error) => {
                tracing::warn!(cause = chain(&error), "could not compare binary versions; will retry in a minute");
                return failures + 1;
            }
        };
        let Some(contested) = found else { continue };
        if let Err(error) = contested.settle(&app.db, max_named, app.now()).await {
            let deployment = contested.deployment.as_str();
            tracing::warn!(deployment.id = deployment, cause = chain(&error), "could not compare binary versions; will retry in a minute");
            failures += 1;
        }
    }
}

/// The next deployment after `at`; the inner value is none for a deleted one.
async fn next(db: &Db, at: &mut String) -> sqlx::Result<Option<Option<WaitingDeployment>>> {
    let mut tx = db.read().await?;
    let row: Option<(DeploymentId, Option<AppId>, Option<i64>)> =
        on!(tx, |conn| sqlx::query_as(NEXT).bind(at.as_str()).fetch_optional(conn).await)?;
    let Some((deployment, app, epoch)) = row else { return Ok(None) };
    deployment.as_str().clone_into(at);
    Ok(Some(app.zip(epoch).map(|(app, epoch)| WaitingDeployment { deployment, app, epoch })))
}

/// Ranks versions by active devices. Among equals, those that have a place keep it, to avoid pointless moves.
fn compare(named: BTreeMap<String, i64>, waiting: Vec<(String, i64)>, max_named: usize) -> Exchange {
    let mut all: Vec<_> = named.into_iter().map(|(version, active)| (Reverse(active), false, version)).collect();
    all.extend(waiting.into_iter().map(|(version, active)| (Reverse(active), true, version)));
    all.sort();
    let beyond = all.split_off(max_named.min(all.len()));
    Exchange {
        losing: beyond.into_iter().filter(|(_, is_waiting, _)| !is_waiting).map(|(.., version)| version).collect(),
        gaining: all.into_iter().filter(|(_, is_waiting, _)| *is_waiting).map(|(.., version)| version).collect(),
    }
}

impl WaitingDeployment {
    async fn settle(&self, db: &Db, max_named: usize, now: UnixMillis) -> sqlx::Result<()> {
        let (exchange, mut arrived) = self.exchange(db, max_named).await?;
        self.empty(db, &exchange.losing, now).await?;
        if !exchange.losing.is_empty() || !exchange.gaining.is_empty() {
            arrived.extend(self.hand_over(db, &exchange, max_named, now).await?);
        }
        for version in arrived.iter().filter(|version| !exchange.losing.contains(*version)) {
            self.fill(db, version, now).await?;
        }
        Ok(())
    }

    /// The pending exchange, and the versions that have a place but still have waiting devices.
    async fn exchange(&self, db: &Db, max_named: usize) -> sqlx::Result<(Exchange, Vec<String>)> {
        let mut tx = db.read().await?;
        let counters = metrics::repo::list(&mut tx, &self.deployment, self.epoch).await?;
        let mut named: BTreeMap<_, _> = counters.into_iter().filter(|row| is_name(&row.place)).map(|row| (row.place, row.active)).collect();
        let limit = i64::try_from(max_named).unwrap_or(i64::MAX);
        let waiting: Vec<(String, i64)> =
            on!(tx, |conn| sqlx::query_as(WAITING).bind(&self.deployment).bind(self.epoch).bind(limit).fetch_all(conn).await)?;
        let (arrived, waiting): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(version, _)| named.contains_key(version));
        for (version, devices) in &arrived {
            *named.entry(version.clone()).or_default() += devices;
        }
        Ok((compare(named, waiting, max_named), arrived.into_iter().map(|(version, _)| version).collect()))
    }

    /// Moves the devices of these versions to [`super::rules::OTHER`].
    async fn empty(&self, db: &Db, losing: &BTreeSet<String>, now: UnixMillis) -> sqlx::Result<()> {
        let losing_now: Vec<&str> = losing.iter().map(String::as_str).collect();
        for versions in losing_now.chunks(CHUNK) {
            let mut after = Vec::new();
            loop {
                let clients = self.clients_at(db, versions, &after).await?;
                let Some(last) = clients.last() else { break };
                after.clone_from(last);
                let lose_place = |client: &mut Client, changes: &mut Changes| {
                    let place = client.place.clone().filter(|place| losing.contains(&place.bucket));
                    place.is_some_and(|place| self.is_ours(&place) && client.lose_place(&place, now, changes))
                };
                self.step(db, clients, None, now, lose_place).await?;
            }
        }
        Ok(())
    }

    /// Deletes the losing versions' counters that are now empty, and gives free places to the gaining versions. Returns which got one.
    async fn hand_over(&self, db: &Db, exchange: &Exchange, max_named: usize, now: UnixMillis) -> sqlx::Result<Vec<String>> {
        let mut tx = db.write().await?;
        if !self.lock(&mut tx).await? {
            return Ok(Vec::new());
        }
        for version in &exchange.losing {
            on_write!(tx, |conn| sqlx::query(DELETE_EMPTY).bind(&self.deployment).bind(self.epoch).bind(version).execute(conn).await)?;
        }
        let places = metrics::repo::places(&mut tx, &self.deployment, self.epoch).await?;
        let room = max_named.saturating_sub(places.iter().filter(|place| is_name(place)).count());
        let given: Vec<String> = exchange.gaining.iter().filter(|version| !places.contains(version)).take(room).cloned().collect();
        let mut changes = Changes::default();
        for version in &given {
            changes.touch(Place { deployment: self.deployment.clone(), epoch: self.epoch, bucket: version.clone() });
        }
        metrics::repo::add(&mut tx, &changes, now.utc_day()).await?;
        tx.commit().await?;
        Ok(given)
    }

    /// Moves the devices that wait for this version's place to it.
    async fn fill(&self, db: &Db, version: &str, now: UnixMillis) -> sqlx::Result<()> {
        let place = Place { deployment: self.deployment.clone(), epoch: self.epoch, bucket: version.to_owned() };
        let (mut after, limit) = (Vec::new(), i64::try_from(STEP).unwrap_or(i64::MAX));
        loop {
            let mut tx = db.read().await?;
            let clients: Vec<Vec<u8>> = on!(tx, |conn| sqlx::query_scalar(CLIENTS_WAITING)
                .bind(&self.deployment)
                .bind(self.epoch)
                .bind(version)
                .bind(&after)
                .bind(limit)
                .fetch_all(conn)
                .await)?;
            drop(tx);
            let Some(last) = clients.last() else { return Ok(()) };
            after.clone_from(last);
            self.step(db, clients, Some(&place), now, |client, changes| client.gain_place(&place, now, changes)).await?;
        }
    }

    /// The app's next devices in one of these places.
    async fn clients_at(&self, db: &Db, places: &[&str], after: &[u8]) -> sqlx::Result<Vec<Vec<u8>>> {
        let mut tx = db.read().await?;
        let sql = tx.listed(CLIENTS_AT, places.len());
        on!(tx, |conn| {
            let mut query = sqlx::query_scalar(sql).persistent(false);
            query = query.bind(&self.app).bind(after).bind(&self.deployment).bind(self.epoch);
            for place in places {
                query = query.bind(*place);
            }
            query = query.bind(i64::try_from(STEP).unwrap_or(i64::MAX));
            query.fetch_all(conn).await
        })
    }

    /// Applies `shift` to each of these devices, which must be in ascending order. Does nothing if the deployment was cleared or deleted meanwhile, or
    /// `target` no longer exists. A device whose row cannot be parsed stays where it is, and does not block the others.
    async fn step(
        &self,
        db: &Db,
        clients: Vec<Vec<u8>>,
        target: Option<&Place>,
        now: UnixMillis,
        shift: impl Fn(&mut Client, &mut Changes) -> bool,
    ) -> sqlx::Result<()> {
        let keys: Vec<ClientKey> =
            clients.into_iter().filter_map(|client| Some(ClientKey { app: self.app.clone(), client: client.try_into().ok()? })).collect();
        match self.shift(db, &keys, target, now, &shift).await {
            Err(error) if is_unreadable(&error) => {}
            done => return done,
        }
        for key in &keys {
            match self.shift(db, std::slice::from_ref(key), target, now, &shift).await {
                Err(error) if is_unreadable(&error) => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// The same in one transaction.
    async fn shift(
        &self,
        db: &Db,
        keys: &[ClientKey],
        target: Option<&Place>,
        now: UnixMillis,
        shift: &impl Fn(&mut Client, &mut Changes) -> bool,
    ) -> sqlx::Result<()> {
        let mut tx = db.write().await?;
        if !self.lock(&mut tx).await? {
            return Ok(());
        }
        if let Some(target) = target
            && metrics::repo::existing(&mut tx, &[target]).await?.is_empty()
        {
            return Ok(());
        }
        let mut changes = Changes::default();
        let rows = repo::lock_clients(&mut tx, keys.iter()).await?;
        let moved: Vec<_> =
            rows.into_iter().filter_map(|(key, mut client)| shift(&mut client, &mut changes).then_some((key, client))).collect();
        repo::write_clients(&mut tx, &moved).await?;
        metrics::repo::add(&mut tx, &changes, now.utc_day()).await?;
        recent::repo::add(&mut tx, &changes, now).await?;
        tx.commit().await
    }

    /// Locks the deployment. Returns whether it still is of this epoch.
    async fn lock(&self, tx: &mut WriteTx) -> sqlx::Result<bool> {
        Ok(deployments::repo::lock(tx, &self.deployment).await?.is_some_and(|row| row.counting_epoch == self.epoch))
    }

    fn is_ours(&self, place: &Place) -> bool {
        place.deployment == self.deployment && place.epoch == self.epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions<const N: usize>(list: [(&str, i64); N]) -> Vec<(String, i64)> {
        list.map(|(version, active)| (version.to_owned(), active)).into()
    }

    #[test]
    fn the_versions_with_the_most_devices_are_counted_by_name() {
        let named: BTreeMap<_, _> = versions([("1.0", 0), ("1.1", 5), ("1.2", 2)]).into_iter().collect();
        let exchange = compare(named.clone(), versions([("2.0", 9), ("2.1", 2), ("2.2", 1)]), 3);
        assert_eq!(
            exchange,
            Exchange { losing: BTreeSet::from(["1.0".to_owned()]), gaining: vec!["2.0".to_owned()] },
            "2.1 has no more than 1.2"
        );
        let room = compare(named, versions([("2.1", 2), ("2.2", 1)]), 4);
        assert_eq!(room, Exchange { losing: BTreeSet::from(["1.0".to_owned()]), gaining: vec!["2.1".to_owned(), "2.2".to_owned()] });
    }
}
