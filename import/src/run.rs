//! An import from beginning to end, for an operator, who writes to the database, or for an account, which calls the API.
//!
//! In this order, so that nothing is written before everything is known: [`Run::prepare`] reads the other server, asks what the target has already,
//! downloads and checks the other packages into a folder, unless the target refuses the import anyway, and compares the plan with the rules. [`Ready::write`] then writes, app by app. Killed at any
//! point and started again, it continues: the folder has the packages, and the target finds what an earlier run has written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use shared::archive::ArchiveLimits;

use crate::packages::{self, Packages, PackagesFault};
use crate::plan::{self, Limits, Place, Plan, Problem, THE_ACCOUNT};
use crate::report::{Imported, ImportedDeployment, Joined, Outcome, Report};
use crate::room::Room;
use crate::source::{Fault, Source};
use crate::staging::{Staged, Staging};

/// Where apps are moved to.
pub trait Target {
    /// Why something cannot be read or written there.
    type Error;
    /// An app there.
    type App;

    /// What of a plan is there already, and how many bytes of packages fit.
    fn room(&mut self, source: &str, plan: &Plan) -> impl Future<Output = Result<Room, Self::Error>>;

    /// The problems of a plan, because of what is there already. `bytes` is the sum of the new packages' sizes, each
    /// counted once.
    fn problems(&mut self, source: &str, plan: &Plan, bytes: u64) -> impl Future<Output = Result<Vec<Problem>, Self::Error>>;

    /// Creates an app with its deployments and collaborators, or what an earlier run has not created of it.
    fn app(&mut self, source: &str, planned: &plan::App) -> impl Future<Output = Result<Created<Self::App>, Self::Error>>;

    /// Imports the releases of a deployment, oldest first, and its counts. A release that is not there yet has its checked package.
    fn history(
        &mut self,
        app: &Self::App,
        deployment: &plan::Deployment,
        history: &[(plan::Release, Option<Staged>)],
    ) -> impl Future<Output = Result<Outcome, Self::Error>>;
}

/// An app that was created, with what became of its collaborators.
#[derive(Clone, Debug)]
pub struct Created<A> {
    /// The app.
    pub app: A,
    /// Its name there.
    pub name: String,
    /// The names of its deployments there, by those at the source.
    pub deployments: BTreeMap<String, String>,
    /// The collaborators of the source, other than its owner at the target.
    pub collaborators: Vec<(String, Joined)>,
}

/// An import.
#[derive(Debug)]
pub struct Run<'r> {
    /// The server that apps are moved from.
    pub source: Source,
    /// The names of the apps there; all that the key can see if empty.
    pub apps: &'r [String],
    /// The folder for packages.
    pub folder: PathBuf,
    /// The limits of the target for histories.
    pub limits: Limits,
    /// The limits of the target for archives.
    pub archive: ArchiveLimits,
    /// The largest package that the target takes, in bytes.
    pub largest_package: u64,
    /// Whether to import the rest of a history if some of its releases are refused.
    pub leaves_out_refused: bool,
    /// Whether it only checks: then it downloads all packages even if something blocks the import already.
    pub is_dry_run: bool,
    /// The account there that the apps will belong to, for the report.
    pub account: &'r str,
    /// What raises the limit of a package's size, for the report.
    pub larger_packages: &'r str,
}

/// Why an import was aborted. It can be started again, and continues.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// The other server failed, or the folder for packages.
    #[error(transparent)]
    Source(#[from] Fault),
    /// The packages could not be downloaded.
    #[error(transparent)]
    Packages(#[from] PackagesFault),
    /// The target failed, or somebody has changed what was planned.
    #[error("{0}")]
    Target(E),
}

/// An import that is ready to be written, unless something stands against it.
#[derive(Debug)]
pub struct Ready {
    /// What was found.
    pub report: Report,
    source: Source,
    plan: Plan,
    room: Room,
    packages: Packages,
    staging: Staging,
    /// Whether the import is of some apps only.
    is_partial: bool,
}

impl Run<'_> {
    /// Reads and checks everything. Calls `told` with a line of progress now and then.
    pub async fn prepare<T: Target>(self, target: &mut T, told: &mut dyn FnMut(&str)) -> Result<Ready, RunError<T::Error>> {
        let source = self.source;
        told(&format!("Reading {}.", source.address()));
        let apps = source.read(self.apps, |app| told(&format!("Reading {app}."))).await?;
        let mut plan = plan::plan(apps, self.limits);
        let staging = Staging::open(self.folder, self.archive, self.largest_package).await?;
        let room = target.room(source.address(), &plan).await.map_err(RunError::Target)?;
        // What would be left out anyway blocks nothing. What is here stays as it is, and is named: it may be disabled there now.
        let is_settled = |problem: &Problem| problem.can_be_left_out && room.is_settled(&problem.remark.place);
        let (settled, problems) = std::mem::take(&mut plan.problems).into_iter().partition::<Vec<_>, _>(is_settled);
        plan.problems = problems;
        let kept: Vec<_> = settled.into_iter().map(|problem| problem.remark).filter(|remark| room.has_imported(&remark.place)).collect();
        // What the target refuses in any case is not worth gigabytes of packages.
        let is_refused = !self.is_dry_run && !target.problems(source.address(), &plan, 0).await.map_err(RunError::Target)?.is_empty();
        let packages = if is_refused {
            Packages::not_fetched(&plan, &room)
        } else {
            packages::fetch(&source, &staging, &mut plan, &room, told).await?
        };
        let mut report = Report::new(source.address(), self.account, &plan, &packages);
        report.kept = kept;
        report.are_packages_unchecked = is_refused && packages.is_cut();
        report.larger_packages = packages.has_too_large().then(|| self.larger_packages.to_owned());
        plan.problems.extend(target.problems(source.address(), &plan, packages.bytes()).await.map_err(RunError::Target)?);
        plan.problems.sort_by(|one, other| one.remark.place.cmp(&other.remark.place));
        if self.leaves_out_refused {
            report.left_out = plan.leave_out_refused();
            let is_empty = plan.apps.iter().flat_map(|app| &app.deployments).all(|deployment| deployment.releases.is_empty());
            if is_empty && !report.left_out.is_empty() {
                let place = Place { app: THE_ACCOUNT.to_owned(), deployment: None, label: None };
                plan.problems.push(Problem::new(place, "nothing is left to import: all releases were left out"));
            }
        }
        report.plan(&plan, &room);
        // An import of some apps says nothing about the others.
        if self.apps.is_empty() {
            report.unseen.clone_from(&room.others);
        }
        report.problems = plan.problems.iter().map(|problem| problem.remark.clone()).collect();
        report.folder = (packages.count() > 0).then(|| staging.folder().display().to_string());
        report.can_leave_out = plan.problems.iter().any(|problem| problem.can_be_left_out);
        Ok(Ready { report, source, plan, room, packages, staging, is_partial: !self.apps.is_empty() })
    }
}

impl Ready {
    /// Writes everything, app by app, and deletes its packages from the folder. Does nothing if something blocks the import.
    pub async fn write<T: Target>(self, target: &mut T, told: &mut dyn FnMut(&str)) -> Result<Report, RunError<T::Error>> {
        let Self { mut report, source, plan, room, packages, staging, is_partial } = self;
        if !report.is_possible() {
            return Ok(report);
        }
        // An app that is there gives up its old name before another one takes it.
        let mut order: Vec<_> = plan.apps.iter().enumerate().collect();
        order.sort_by_key(|(_, planned)| !room.knows(&planned.source_name));
        let mut imported = Vec::new();
        for (index, planned) in order {
            let Created { app, name, deployments: names, collaborators } =
                target.app(source.address(), planned).await.map_err(RunError::Target)?;
            let mut deployments = Vec::new();
            for deployment in &planned.deployments {
                let count = match deployment.releases.len() {
                    1 => "1 release".to_owned(),
                    count => format!("{count} releases"),
                };
                told(&format!("Importing {} / {}: {count}.", planned.source_name, deployment.source_name));
                let history = packages.of(&planned.source_name, deployment);
                if history.len() != deployment.releases.len() {
                    // A gap would never be filled: labels only grow.
                    return Err(PackagesFault::Missing.into());
                }
                let differences = room.differences(&planned.source_name, deployment);
                let outcome = if differences.is_cleared {
                    Outcome::Imported { added: 0, updated: 0, kept: Vec::new() }
                } else {
                    target.history(&app, deployment, &history).await.map_err(RunError::Target)?
                };
                deployments.push(ImportedDeployment {
                    name: names.get(&deployment.source_name).unwrap_or(&deployment.source_name).clone(),
                    differences,
                    releases: deployment.releases.len(),
                    first: deployment.releases.first().map(|release| release.label),
                    last: deployment.releases.last().map(|release| release.label),
                    marked: history
                        .iter()
                        .filter(|(_, staged)| staged.as_ref().is_some_and(|staged| staged.counts_directories))
                        .map(|(release, _)| release.label)
                        .collect(),
                    outcome,
                });
            }
            let gone = room.gone(&planned.source_name).to_vec();
            imported.push((index, Imported { name, deployments, gone, collaborators }));
        }
        imported.sort_by_key(|(index, _)| *index);
        report.imported = Some(imported.into_iter().map(|(_, imported)| imported).collect());
        if is_partial {
            let deployments = plan.apps.iter().flat_map(|app| &app.deployments);
            staging.forget(deployments.flat_map(|deployment| &deployment.releases)).await?;
        } else {
            staging.clear().await?;
        }
        Ok(report)
    }
}
