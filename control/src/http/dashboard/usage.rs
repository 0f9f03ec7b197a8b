//! What the account uses of each limit, and what happens when one is reached.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::limit::Rate;

use super::frame::Frame;
use super::view;
use crate::domain::access::DashboardSession;
use crate::domain::credentials::api_keys::repo as api_keys;
use crate::domain::error::Result;
use crate::domain::limits::quotas::{self, MAX_LISTED, Usage};
use crate::domain::profile::service;
use crate::domain::releases::size;
use crate::http::AppState;

/// A limit in the table.
struct Line {
    what: &'static str,
    used: String,
    limit: String,
    /// How full it is, in percent.
    percent: i64,
    when_full: &'static str,
}

impl Line {
    fn number(what: &'static str, used: i64, limit: i64, when_full: &'static str) -> Self {
        Self { what, used: view::grouped(used), limit: view::grouped(limit), percent: percent(used, limit), when_full }
    }

    fn bytes(what: &'static str, used: i64, limit: u64, when_full: &'static str) -> Self {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Self { what, used: view::limited_bytes(used), limit: view::limited_bytes(limit), percent: percent(used, limit), when_full }
    }
}

/// `used` of `limit` in percent, at most 100.
fn percent(used: i64, limit: i64) -> i64 {
    if limit <= 0 { 100 } else { used.saturating_mul(100).checked_div(limit).unwrap_or(100).clamp(0, 100) }
}

/// An app in the table.
struct AppLine {
    name: String,
    deployments: String,
    collaborators: String,
    stored: String,
}

#[derive(Template)]
#[template(path = "dashboard/usage.html")]
struct UsagePage<'p> {
    frame: &'p Frame,
    lines: Vec<Line>,
    apps: Vec<AppLine>,
    /// The number of apps in the table, if there are more.
    only: Option<i64>,
    deployments: u32,
    collaborators: u32,
    /// Limits per request, release or time: name and value.
    others: Vec<(&'static str, String)>,
}

/// A rate in words.
fn rate(rate: Rate) -> String {
    let count = view::grouped(i64::from(rate.count));
    match rate.window / 60_000 {
        1 => format!("{count} in a minute"),
        minutes => format!("{count} in {minutes} minutes"),
    }
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let (account, now) = (session.account(), app.now());
    let mut tx = app.db.read().await?;
    let profile = service::find(&mut tx, &session).await?.account;
    let usage = quotas::usage(&mut tx, account, now).await?;
    let keys = api_keys::count_alive(&mut tx, account, now).await?;
    let (snapshots, most_snapshots) = size::large_snapshots(&mut tx, &app, account).await?;
    drop(tx);
    let (limits, quotas) = (&app.settings.limits, app.settings.limits.quotas);
    let Usage { apps, access_keys, stored_bytes, diff_bytes, deployments_today, renames_today, kept_keys, by_app } = usage;
    let lines = vec![
        Line::number("Apps", apps, quotas.apps.into(), "You cannot create apps or accept transferred ones. Delete or transfer one first."),
        Line::bytes(
            "Stored bundles",
            stored_bytes,
            quotas.stored_bytes,
            "Uploads are refused; promoting and rolling back still work. Bundles of deleted apps and releases count too. Ask your administrator.",
        ),
        Line::bytes(
            "Diffs",
            diff_bytes,
            quotas.diff_bytes(stored_bytes),
            "No more diffs are made, so devices download whole bundles. Uploads are not refused. There is room again two days after a release is replaced or deleted. The limit grows with your stored bundles.",
        ),
        Line::number(
            "Access keys",
            access_keys,
            quotas.access_keys.into(),
            "You cannot create access keys. Delete one first; expired ones count.",
        ),
        Line::number("API keys", keys, profile.max_api_keys, "You cannot create API keys. Revoke one first; expired ones do not count."),
        Line::number(
            "Deployments created in 24 hours",
            deployments_today.0.into(),
            deployments_today.1.into(),
            "You can create more once the oldest of them is 24 hours old.",
        ),
        Line::number(
            "Apps renamed in 24 hours",
            renames_today.0.into(),
            renames_today.1.into(),
            "You can rename more once the oldest of them is 24 hours old.",
        ),
        Line::number(
            "Keys of deleted deployments",
            kept_keys.0,
            kept_keys.1,
            "You can create deployments only with one of these keys. They are kept so that nobody else gets your devices.",
        ),
        Line::bytes(
            "Long release histories",
            snapshots,
            most_snapshots,
            "Releases that would make one longer are refused. Clear old history, or shorten descriptions. Only deployments whose releases with their descriptions take more than 64 KiB count.",
        ),
    ];
    let only = (i64::try_from(by_app.len()).is_ok_and(|shown| shown == MAX_LISTED) && apps > MAX_LISTED).then_some(MAX_LISTED);
    let line = |app: quotas::AppUsage| AppLine {
        name: app.name,
        deployments: view::grouped(app.deployments),
        collaborators: view::grouped(app.collaborators),
        stored: view::limited_bytes(app.stored_bytes),
    };
    let others = vec![
        ("Largest upload", view::limited_bytes(profile.max_upload_bytes)),
        ("Uploads", rate(limits.account_uploads)),
        ("Uploads at once", view::grouped(limits.uploads_at_once.into())),
        ("Requests to the API", rate(limits.account_management)),
        ("Releases per deployment", view::grouped(i64::try_from(size::MAX_RELEASES).unwrap_or(i64::MAX))),
        ("Target versions per deployment", view::grouped(i64::try_from(size::MAX_RANGES).unwrap_or(i64::MAX))),
        ("Release history of a deployment", view::limited_bytes(i64::try_from(limits.snapshot_bytes).unwrap_or(i64::MAX))),
        ("Daily history", format!("{} days", profile.retention_days)),
    ];
    view::page(&UsagePage {
        frame: &frame,
        lines,
        only,
        apps: by_app.into_iter().map(line).collect(),
        deployments: quotas.deployments,
        collaborators: quotas.collaborators,
        others,
    })
}
