//! `updraft import compare`: asks the other server and this one the same update checks, before any device moves.

use std::path::PathBuf;

use clap::Args;
use import::compare::run::{CompareError, Histories, Run};
use import::compare::{Deployment, Rate, Report};
use shared::api::deployments::{DeploymentAnswer, DeploymentsAnswer};
use shared::api::imported::ImportedMetricsAnswer;
use shared::api::releases::{HistoryAnswer, Release};
use shared::hash::Sha256Hex;
use shared::keys::{DeploymentKey, Label};
use shared::snapshot::HistoryRelease;

use super::codepush::{self, of_source};
use crate::arguments::AppOption;
use crate::client::{Client, path};
use crate::commands::nearest;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::{interrupt, prompt, terminal};

/// Examples in the command's help.
pub(super) const EXAMPLES: &str = "Examples:
  updraft import compare --from https://codepush.example.com --app Weather
  updraft import compare --from https://codepush.example.com -a Weather -d Production --key-file old-key
  updraft import compare --from https://codepush.example.com -a Weather --log access.log --rate 5/s

It sends only GET, and changes nothing. It succeeds only if both servers answered every check and each difference has a reason.";

/// Compares the answers of two servers.
#[derive(Debug, Args)]
pub(crate) struct CompareCommand {
    /// The other server's address, as your apps have it.
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// The app here.
    #[command(flatten)]
    app: AppOption,
    /// A deployment of the app. Give it several times for several deployments. Default: all of them.
    #[arg(long = "deployment", short, value_name = "NAME")]
    deployments: Vec<String>,
    /// The most checks to ask.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    checks: usize,
    /// Take the checks from this access log of the other server: in common or combined format, or with one path and query per line. Without it, they are
    /// generated from the histories here and, with --key-file, those of the other server.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The most requests to each server: 20/s or 300/min.
    #[arg(long, value_name = "RATE", default_value = "20/s")]
    rate: Rate,
    /// A file with an access key of your account there. Its histories are then read, so that reasons are exact.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The seed of generated checks: the same seed gives the same checks.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl CompareCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let client = context.client()?;
        let app = context.app(self.app.app.as_deref())?;
        let mut here = ApiHistories { client: &client, app, deployments: self.deployments };
        here.choose().await?;
        let from = match self.from {
            Some(from) => from,
            None => prompt::text("The other server's address?", None, "--from URL")?,
        };
        let run = Run {
            from,
            to: client.url().as_str().to_owned(),
            checks: self.checks,
            log: self.log,
            rate: self.rate,
            key: self.key_file.as_deref().map(codepush::read_key).transpose()?,
            seed: self.seed,
        };
        let step = interrupt::step("nothing was changed", "Run the command again: it starts from the beginning.");
        // Names of the other server may have control characters.
        let compared = run.compare(&mut here, &mut |text: &str| context.note(&text.escape_debug().to_string())).await;
        drop(step);
        finish(context, &compared.map_err(failed)?)
    }
}

/// Prints the report. Errors: failed (1) if the servers cannot be called equal.
fn finish(context: &Context, report: &Report) -> Result<()> {
    context.show(&report.json(), || terminal::print(&report.to_string()));
    if let Some(objection) = report.objection() {
        return Err(Error::failed(objection, report.advice()));
    }
    context.done(if report.has_no_differences() {
        "Both servers answered every check the same."
    } else {
        "Both servers answered every check, and each difference has a reason: read them before you switch."
    });
    Ok(())
}

/// Histories, read by the API.
struct ApiHistories<'h> {
    client: &'h Client,
    app: &'h str,
    deployments: Vec<String>,
}

impl ApiHistories<'_> {
    /// Takes all deployments of the app, if none is given.
    async fn choose(&mut self) -> Result<()> {
        if !self.deployments.is_empty() {
            return Ok(());
        }
        let listed = self.client.get::<DeploymentsAnswer>(&path(["v1", "apps", self.app, "deployments"])).await;
        let listed = nearest::app(self.client, self.app, listed).await?.value.deployments;
        self.deployments = listed.into_iter().map(|deployment| deployment.name).collect();
        Ok(())
    }

    async fn one(&self, name: &str) -> Result<Deployment> {
        let of =
            |rest: &[&str]| path(["v1", "apps", self.app, "deployments", name]) + &rest.iter().map(|part| path([part])).collect::<String>();
        let found = self.client.get::<DeploymentAnswer>(&of(&[])).await;
        let found = nearest::deployment(self.client, self.app, name, found).await?.value.deployment;
        let key = DeploymentKey::try_from(found.key.as_str()).map_err(|_| {
            let what = format!("your credential does not show the key of {name}, by which devices ask");
            Error::new(Kind::Failed, what, "Use an account that may release to the app, or an API key with the scope `deploy`.")
        })?;
        let imported = self.client.get::<ImportedMetricsAnswer>(&of(&["metrics", "imported"])).await?.value.newest_imported_label;
        let history = self.client.get::<HistoryAnswer>(&of(&["history"])).await?.value.history;
        let mut releases: Vec<_> = history.into_iter().map(release).collect();
        releases.sort_by_key(|release| std::cmp::Reverse(release.label));
        Ok(Deployment::new(format!("{}/{name}", self.app), key, releases, imported.map(Label::number)))
    }
}

impl Histories for ApiHistories<'_> {
    type Error = Error;

    async fn read(&mut self) -> Result<Vec<Deployment>> {
        let mut deployments = Vec::new();
        for name in &self.deployments {
            deployments.push(self.one(name).await?);
        }
        Ok(deployments)
    }
}

fn release(release: Release) -> HistoryRelease {
    HistoryRelease {
        label: release.label,
        range: release.app_version,
        // The API does not tell the hash of the package's bytes, and nothing compares it.
        blob: Sha256Hex::of(release.package_hash.to_string().as_bytes()),
        package_hash: release.package_hash,
        is_mandatory: release.is_mandatory,
        is_disabled: release.is_disabled,
        rollout: release.rollout.and_then(|percent| u8::try_from(percent).ok()),
        description: release.description,
        size: u64::try_from(release.size).unwrap_or_default(),
        // Devices may get one instead of the full package; a comparison tells it by the size.
        diffs: Vec::new(),
    }
}

fn failed(error: CompareError<Error>) -> Error {
    match error {
        CompareError::Here(error) => error,
        CompareError::Source(fault) => of_source(&fault),
        CompareError::SameServer(address) => Error::usage(
            format!("{address} is the address of both servers: nothing would be compared"),
            "Give --from the address of the other server.",
        ),
        CompareError::Log(path, error) => Error::usage(format!("cannot read {path}: {error}"), "Give the access log of the other server."),
    }
}
