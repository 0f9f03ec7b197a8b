//! `updraft import codepush`. It reads the other server from this machine, with the user's own key there: the service never does.

use std::path::{Path, PathBuf};

use clap::Args;
use etcetera::BaseStrategy;
use import::packages::PackagesFault;
use import::plan::Limits;
use import::report::{Imported, Report};
use import::run::{Run, RunError};
use import::source::{Fault, Source};
use shared::api::accounts::AccountAnswer;
use shared::archive::ArchiveLimits;
use shared::hash::Sha256Hex;
use shared::text::shell;

use super::target::ApiTarget;
use crate::config::server::ServerUrl;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::{interrupt, prompt, terminal};

/// Examples in the command's help.
pub(super) const EXAMPLES: &str = "Examples:
  updraft import codepush
  updraft import codepush --from https://codepush.example.com --key-file old-key --dry-run
  updraft import codepush --from https://codepush.example.com --key-file old-key --app Weather-iOS --app Weather-Android

It only reads the other server. Run it again to take over what is released there until your devices ask here; if it was interrupted, it continues.";

/// Moves apps here.
#[derive(Debug, Args)]
pub(crate) struct CodepushCommand {
    /// The other server's address, as its own CLI uses it.
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// A file with an access key of your account there. Without it, you are asked for the key.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Import only this app. Give it several times for several apps. Default: all that the key can see.
    #[arg(long = "app", short, value_name = "NAME")]
    apps: Vec<String>,
    /// Read and check everything, and say what blocks the import. Nothing is imported.
    #[arg(long)]
    dry_run: bool,
    /// Import the rest of a history without the releases that an upload here would refuse. They cannot be imported later.
    #[arg(long)]
    leave_out_refused: bool,
}

impl CodepushCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let client = context.client()?.repeating();
        let account = client.get::<AccountAnswer>("/v1/account").await?.value.account;
        let upload_url = ServerUrl::parse(&account.upload_url)?;
        let largest = u64::try_from(account.limits.max_upload_bytes).unwrap_or(u64::MAX);
        let uploads = client.for_upload(&upload_url, largest)?;
        let mut target = ApiTarget::new(context, client, uploads);
        // A credential that cannot import is refused before anything is read.
        let limits = target.limits().await?;

        let from = match &self.from {
            Some(from) => from.clone(),
            None => prompt::text("The other server's address?", None, "--from URL")?,
        };
        let source = Source::new(&from, &self.key()?).await.map_err(|fault| of_source(&fault))?;
        if ServerUrl::parse(source.address()).is_ok_and(|url| url == *target.url()) {
            return Err(Error::usage("--from is the server that the apps would be moved to", "Give the address of the other server."));
        }
        let folder = folder(&[source.address(), target.url().as_str(), &account.email])?;
        let run = Run {
            source,
            apps: &self.apps,
            folder,
            limits: Limits { releases: limits.max_releases, ranges: limits.max_version_ranges, snapshot_bytes: limits.max_snapshot_bytes },
            archive: ArchiveLimits {
                entries: limits.max_archive_entries,
                uncompressed_bytes: limits.max_archive_bytes,
                ratio: limits.max_archive_ratio,
            },
            largest_package: largest,
            leaves_out_refused: self.leave_out_refused,
            is_dry_run: self.dry_run,
            account: &account.email,
            larger_packages: &format!(
                "Your administrator can raise the account's limit: `updraft-control account set-limits {} --max-upload-bytes SIZE`.",
                shell::option("--email", &account.email)
            ),
        };
        let report = self.import(context, run, &mut target).await?;
        finish(context, &report, self.dry_run)
    }

    async fn import(&self, context: &Context, run: Run<'_>, target: &mut ApiTarget<'_>) -> Result<Report> {
        let account = run.account;
        // Names of the other server may have control characters.
        let told = &mut |text: &str| context.note(&text.escape_debug().to_string());
        let step = interrupt::step("nothing was imported", "Run the command again: it continues.");
        let ready = run.prepare(target, told).await.map_err(failed)?;
        if self.dry_run || !ready.report.is_possible() {
            return Ok(ready.report);
        }
        if terminal::is_interactive() && !context.global.yes {
            terminal::line(&ready.report.offer());
            if !prompt::confirm(context, &format!("Import this into the account {account}?"))? {
                return Err(Error::failed("not confirmed: nothing was imported", "Run the command again, or add --yes."));
            }
        }
        step.now("the import is not complete", "Run the command again: it continues.");
        ready.write(target, told).await.map_err(failed)
    }

    /// The key of the other server.
    fn key(&self) -> Result<String> {
        match &self.key_file {
            Some(path) => read_key(path),
            None => prompt::secret("The access key for the other server?", "--key-file FILE"),
        }
    }
}

/// Reads a key of the other server.
pub(super) fn read_key(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::usage(format!("cannot read {}: {error}", path.display()), "Give a file with an access key of the other server.")
    })?;
    Ok(text.trim().to_owned())
}

/// Prints the report. Errors: conflict (5) if something blocks the import.
fn finish(context: &Context, report: &Report, is_dry_run: bool) -> Result<()> {
    let json = serde_json::to_value(report).unwrap_or_default();
    context.show(&json, || terminal::print(&report.to_string()));
    if !report.is_possible() {
        let next = "Fix what is listed, then run the command again. Your administrator can raise limits, or import for you.";
        return Err(Error::new(Kind::Conflict, "nothing was imported", next));
    }
    if let Some(text) = report.objection() {
        return Err(Error::new(Kind::Conflict, text, "See the list above; run the command again when the histories are the same."));
    }
    if !is_dry_run && report.is_empty() {
        context.done("Nothing was imported: the other server has no deployments.");
    } else if !is_dry_run {
        context.done(if report.leaves_some_alone() { "Imported, except what was left alone: see the list above." } else { "Imported." });
        // The app with the most to compare.
        let releases = |app: &&Imported| app.deployments.iter().map(|deployment| deployment.releases).sum::<usize>();
        let app = report.imported.iter().flatten().max_by_key(releases).map_or("NAME", |app| &app.name);
        let (from, app) = (shell::option("--from", report.source()), shell::option("--app", app));
        context.note(&format!("Compare before you switch: `updraft import compare {from} --key-file FILE {app}`."));
    }
    Ok(())
}

/// The folder for packages, which an interrupted import continues with: another one for each pair of servers and account.
fn folder(names: &[&str]) -> Result<PathBuf> {
    let base = etcetera::choose_base_strategy()
        .map_err(|_| Error::failed("this user has no home folder", "Set XDG_CACHE_HOME to a folder for downloaded packages."))?;
    let name = Sha256Hex::of(names.join("\n").as_bytes()).to_string();
    Ok(base.cache_dir().join("updraft").join("import").join(name))
}

fn failed(error: RunError<Error>) -> Error {
    match error {
        RunError::Target(error) => error,
        RunError::Source(fault) | RunError::Packages(PackagesFault::Disk(fault)) => of_source(&fault),
        RunError::Packages(fault) => Error::new(Kind::Unreachable, fault.to_string(), "Run the command again later: it continues."),
    }
}

/// A failure of the other server, with what to do.
pub(super) fn of_source(fault: &Fault) -> Error {
    let kind = match fault {
        Fault::Address(_) | Fault::KeyShape | Fault::Key | Fault::Refused { status: 404, .. } | Fault::Shape { .. } => Kind::Usage,
        Fault::NoApp(..) => Kind::NotFound,
        Fault::TooMany { .. } | Fault::TooMuch(_) | Fault::NoSpace { .. } | Fault::Disk(_) => Kind::Failed,
        _ => Kind::Unreachable,
    };
    let next = match fault {
        Fault::NoSpace { .. } | Fault::Disk(_) => "Free space, or set XDG_CACHE_HOME to another folder, then run the command again.",
        fault => fault.advice().unwrap_or("Import some of the apps at a time, with --app."),
    };
    Error::new(kind, fault.to_string(), next)
}
