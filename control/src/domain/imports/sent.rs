//! What the future owner of an app sends for an import: its validation, and its history.

use std::collections::{BTreeMap, BTreeSet};

use import::plan::{self, Limits, Place, Plan};
use import::report::Outcome;
use import::source::{self, Collaborator, Counts, Entry};
use shared::Invalid;
use shared::api::imports::{ImportedRelease, MAX_IMPORT_RELEASES, PlannedApp};
use shared::api::releases::ReleaseMethod;
use shared::hash::Sha256Hex;
use shared::keys::{DeploymentKey, Name};

use super::history::{self, History, Imported, Written};
use super::repo;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::OwnApp;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::deployments::repo as deployments;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::repo as releases;
use crate::domain::releases::service::StoredPackage;
use crate::domain::releases::size::MAX_RANGES;

/// The longest name or address of another server, in characters.
const LONGEST_SOURCE: usize = 500;
/// The most apps of a plan, their deployments, and the collaborators of one.
const MOST_PLANNED: usize = 1_000;
/// The problems of a history that a refusal names.
const MOST_NAMED: usize = 20;

/// What became of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is written, or must not be.
    Done(Outcome),
    /// These packages are needed first.
    Missing(Vec<Sha256Hex>),
}

/// The address of another server, as imports are known by it. Errors: why it is none.
pub fn source(address: &str) -> Result<String, Invalid> {
    if address.chars().count() > LONGEST_SOURCE {
        return Err(Invalid::from(format!("must have at most {LONGEST_SOURCE} characters")));
    }
    source::address(address).map_err(|fault| Invalid::from(fault.to_string()))
}

/// The apps of a plan. Errors: why one is invalid, or there are too many.
pub fn apps(sent: Vec<PlannedApp>) -> Result<Vec<plan::App>, Invalid> {
    let deployments: usize = sent.iter().map(|app| app.deployments.len()).sum();
    if sent.len() > MOST_PLANNED || deployments > MOST_PLANNED {
        return Err(Invalid::from(format!("must be at most {MOST_PLANNED} apps with {MOST_PLANNED} deployments in all")));
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = sent.iter().find(|app| !names.insert(app.source_name.as_str())) {
        return Err(Invalid::from(format!("{} appears twice", plan::printable(&twice.source_name))));
    }
    sent.into_iter().map(app).collect()
}

/// An app to import. Its releases are sent later. Errors: why it is invalid.
pub fn app(sent: PlannedApp) -> Result<plan::App, Invalid> {
    let of = |name: &str| format!("of {}", plan::printable(name));
    if sent.deployments.len() > MOST_PLANNED || sent.collaborators.len() > MOST_PLANNED {
        return Err(Invalid::from(format!("must have at most {MOST_PLANNED} deployments and {MOST_PLANNED} collaborators")));
    }
    check_source_name(&sent.source_name)?;
    let name = sent.name.parse::<Name>().map_err(|error| Invalid::from(format!("the name {} {error}", of(&sent.source_name))))?;
    let mut deployments = Vec::with_capacity(sent.deployments.len());
    for deployment in sent.deployments {
        check_source_name(&deployment.source_name)?;
        let of = of(&deployment.source_name);
        let name = deployment.name.parse::<Name>().map_err(|error| Invalid::from(format!("the name {of} {error}")))?;
        let key = DeploymentKey::try_from(deployment.key.as_str()).map_err(|error| Invalid::from(format!("the key {of} {error}")))?;
        deployments.push(plan::Deployment {
            source_name: deployment.source_name,
            name,
            key,
            releases: Vec::new(),
            history: BTreeSet::new(),
            is_empty: false,
            counts: None,
        });
    }
    let collaborators = sent.collaborators.into_iter().map(|email| Collaborator { email }).collect();
    Ok(plan::App { source_name: sent.source_name, name, collaborators, deployments })
}

fn check_source_name(name: &str) -> Result<(), Invalid> {
    if !name.is_empty() && name.chars().count() <= LONGEST_SOURCE && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Invalid::from(format!("a sourceName must have 1 to {LONGEST_SOURCE} characters, and no control characters")))
}

/// Imports a history from packages that were sent before. Errors: 400 for releases that an upload would refuse; 401, 403, 404; 409 if the deployment was
/// not imported, or for its size.
pub async fn history(
    app: &Context,
    grant: &AppGrant<OwnApp>,
    deployment: &str,
    sent: Vec<ImportedRelease>,
    counts: Option<BTreeMap<String, shared::api::metrics::Counts>>,
) -> Result<Sent> {
    let limits = Limits { releases: MAX_IMPORT_RELEASES, ranges: MAX_RANGES, snapshot_bytes: app.settings.limits.snapshot_bytes };
    let kept = |counts: BTreeMap<_, _>| {
        plan::kept_counts(counts.into_iter().map(|(place, counts)| (place, read_counts(&counts))).collect(), limits).0
    };
    let counts = counts.map(kept);
    let packages: Vec<Option<Sha256Hex>> = sent.iter().map(|release| release.package.clone()).collect();
    let planned = check(sent, limits)?;
    let mut tx = app.db.read().await?;
    let row = deployments::find(&mut tx, grant.app(), deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
    let source = repo::source(&mut tx, grant.app()).await?.ok_or(Error::Conflict(Conflict::NotImported))?;
    let imported = repo::deployment(&mut tx, &row.id).await?.ok_or(Error::Conflict(Conflict::NotImported))?;
    let last_label = deployments::last_label(&mut tx, &row.id).await?.unwrap_or_default();
    // Nobody should send packages for a history that is not taken.
    if history::has_own(&imported, last_label, releases::ranges(&mut tx, &row.id).await?.is_empty()) {
        return Ok(Sent::Done(Outcome::HasOwn));
    }
    let (mut ready, mut missing) = (Vec::with_capacity(planned.len()), Vec::new());
    for (release, sha256) in planned.into_iter().zip(packages) {
        // Of a release that is here already, only what was changed about it counts.
        let is_new = i64::from(release.label.number()) > imported.last_label;
        let kept = match &sha256 {
            Some(sha256) if is_new => repo::package(&mut tx, grant.app(), sha256, app.now()).await?,
            None if is_new => {
                return Err(Error::invalid("releases", format!("{}: a release that is not here needs a package", release.label)));
            }
            _ => None,
        };
        if let Some(sha256) = &sha256
            && is_new
            && kept.is_none()
            && !missing.contains(sha256)
        {
            missing.push(sha256.clone());
        }
        ready.push(entry(release, sha256, kept)?);
    }
    drop(tx);
    if !missing.is_empty() {
        return Ok(Sent::Missing(missing));
    }
    let history = History {
        app: grant.app(),
        deployment: &row.id,
        source: &source,
        releases: &ready,
        counts: counts.as_ref(),
        ignores_quotas: false,
    };
    Ok(match history.write(grant.begin(app).await?).await? {
        Written::Done(outcome) => Sent::Done(outcome),
        Written::Gone(Some(sha256)) => Sent::Missing(vec![sha256]),
        // It was here when this began.
        Written::Gone(None) => return Err(Error::unavailable("the history was changed meanwhile")),
    })
}

/// Applies the rules for all imports. Errors: 400.
fn check(sent: Vec<ImportedRelease>, limits: Limits) -> Result<Vec<plan::Release>> {
    let place = Place { app: String::new(), deployment: None, label: None };
    let mut plan = Plan::default();
    let releases = plan::releases(&mut plan, &place, sent.into_iter().map(read).collect(), limits);
    if plan.problems.is_empty() {
        return Ok(releases);
    }
    let name = |problem: &plan::Problem| match problem.remark.place.label {
        Some(label) => format!("{label}: {}", problem.remark.text),
        None => problem.remark.text.clone(),
    };
    let texts: Vec<_> = plan.problems.iter().take(MOST_NAMED).map(name).collect();
    Err(Error::invalid("releases", texts.join("; ")))
}

fn read(sent: ImportedRelease) -> Entry {
    Entry {
        label: Some(String::from(sent.label)),
        app_version: Some(sent.app_version),
        blob_url: Some(sent.package.map(|package| package.to_string()).unwrap_or_default()),
        description: sent.description,
        is_disabled: sent.is_disabled,
        is_mandatory: sent.is_mandatory,
        rollout: sent.rollout,
        package_hash: sent.package_hash.map(|hash| hash.to_string()),
        release_method: sent.release_method.map(|method| {
            let name = match method {
                ReleaseMethod::Upload => "Upload",
                ReleaseMethod::Promote => "Promote",
                ReleaseMethod::Rollback => "Rollback",
            };
            name.to_owned()
        }),
        original_label: sent.original_label.map(String::from),
        original_deployment: sent.original_deployment,
        released_by: sent.released_by,
        size: None,
        upload_time: sent.upload_time,
        unclear: None,
    }
}

fn read_counts(counts: &shared::api::metrics::Counts) -> Counts {
    Counts { active: counts.active, downloaded: counts.downloaded, installed: counts.installed, failed: counts.failed }
}

/// A release with its package, if that was sent. Errors: 400 if the package does not have the contents that the release says.
fn entry(release: plan::Release, blob: Option<Sha256Hex>, kept: Option<repo::PackageRow>) -> Result<Imported> {
    let Some(kept) = kept else { return Ok(Imported { release, blob, package: None, counts_directories: false }) };
    let told = release.package_hash.clone().unwrap_or_else(|| kept.package_hash.clone());
    let counts_directories = told != kept.package_hash;
    if counts_directories && kept.hash_with_directories.as_ref() != Some(&told) {
        let text = format!("{}: its packageHash is not that of the package's contents", release.label);
        return Err(Error::invalid("releases", text));
    }
    let package = StoredPackage {
        package_hash: told,
        blob: kept.sha256,
        manifest: kept.manifest_sha256,
        size: u64::try_from(kept.size).map_err(Error::internal)?,
        file_sizes: Vec::new(),
    };
    Ok(Imported { release, blob, package: Some(package), counts_directories })
}
