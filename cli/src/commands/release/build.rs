//! What `release react-native` and `release expo` share: build, then publish.

use std::collections::BTreeSet;
use std::sync::Arc;

use clap::Args;
use serde_json::{Map, Value, json};

use super::base::Base;
use super::destination::{self, Destination};
use super::fingerprint::Binaries;
use super::halves::{self, Half};
use super::options::{self, DeliveryOptions, NotesOption};
use super::platforms::PlatformOptions;
use super::publish::Publication;
use super::warnings::{self, Warnings};
use super::{Target, deployment_key, server_address};
use crate::arguments::DeploymentOption;
use crate::bundle::target_version::TargetVersion;
use crate::bundle::{self, BaseOption, BuildOptions, Builder, Built, Framework, Platform};
use crate::config::project;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::{interrupt, terminal};
use crate::package::signature::SigningKey;

/// Options of commands that build and release.
#[derive(Debug, Args)]
pub(super) struct BuildAndRelease {
    /// The platforms.
    #[command(flatten)]
    platforms: PlatformOptions,
    /// The app versions that it targets: a version or a range. Default: target-version of updraft.toml, or the version that the project builds.
    #[arg(long, short, value_name = "RANGE", value_parser = options::range)]
    target_version: Option<String>,
    /// Who gets it, and how.
    #[command(flatten)]
    delivery: DeliveryOptions,
    /// Sign it with this RSA private key: a PEM file, or env:NAME for an environment variable.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    sign_key: Option<String>,
    #[command(flatten)]
    notes: NotesOption,
    /// If devices already get the same contents, warn instead of failing.
    #[arg(long)]
    no_duplicate_release_error: bool,
    /// Build, check that the deployment exists, and show what would be released; upload nothing.
    #[arg(long)]
    dry_run: bool,
    /// The deployment.
    #[command(flatten)]
    deployment: DeploymentOption,
    /// The build.
    #[command(flatten)]
    build: BuildOptions,
}

/// A release of one platform on its way.
struct Job {
    platform: Platform,
    option: DeploymentOption,
    target_version: TargetVersion,
    warnings: Warnings,
    /// Where it goes; `None` in a dry run.
    destination: Option<Destination>,
    /// The most bytes that its package can have; `None` in a dry run without an app.
    limit: Option<i64>,
    /// With `--base`, the earlier bundle.
    base: Option<Base>,
    /// What became of it, for the JSON.
    base_report: Option<Value>,
}

impl BuildAndRelease {
    /// The platforms, each with the deployment that gets its release. Errors: usage (2).
    fn deployments(&self, context: &Context) -> Result<Vec<(Platform, DeploymentOption)>> {
        if self.platforms.are_both() && matches!(self.build.base, Some(BaseOption::File(_))) {
            let next = "Release one platform at a time, each with its own --base FILE, or give --base auto.";
            return Err(Error::usage("--base FILE is the bundle of one platform, and this releases both", next));
        }
        let mut deployments = self.platforms.deployments(context, &self.deployment, self.dry_run)?;
        if self.build.project_dir.is_some() {
            // Commands in advice are for the working directory, which may have no project file, or another one.
            for (_, option) in &mut deployments {
                option.app.app = context.app(option.app.app.as_deref()).ok().map(str::to_owned);
                option.deployment = context.deployment(option.deployment.as_deref()).ok().map(str::to_owned);
            }
        }
        Ok(deployments)
    }

    /// Builds each platform, then releases each.
    pub(super) async fn run(self, context: &Context, framework: Framework) -> Result<()> {
        interrupt::so_far(Half::Only.unsent());
        // A folder that is named may have a project file of its own. In a monorepo, each app does.
        let of_folder = self.build.project_dir.as_deref().map(project::find_above).transpose()?.flatten();
        let in_folder = of_folder.map(|found| Context { global: context.global.clone(), user: context.user.clone(), project: Some(found) });
        let context = in_folder.as_ref().unwrap_or(context);
        let deployments = self.deployments(context)?;
        if let Some(variable) = self.sign_key.as_deref().and_then(|key| key.strip_prefix("env:")) {
            bundle::hide(variable);
        }
        let key = self.sign_key.as_deref().map(SigningKey::read).transpose()?.map(Arc::new);
        let description = self.notes.clone().read()?;
        let (builder, warning) = Builder::new(framework, self.build.clone(), context.is_quiet()).await?;
        let mut jobs = self.jobs(context, &builder, deployments)?;
        let shared_app = self.platforms.shared_app(context, builder.has_both_platforms(), &self.deployment);
        for warning in [warning, shared_app] {
            warn_of_project(&mut jobs, warning);
        }
        if !compare(&builder, &mut jobs).await {
            warn_of_project(&mut jobs, warnings::without_sdk(&builder));
        }
        check_setup(context, &builder, &mut jobs);
        compare_keys(&builder, &mut jobs, key.as_deref());
        if self.dry_run {
            look_up(context, &builder, &mut jobs).await?;
        } else {
            // Finds a wrong app or deployment before minutes of work.
            for job in &mut jobs {
                let destination = Destination::find(context, &job.option).await?;
                job.warnings.add(deployment_key::warning(context, &builder, job.platform, &destination.target).await);
                job.warnings.add(destination.version_warning(&job.target_version.version));
                job.limit = Some(destination.limit);
                job.destination = Some(destination);
            }
        }
        for job in &mut jobs {
            let target = || Target::new(context, &job.option);
            job.base = Base::find(context, &builder, target, job.platform, &job.target_version.version).await?;
        }
        let is_only = jobs.len() == 1;
        let mut all_built = Vec::new();
        for job in &mut jobs {
            all_built.push(build(context, &builder, job, is_only).await?);
        }
        self.release(context, jobs, &all_built, key, description).await
    }

    /// Releases what was built, or shows it. Errors: of the first platform that fails, with what was released before it.
    async fn release(
        &self,
        context: &Context,
        jobs: Vec<Job>,
        all_built: &[Built],
        key: Option<Arc<SigningKey>>,
        description: Option<String>,
    ) -> Result<()> {
        let is_only = jobs.len() == 1;
        let mut documents = Map::new();
        let mut released: Vec<String> = Vec::new();
        let mut earlier: Option<String> = None;
        let last = jobs.last().map(|job| job.platform);
        let mut ready = Vec::new();
        // All packages are made before the first upload: one that is too large leaves nothing half released.
        for (job, built) in jobs.into_iter().zip(all_built) {
            let publication = Publication {
                path: &built.folder,
                range: job.target_version.version.clone(),
                description: description.clone(),
                delivery: &self.delivery,
                key: key.clone(),
                warnings: job.warnings,
                members: members(job.platform, &job.target_version, built, job.base_report),
                half: Half::new(job.platform, None, last.filter(|last| *last != job.platform)),
                accepts_identical: self.no_duplicate_release_error,
            };
            let package = publication.package(context, job.limit).await;
            let package = package.map_err(|error| if is_only { error } else { unpackaged(error, job.platform, self.dry_run) })?;
            ready.push((job.platform, job.option, job.destination, publication, package));
        }
        for (platform, option, destination, mut publication, package) in ready {
            let left = last.filter(|last| *last != platform);
            publication.half = Half::new(platform, earlier.as_ref(), left);
            let document = match &destination {
                None => {
                    let (document, people) = publication.preview(context, &option, package).await?;
                    if !context.is_json() {
                        heading(platform, is_only);
                        people();
                    }
                    document
                }
                Some(destination) => {
                    let published = publication.publish(context, destination, package).await;
                    let published =
                        published.map_err(|error| if is_only { alone(error) } else { after(error, platform, &released, left) })?;
                    if let Some(label) = published.label() {
                        released.push(format!("{} was released as {label}", platform.title()));
                        earlier = Some(format!("{label} of {}", destination.target.app));
                    }
                    if !context.is_json() {
                        heading(platform, is_only);
                        published.print();
                    }
                    let finished = published.finish(context, &destination.target);
                    finished.map_err(|error| if is_only { error } else { unfinished(error, platform, &released, left) })?;
                    published.json
                }
            };
            documents.insert(platform.name().to_owned(), document);
        }
        if self.dry_run {
            context.note("Dry run: nothing was uploaded.");
        }
        // One platform has the same document as `release create`.
        let document = match documents.len() {
            1 => documents.into_iter().next().map(|(_, document)| document).unwrap_or_default(),
            _ => Value::Object(documents),
        };
        context.show(&document, || {});
        Ok(())
    }

    /// The releases, one of each platform. Errors: usage (2) if the target version of one cannot be determined.
    fn jobs(&self, context: &Context, builder: &Builder, deployments: Vec<(Platform, DeploymentOption)>) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for (platform, option) in deployments {
            let target_version = self.target_version(context, builder, platform)?;
            context.note(&format!("{}: target version {}, from {}", platform.title(), target_version.version, target_version.source));
            jobs.push(Job {
                platform,
                option,
                target_version,
                warnings: Warnings::default(),
                destination: None,
                limit: None,
                base: None,
                base_report: None,
            });
        }
        Ok(jobs)
    }

    /// The target version: the option, the project file, or what the project builds. Errors: usage (2) if it cannot be determined.
    fn target_version(&self, context: &Context, builder: &Builder, platform: Platform) -> Result<TargetVersion> {
        if let Some(range) = &self.target_version {
            return Ok(TargetVersion { version: range.clone(), source: "--target-version".to_owned() });
        }
        if let Some(range) = options::range_of_project(context)? {
            return Ok(TargetVersion { version: range, source: "target-version of updraft.toml".to_owned() });
        }
        builder.target_version(platform)
    }
}

/// Finds a wrong app or deployment of a dry run before minutes of work, as far as it is said where the release would go. Errors: as the server refuses it.
async fn look_up(context: &Context, builder: &Builder, jobs: &mut [Job]) -> Result<()> {
    for job in jobs {
        job.limit = destination::limit_of_dry_run(context, &job.option).await?;
        if job.limit.is_some() {
            let target = Target::new(context, &job.option)?;
            job.warnings.add(deployment_key::warning(context, builder, job.platform, &target).await);
            job.warnings.add(destination::version_warning(&target, &job.target_version.version).await?);
        }
    }
    Ok(())
}

/// Compares the key that signs with the public key of each platform's builds.
fn compare_keys(builder: &Builder, jobs: &mut [Job], key: Option<&SigningKey>) {
    for job in jobs {
        let public_key = builder.public_key(job.platform);
        job.warnings.add(public_key.and_then(|found| warnings::unverified(job.platform, &found, key)));
    }
}

/// Compares the project with the binaries that each release targets. Returns whether it warned that binaries have the SDK, and the project no longer has it:
/// that their devices get no release would contradict it.
async fn compare(builder: &Builder, jobs: &mut [Job]) -> bool {
    let mut cuts_off = false;
    match Binaries::read(builder).await {
        Ok(None) => {}
        Ok(Some(binaries)) => {
            let mut missing = BTreeSet::new();
            for job in &mut *jobs {
                let found = binaries.compare(job.platform, &job.target_version.version);
                missing.extend(found.missing);
                cuts_off |= found.cuts_off;
                for warning in found.warnings {
                    job.warnings.add(Some(warning));
                }
            }
            warn_of_project(jobs, binaries.missing(&missing));
        }
        Err(warning) => warn_of_project(jobs, Some(warning)),
    }
    cuts_off
}

/// Warns of what is the same for all platforms: printed once, and in the JSON of each.
fn warn_of_project(jobs: &mut [Job], warning: Option<String>) {
    if let Some((first, others)) = jobs.split_first_mut() {
        for job in others {
            job.warnings.keep(warning.clone());
        }
        first.warnings.add(warning);
    }
}

/// Warns of settings with which devices get no updates. Without the SDK, they do not matter.
fn check_setup(context: &Context, builder: &Builder, jobs: &mut [Job]) {
    if builder.has_sdk() {
        // A dry run needs no server.
        let server = context.server().ok();
        for job in jobs {
            for warning in warnings::setup(builder, job.platform) {
                job.warnings.add(Some(warning));
            }
            let of_server = server.as_ref().and_then(|server| server_address::warning(builder, job.platform, server.url.as_str()));
            job.warnings.add(of_server);
        }
    }
}

/// Builds for a platform, and says what was built.
async fn build(context: &Context, builder: &Builder, job: &mut Job, is_only: bool) -> Result<Built> {
    let _step = interrupt::step("nothing was released", "Run the command again.");
    context.note(&format!("Building for {}", job.platform.title()));
    let mut built = builder.build(job.platform, is_only, job.base.as_ref().and_then(Base::file)).await?;
    if let Some(base) = job.base.take() {
        job.base_report = Some(base.report(context, built.base.take()));
    }
    job.warnings.add(built.warning.clone());
    if let Some(source_map) = &built.source_map {
        context.note(&format!("Source map: {}", builder.shown(source_map)));
    }
    Ok(built)
}

/// Says whose release follows, if there are two.
fn heading(platform: Platform, is_only: bool) {
    if !is_only {
        terminal::print(&format!("{}\n", terminal::stdout_style().bold(platform.title())));
    }
}

/// What the JSON has besides that of `release create`.
fn members(platform: Platform, target_version: &TargetVersion, built: &Built, base: Option<Value>) -> Map<String, Value> {
    let members = [
        ("platform", json!(platform.name())),
        ("targetVersion", json!(target_version.version)),
        ("targetVersionSource", json!(target_version.source)),
        ("sourceMap", json!(built.source_map.as_ref().map(|path| path.display().to_string()))),
    ];
    let base = base.map(|base| ("base", base));
    members.into_iter().chain(base).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A package of one of two platforms that cannot be uploaded: nothing is sent for either.
fn unpackaged(error: Error, platform: Platform, is_dry: bool) -> Error {
    let nothing = if is_dry { "nothing would be released" } else { "nothing was released" };
    Error { what: format!("{nothing}, because of {}: {}", platform.title(), error.what), ..error }
}

/// Whether devices already get the contents.
fn is_identical(error: &Error) -> bool {
    error.kind == Kind::Conflict && error.what.contains("identical to")
}

/// A failure of the only platform: names the option for those who release on every change.
fn alone(error: Error) -> Error {
    if !is_identical(&error) {
        return error;
    }
    let next = format!("{}. To be warned instead: --no-duplicate-release-error", error.next.trim_end_matches('.'));
    error.with_next(next)
}

/// A failure of one of two platforms: says what was released, because running the command again would release that one twice, and what is `left`.
fn after(error: Error, platform: Platform, released: &[String], left: Option<Platform>) -> Error {
    let is_identical = is_identical(&error);
    let left = left.map(|left| format!(". {} was not released either", left.title())).unwrap_or_default();
    let what = format!("{} was not released: {}{left}", platform.title(), error.what);
    if is_identical && released.is_empty() {
        let next = "To release only what has changed, add --no-duplicate-release-error.";
        return Error { what, next: next.to_owned(), ..error };
    }
    if released.is_empty() {
        return Error { what, ..error };
    }
    let what = format!("{what}. {}", released.join(", "));
    let next = format!("{}. Then release only {}: {}", error.next.trim_end_matches('.'), platform.title(), halves::only(platform));
    Error { what, next, ..error }
}

/// A failure after the release of one of two platforms, which is the last of `released`: says what else was released, and what is `left`.
fn unfinished(error: Error, platform: Platform, released: &[String], left: Option<Platform>) -> Error {
    let earlier = released.split_last().map(|(_, earlier)| earlier).unwrap_or_default();
    let mut what = format!("{}: {}", platform.title(), error.what);
    for sentence in earlier {
        what = format!("{what}. {sentence}");
    }
    let Some(left) = left else { return Error { what, ..error } };
    let what = format!("{what}. {} was not released", left.title());
    let next = format!("{}. Then release only {}: {}", error.next.trim_end_matches('.'), left.title(), halves::only(left));
    Error { what, next, ..error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_tells_what_was_released() {
        let error = || Error::failed("the server has a fault", "Try again.");
        let first = after(error(), Platform::Ios, &[], Some(Platform::Android));
        assert_eq!(first.what, "iOS was not released: the server has a fault. Android was not released either");
        let told = after(error(), Platform::Android, &["iOS was released as v3".to_owned()], None);
        assert_eq!(told.what, "Android was not released: the server has a fault. iOS was released as v3");
        assert!(told.next.starts_with("Try again. Then release only Android: `updraft "), "{}", told.next);
        assert!(told.next.ends_with(" --platform android`"), "{}", told.next);
    }

    #[test]
    fn a_failure_after_a_release_tells_what_is_left() {
        let error = || Error::failed("v3 has another hash", "Disable it");
        let released = ["iOS was released as v3".to_owned(), "Android was released as v3".to_owned()];
        let first = unfinished(error(), Platform::Ios, &released[..1], Some(Platform::Android));
        assert_eq!(first.what, "iOS: v3 has another hash. Android was not released");
        assert!(first.next.starts_with("Disable it. Then release only Android: `updraft "), "{}", first.next);
        assert!(first.next.ends_with(" --platform android`"), "{}", first.next);
        let second = unfinished(error(), Platform::Android, &released, None);
        assert_eq!(second.what, "Android: v3 has another hash. iOS was released as v3");
        assert_eq!(second.next, "Disable it");
    }
}
