//! Publishes a package, or shows what would be published: for all commands that create a release from files on this machine.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use shared::api::Field;
use shared::api::deployments::DeploymentAnswer;
use shared::api::releases::{NewRelease, Release, ReleaseAnswer};
use shared::hash::PackageHash;

use super::destination::Destination;
use super::halves::Half;
use super::options::DeliveryOptions;
use super::target::idempotency_key;
use super::warnings::{self, Warnings};
use super::{Target, view};
use crate::arguments::DeploymentOption;
use crate::client::Upload;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::interrupt::{self, Message};
use crate::output::progress::Progress;
use crate::output::table::{Details, Table};
use crate::output::times;
use crate::package::signature::SigningKey;
use crate::package::{self, Package};

/// What to publish.
#[derive(Debug)]
pub(super) struct Publication<'p> {
    /// The folder, the file or the archive.
    pub(super) path: &'p Path,
    /// The app versions that it targets.
    pub(super) range: String,
    /// The release notes.
    pub(super) description: Option<String>,
    /// Who gets it, and how.
    pub(super) delivery: &'p DeliveryOptions,
    /// The key to sign with.
    pub(super) key: Option<Arc<SigningKey>>,
    /// What already speaks against it.
    pub(super) warnings: Warnings,
    /// What the command adds to the JSON of the result.
    pub(super) members: Map<String, Value>,
    /// Which of the command's releases it is.
    pub(super) half: Half,
    /// Whether a package that devices already get is a warning instead of an error.
    pub(super) accepts_identical: bool,
}

/// What was published.
#[derive(Debug)]
pub(super) struct Published {
    /// The JSON of the result.
    pub(super) json: Value,
    /// The release; `None` if devices already get the package.
    release: Option<Release>,
    /// The hash of what was packaged here.
    hash: PackageHash,
    /// Whether the package has a signature.
    is_signed: bool,
}

impl Publication<'_> {
    /// Uploads it as a package that [`Publication::package()`] made. Errors: as the server refuses it.
    pub(super) async fn publish(mut self, context: &Context, destination: &Destination, package: Package) -> Result<Published> {
        self.warnings.add(warnings::without_bundle(self.path, &package));
        self.warnings.add(destination.newest.as_ref().and_then(|newest| warnings::larger(&package, newest)));
        self.warnings.add(warnings::without_diffs(&package, Some(destination.target.client.url())));
        let (count, is_signed) = (package.files.len(), package.is_signed());
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        context.note(&format!("{files}, {}, package hash {}", times::size(package.size), package.hash));

        let target = &destination.target;
        let upload = Upload {
            info: serde_json::to_string(&self.info()).unwrap_or_default(),
            file: Arc::new(package.file),
            size: package.size,
            incomplete: self.half.incomplete(),
            sent: self.half.sent(&target.command("release list")),
        };
        let client = target.client.for_upload(&destination.upload_url, package.size)?;
        let progress = Progress::bytes(context, "Uploading", package.size);
        // Also between the answer and what is said of it.
        interrupt::so_far(upload.sent.clone());
        let result = client.upload::<ReleaseAnswer>(&target.path(&["releases"]), &idempotency_key()?, &upload, &progress).await;
        drop(progress);
        let (mut json, release) = match target.advised(result).await {
            Ok(answer) => (answer.json, Some(answer.value.package)),
            Err(error) if self.accepts_identical && error.kind == Kind::Conflict && error.what.contains("identical to") => {
                interrupt::so_far(self.half.unsent());
                self.warnings.add(Some(format!("nothing was released to {} of {}: {}", target.deployment, target.app, error.what)));
                (json!({ "package": null }), None)
            }
            Err(error) if self.key.is_some() && error.kind == Kind::Conflict && error.what.contains("identical to") => {
                let next = "A signature alone is not an update: devices that have these contents do not install them again. The next change is released with it.";
                return Err(Error { next: next.to_owned(), ..error });
            }
            Err(error) => return Err(error),
        };
        if let Some(release) = &release {
            interrupt::so_far(self.half.released(&format!("{} of {}", String::from(release.label), target.app)));
            context.done(&format!("Released {} to {} of {}.", String::from(release.label), target.deployment, target.app));
        }
        if let Some(members) = json.as_object_mut() {
            let added = [("app", json!(target.app)), ("deployment", json!(target.deployment)), ("isSigned", json!(is_signed))];
            members.extend(added.map(|(name, value)| (name.to_owned(), value)));
        }
        Ok(Published { json: self.completed(json), release, hash: package.hash, is_signed })
    }

    /// Shows what would be published, and publishes nothing. Returns the JSON, and what prints it for people. Errors: as the server would refuse it.
    pub(super) async fn preview(
        mut self,
        context: &Context,
        option: &DeploymentOption,
        package: Package,
    ) -> Result<(Value, impl FnOnce())> {
        let app = context.app(option.app.app.as_deref()).ok().map(str::to_owned);
        let deployment = context.deployment(option.deployment.as_deref()).ok().map(str::to_owned);
        let (newest, server) = if app.is_some() && deployment.is_some() {
            let target = Target::new(context, option)?;
            (target.get::<DeploymentAnswer>(&[]).await?.value.deployment.package, Some(target.client.url().clone()))
        } else {
            context.note("No app is given: only the package is checked.");
            (None, None)
        };
        self.warnings.add(warnings::without_bundle(self.path, &package));
        self.warnings.add(newest.and_then(|newest| warnings::larger(&package, &newest)));
        self.warnings.add(warnings::without_diffs(&package, server.as_ref()));
        let files: Vec<_> =
            package.files.iter().map(|file| json!({ "name": file.name, "size": file.size, "hash": file.hash.to_string() })).collect();
        let document = json!({
            "app": app,
            "deployment": deployment,
            "packageInfo": self.info(),
            "packageHash": package.hash.to_string(),
            "isSigned": package.is_signed(),
            "size": package.size,
            "files": files,
        });
        let (range, description) = (self.range.clone(), self.description.clone());
        let (rollout, is_mandatory) = (view::rollout(self.delivery.disabled, self.delivery.percent()), self.delivery.mandatory);
        let people = move || {
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
            details.add("Package hash", package.hash.to_string()).add_some("Signed", package.is_signed().then_some("yes"));
            details.add("Rollout", rollout);
            details.add("Mandatory", if is_mandatory { "yes" } else { "no" }).add_some("Description", description);
            details.print();
        };
        Ok((self.completed(document), people))
    }

    /// The JSON with what the command adds, and the warnings.
    fn completed(self, mut document: Value) -> Value {
        if let Some(members) = document.as_object_mut() {
            members.extend(self.members);
        }
        self.warnings.put(&mut document);
        document
    }

    fn info(&self) -> NewRelease {
        NewRelease {
            app_version: Field::from(self.range.clone()),
            description: Field::from(self.description.clone()),
            is_mandatory: Field::from(self.delivery.mandatory),
            is_disabled: Field::from(self.delivery.disabled),
            rollout: Field::from(self.delivery.rollout),
        }
    }

    /// Makes the package off the async threads. Errors: usage (2) for what cannot be released or signed, failed (1) for one over the limit in bytes.
    pub(super) async fn package(&self, context: &Context, limit: Option<i64>) -> Result<Package> {
        let Message { what, next } = self.half.unsent();
        let _step = interrupt::step(what, next);
        let progress = Progress::bytes(context, "Packaging", 0);
        let (path, key, bar) = (self.path.to_owned(), self.key.clone(), progress.handle());
        let made = tokio::task::spawn_blocking(move || package::prepare(&path, key.as_deref(), &bar)).await;
        let package = made.map_err(|_| {
            Error::failed("the package could not be created", "Run the command again with --verbose, and report what it prints.")
        })??;
        check_size(package.size, limit)?;
        Ok(package)
    }
}

impl Published {
    /// The label of the release; `None` if there is none, because devices already get the package.
    pub(super) fn label(&self) -> Option<String> {
        self.release.as_ref().map(|release| String::from(release.label))
    }

    /// Prints it for people.
    pub(super) fn print(&self) {
        if let Some(release) = &self.release {
            view::details(release, None).add_some("Signed", self.is_signed.then_some("yes")).print();
        }
    }

    /// Says which command comes next. Errors: failed (1) if the server has other bytes than this machine.
    pub(super) fn finish(&self, context: &Context, target: &Target) -> Result<()> {
        let Some(release) = &self.release else { return Ok(()) };
        let label = String::from(release.label);
        if release.package_hash != self.hash {
            let what =
                format!("{label} has the package hash {}, not {}: the file changed during the upload", release.package_hash, self.hash);
            return Err(Error::failed(what, format!("Disable it: {}", target.command(&format!("release disable {label}")))));
        }
        if release.is_disabled {
            context.note(&format!("No device gets it yet. Enable it: {}", target.command(&format!("release enable {label}"))));
        } else if let Some(percent) = release.rollout {
            context.note(&format!("{percent}% of the devices get it. Widen it: {}", target.command("rollout set 100")));
        } else {
            context.note(&format!("Watch it: {}", target.command("release show")));
        }
        Ok(())
    }
}

/// Refuses a package over the limit before anything is sent.
fn check_size(size: u64, limit: Option<i64>) -> Result<()> {
    let limit = limit.and_then(|limit| u64::try_from(limit).ok()).unwrap_or(u64::MAX);
    if size <= limit {
        return Ok(());
    }
    let what =
        format!("the package has {} ({size} bytes), more than your limit of {} ({limit} bytes)", times::size(size), times::size(limit));
    let next = "Remove files that devices do not need, such as source maps, or ask your administrator for a higher limit.";
    Err(Error::new(Kind::Failed, what, next))
}
