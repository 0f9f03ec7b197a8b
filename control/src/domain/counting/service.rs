//! How a batch of reports becomes counts: one transaction, in which nothing but [`rules`](super::rules) decides.
//!
//! Locks are taken in one order by every batch: report ids, deployments (seldom), clients' rows, counters; each kind in key order and each by one
//! statement (or several whose keys ascend). So two replicas can wait for each other but never in a circle, and nothing here retries a deadlock.

use std::collections::{BTreeMap, BTreeSet};

use shared::ids::DeploymentId;
use shared::keys::{DeploymentKey, Label};
use shared::report::{Event as Reported, Report};
use shared::time::UnixMillis;

use super::buckets::{self, Buckets};
use super::flags::Flag;
use super::repo::{self, ClientKey, DeploymentRow};
use super::rules::{Changes, Epochs, Event, Place, Sighting, Stamp};
use super::{Judgement, Outcome};
use crate::domain::counting::counters as metrics;
use crate::infra::db::{Db, WriteTx};

/// How long the id of a report without client is kept: a day longer than the Queue keeps a message.
const ID_LIFE_MILLIS: i64 = 15 * 86_400_000;

/// Ids forgotten in one step.
pub const PURGE_STEP: u64 = 1_000;

/// Counts these reports and gives what became of each, in their order. On an error not all of them are stored; they may be given again.
pub async fn store(db: &Db, most_binary_versions: u32, reports: &[Report], now: UnixMillis) -> sqlx::Result<Vec<Judgement>> {
    let outcomes = outcomes(db, most_binary_versions, reports, now).await?;
    outcomes.into_iter().map(|outcome| outcome.map(Judgement::from)).collect()
}

/// The same as [`store`], for who must know what is counted and what is not.
///
/// The reports share one transaction. When a row that one of them needs cannot be read, or the database does not take what one of them holds, each gets a transaction of its own: those beside it are not to
/// wait for a repair. On the outer error, which any database fault but that is, not all of them are stored.
pub(crate) async fn outcomes(
    db: &Db,
    most_binary_versions: u32,
    reports: &[Report],
    now: UnixMillis,
) -> sqlx::Result<Vec<sqlx::Result<Outcome>>> {
    let most = usize::try_from(most_binary_versions).unwrap_or(usize::MAX);
    match together(db, most, reports, now).await {
        Ok(outcomes) => return Ok(outcomes.into_iter().map(Ok).collect()),
        Err(error) if is_unreadable(&error) => {}
        Err(error) => return Err(error),
    }
    let mut outcomes = Vec::with_capacity(reports.len());
    for report in reports {
        match together(db, most, std::slice::from_ref(report), now).await {
            Ok(outcome) => outcomes.extend(outcome.into_iter().map(Ok)),
            Err(error) if is_unreadable(&error) => outcomes.push(Err(error)),
            Err(error) => return Err(error),
        }
    }
    Ok(outcomes)
}

/// Counts these reports in one transaction. On an error nothing is stored.
async fn together(db: &Db, most: usize, reports: &[Report], now: UnixMillis) -> sqlx::Result<Vec<Outcome>> {
    loop {
        let mut tx = db.write().await?;
        // Without an answer a deployment was cleared or deleted under way: what was done is rolled back and done again. Only another such
        // change, committed in between, can bring a further round.
        if let Some(outcomes) = count(&mut tx, most, reports, now).await? {
            tx.commit().await?;
            return Ok(outcomes);
        }
    }
}

/// Whether the fault is what a row or a report holds: it is the same at every further try. Of those that the database finds, PostgreSQL's class 22 (data
/// exceptions) is that.
pub(crate) fn is_unreadable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => true,
        sqlx::Error::Database(database) => database.code().is_some_and(|code| code.len() == 5 && code.starts_with("22")),
        _ => false,
    }
}

/// Forgets ids that are old enough, at most [`PURGE_STEP`] of them; gives how many. A job calls it until it gives less.
pub async fn purge(tx: &mut WriteTx, now: UnixMillis) -> sqlx::Result<u64> {
    repo::delete_ids(tx, now.plus_millis(-ID_LIFE_MILLIS), i64::try_from(PURGE_STEP).unwrap_or(i64::MAX)).await
}

/// A report that counts: its deployment exists and, unless it is about a binary, its release too.
struct Countable<'r> {
    /// Its place in the batch.
    number: usize,
    report: &'r Report,
    deployment: &'r DeploymentRow,
}

async fn count(tx: &mut WriteTx, most: usize, reports: &[Report], now: UnixMillis) -> sqlx::Result<Option<Vec<Outcome>>> {
    let keys = reports.iter().map(|report| &report.report.deployment_key).collect();
    let deployments = repo::deployments(tx, &keys).await?;
    let countable = countable(tx, &deployments, reports).await?;
    let (identified, anonymous): (Vec<_>, Vec<_>) = countable.iter().partition(|item| item.report.report.client_id.is_some());

    let mut changes = Changes::default();
    count_anonymous(tx, &anonymous, now, &mut changes).await?;
    let binaries = identified.iter().filter_map(|item| item.binary()).collect();
    let buckets = buckets::find(tx, &binaries, most, &mut changes).await?;
    let sightings = sightings(&identified, &buckets);
    let mut clients = repo::lock_clients(tx, sightings.keys()).await?;

    // Read after the clients are locked, so that no place can be of an epoch newer than the one known here.
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
    for (key, sightings) in sightings {
        let mut client = clients.remove(&key).unwrap_or_default();
        if client.count(&sightings, &epochs, &mut changes) {
            rows.push((key, client));
        }
    }
    repo::write_clients(tx, &rows).await?;
    metrics::repo::add(tx, &changes, now.utc_day()).await?;
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

/// Whether the counters that the batch lowers are still of their deployments' epochs, asked when their rows are locked. Those of older epochs are
/// cleared away: a row that was gone already would have been made anew, below zero.
async fn are_current(tx: &mut WriteTx, changes: &Changes, epochs: &Epochs) -> sqlx::Result<bool> {
    let lowered: BTreeSet<&DeploymentId> =
        changes.0.iter().filter(|(_, change)| change.active < 0).map(|(place, _)| &place.deployment).collect();
    let now = repo::epochs(tx, &lowered).await?;
    Ok(lowered.into_iter().all(|deployment| now.get(deployment) == epochs.get(deployment)))
}

/// The deployment that a report is of, if that is there still: one that took the key over from another takes none of the other one's reports.
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

/// A report without client is its own client that never comes back: its id takes the place of the flag, and it is nowhere active.
async fn count_anonymous(tx: &mut WriteTx, reports: &[&Countable<'_>], now: UnixMillis, changes: &mut Changes) -> sqlx::Result<()> {
    let by_id: BTreeMap<_, _> = reports.iter().filter_map(|item| Some((&item.report.id, (item.deployment, item.release()?)))).collect();
    let new = repo::insert_ids(tx, &by_id.keys().copied().collect(), now).await?;
    for (_, (deployment, (label, flag))) in by_id.into_iter().filter(|(id, _)| new.contains(*id)) {
        changes.at(&deployment.id, deployment.counting_epoch, label.to_string()).raise(flag);
    }
    Ok(())
}

/// What the reports say, by client and in the order in which their rows are locked.
fn sightings(reports: &[&Countable<'_>], buckets: &Buckets) -> BTreeMap<ClientKey, Vec<Sighting>> {
    let mut sightings: BTreeMap<ClientKey, Vec<Sighting>> = BTreeMap::new();
    for item in reports {
        let Some(client) = &item.report.report.client_id else { continue };
        let event = match (item.release(), item.binary()) {
            (Some((label, flag)), _) => Event::Release { label, flag },
            (None, Some(place)) => buckets.of(&place),
            (None, None) => continue,
        };
        sightings.entry(ClientKey { app: item.deployment.app_id.clone(), client: client.digest() }).or_default().push(Sighting {
            stamp: Stamp { received: item.report.received, report: item.report.id.clone() },
            deployment: item.deployment.id.clone(),
            epoch: item.deployment.counting_epoch,
            event,
        });
    }
    sightings
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

    /// The binary that the report is about, under its own name.
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
