//! The steps to a deployment's first update, as they happen: the app starts, a release is published, a device downloads it, a device runs it. The part of
//! the deployment's page that asks for them every few seconds.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::keys::{DeploymentKey, Label};

use super::place;
use crate::domain::access::grant::{ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::counting::counters;
use crate::domain::deployments::first_checks;
use crate::domain::error::Result;
use crate::domain::releases::current;
use crate::domain::releases::service::{Release, label};
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::DeploymentPath;
use crate::infra::db::ReadTx;

/// A step.
struct Step {
    is_done: bool,
    text: String,
}

/// The steps.
#[derive(Template)]
#[template(path = "dashboard/first_steps.html")]
pub(super) struct FirstSteps {
    address: String,
    steps: Vec<Step>,
    /// Whether a device runs a release: then there is nothing more to wait for.
    pub(super) is_installed: bool,
}

impl FirstSteps {
    /// What has happened. `None` for callers who may not see the key: they cannot set up an app.
    pub(super) async fn of(
        app: &AppState,
        frame: &Frame,
        tx: &mut ReadTx,
        (grant, metrics): (&AppGrant<ReadApp>, &AppGrant<ReadMetrics>),
        deployment: &str,
        key: Option<&str>,
        newest: Option<&Release>,
    ) -> Result<Option<Self>> {
        let Some(key) = key.and_then(|key| DeploymentKey::try_from(key.to_owned()).ok()) else { return Ok(None) };
        let rows = counters::list(tx, metrics, deployment).await?;
        let sum = |of: fn(&counters::repo::CounterRow) -> i64| rows.iter().map(of).sum::<i64>();
        let (downloaded, installed) = (sum(|row| row.downloaded), sum(|row| row.installed));
        // Any report shows a start. Where this server answers checks itself, the first check shows one as well.
        let version = rows.iter().find(|row| row.active > 0 && Label::try_from(row.place.as_str()).is_err()).map(|row| row.place.as_str());
        let has_started = !rows.is_empty() || first_checks::is_noted(tx, &key).await?;
        if !has_started {
            app.front.awaited_checks.wait_for(grant.account(), &key, app.now());
        }
        let current = newest.map(|newest| label(newest.row.label)).transpose()?;
        let step = |is_done, done: String, waiting: &str| Step { is_done, text: if is_done { done } else { waiting.to_owned() } };
        let started = version.map_or_else(|| "The app started".to_owned(), |version| format!("The app started: version {version}"));
        let published = current.map(|label| format!("{label} is published")).unwrap_or_default();
        let steps = vec![
            step(has_started, started, "Waiting for the app's first start with the SDK"),
            step(current.is_some(), published, "Waiting for the first release"),
            step(downloaded > 0, "A device downloaded the update".to_owned(), "Waiting for the first download"),
            step(installed > 0, "A device runs the update".to_owned(), "Waiting for the first install"),
        ];
        let page = place::deployment(grant.called(), deployment);
        Ok(Some(Self { address: frame.path(&format!("{page}/first-steps")), steps, is_installed: installed > 0 }))
    }
}

/// The part that is updated.
pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let (found, newest) = current::get(&mut tx, &grant, &deployment).await?;
    let steps = FirstSteps::of(&app, &frame, &mut tx, (&grant, &metrics), &deployment, found.key.as_deref(), newest.as_ref()).await?;
    drop(tx);
    match steps {
        Some(steps) => view::page(&steps),
        None => frame.redirect(&place::deployment(grant.called(), &deployment)),
    }
}
