//! `updraft release create`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use shared::api::Field;
use shared::api::accounts::AccountAnswer;
use shared::api::deployments::DeploymentAnswer;
use shared::api::metrics::MetricsAnswer;
use shared::api::releases::{NewRelease, Release, ReleaseAnswer};
use shared::package::{is_bundle, is_single_bundle};
use shared::rollout::Percent;

use super::options::{self, NotesOption};
use super::target::idempotency_key;
use super::{Target, versions, view};
use crate::arguments::DeploymentOption;
use crate::client::Upload;
use crate::config::server::ServerUrl;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::progress::Progress;
use crate::output::table::{Details, Table};
use crate::output::{interrupt, prompt, terminal, times};
use crate::package::signature::SigningKey;
use crate::package::{self, Package, PackagedFile};

/// How much larger a package can be without a warning, in bytes, however small it was before.
const SMALL_GROWTH: u64 = 100_000;

/// Examples in the command's help.
pub(super) const EXAMPLES: &str = "Examples:
  updraft release create ./CodePush -d Staging --target-version 1.2.0
  updraft release create ./CodePush -d Production -t '^1.2.0' --rollout 20 --description \"Fixes the login\"
  updraft release create ./CodePush -t 1.2.0 --sign-key private.pem
  updraft release create bundle.zip --target-version '*' --dry-run";

/// Uploads a release.
#[derive(Debug, Args)]
pub(crate) struct CreateCommand {
    /// The folder that the bundler wrote, a single file, or a .zip, which is uploaded as it is.
    path: PathBuf,
    /// The app versions that it targets: a version or a range. Default: target-version of updraft.toml.
    #[arg(long, short, value_name = "RANGE", value_parser = options::range)]
    target_version: Option<String>,
    /// The percentage of devices that get it. Default: 100.
    #[arg(long, value_name = "PERCENT", value_parser = options::percent)]
    rollout: Option<Percent>,
    /// Make it mandatory: by default, the SDKs install it at once instead of at the next start, and do not let users decline it.
    #[arg(long)]
    mandatory: bool,
    /// Release it disabled: no device gets it until you enable it.
    #[arg(long)]
    disabled: bool,
    /// Sign it with this RSA private key: a PEM file, or env:NAME for an environment variable. The folder must be named CodePush, www or public.
    #[arg(long, value_name = "KEY")]
    sign_key: Option<String>,
    #[command(flatten)]
    notes: NotesOption,
    /// Check that the deployment exists, and show what would be released; upload nothing.
    #[arg(long)]
    dry_run: bool,
    /// The deployment.
    #[command(flatten)]
    deployment: DeploymentOption,
}

impl CreateCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        package::check_path(&self.path)?;
        let key = self.sign_key.as_deref().map(SigningKey::read).transpose()?.map(Arc::new);
        let description = self.notes.clone().read()?;
        if !terminal::is_interactive() {
            // Nobody can be asked, so a missing target version is an error before any request.
            self.range(context, None)?;
        }
        if self.dry_run {
            return self.dry_run(context, description, key).await;
        }
        let target = Target::new(context, &self.deployment)?;
        // Finds a wrong app or deployment before any work. A credential without metrics.read only misses the warning.
        let metrics = match target.get::<MetricsAnswer>(&["metrics"]).await {
            Ok(answer) => answer.value.metrics,
            Err(error) if error.status() == Some(403) => std::collections::BTreeMap::new(),
            Err(error) => return Err(error),
        };
        let seen = versions::seen(&metrics);
        let range = self.range(context, seen.first().map(|(version, _)| *version))?;
        let mut warnings = Warnings::default();
        warnings.add(versions::warning(&range, &seen));
        let newest = match target.get::<DeploymentAnswer>(&[]).await {
            Ok(answer) => answer.value.deployment.package,
            Err(error) if error.status() == Some(403) => None,
            Err(error) => return Err(error),
        };
        let account = target.client.get::<AccountAnswer>("/v1/account").await?.value.account;
        let upload_url = ServerUrl::parse(&account.upload_url)?;
        let package = self.package(context, key).await?;
        check_size(package.size, account.limits.max_upload_bytes)?;
        warnings.add(without_bundle(&self.path, &package));
        warnings.add(newest.and_then(|newest| larger(&package, &newest)));
        let count = package.files.len();
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        context.note(&format!("{files}, {}, package hash {}", times::size(package.size), package.hash));

        let info = self.info(range, description);
        let upload = Upload {
            info: serde_json::to_string(&info).unwrap_or_default(),
            file: Arc::new(package.file),
            size: package.size,
            look: target.command("release list"),
        };
        let client = target.client.for_upload(&upload_url, package.size)?;
        let progress = Progress::bytes(context, "Uploading", package.size);
        let result = client.upload::<ReleaseAnswer>(&target.path(&["releases"]), &idempotency_key()?, &upload, &progress).await;
        drop(progress);
        let mut answer = target.advised(result).await?;
        warnings.put(&mut answer.json);
        let release = &answer.value.package;
        let label = String::from(release.label);
        context.done(&format!("Released {label} to {} of {}.", target.deployment, target.app));
        context.show(&answer.json, || view::print(release, None));
        if release.package_hash != package.hash {
            let what =
                format!("{label} has the package hash {}, not {}: the file changed during the upload", release.package_hash, package.hash);
            return Err(Error::failed(what, format!("Disable it: {}", target.command(&format!("release disable {label}")))));
        }
        say_next(context, &target, release);
        Ok(())
    }

    /// The target version: the option, the project file, or the answer to a question.
    fn range(&self, context: &Context, suggestion: Option<&str>) -> Result<String> {
        if let Some(range) = &self.target_version {
            return Ok(range.clone());
        }
        if let Some(found) = &context.project
            && let Some(range) = &found.project.target_version
        {
            return options::range(range).map_err(|why| {
                Error::usage(format!("{}: target-version {why}", found.path.display()), "Correct the file, or add --target-version.")
            });
        }
        let typed = prompt::text("Which app versions does it target (a version or a range)?", suggestion, "--target-version RANGE")?;
        options::range(&typed)
            .map_err(|why| Error::usage(format!("the target version {why}"), "Run the command again with --target-version."))
    }

    fn info(&self, range: String, description: Option<String>) -> NewRelease {
        NewRelease {
            app_version: Field::from(range),
            description: Field::from(description),
            is_mandatory: Field::from(self.mandatory),
            is_disabled: Field::from(self.disabled),
            rollout: Field::from(self.rollout),
        }
    }

    /// Makes the package off the async threads.
    async fn package(&self, context: &Context, key: Option<Arc<SigningKey>>) -> Result<Package> {
        let _step = interrupt::step("nothing was released", "Run the command again.");
        let progress = Progress::bytes(context, "Packaging", 0);
        let (path, bar) = (self.path.clone(), progress.handle());
        let made = tokio::task::spawn_blocking(move || package::prepare(&path, key.as_deref(), &bar)).await;
        made.map_err(|_| {
            Error::failed("the package could not be created", "Run the command again with --verbose, and report what it prints.")
        })?
    }

    async fn dry_run(&self, context: &Context, description: Option<String>, key: Option<Arc<SigningKey>>) -> Result<()> {
        let range = self.range(context, None)?;
        let (app, deployment) =
            (context.app(self.deployment.app.app.as_deref()).ok(), context.deployment(self.deployment.deployment.as_deref()).ok());
        let newest = if app.is_some() && deployment.is_some() {
            Target::new(context, &self.deployment)?.get::<DeploymentAnswer>(&[]).await?.value.deployment.package
        } else {
            context.note("No app or no deployment is given: only the package is checked.");
            None
        };
        let package = self.package(context, key).await?;
        let mut warnings = Warnings::default();
        warnings.add(without_bundle(&self.path, &package));
        warnings.add(newest.and_then(|newest| larger(&package, &newest)));
        let files: Vec<_> =
            package.files.iter().map(|file| json!({ "name": file.name, "size": file.size, "hash": file.hash.to_string() })).collect();
        let info = self.info(range.clone(), description.clone());
        let mut document = json!({
            "app": app,
            "deployment": deployment,
            "packageInfo": info,
            "packageHash": package.hash.to_string(),
            "size": package.size,
            "files": files,
        });
        warnings.put(&mut document);
        context.show(&document, || {
            let mut table = Table::new(["file", "size", "hash"]).right([1]);
            for file in &package.files {
                table.row([file.name.clone(), file.size.map(times::size).unwrap_or_default(), file.hash.to_string()]);
            }
            table.print();
            let mut details = Details::new();
            details.add_some("App", app).add_some("Deployment", deployment).add("Target version", range);
            let kind = match package.kind {
                package::Kind::Folder => "a folder",
                package::Kind::Archive => "a ZIP archive, uploaded as it is",
                package::Kind::SingleFile => "a single file, uploaded as it is",
            };
            details.add("Package", kind).add("Files", package.files.len().to_string()).add("Size", times::size(package.size));
            details.add("Package hash", package.hash.to_string());
            details.add("Rollout", view::rollout(self.disabled, self.rollout.map(|rollout| i64::from(rollout.get()))));
            details.add("Mandatory", if self.mandatory { "yes" } else { "no" }).add_some("Description", description);
            details.print();
        });
        context.note("Dry run: nothing was uploaded.");
        Ok(())
    }
}

/// Says which command comes next.
fn say_next(context: &Context, target: &Target, release: &Release) {
    let label = String::from(release.label);
    if release.is_disabled {
        context.note(&format!("No device gets it yet. Enable it: {}", target.command(&format!("release enable {label}"))));
    } else if let Some(percent) = release.rollout {
        context.note(&format!("{percent}% of the devices get it. Widen it: {}", target.command("rollout set 100")));
    } else {
        context.note(&format!("See how it does: {}", target.command("release show")));
    }
}

/// What speaks against a release, without stopping it: printed at once, and in the JSON of the result.
#[derive(Debug, Default)]
struct Warnings(Vec<String>);

impl Warnings {
    fn add(&mut self, warning: Option<String>) {
        if let Some(warning) = warning {
            Context::warn(&warning);
            self.0.push(warning);
        }
    }

    /// Adds them to a document.
    fn put(self, document: &mut Value) {
        if let Some(members) = document.as_object_mut() {
            members.insert("warnings".to_owned(), json!(self.0));
        }
    }
}

/// A package that is much larger than that of the newest release: often, source maps or another build have slipped in.
fn larger(package: &Package, newest: &Release) -> Option<String> {
    let before = u64::try_from(newest.size).ok().filter(|size| *size > 0)?;
    let grew = package.size.saturating_mul(2) > before.saturating_mul(3) && package.size.saturating_sub(before) > SMALL_GROWTH;
    grew.then(|| {
        format!(
            "the package has {}, more than half as much again as {} ({}). Are source maps or other files in it that devices do not need?",
            times::size(package.size),
            String::from(newest.label),
            times::size(before)
        )
    })
}

/// A package in which devices find nothing to run. It is only a warning: an SDK can be told another name.
fn without_bundle(path: &Path, package: &Package) -> Option<String> {
    let is_single = package.kind == package::Kind::SingleFile;
    let is_bundle = |file: &PackagedFile| if is_single { is_single_bundle(&file.name) } else { is_bundle(&file.name) };
    let is_empty = !package.files.iter().any(is_bundle);
    is_empty.then(|| {
        let verb = if is_single { "is" } else { "has" };
        format!(
            "{} {verb} no JavaScript bundle (*.bundle, *.jsbundle) and no index.html: devices may find nothing to run in it. Give the folder that the bundler wrote, such as ./CodePush or ./www.",
            path.display()
        )
    })
}

/// Refuses a package over the limit before anything is sent.
fn check_size(size: u64, limit: i64) -> Result<()> {
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    if size <= limit {
        return Ok(());
    }
    let what =
        format!("the package has {} ({size} bytes), more than your limit of {} ({limit} bytes)", times::size(size), times::size(limit));
    let next = "Remove files that devices do not need, such as source maps, or ask your administrator for a higher limit.";
    Err(Error::new(Kind::Failed, what, next))
}
