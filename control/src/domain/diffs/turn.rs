//! The work for one app: finds the first release whose diffs are not what they should be, makes what is missing, and lets devices be offered them.
//!
//! Nothing here locks anything while a diff is made. What is committed is checked again under the deployment's lock, so a release that is changed, deleted or cleared
//! meanwhile keeps nothing wrong. A process that dies leaves at most a blob that nothing refers to, which the deletion of unused blobs finds.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use shared::diff::Buried;
use shared::hash::{PackageHash, Sha256Hex};
use shared::ids::{AppId, DeploymentId, ReleaseId};
use shared::package::Manifest;
use shared::snapshot::{ReleaseOutline, offered};
use shared::time::UnixMillis;
use tokio::time::Instant;

use super::choice::{self, Base, Devices, Known, Ranges};
use super::history::{self, History};
use super::packages::{self, Target};
use super::repo::{self, MadeRow, ReleaseRow};
use super::surplus::Surplus;
use super::throttle::Throttle;
use super::trial::{Claim, Trial, Worked, failed};
use super::{Problem, making};
use crate::domain::access;
use crate::domain::context::Context;
use crate::domain::counting::counters::repo as counters;
use crate::domain::deployments::repo::{self as deployments, DeploymentRow};
use crate::domain::deployments::snapshots::{self, Version};
use crate::domain::error::{Error, Result};
use crate::domain::limits::quotas::{self, DiffBudget};
use crate::domain::outbox::{self, Lease};
use crate::domain::releases::blob::{self, Purpose};
use crate::domain::releases::repo::{self as releases, DiffRow};
use crate::domain::releases::service::need_diffs;
use crate::domain::releases::upload;
use crate::infra::db::{ReadTx, WriteTx};

/// How long the diffs of a release stay that is not offered any more, in milliseconds, from the release after it on.
const KEPT: i64 = 7 * 24 * 60 * 60 * 1_000;

/// After so long, in milliseconds, a turn makes no further diff.
const BUDGET: i64 = 5_000;
/// The longest time that an app waits after its turn, in milliseconds: a clock that was set must not stop it.
const MAX_WAIT: i64 = 60 * 60 * 1_000;
/// So many releases of a deployment are looked at once, and then worked on.
const MAX_NEEDS: usize = 50;
/// What is forgotten at once.
const MAX_STALE: usize = 500;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Every release of the app has its diffs.
    Done,
    /// There may be more to do.
    More,
}

/// A release whose diffs are not what they should be.
#[derive(Debug)]
pub struct Need {
    deployment: DeploymentId,
    target: ReleaseRow,
    /// The packages that it needs diffs from, and their newest releases.
    bases: Vec<ReleaseRow>,
    /// Source hashes of diffs that stay besides.
    kept: Vec<PackageHash>,
    /// Packages whose diff devices are offered, and that has to be looked at again: another package came after it.
    outdated: Vec<ReleaseRow>,
    attached: Vec<DiffRow>,
    made: HashMap<Sha256Hex, MadeRow>,
    /// Whether making one of them has ended the process before.
    is_suspect: bool,
}

/// What is to be done for a deployment.
#[derive(Debug)]
enum Look {
    /// These, in this order. No two are of the same package.
    Needs(Vec<Need>),
    /// Nothing now; something may be due then.
    Nothing(Option<UnixMillis>),
}

/// A look at an app's deployments that took too long for one turn. Another one goes on with it.
#[derive(Debug, Default)]
pub struct Suspended {
    /// The versions of the app's snapshots before the first deployment was looked at.
    seen: Vec<Version>,
    /// The deployments with nothing to do.
    settled: HashSet<DeploymentId>,
    /// When something may be due in one of them.
    next: Option<UnixMillis>,
    /// What is known of each package so far.
    surplus: Surplus,
}

/// Does the next piece of an app's work, for some seconds or until one diff is made, if that takes longer. When nothing is left, ends the lease, or has the app
/// looked at again when something that waits is due. `suspended` is where the app's last turn ended, and then where this one does, if it looked at some
/// deployments only. Errors: the database's and the storage's; the work is repeated.
pub async fn take(app: &Context, claim: &Claim, suspended: &mut Option<Suspended>, throttle: &mut Throttle) -> Result<Turn> {
    let began = app.now();
    let took = || app.now().as_millis().saturating_sub(began.as_millis()).clamp(0, MAX_WAIT);
    let lease = &claim.lease;
    let of = claim.app()?;
    let (versions, deployments) = {
        let mut tx = app.db.read().await?;
        (snapshots::versions(&mut tx, &of).await?, deployments::list(&mut tx, &of).await?)
    };
    let history = History::read(app, &of).await?;
    // What has changed since is looked at again at the end.
    let mut looked = suspended.take().unwrap_or_else(|| Suspended { seen: versions, ..Suspended::default() });
    let mut attempts = lease.attempts;
    let mut has_worked = false;
    let open: Vec<_> = deployments.iter().filter(|deployment| !looked.settled.contains(&deployment.id)).collect();
    let mut rest = open.into_iter().peekable();
    'deployments: for deployment in rest.by_ref() {
        let state = {
            let mut tx = app.db.read().await?;
            let budget = app.settings.limits.quotas.diff_budget(&mut tx, &of).await?;
            State::read(&mut tx, &of, deployment, (app.now(), budget, &history)).await?
        };
        let mut surplus = std::mem::take(&mut looked.surplus);
        let look;
        (look, looked.surplus) = packages::blocking(move || {
            let look = state.look(&mut surplus);
            (look, surplus)
        })
        .await?;
        match look {
            Look::Needs(needs) => {
                has_worked = true;
                for need in needs {
                    satisfy(app, &of, need, (claim, &mut attempts), throttle, || took() >= BUDGET).await?;
                    if took() >= BUDGET {
                        break 'deployments;
                    }
                }
            }
            Look::Nothing(due) => {
                looked.next = looked.next.into_iter().chain(due).min();
                looked.settled.insert(deployment.id.clone());
            }
        }
        if took() >= BUDGET {
            break;
        }
    }
    if !has_worked && rest.peek().is_none() {
        return end(app, &of, lease, looked, took()).await;
    }
    if !has_worked {
        *suspended = Some(looked);
    }
    let mut tx = app.db.write().await?;
    // Behind those that wait, and as much later as this took: an app with much to do must not keep others waiting.
    outbox::requeue(&mut tx, lease, app.now().plus_millis(took())).await?;
    tx.commit().await?;
    Ok(Turn::More)
}

/// Ends the work until something is due, unless something has changed since the first deployment was looked at, and forgets what nothing needs.
async fn end(app: &Context, of: &AppId, lease: &Lease, looked: Suspended, took: i64) -> Result<Turn> {
    let Suspended { seen, next, surplus, settled: _ } = looked;
    let mut obsolete = repo::stale(&mut app.db.read().await?, of, i64::try_from(MAX_STALE).unwrap_or(i64::MAX)).await?;
    let mut tx = app.db.write().await?;
    // First, like a transfer and the deletion of the app: those lock its deployments in another order.
    access::apps::lock(&mut tx, of).await?;
    // A change of a release raises a version, and enqueues the app, in one transaction. It is visible here, or commits after this, and then its row is a new one,
    // or becomes due.
    let is_same = snapshots::lock_versions(&mut tx, of).await? == seen;
    if is_same {
        // Otherwise some of it may be needed by now.
        obsolete.extend(surplus.rows());
        obsolete.truncate(MAX_STALE);
    }
    let is_done = is_same && obsolete.len() < MAX_STALE;
    for row in &obsolete {
        let target = repo::Target { bundle: &row.target_sha256, hash: &row.target_hash };
        repo::forget(&mut tx, of, target, &row.base_sha256).await?;
    }
    match next {
        _ if !is_done => outbox::requeue(&mut tx, lease, app.now().plus_millis(took)).await?,
        Some(next) => outbox::requeue(&mut tx, lease, next).await?,
        None => outbox::delete(&mut tx, lease).await?,
    };
    tx.commit().await?;
    Ok(if is_done { Turn::Done } else { Turn::More })
}

/// Everything that decides which diffs a deployment's releases should have.
#[derive(Debug)]
struct State {
    deployment: DeploymentId,
    newest_first: Vec<ReleaseRow>,
    /// For each release, whether devices can be offered it, and a diff.
    offered: Vec<bool>,
    devices: Devices,
    attached: HashMap<ReleaseId, Vec<DiffRow>>,
    made: HashMap<(Sha256Hex, PackageHash), Vec<MadeRow>>,
    history: History,
    /// How long the diffs of a replaced release stay, in milliseconds.
    kept: i64,
    now: UnixMillis,
}

impl State {
    async fn read(
        tx: &mut ReadTx,
        app: &AppId,
        deployment: &DeploymentRow,
        (now, budget, history): (UnixMillis, DiffBudget, &History),
    ) -> Result<Self> {
        let newest_first = repo::releases(tx, &deployment.id).await?;
        let mut attached: HashMap<_, Vec<DiffRow>> = HashMap::new();
        for diff in releases::diffs(tx, &deployment.id).await? {
            attached.entry(diff.release_id.clone()).or_default().push(diff);
        }
        let devices = devices(tx, deployment).await?;
        let offered: Vec<bool> =
            offered_of(&newest_first).into_iter().zip(&newest_first).map(|(is, row)| is && row.manifest_sha256.is_some()).collect();
        let targets = newest_first.iter().zip(&offered).filter(|(_, is_offered)| **is_offered).map(|(row, _)| row.target());
        let made = repo::made_of(tx, app, &targets.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()).await?;
        // When room is short, what nobody is offered any more goes first.
        let kept = if budget.is_short() { 0 } else { KEPT };
        let history = history.clone();
        Ok(Self { deployment: deployment.id.clone(), newest_first, offered, devices, attached, made, history, kept, now })
    }

    /// The first releases whose diffs are not what they should be, or when one may be. Takes a while of a core if there are thousands of releases.
    /// Notes in `surplus` what is known of each package.
    fn look(mut self, surplus: &mut Surplus) -> Look {
        let ranges = Ranges::of(&self.newest_first);
        let mut bundles: Bundles<'_> = HashMap::new();
        for release in &self.newest_first {
            bundles.entry(&release.package_hash).or_default().insert(&release.blob_sha256);
        }
        let mut next: Option<UnixMillis> = None;
        let mut needs: Vec<Need> = Vec::new();
        for (place, (target, is_offered)) in self.newest_first.iter().zip(&self.offered).enumerate() {
            let attached = self.attached.remove(&target.id).unwrap_or_default();
            if *is_offered {
                let made = self.made.get(&(target.blob_sha256.clone(), target.package_hash.clone())).map_or(&[][..], Vec::as_slice);
                let confirmed = confirmed(&bundles, &attached, made);
                let (mut need, looked_at) = of_target(
                    &self.deployment,
                    target,
                    &self.newest_first,
                    &ranges,
                    &self.devices,
                    (attached, &confirmed),
                    current(made, self.now),
                );
                let look_due = need.note_outdated(&self.newest_first, &self.history, self.now);
                if need.is_open() {
                    need.is_suspect = made.iter().any(|row| row.problem == Some(Problem::Unfinished));
                    // What is made for one release, another one of the same package has.
                    if needs.iter().all(|other| other.target.target() != need.target.target()) {
                        needs.push(need);
                    }
                    if needs.len() >= MAX_NEEDS {
                        break;
                    }
                    continue;
                }
                // What is wrong with the release itself stops all its diffs, wherever it was found.
                let lost = need.made.values().filter(|row| row.problem.is_some_and(Problem::is_of_target)).map(|row| &row.base_sha256);
                surplus.note(target.target(), made, looked_at.iter().chain(lost));
                // What was due before now is not needed any more.
                let waits = made.iter().filter_map(retry_time).filter(|due| *due > self.now);
                next = next.into_iter().chain(waits).chain(look_due).min();
                continue;
            }
            if attached.is_empty() {
                continue;
            }
            let after = place.checked_sub(1).and_then(|place| self.newest_first.get(place)).unwrap_or(target);
            let end = after.upload_time.plus_millis(self.kept);
            if self.kept == 0 || end < self.now {
                needs.push(Need {
                    deployment: self.deployment.clone(),
                    target: target.clone(),
                    bases: Vec::new(),
                    kept: Vec::new(),
                    outdated: Vec::new(),
                    attached,
                    made: HashMap::new(),
                    is_suspect: false,
                });
                continue;
            }
            next = next.into_iter().chain([end.plus_millis(1)]).min();
        }
        if needs.is_empty() { Look::Nothing(next) } else { Look::Needs(needs) }
    }
}

/// When what is known of a diff is tried again, if ever.
pub(super) fn retry_time(row: &MadeRow) -> Option<UnixMillis> {
    row.problem.and_then(Problem::retried_after).map(|wait| row.made_time.plus_millis(wait))
}

/// What is known of diffs, without what is to be tried again.
fn current(made: &[MadeRow], now: UnixMillis) -> HashMap<Sha256Hex, MadeRow> {
    let is_current = |row: &&MadeRow| retry_time(row).is_none_or(|due| due > now);
    made.iter().filter(is_current).map(|row| (row.base_sha256.clone(), row.clone())).collect()
}

/// For each release, newest first, whether devices can be offered it.
pub(super) fn offered_of(newest_first: &[ReleaseRow]) -> Vec<bool> {
    let outlines = newest_first.iter().map(|row| {
        let rollout = row.rollout.and_then(|rollout| u8::try_from(rollout).ok());
        ReleaseOutline { range: &row.app_version, is_disabled: row.is_disabled, rollout, description: 0 }
    });
    offered(&outlines.collect::<Vec<_>>())
}

/// How many devices run each label.
pub(super) async fn devices(tx: &mut ReadTx, deployment: &DeploymentRow) -> Result<Devices> {
    let counters = counters::list(tx, &deployment.id, deployment.counting_epoch).await?;
    let label = |place: &str| place.strip_prefix('v').and_then(|number| number.parse().ok());
    Ok(counters.iter().filter_map(|counter| Some((label(&counter.place)?, counter.active))).collect())
}

/// The bundles of each package of a deployment.
type Bundles<'r> = HashMap<&'r PackageHash, BTreeSet<&'r Sha256Hex>>;

/// The packages whose attached diff is known to be good: from one of their bundles, it was made, and not refused since. A look for another release, or a process
/// that ended within one, can have changed that.
fn confirmed(bundles: &Bundles<'_>, attached: &[DiffRow], made: &[MadeRow]) -> HashSet<PackageHash> {
    let known: HashMap<_, _> = made.iter().map(|row| (&row.base_sha256, row.blob_sha256.as_ref())).collect();
    let is_confirmed = |diff: &&DiffRow| {
        let mut of_package = bundles.get(&diff.source_hash).into_iter().flatten();
        of_package.any(|bundle| known.get(*bundle) == Some(&Some(&diff.blob_sha256)))
    };
    attached.iter().filter(is_confirmed).map(|diff| diff.source_hash.clone()).collect()
}

/// What a release needs, and the earlier bundles that decided it.
fn of_target(
    deployment: &DeploymentId,
    target: &ReleaseRow,
    releases: &[ReleaseRow],
    ranges: &Ranges,
    devices: &Devices,
    (attached, confirmed): (Vec<DiffRow>, &HashSet<PackageHash>),
    made: HashMap<Sha256Hex, MadeRow>,
) -> (Need, Vec<Sha256Hex>) {
    let is_lost = made.values().any(|row| row.problem.is_some_and(Problem::is_of_target));
    let chosen =
        choice::choose(target, releases, ranges, devices, |base| if is_lost { Some(Known::Failed) } else { known(made.get(base)) });
    let wanted: BTreeSet<&PackageHash> = chosen.iter().filter(|base| base.known != Some(Known::Failed)).map(hash).collect();
    let sources: Vec<PackageHash> =
        attached.iter().map(|diff| &diff.source_hash).filter(|hash| confirmed.contains(*hash)).cloned().collect();
    let mut kept: Vec<PackageHash> = choice::kept(&sources, &wanted, releases, devices).into_iter().cloned().collect();
    // Until the diff from the newest bundle of the package is made, and if it cannot be.
    kept.extend(sources.into_iter().filter(|hash| wanted.contains(hash)));
    let bases = chosen.iter().filter(|base| base.known != Some(Known::Failed)).map(|base| base.release.clone()).collect();
    let stays = |release: &&ReleaseRow| kept.contains(&release.package_hash) && made.contains_key(&release.blob_sha256);
    let looked_at = chosen.iter().map(|base| base.release).chain(releases.iter().filter(stays));
    let looked_at = looked_at.map(|release| release.blob_sha256.clone()).collect();
    let outdated = Vec::new();
    (Need { deployment: deployment.clone(), target: target.clone(), bases, kept, outdated, attached, made, is_suspect: false }, looked_at)
}

fn hash<'r>(base: &Base<'r>) -> &'r PackageHash {
    &base.release.package_hash
}

/// What is known of a diff.
pub(super) fn known(made: Option<&MadeRow>) -> Option<Known> {
    made.map(|row| if row.blob_sha256.is_some() { Known::Made } else { Known::Failed })
}

impl Need {
    /// The packages whose diff was not tried yet.
    fn missing(&self) -> Vec<ReleaseRow> {
        self.bases.iter().filter(|base| !self.made.contains_key(&base.blob_sha256)).cloned().collect()
    }

    /// The packages whose diff was made in an earlier turn, and that the release does not have yet.
    fn earlier(&self) -> Vec<ReleaseRow> {
        let present = self.present();
        let made = |base: &ReleaseRow| self.made.get(&base.blob_sha256).and_then(|row| Some((row.blob_sha256.as_ref()?, row.size)));
        let is_new = |base: &&ReleaseRow| made(base).is_some_and(|made| present.get(&base.package_hash) != Some(&made));
        self.bases.iter().filter(is_new).cloned().collect()
    }

    /// The diffs that the release should have, by source hash.
    fn due(&self) -> BTreeMap<&PackageHash, (&Sha256Hex, i64)> {
        // One that was looked at again, and that some devices could not apply, goes.
        let is_refused = |hash: &PackageHash| {
            let made = self.outdated.iter().filter(|base| base.package_hash == *hash).map(|base| self.made.get(&base.blob_sha256));
            made.flatten().any(|row| row.problem.is_some())
        };
        let stay = self.attached.iter().filter(|diff| self.kept.contains(&diff.source_hash) && !is_refused(&diff.source_hash));
        let mut due: BTreeMap<_, _> = stay.map(|diff| (&diff.source_hash, (&diff.blob_sha256, diff.size))).collect();
        for base in &self.bases {
            if let Some(row) = self.made.get(&base.blob_sha256)
                && let Some(blob) = &row.blob_sha256
            {
                due.insert(&base.package_hash, (blob, row.size));
            }
        }
        due
    }

    /// The diffs that it has, by source hash.
    fn present(&self) -> BTreeMap<&PackageHash, (&Sha256Hex, i64)> {
        self.attached.iter().map(|diff| (&diff.source_hash, (&diff.blob_sha256, diff.size))).collect()
    }

    /// Notes which diffs that devices are offered have to be looked at again. Returns when others of them will have to be.
    fn note_outdated(&mut self, newest_first: &[ReleaseRow], history: &History, now: UnixMillis) -> Option<UnixMillis> {
        let present = self.present();
        let others = newest_first.iter().filter(|release| self.kept.contains(&release.package_hash));
        let mut seen = HashSet::new();
        let (mut outdated, mut next) = (Vec::new(), None);
        for base in self.bases.iter().chain(others) {
            let Some(made) = self.made.get(&base.blob_sha256) else { continue };
            let is_offered = made.blob_sha256.as_ref().is_some_and(|blob| present.get(&base.package_hash) == Some(&(blob, made.size)));
            if !is_offered || !seen.insert(&base.package_hash) {
                continue;
            }
            match history.due(made, &self.target.blob_sha256) {
                Some(due) if due <= now => outdated.push(base.clone()),
                due => next = next.into_iter().chain(due).min(),
            }
        }
        self.outdated = outdated;
        next
    }

    fn is_open(&self) -> bool {
        !self.missing().is_empty() || !self.outdated.is_empty() || self.due() != self.present()
    }
}

/// What diffs to a release are made from.
#[derive(Debug)]
struct Ready {
    target: Arc<Target>,
    buried: Buried,
    /// When the app's other packages were looked at.
    looked: UnixMillis,
}

/// Makes the missing diffs until it is enough, then attaches what is there.
async fn satisfy(
    app: &Context,
    of: &AppId,
    mut need: Need,
    (claim, attempts): (&Claim, &mut i64),
    throttle: &mut Throttle,
    is_enough: impl Fn() -> bool,
) -> Result<()> {
    let release = need.target.clone();
    let mut trial = Trial { app, of, target: release.target(), claim, attempts: *attempts, is_suspect: need.is_suspect };
    let missing = need.missing();
    let mut again = need.earlier();
    again.extend(need.outdated.iter().cloned());
    if !missing.is_empty() {
        make_missing(&mut need, &mut trial, missing, throttle, is_enough).await?;
    }
    if !again.is_empty() {
        let began = Instant::now();
        look_again(&mut need, &mut trial, again).await?;
        throttle.worked(began.elapsed());
    }
    *attempts = trial.attempts;
    if need.due() != need.present() {
        attach(app, of, &need).await?;
    }
    Ok(())
}

async fn make_missing(
    need: &mut Need,
    trial: &mut Trial<'_>,
    missing: Vec<ReleaseRow>,
    throttle: &mut Throttle,
    is_enough: impl Fn() -> bool,
) -> Result<()> {
    let (app, of) = (trial.app, trial.of);
    throttle.rest().await;
    let mut began = Instant::now();
    let target = if let Err(problem) = room(app, of).await? {
        Err(problem)
    } else {
        trial.run(&missing, Problem::TargetDamaged, || Box::pin(packages::target(app, of, &need.target))).await?
    };
    let ready = match target {
        Ok(target) => {
            let history = History::read(app, of).await?;
            let buried = history::look(trial, &history.bundles(), &need.made, &missing, &target.files.manifest).await?;
            Ok(Ready { target, buried, looked: history.time })
        }
        Err(problem) => Err(problem),
    };
    for (place, base) in missing.into_iter().enumerate() {
        if place > 0 {
            throttle.rest().await;
            began = Instant::now();
        }
        let row = match &ready {
            Ok(ready) => {
                let making = || Box::pin(make(app, of, ready, &base));
                let made = trial.run(std::slice::from_ref(&base), Problem::BaseDamaged, making).await?;
                made.unwrap_or_else(|problem| failed(&base, problem, app))
            }
            Err(problem) => failed(&base, *problem, app),
        };
        warn_of(need, &base, &row);
        trial.record(&row).await?;
        need.made.insert(row.base_sha256.clone(), row);
        throttle.worked(began.elapsed());
        if is_enough() {
            break;
        }
    }
    Ok(())
}

/// Looks at the packages that came after diffs of earlier turns, before devices are offered these, or go on being: a device of such a package can have a folder in
/// the place of a file. Reads nothing if there is no such package.
async fn look_again(need: &mut Need, trial: &mut Trial<'_>, earlier: Vec<ReleaseRow>) -> Result<()> {
    let (app, of, target) = (trial.app, trial.of, need.target.clone());
    let history = History::read(app, of).await?;
    let mut newer: BTreeSet<&Sha256Hex> = BTreeSet::new();
    let bases: Vec<ReleaseRow> = earlier
        .into_iter()
        .filter(|base| {
            let Some(made) = need.made.get(&base.blob_sha256) else { return false };
            let found = history.newer_than(made, &target.blob_sha256);
            newer.extend(&found);
            !found.is_empty()
        })
        .collect();
    if bases.is_empty() {
        return Ok(());
    }
    let newer: Vec<&Sha256Hex> = newer.into_iter().collect();
    let reading = || Box::pin(packages::manifest(app, of, &target, Problem::TargetDamaged));
    let buried = match trial.run(&bases, Problem::TargetDamaged, reading).await? {
        Ok(manifest) => Ok(history::look(trial, &newer, &need.made, &bases, &manifest).await?),
        Err(problem) => Err(problem),
    };
    let mut harmless = Vec::new();
    for base in bases {
        let problem = match &buried {
            Ok(buried) => prevented(trial, buried, &base).await?,
            Err(problem) => Some(*problem),
        };
        let Some(problem) = problem else {
            harmless.push(base.blob_sha256);
            continue;
        };
        let row = failed(&base, problem, app);
        warn_of(need, &base, &row);
        trial.record(&row).await?;
        need.made.insert(row.base_sha256.clone(), row);
    }
    // Once for each newer package.
    let mut tx = app.db.write().await?;
    // First, like everything else that changes several of these rows.
    access::apps::lock(&mut tx, of).await?;
    let mut gone = Vec::new();
    for base in &harmless {
        if repo::note_look(&mut tx, of, target.target(), base, history.time).await? == 0 {
            gone.push(base);
        }
    }
    let is_forgiven = !harmless.is_empty() && trial.attempts > 0;
    if is_forgiven {
        outbox::forgive(&mut tx, &trial.claim.lease).await?;
    }
    tx.commit().await?;
    if is_forgiven {
        trial.attempts = 0;
    }
    for base in gone {
        // No release had it, so work on trial forgot it. The next turn makes it; the others need not wait.
        need.made.remove(base);
    }
    Ok(())
}

/// Why there can be no diff from a package any more.
async fn prevented(trial: &Trial<'_>, buried: &Buried, base: &ReleaseRow) -> Result<Option<Problem>> {
    // Then nothing is found for any package.
    if buried.prevented(&Manifest::new()).is_none() {
        return Ok(None);
    }
    let reading = || Box::pin(packages::manifest(trial.app, trial.of, base, Problem::BaseDamaged));
    Ok(match trial.run(std::slice::from_ref(base), Problem::BaseDamaged, reading).await? {
        Ok(manifest) => buried.prevented(&manifest).map(|_| Problem::UnsafeNames),
        Err(problem) => Some(problem),
    })
}

/// Warns of what has to be repaired.
fn warn_of(need: &Need, base: &ReleaseRow, row: &MadeRow) {
    let Some(problem) = row.problem.filter(|problem| problem.is_fault()) else { return };
    tracing::warn!(
        deployment.id = need.deployment.as_str(),
        release.id = %need.target.id,
        release.label = need.target.label,
        base.label = base.label,
        problem = problem.as_str(),
        "a diff of a release cannot be made"
    );
}

/// How many bytes a diff may have.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// What is left of the budget of the app's owner.
    left: u64,
    /// The size of the largest diff that was dropped and still counts: the same bytes may be stored again, whatever is left.
    dropped: u64,
}

/// The room for a diff of the app, if there is any, and if the disk is not nearly full.
async fn room(app: &Context, of: &AppId) -> Result<std::result::Result<Room, Problem>> {
    if app.storage.is_nearly_full().await {
        tracing::warn!("the disk is nearly full, so no diffs are made");
        return Ok(Err(Problem::DiskFull));
    }
    let mut tx = app.db.read().await?;
    let left = app.settings.limits.quotas.diff_budget(&mut tx, of).await?.left();
    let room = Room { left, dropped: quotas::largest_dropped_diff(&mut tx, of).await? };
    Ok(if room.left.max(room.dropped) == 0 { Err(Problem::NoRoom) } else { Ok(room) })
}

/// Makes and stores one diff.
async fn make(app: &Context, of: &AppId, ready: &Ready, base: &ReleaseRow) -> Worked<MadeRow> {
    let files = match packages::files(app, of, base, Problem::BaseDamaged).await? {
        Ok(files) => files,
        Err(problem) => return Ok(Err(problem)),
    };
    if ready.buried.prevented(&files.manifest).is_some() {
        return Ok(Err(Problem::UnsafeNames));
    }
    let room = match room(app, of).await? {
        Ok(room) => room,
        Err(problem) => return Ok(Err(problem)),
    };
    let made = match making::make(app, files, &ready.target, room.left.max(room.dropped)).await? {
        Ok(made) => made,
        Err(problem) => return Ok(Err(problem)),
    };
    if made.size > room.left && !blob::is_counted_diff(&mut app.db.read().await?, of, &made.sha256).await? {
        return Ok(Err(Problem::NoRoom));
    }
    upload::store(app, of, &made.sha256, made.file.path(), Purpose::Diff).await?;
    let size = i64::try_from(made.size).map_err(Error::internal)?;
    // A package that came meanwhile is newer.
    let made_time = ready.looked;
    Ok(Ok(MadeRow { base_sha256: base.blob_sha256.clone(), blob_sha256: Some(made.sha256), size, problem: None, made_time }))
}

/// Lets devices be offered the diffs that are there, and no others.
async fn attach(app: &Context, of: &AppId, need: &Need) -> Result<()> {
    let (due, present) = (need.due(), need.present());
    let mut tx = app.db.write().await?;
    // First, like everything else that changes several of these rows.
    access::apps::lock(&mut tx, of).await?;
    let Some(locked) = deployments::lock(&mut tx, &need.deployment).await? else { return Ok(()) };
    // Deleted, or corrected: the next turn sees it.
    let is_same = repo::package_of(&mut tx, &need.target.id).await?;
    if is_same.is_none_or(|(hash, blob)| (hash, blob) != (need.target.package_hash.clone(), need.target.blob_sha256.clone())) {
        return Ok(());
    }
    // Or the app has moved to an account without room for them, or a lost one was dropped.
    if !is_current(&mut tx, of, need).await? {
        return Ok(());
    }
    let now = app.now();
    // In the order in which everybody locks blobs. What is not offered any more was used until now: URLs of it were given out.
    let mut blobs: BTreeMap<&Sha256Hex, bool> = present.values().map(|(blob, _)| (*blob, false)).collect();
    blobs.extend(due.values().map(|(blob, _)| (*blob, true)));
    let mut gone = HashSet::new();
    for (sha256, is_due) in blobs {
        let is_there = if is_due { blob::hold(&mut tx, of, sha256).await? } else { blob::touch_now(&mut tx, of, sha256, now).await? };
        if is_due && !is_there {
            gone.insert(sha256);
        }
    }
    for (source, (blob, size)) in &due {
        if !gone.contains(blob) && present.get(source) != Some(&(*blob, *size)) {
            repo::attach(&mut tx, &need.target.id, source, blob, *size).await?;
        }
    }
    for source in present.keys().filter(|source| due.get(*source).is_none_or(|(blob, _)| gone.contains(blob))) {
        repo::detach(&mut tx, &need.target.id, source).await?;
    }
    snapshots::enqueue(&mut tx, &locked.deployment_key, now).await?;
    for base in &need.bases {
        let blob = need.made.get(&base.blob_sha256).and_then(|row| row.blob_sha256.as_ref());
        if blob.is_some_and(|blob| gone.contains(blob)) {
            // Nobody needed it for a while, and it was deleted.
            repo::forget(&mut tx, of, need.target.target(), &base.blob_sha256).await?;
        }
    }
    tx.commit().await?;
    app.publisher.wake();
    let count = due.values().filter(|(blob, _)| !gone.contains(blob)).count();
    tracing::info!(deployment.id = need.deployment.as_str(), release.label = need.target.label, count, "the diffs of a release are ready");
    Ok(())
}

/// Whether what this work began with, and has made since, is still there. The deployment must be locked.
async fn is_current(tx: &mut WriteTx, of: &AppId, need: &Need) -> Result<bool> {
    let made = repo::made(tx, of, need.target.target()).await?;
    let known: HashMap<_, _> = made.iter().map(|row| (&row.base_sha256, row.blob_sha256.as_ref())).collect();
    let is_made = |base: &ReleaseRow| {
        let blob = need.made.get(&base.blob_sha256).and_then(|row| row.blob_sha256.as_ref());
        blob.is_none_or(|blob| known.get(&base.blob_sha256) == Some(&Some(blob)))
    };
    let attached = releases::diffs_of(tx, &need.target.id).await?;
    let is_attached =
        |diff: &DiffRow| attached.iter().any(|now| now.source_hash == diff.source_hash && now.blob_sha256 == diff.blob_sha256);
    Ok(need.bases.iter().all(is_made) && need.attached.iter().all(is_attached))
}

/// Has the diffs of apps looked at whose devices have reported something since, a page at a time. Returns the last app, or `None` at the end.
pub async fn follow(app: &Context, since: UnixMillis, after: &str) -> Result<Option<String>> {
    const PAGE: i64 = 200;
    let apps = repo::reported(&mut app.db.read().await?, since, after, PAGE).await?;
    let Some(last) = apps.last().map(ToString::to_string) else { return Ok(None) };
    let mut tx = app.db.write().await?;
    for of in &apps {
        need_diffs(&mut tx, of, app.now()).await?;
    }
    tx.commit().await?;
    Ok(Some(last))
}
