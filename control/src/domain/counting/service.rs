//! Counts a batch of reports in one transaction, by the rules in [`rules`](super::rules).
//!
//! All batches take locks in the same order: report IDs, deployments (rarely), devices' rows, counters, minutes. Each kind is locked in key order by one statement, or
//! by several with ascending keys. So replicas can wait for each other but never deadlock, and nothing here retries a deadlock.

use std::collections::{BTreeMap, BTreeSet};

use shared::ids::DeploymentId;
use shared::keys::{DeploymentKey, Label};
use shared::report::{Event as Reported, Report};
use shared::time::UnixMillis;

use super::buckets::{self, Buckets};
use super::flags::Flag;
use super::repo::{self, ClientKey, DeploymentRow};
use super::rules::{Change, Changes, ClientReport, Epochs, Event, Place, Stamp};
use super::{Outcome, ReportStatus, recent, saved};
use crate::domain::counting::counters as metrics;
use crate::infra::db::{Db, WriteTx};

/// How long the ID of a report without a client ID is kept: a day longer than the Queue keeps a message.
const ID_LIFE_MILLIS: i64 = 15 * 86_400_000;

/// Report ids that are deleted in one transaction.
const PURGE_STEP: i64 = 1_000;

/// Counts these reports and returns the results in the same order. On an error, only some of them may be stored; the whole batch can be retried.
pub async fn store(db: &Db, max_binary_versions: u32, reports: &[Report], now: UnixMillis) -> sqlx::Result<Vec<ReportStatus>> {
    let outcomes = outcomes(db, max_binary_versions, reports, now).await?;
    outcomes.into_iter().map(|outcome| outcome.map(ReportStatus::from)).collect()
}

/// Like [`store`], for callers that need to know which reports were counted.
///
/// The reports share one transaction. If a row that one of them needs cannot be parsed, or the database rejects a report's value, each report gets its own
/// transaction: the others must not wait for a repair. The outer error is any other database failure; then only some of the reports may be stored.
pub(crate) async fn outcomes(
    db: &Db,
    max_binary_versions: u32,
    reports: &[Report],
    now: UnixMillis,
) -> sqlx::Result<Vec<sqlx::Result<Outcome>>> {
    let max_named = usize::try_from(max_binary_versions).unwrap_or(usize::MAX);
    match together(db, max_named, reports, now).await {
        Ok(outcomes) => return Ok(outcomes.into_iter().map(Ok).collect()),
        Err(error) if is_unreadable(&error) => {}
        Err(error) => return Err(error),
    }
    let mut outcomes = Vec::with_capacity(reports.len());
    for report in reports {
        match together(db, max_named, std::slice::from_ref(report), now).await {
            Ok(outcome) => outcomes.extend(outcome.into_iter().map(Ok)),
            Err(error) if is_unreadable(&error) => outcomes.push(Err(error)),
            Err(error) => return Err(error),
        }
    }
    Ok(outcomes)
}

/// Counts these reports in one transaction. On an error, nothing is stored.
async fn together(db: &Db, max_named: usize, reports: &[Report], now: UnixMillis) -> sqlx::Result<Vec<Outcome>> {
    loop {
        let mut tx = db.write().await?;
        // `None` means that a deployment was cleared or deleted meanwhile: roll back and count again. Only another such change, committed in between, can
        // cause a further iteration.
        if let Some(outcomes) = count(&mut tx, max_named, reports, now).await? {
            tx.commit().await?;
            return Ok(outcomes);
        }
    }
}

/// Whether the error is caused by the data in a row or report, so that retrying cannot help. For errors from the database, that is PostgreSQL's class 22
/// (data exceptions).
pub(crate) fn is_unreadable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => true,
        sqlx::Error::Database(database) => database.code().is_some_and(|code| code.len() == 5 && code.starts_with("22")),
        _ => false,
    }
}

/// Deletes report ids that are old enough, at most [`PURGE_STEP`] of them, in a transaction of its own. Returns whether there may be more.
pub async fn purge(db: &Db, now: UnixMillis) -> sqlx::Result<bool> {
    let mut tx = db.write().await?;
    let deleted = repo::delete_ids(&mut tx, now.plus_millis(-ID_LIFE_MILLIS), PURGE_STEP).await?;
    tx.commit().await?;
    Ok(i64::try_from(deleted).unwrap_or(PURGE_STEP) >= PURGE_STEP)
}

/// A report that can be counted: its deployment exists, and its release too unless it is about a binary.
struct Countable<'r> {
    /// Its place in the batch.
    number: usize,
    report: &'r Report,
    deployment: &'r DeploymentRow,
}

async fn count(tx: &mut WriteTx, max_named: usize, reports: &[Report], now: UnixMillis) -> sqlx::Result<Option<Vec<Outcome>>> {
    let keys = reports.iter().map(|report| &report.report.deployment_key).collect();
    let deployments = repo::deployments(tx, &keys).await?;
    let countable = countable(tx, &deployments, reports).await?;
    let (identified, anonymous): (Vec<_>, Vec<_>) = countable.iter().partition(|item| item.report.report.client_id.is_some());

    let mut changes = Changes::default();
    count_anonymous(tx, &anonymous, now, &mut changes).await?;
    let binaries = identified.iter().filter_map(|item| item.binary()).collect();
    let buckets = buckets::find(tx, &binaries, max_named, &mut changes).await?;
    let by_client = reports_by_client(&identified, &buckets);
    let mut clients = repo::lock_clients(tx, by_client.keys()).await?;

    // Read after locking the devices' rows, so that no place can have a newer epoch than the one read here.
    let counted: BTreeMap<&DeploymentId, i64> =
        countable.iter().map(|item| (&item.deployment.id, item.deployment.counting_epoch)).collect();
    let mut mentioned: BTreeSet<&DeploymentId> = counted.keys().copied().collect();
    for client in clients.values() {
        mentioned.extend(client.place.iter().map(|place| &place.deployment));
        mentioned.extend(client.flags.deployments());
    }
    let epochs = repo::epochs(tx, &mentioned).await?;
    if counted.iter().any(|(deployment, epoch)| epochs.get(*deployment) != Some(epoch)) {
        return Ok(None);
    }

    let mut rows = Vec::with_capacity(clients.len());
    for (key, reports) in by_client {
        let mut client = clients.remove(&key).unwrap_or_default();
        if client.count(&reports, &epochs, &mut changes) {
            rows.push((key, client));
        }
    }
    repo::write_clients(tx, &rows).await?;
    saved::estimate(tx, &mut changes).await?;
    metrics::repo::add(tx, &changes, now.utc_day()).await?;
    recent::repo::add(tx, &changes, now).await?;
    if !are_current(tx, &changes, &epochs).await? {
        return Ok(None);
    }
    let numbers: BTreeSet<usize> = countable.iter().map(|item| item.number).collect();
    let outcome = |(number, report): (usize, &Report)| match deployment_of(&deployments, report) {
        None => Outcome::NoDeployment,
        Some(_) if numbers.contains(&number) => Outcome::Counted,
        Some(_) => Outcome::NoRelease,
    };
    Ok(Some(reports.iter().enumerate().map(outcome).collect()))
}

/// Whether the counters that the batch lowers still belong to their deployments' epochs; checked once their rows are locked. Rows of older epochs get
/// deleted, and the batch would recreate a deleted row with a negative value.
async fn are_current(tx: &mut WriteTx, changes: &Changes, epochs: &Epochs) -> sqlx::Result<bool> {
    let lowered: BTreeSet<&DeploymentId> =
        changes.0.iter().filter(|(_, increments)| increments.total.active < 0).map(|(place, _)| &place.deployment).collect();
    let now = repo::epochs(tx, &lowered).await?;
    Ok(lowered.into_iter().all(|deployment| now.get(deployment) == epochs.get(deployment)))
}

/// The deployment that a report belongs to, if it still exists. A deployment that took over another's key gets none of the other's reports.
fn deployment_of<'d>(deployments: &'d BTreeMap<DeploymentKey, DeploymentRow>, report: &Report) -> Option<&'d DeploymentRow> {
    deployments.get(&report.report.deployment_key).filter(|deployment| deployment.key_since <= report.received)
}

async fn countable<'r>(
    tx: &mut WriteTx,
    deployments: &'r BTreeMap<DeploymentKey, DeploymentRow>,
    reports: &'r [Report],
) -> sqlx::Result<Vec<Countable<'r>>> {
    let of_known = reports
        .iter()
        .enumerate()
        .filter_map(|(number, report)| Some(Countable { number, report, deployment: deployment_of(deployments, report)? }));
    let mut countable: Vec<_> = of_known.collect();
    let wanted = countable.iter().filter_map(|item| Some((&item.deployment.id, item.release()?.0.number()))).collect();
    let labels = repo::known_labels(tx, &wanted).await?;
    countable.retain(|item| item.release().is_none_or(|(label, _)| labels.contains(&(item.deployment.id.clone(), label.number()))));
    Ok(countable)
}

/// A report without a client ID counts as a device that is never seen again: its report ID replaces the flag, and it is active nowhere.
async fn count_anonymous(tx: &mut WriteTx, reports: &[&Countable<'_>], now: UnixMillis, changes: &mut Changes) -> sqlx::Result<()> {
    let by_id: BTreeMap<_, _> = reports.iter().filter_map(|item| Some((&item.report.id, (item, item.release()?)))).collect();
    let new = repo::insert_ids(tx, &by_id.keys().copied().collect(), now).await?;
    for (_, (item, (label, flag))) in by_id.into_iter().filter(|(id, _)| new.contains(*id)) {
        let deployment = item.deployment;
        let place = Place { deployment: deployment.id.clone(), epoch: deployment.counting_epoch, bucket: label.to_string() };
        changes.add(place, item.report.received, Change::of(flag));
    }
    Ok(())
}

/// The contents of the reports, by device, in the order in which the rows are locked.
fn reports_by_client(reports: &[&Countable<'_>], buckets: &Buckets) -> BTreeMap<ClientKey, Vec<ClientReport>> {
    let mut by_client: BTreeMap<ClientKey, Vec<ClientReport>> = BTreeMap::new();
    for item in reports {
        let Some(client) = &item.report.report.client_id else { continue };
        let event = match (item.release(), item.binary()) {
            (Some((label, flag)), _) => Event::Release { label, flag },
            (None, Some(place)) => buckets.of(&place),
            (None, None) => continue,
        };
        by_client.entry(ClientKey { app: item.deployment.app_id.clone(), client: client.digest() }).or_default().push(ClientReport {
            stamp: Stamp { received: item.report.received, report: item.report.id.clone() },
            deployment: item.deployment.id.clone(),
            epoch: item.deployment.counting_epoch,
            event,
        });
    }
    by_client
}

impl Countable<'_> {
    /// The release that the report is about, and what happened; none for a binary.
    fn release(&self) -> Option<(Label, Flag)> {
        match &self.report.report.event {
            Reported::Binary { .. } => None,
            Reported::Installed { label } => Some((*label, Flag::Installed)),
            Reported::Failed { label } => Some((*label, Flag::Failed)),
            Reported::Downloaded { label } => Some((*label, Flag::Downloaded)),
        }
    }

    /// The binary version that the report is about, as its own place.
    fn binary(&self) -> Option<Place> {
        match &self.report.report.event {
            Reported::Binary { app_version } => Some(Place {
                deployment: self.deployment.id.clone(),
                epoch: self.deployment.counting_epoch,
                bucket: app_version.as_str().to_owned(),
            }),
            _ => None,
        }
    }
}
