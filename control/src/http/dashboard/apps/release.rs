//! A release's page: what it is, who gets it, and how it does.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::hash::BlobKey;
use shared::signature::download_url;

use super::place::{self, Link, Section};
use crate::domain::access::grant::{ManageReleases, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::counting::counters;
use crate::domain::error::Result;
use crate::domain::releases::ReleaseMethod;
use crate::domain::releases::repo::ReleaseRow;
use crate::domain::releases::service::{self, label};
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::{DeploymentPath, LabelPath};
use crate::infra::dates::RelativeTime;

/// A release as lists show it.
pub(super) struct Summary {
    /// Its label.
    pub label: String,
    /// Its page.
    pub page: String,
    /// The app versions that it is for.
    pub target: String,
    /// The percent of devices that can get it.
    pub rollout: i64,
    /// Whether it is mandatory.
    pub is_mandatory: bool,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// Who released it.
    pub released_by: String,
    /// When.
    pub released: RelativeTime,
    /// How, in words.
    pub method: String,
    /// The description.
    pub description: String,
}

impl Summary {
    /// Converts a row. The release is in this app and deployment.
    pub(super) fn of(frame: &Frame, (app, deployment): (&str, &str), row: &ReleaseRow) -> Result<Self> {
        let label = label(row.label)?;
        Ok(Self {
            label: label.to_string(),
            page: frame.path(&place::release(app, deployment, label)),
            target: row.app_version.clone(),
            rollout: row.rollout.unwrap_or(100),
            is_mandatory: row.is_mandatory,
            is_disabled: row.is_disabled,
            released_by: row.released_by.clone(),
            released: RelativeTime::of(row.upload_time, frame.now()),
            method: method(row),
            description: row.description.clone().unwrap_or_default(),
        })
    }
}

/// How a release was created.
fn method(row: &ReleaseRow) -> String {
    let original = row.original_label.map(|label| format!("v{label}")).unwrap_or_default();
    match row.release_method {
        ReleaseMethod::Upload => "Upload".to_owned(),
        ReleaseMethod::Promote => format!("Promoted from {} of {}", original, row.original_deployment.as_deref().unwrap_or_default()),
        ReleaseMethod::Rollback => format!("Rollback to {original}"),
    }
}

/// Who gets a release, as a sentence.
pub(super) fn audience(release: &Summary) -> String {
    let Summary { label, target, rollout, .. } = release;
    if release.is_disabled {
        return format!("{label} is disabled: no device gets it.");
    }
    let devices = if *rollout == 100 { "all devices".to_owned() } else { format!("{rollout}% of the devices") };
    let versions = if target == "*" { "any app version".to_owned() } else { format!("app version {target}") };
    format!("{label} goes to {devices} with {versions}.")
}

#[derive(Template)]
#[template(path = "dashboard/release.html")]
struct ReleasePage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    release: Summary,
    audience: String,
    deployment: &'p str,
    deployment_page: String,
    package_hash: String,
    size: String,
    download: String,
    active: String,
    share: String,
    downloaded: String,
    installed: String,
    failed: String,
    failure_rate: String,
    can_release: bool,
}

/// A size for people.
pub(in crate::http::dashboard) fn size(bytes: i64) -> String {
    const UNITS: [&str; 3] = ["KB", "MB", "GB"];
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    let mut tenths = bytes / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit < UNITS.len() - 1 {
        tenths /= 1_000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS.get(unit).unwrap_or(&"GB"))
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    LabelPath(label): LabelPath,
) -> Result<Response> {
    let name = grant.called();
    let mut tx = app.db.read().await?;
    let row = service::find(&mut tx, &grant, &deployment, label).await?.row;
    let counters = counters::list(&mut tx, &metrics, &deployment).await?;
    drop(tx);
    let all = counters.iter().map(|row| row.active).sum();
    let place_name = label.to_string();
    let counts = counters.into_iter().find(|row| row.place == place_name);
    let [active, downloaded, installed, failed] =
        counts.map_or([0; 4], |counts| [counts.active, counts.downloaded, counts.installed, counts.failed]);
    let release = Summary::of(&frame, (name, &deployment), &row)?;
    let page = place::deployment(name, &deployment);
    view::page(&ReleasePage {
        crumbs: place::crumbs(&frame, &[(name, place::app(name)), (&deployment, page.clone())]),
        sections: place::sections(&frame, &grant, Section::Deployments),
        audience: audience(&release),
        release,
        deployment: &deployment,
        deployment_page: frame.path(&page),
        package_hash: row.package_hash.to_string(),
        size: size(row.size),
        download: download_url(&app.download_urls(), &BlobKey { app: grant.app().clone(), sha256: row.blob_sha256 }),
        active: view::grouped(active),
        share: view::share(active, all),
        downloaded: view::grouped(downloaded),
        installed: view::grouped(installed),
        failed: view::grouped(failed),
        failure_rate: view::share(failed, installed.saturating_add(failed)),
        can_release: grant.also::<ManageReleases>(),
        frame: &frame,
    })
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_one_decimal() {
        for (bytes, text) in
            [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 KB"), (999_999, "999.9 KB"), (1_000_000, "1.0 MB"), (2_550_000_000, "2.5 GB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
