//! The form that goes back to an earlier release.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::ids::ReleaseId;
use shared::keys::Label;

use super::audience::if_disabled;
use super::place::{self, Link};
use super::release::Summary;
use super::{failing, once};
use crate::domain::access::grant::{ManageReleases, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::conflict::Conflict;
use crate::domain::counting::counters::{self, repo::CounterRow};
use crate::domain::error::{Error, Result};
use crate::domain::releases::listing::{self, Page};
use crate::domain::releases::outlook::Outlook;
use crate::domain::releases::repo::{ListFilter, ReleaseRow};
use crate::domain::releases::rollback::{self, Rollback};
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::Form;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::DeploymentPath;

/// The releases to choose from, the current one not counted. `updraft release rollback` reaches older ones.
const MAX_TARGETS: u8 = 20;

/// The field with the ID of the newest release that the page showed.
const SEEN: &str = "seen";

/// A release to go back to.
struct Target {
    release: Summary,
    /// What speaks against it: that it fails, or has the same contents as the current release.
    caution: Option<String>,
}

#[derive(Template)]
#[template(path = "dashboard/rollback.html")]
struct RollbackPage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    form: &'p Form,
    page: String,
    deployment: &'p str,
    current: Option<Summary>,
    /// What happens to the devices that run the current release now.
    running: String,
    /// The newest release that is not disabled, and what devices get if it is disabled instead.
    instead: Option<(Summary, String)>,
    targets: Vec<Target>,
    chosen: String,
    /// The ID of the current release.
    seen: String,
    /// Identifies the form, so that sending it twice rolls back once.
    once: String,
}

/// Why a release is a bad choice, in the place of a note after its name.
fn caution(row: &ReleaseRow, current: &ReleaseRow, counters: &[CounterRow]) -> Option<String> {
    let place = format!("v{}", row.label);
    let failed = counters.iter().find(|counts| counts.place == place).and_then(|counts| failing::rate(counts.installed, counts.failed));
    let same = || (row.package_hash == current.package_hash).then(|| format!("the same contents as v{}", current.label));
    failed.map(|rate| format!("failed on {rate}")).or_else(same)
}

async fn page(
    app: &AppState,
    frame: &Frame,
    grants: (&AppGrant<ReadApp>, &AppGrant<ReadMetrics>),
    deployment: &str,
    form: &Form,
    chosen: &str,
) -> Result<Response> {
    let name = grants.0.called();
    let newest = Page { limit: MAX_TARGETS + 1, after: None, filter: ListFilter::default(), search: None };
    let outlook = Outlook::read(&app.db, &app.front.outlook_turns, grants.0, deployment).await?;
    let mut tx = app.db.read().await?;
    let (rows, _) = listing::list(&mut tx, grants.0, deployment, &newest).await?;
    let counters = counters::list(&mut tx, grants.1, deployment).await?;
    drop(tx);
    let summary = |row: &ReleaseRow| Summary::of(frame, (name, deployment), row);
    let (current_row, earlier) = rows.split_first().map_or((None, &[][..]), |(current, earlier)| (Some(current), earlier));
    let current = current_row.map(summary).transpose()?;
    let mut targets = Vec::new();
    if let Some(current) = current_row {
        for row in earlier.iter().filter(|row| row.app_version == current.app_version) {
            targets.push(Target { release: summary(row)?, caution: caution(row, current, &counters) });
        }
    }
    let active = current.as_ref().and_then(|current| counters.iter().find(|row| row.place == current.label)).map_or(0, |row| row.active);
    let chosen = if chosen.is_empty() {
        let good = targets.iter().find(|target| target.caution.is_none()).or(targets.first());
        good.map(|target| target.release.label.clone()).unwrap_or_default()
    } else {
        chosen.to_owned()
    };
    let running = |current: &Summary| match active {
        0 => format!("No device runs {} now.", current.label),
        1 => format!("The device that runs {} now will download it.", current.label),
        _ => format!("The {} devices that run {} now will download it.", view::grouped(active), current.label),
    };
    let instead = match rows.iter().find(|row| !row.is_disabled).map(summary).transpose()? {
        Some(served) => {
            let text = if_disabled(app, grants.0, &served, &outlook).await?;
            Some((served, text))
        }
        None => None,
    };
    let page = place::deployment(name, deployment);
    form.page(&RollbackPage {
        frame,
        crumbs: place::crumbs(frame, &[(name, place::app(name)), (deployment, page.clone())]),
        form,
        page: frame.path(&page),
        deployment,
        running: current.as_ref().map(running).unwrap_or_default(),
        instead,
        current,
        targets,
        chosen,
        seen: current_row.map(|row| row.id.as_str().to_owned()).unwrap_or_default(),
        once: once::new(app)?,
    })
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    _right: AppGrant<ManageReleases>,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
) -> Result<Response> {
    page(&app, &frame, (&grant, &metrics), &deployment, &Form::default(), "").await
}

#[expect(clippy::too_many_arguments, reason = "extractors")]
pub(super) async fn submit(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<ManageReleases>,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    sent: Fields,
) -> Result<Response> {
    let name = grant.called();
    let rollback = match (Label::try_from(sent.text("targetRelease")), ReleaseId::try_from(sent.text(SEEN))) {
        (Ok(target), Ok(seen)) => Ok(Rollback { target: Some(target), seen: Some(seen) }),
        (Err(error), _) => Err(Error::invalid("targetRelease", error)),
        (_, Err(_)) => Err(Error::invalid(SEEN, "is not valid")),
    };
    let done = match rollback {
        Ok(rollback) => rollback::roll_back(&app, &right, &deployment, &rollback, once::read(&sent).as_ref()).await,
        Err(error) => Err(error),
    };
    match done {
        Ok(answer) => {
            let text = format!("Rolled back to {}. The new release is v{}.", sent.text("targetRelease"), answer.value.label);
            frame.redirect_with_flash(&place::deployment(name, &deployment), &Flash::good(text))
        }
        Err(error) => {
            // After a newer release, what was chosen may be the wrong way back.
            let chosen = if matches!(error, Error::Conflict(Conflict::NewerRelease(_))) { "" } else { sent.text("targetRelease") };
            let form = Form::default().refuse(error)?;
            page(&app, &frame, (&grant, &metrics), &deployment, &form, chosen).await
        }
    }
}
