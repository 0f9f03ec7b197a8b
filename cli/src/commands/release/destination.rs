//! The deployment that gets a new release, checked before any work.

use std::collections::BTreeMap;

use shared::api::accounts::AccountAnswer;
use shared::api::deployments::DeploymentAnswer;
use shared::api::metrics::{Counts, MetricsAnswer};
use shared::api::releases::Release;

use super::{Target, versions};
use crate::arguments::DeploymentOption;
use crate::config::server::ServerUrl;
use crate::context::Context;
use crate::error::{Error, Kind, Result};

/// A deployment that can get a release.
#[derive(Debug)]
pub(super) struct Destination {
    /// The deployment.
    pub(super) target: Target,
    /// Its newest release, if there is one and the credential can read it.
    pub(super) newest: Option<Release>,
    /// Where packages are uploaded.
    pub(super) upload_url: ServerUrl,
    /// The most bytes that a package can have.
    pub(super) limit: i64,
    metrics: BTreeMap<String, Counts>,
}

/// The most bytes that a package of a dry run can have; `None` if no app is given, so that the server is not asked. Errors: usage (2) for an app without a
/// deployment, as the release, not signed in (3), not found (4).
pub(super) async fn limit_of_dry_run(context: &Context, option: &DeploymentOption) -> Result<Option<i64>> {
    if context.app(option.app.app.as_deref()).is_err() {
        return Ok(None);
    }
    let target = Target::new(context, option)?;
    target.get::<DeploymentAnswer>(&[]).await?;
    Ok(Some(limit(&target).await?))
}

/// The most bytes that a package of the account can have.
async fn limit(target: &Target) -> Result<i64> {
    Ok(target.client.get::<AccountAnswer>("/v1/account").await?.value.account.limits.max_upload_bytes)
}

/// What devices report, by app version and by label. A credential without metrics.read only misses a warning.
async fn metrics(target: &Target) -> Result<BTreeMap<String, Counts>> {
    match target.get::<MetricsAnswer>(&["metrics"]).await {
        Ok(answer) => Ok(answer.value.metrics),
        Err(error) if error.status() == Some(403) => Ok(BTreeMap::new()),
        Err(error) => Err(error),
    }
}

/// A warning of a dry run if no device has a version in the range.
pub(super) async fn version_warning(target: &Target, range: &str) -> Result<Option<String>> {
    Ok(versions::warning(range, &versions::seen(&metrics(target).await?)))
}

impl Destination {
    /// Finds the deployment. Errors: usage (2), not signed in (3), not found (4), conflict (5) while a rollout is unfinished.
    pub(super) async fn find(context: &Context, option: &DeploymentOption) -> Result<Self> {
        let target = Target::new(context, option)?;
        let metrics = metrics(&target).await?;
        let newest = match target.get::<DeploymentAnswer>(&[]).await {
            Ok(answer) => answer.value.deployment.package,
            Err(error) if error.status() == Some(403) => None,
            Err(error) => return Err(error),
        };
        if let Some(newest) = newest.as_ref().filter(|newest| newest.rollout.is_some() && !newest.is_disabled) {
            // In the server's words, which come after minutes of work.
            let label = String::from(newest.label);
            let what = format!("the rollout of the newest release, {label}, is unfinished: set it to 100 or disable the release first");
            return target.advised(Err(Error::new(Kind::Conflict, what, ""))).await;
        }
        let account = target.client.get::<AccountAnswer>("/v1/account").await?.value.account;
        let upload_url = ServerUrl::parse(&account.upload_url)?;
        Ok(Self { target, newest, upload_url, limit: account.limits.max_upload_bytes, metrics })
    }

    /// The app version that most devices report.
    pub(super) fn most_used_version(&self) -> Option<&str> {
        versions::seen(&self.metrics).first().map(|(version, _)| *version)
    }

    /// A warning if no device has a version in the range.
    pub(super) fn version_warning(&self, range: &str) -> Option<String> {
        versions::warning(range, &versions::seen(&self.metrics))
    }
}
