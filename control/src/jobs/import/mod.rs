//! `import codepush`: moves apps here from any server that speaks CodePush's management API.
//!
//! In this order, so that nothing is written before everything is known: reads the other server, downloads and checks all packages into a folder, and
//! compares the plan with the rules and with what is here already. Then it writes, app by app. Killed at any point and started again, it continues: the
//! folder has the packages, and each write finds what an earlier run has written. Start reading at [`Run::run`].

pub mod compare;
mod packages;
pub mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;

use import::plan::{self, Limits, Plan, Remark};
use import::source::{Fault, Source};
use import::staging::Staging;

use self::packages::Packages;
use self::report::{Imported, ImportedDeployment, Report};
use crate::domain::access::operator::Operator;
use crate::domain::context::Context;
use crate::domain::email::Email;
use crate::domain::error::Error;
use crate::domain::imports::Import;
use crate::domain::releases::size::{MAX_RANGES, MAX_RELEASES};

/// What to import, and where from.
#[derive(Debug)]
pub struct Wanted {
    /// The server's address.
    pub from: String,
    /// A key of an account there.
    pub key: String,
    /// The account here that the apps will belong to.
    pub owner: Email,
    /// The names of the apps there; all that the key can see if empty.
    pub apps: Vec<String>,
    /// Whether to end before anything is written.
    pub is_dry_run: bool,
    /// Whether to go beyond the account's quotas.
    pub ignores_quotas: bool,
    /// Whether to import the rest of a history if some of its releases are refused.
    pub leaves_out_refused: bool,
}

/// Why an import was aborted. It can be started again, and continues.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The other server failed, or the folder for packages.
    #[error(transparent)]
    Source(#[from] Fault),
    /// The database or the storage here failed, or somebody has changed what was planned.
    #[error(transparent)]
    Here(#[from] Error),
    /// Too many packages cannot be downloaded.
    #[error("the other server does not deliver its packages; the last answer: {0}. Start the import again later: it continues")]
    Packages(Fault),
}

/// An import.
#[derive(Debug)]
pub struct Run<'r> {
    /// The database, the storage and the settings.
    pub context: &'r Context,
    /// The folder for packages, below the data folder.
    pub folder: PathBuf,
    /// What to import.
    pub wanted: Wanted,
}

impl Run<'_> {
    /// Imports, or only checks. Calls `told` with a line of progress now and then.
    pub async fn run(self, told: &mut dyn FnMut(&str)) -> Result<Report, ImportError> {
        let Self { context, folder, wanted } = self;
        let source = Source::new(&wanted.from, &wanted.key)?;
        let operator = Operator::new(&context.db, context.entropy.clone(), context.clock.clone());
        let import = Import::new(context, &operator, wanted.owner.clone(), source.address().to_owned(), wanted.ignores_quotas).await?;
        told(&format!("Reading {}.", source.address()));
        let apps = source.read(&wanted.apps, |app| told(&format!("Reading {app}."))).await?;
        let limits = &context.settings.limits;
        let size = Limits { releases: MAX_RELEASES, ranges: MAX_RANGES, snapshot_bytes: limits.snapshot_bytes };
        let mut plan = plan::plan(apps, size);
        let staging = Staging::open(folder, limits.archive.clone(), limits.account.upload_bytes).await?;
        let packages = packages::fetch(&source, &staging, &mut plan, told).await?;
        let mut report = Report::new(source.address(), &wanted.owner, &plan, &packages);
        plan.problems.extend(import.problems(&plan, packages.bytes()).await?);
        plan.problems.sort_by(|one, other| one.remark.place.cmp(&other.remark.place));
        if wanted.leaves_out_refused {
            report.left_out = plan.leave_out_refused();
        }
        report.problems = plan.problems.iter().map(|problem| problem.remark.clone()).collect();
        report.can_leave_out = plan.problems.iter().any(|problem| problem.can_be_left_out);
        if wanted.is_dry_run || !report.problems.is_empty() {
            return Ok(report);
        }
        report.imported = Some(write(&import, &plan, &packages, told).await?);
        staging.clear().await?;
        Ok(report)
    }
}

/// Writes everything, app by app.
async fn write(import: &Import<'_>, plan: &Plan, packages: &Packages, told: &mut dyn FnMut(&str)) -> Result<Vec<Imported>, ImportError> {
    let mut imported = Vec::new();
    for planned in &plan.apps {
        let app = import.app(planned).await?;
        let ids: BTreeMap<_, _> = app.deployments.iter().map(|(name, id)| (name.as_str(), id)).collect();
        let mut deployments = Vec::new();
        for deployment in &planned.deployments {
            let Some(id) = ids.get(deployment.source_name.as_str()) else { continue };
            told(&format!("Importing {} / {}: {} releases.", planned.source_name, deployment.source_name, deployment.releases.len()));
            let history = packages.of(&planned.source_name, deployment);
            let outcome = import.history(&app.id, id, &history, &deployment.counts).await?;
            deployments.push(ImportedDeployment {
                name: deployment.name.as_str().to_owned(),
                releases: deployment.releases.len(),
                first: deployment.releases.first().map(|release| release.label),
                last: deployment.releases.last().map(|release| release.label),
                marked: history.iter().filter(|(_, staged)| staged.counts_directories).map(|(release, _)| release.label).collect(),
                outcome,
            });
        }
        imported.push(Imported { name: planned.name.as_str().to_owned(), deployments, collaborators: app.collaborators });
    }
    Ok(imported)
}

/// A remark as a line.
fn line(remark: &Remark) -> String {
    format!("{}: {}", remark.place, remark.text)
}
