//! `import codepush`: moves apps here from any server that speaks CodePush's management API, by the operator.
//!
//! [`import::run`] has the order of the steps; here is what they write. Start reading at [`codepush`].

mod advice;
pub mod compare;

pub use advice::{of_comparison, of_import};

use std::collections::BTreeMap;
use std::path::PathBuf;

use import::plan::{self, Limits, Plan, Problem};
use import::report::{Outcome, Report};
use import::room::Room;
use import::run::{Created, Run, RunError, Target};
use import::source::Source;
use import::staging::Staged;
use shared::hash::Sha256Hex;
use shared::ids::{AppId, DeploymentId};
use shared::text::shell;

use crate::domain::access::operator::Operator;
use crate::domain::context::Context;
use crate::domain::email::Email;
use crate::domain::error::{Error, Result, Thing};
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

/// Imports, or only checks. `folder`, below the data folder, is for packages of all imports. Calls `told` with a line of progress now and then.
pub async fn codepush(
    context: &Context,
    folder: PathBuf,
    wanted: Wanted,
    told: &mut dyn FnMut(&str),
) -> std::result::Result<Report, RunError<Error>> {
    let source = Source::new(&wanted.from, &wanted.key).await?;
    let own = [&context.settings.base_url, &context.settings.upload_url];
    if own.iter().any(|own| source.address().trim_end_matches('/') == own.as_str()) {
        return Err(RunError::Target(Error::invalid("from", "is the server that the apps would be moved to")));
    }
    let operator = Operator::new(&context.db, context.entropy.clone(), context.clock.clone());
    let import = Import::by_operator(context, &operator, &wanted.owner, source.address().to_owned(), wanted.ignores_quotas);
    let mut here = Here { import: import.await.map_err(RunError::Target)? };
    let ignore = if wanted.ignores_quotas { "" } else { ", --ignore-quotas goes beyond it for this import" };
    let email = shell::option("--email", &wanted.owner);
    let larger_packages =
        format!("`updraft-control account set-limits {email} --max-upload-bytes SIZE` raises the account's limit{ignore}.");
    // A folder for each server and account: an import deletes what it has imported, and nothing that another one waits for.
    let name = Sha256Hex::of(format!("{}\n{}", source.address(), &*wanted.owner).as_bytes()).to_string();
    let limits = &context.settings.limits;
    let run = Run {
        source,
        apps: &wanted.apps,
        folder: folder.join(name),
        limits: Limits { releases: MAX_RELEASES, ranges: MAX_RANGES, snapshot_bytes: limits.snapshot_bytes },
        archive: limits.archive.clone(),
        largest_package: here.import.largest_package().await.map_err(RunError::Target)?,
        leaves_out_refused: wanted.leaves_out_refused,
        is_dry_run: wanted.is_dry_run,
        account: &wanted.owner,
        larger_packages: &larger_packages,
    };
    let ready = run.prepare(&mut here, told).await?;
    if wanted.is_dry_run { Ok(ready.report) } else { ready.write(&mut here, told).await }
}

/// The database and the storage of this server.
struct Here<'h> {
    import: Import<'h>,
}

impl Target for Here<'_> {
    type Error = Error;
    type App = (AppId, BTreeMap<String, DeploymentId>);

    async fn room(&mut self, _source: &str, plan: &Plan) -> Result<Room> {
        self.import.room(plan).await
    }

    async fn problems(&mut self, _source: &str, plan: &Plan, bytes: u64) -> Result<Vec<Problem>> {
        self.import.problems(plan, bytes).await
    }

    async fn app(&mut self, _source: &str, planned: &plan::App) -> Result<Created<Self::App>> {
        let app = self.import.app(planned).await?;
        let names = app.deployments.iter().map(|(source_name, _, name)| (source_name.clone(), name.clone())).collect();
        let deployments = app.deployments.into_iter().map(|(source_name, id, _)| (source_name, id)).collect();
        Ok(Created { app: (app.id, deployments), name: app.name, deployments: names, collaborators: app.collaborators })
    }

    async fn history(
        &mut self,
        (app, deployments): &Self::App,
        deployment: &plan::Deployment,
        history: &[(plan::Release, Option<Staged>)],
    ) -> Result<Outcome> {
        let id = deployments.get(&deployment.source_name).ok_or(Error::NotFound(Thing::Deployment))?;
        self.import.history(app, id, history, deployment.counts.as_ref()).await
    }
}
