//! The caller's apps with what runs on their deployments: a page of the list, in the same number of statements for any number of apps.

use std::collections::{BTreeMap, HashMap};

use shared::ids::{AppId, DeploymentId};
use shared::keys::Label;
use shared::text::nfc;
use shared::time::UtcDay;

use crate::domain::access::DashboardSession;
use crate::domain::access::listing::{self, NamedApp};
use crate::domain::context::Context;
use crate::domain::counting::counters::{self, Totals};
use crate::domain::counting::history;
use crate::domain::deployments;
use crate::domain::error::Result;
use crate::domain::releases::repo::{self as releases, LabeledRow, ReleaseRow};
use crate::domain::releases::service;

/// The apps of a page.
const PAGE_SIZE: usize = 50;
/// The deployments of an app that are shown. Others are only counted, so that an app with many does not make the list long.
const MAX_DEPLOYMENTS: usize = 6;
/// The days of the history that is shown.
const DAYS: i64 = 14;
/// The releases that a search finds.
const MAX_RELEASES: usize = 20;
/// Those of them in apps that the caller has not accepted: anyone can share such apps.
const MAX_UNACCEPTED: usize = 5;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The text to find in names of apps; if it is a label, also its releases. Empty for all apps.
    pub search: String,
    /// The number of the page, from 0. After the last page, this is the last one.
    pub page: usize,
}

/// A page of the list.
#[derive(Debug)]
pub struct Overview {
    /// The apps by name; those that the caller has not accepted come last.
    pub apps: Vec<AppOverview>,
    /// The number of the page, from 0.
    pub page: usize,
    /// The number of pages, at least 1.
    pub pages: usize,
    /// Whether the caller has any app, whatever the search.
    pub has_apps: bool,
    /// The first and last day of the history.
    pub days: (UtcDay, UtcDay),
    /// The newest releases with the label that was searched for, each with its app's name. Those in apps that the caller has not accepted come last.
    pub releases: Vec<(String, LabeledRow)>,
}

/// An app in the list.
#[derive(Debug)]
pub struct AppOverview {
    /// The app.
    pub app: NamedApp,
    /// Its first deployments, sorted by name.
    pub deployments: Vec<DeploymentOverview>,
    /// The number of its other deployments.
    pub others: usize,
}

/// A deployment in the list.
#[derive(Debug)]
pub struct DeploymentOverview {
    /// Its name.
    pub name: String,
    /// Its newest release.
    pub newest: Option<ReleaseRow>,
    /// Its newest release that is not disabled.
    pub enabled: Option<ReleaseRow>,
    /// Its counts.
    pub totals: Totals,
    /// The active devices of all releases at the end of each day that has history.
    pub active: BTreeMap<UtcDay, i64>,
}

/// Reads a page of the caller's apps. A page has 50 apps with at most 6 deployments each, and of each deployment a release, its counts, and one number for
/// each of 14 days: 4,200 numbers at most.
pub async fn read(app: &Context, caller: &DashboardSession, wanted: &Wanted) -> Result<Overview> {
    let mut tx = app.db.read().await?;
    let mut apps = listing::names(&mut tx, caller).await?;
    let has_apps = !apps.is_empty();
    let search = folded(&wanted.search);
    let label = Label::try_from(search.as_str()).ok().filter(|_| has_apps);
    let releases = match label {
        Some(label) => {
            found(&apps, releases::labeled(&mut tx, caller.account(), label, i64::try_from(MAX_RELEASES).unwrap_or(i64::MAX)).await?)
        }
        None => Vec::new(),
    };
    apps.retain(|app| folded(&app.name).contains(&search));
    let pages = apps.len().div_ceil(PAGE_SIZE).max(1);
    let page = wanted.page.min(pages - 1);
    let apps: Vec<NamedApp> = apps.into_iter().skip(page * PAGE_SIZE).take(PAGE_SIZE).collect();

    let mut by_app: HashMap<AppId, Vec<(String, DeploymentId)>> = HashMap::new();
    for (id, of, name) in deployments::repo::of_apps(&mut tx, &apps.iter().map(|app| &app.id).collect::<Vec<_>>()).await? {
        by_app.entry(of).or_default().push((name, id));
    }
    let mut others = HashMap::new();
    for (app, deployments) in &mut by_app {
        // Sorted here because the two databases collate text differently.
        deployments.sort();
        others.insert(app.clone(), deployments.len().saturating_sub(MAX_DEPLOYMENTS));
        deployments.truncate(MAX_DEPLOYMENTS);
    }
    let shown: Vec<&DeploymentId> = by_app.values().flatten().map(|(_, id)| id).collect();
    let newest = releases::newest_of(&mut tx, &shown).await?;
    let mut newest: BTreeMap<DeploymentId, ReleaseRow> = newest.into_iter().map(|row| (row.deployment_id, row.release)).collect();
    let mut enabled = service::enabled(&mut tx, newest.clone()).await?;
    let places: Vec<(&DeploymentId, String)> =
        shown.iter().map(|id| (*id, enabled.get(id).map(|release| format!("v{}", release.label)).unwrap_or_default())).collect();
    let mut totals = counters::repo::totals_of(&mut tx, &places).await?;
    let today = app.now().utc_day();
    let days = (today.plus_days(1 - DAYS), today);
    let mut active = history::repo::active_since(&mut tx, &shown, days.0).await?;
    drop(tx);

    let mut deployment = |(name, id): (String, DeploymentId)| DeploymentOverview {
        name,
        newest: newest.remove(&id),
        enabled: enabled.remove(&id),
        totals: totals.remove(&id).unwrap_or_default(),
        active: active.remove(&id).unwrap_or_default(),
    };
    let apps = apps.into_iter().map(|app| AppOverview {
        deployments: by_app.remove(&app.id).unwrap_or_default().into_iter().map(&mut deployment).collect(),
        others: others.remove(&app.id).unwrap_or_default(),
        app,
    });
    Ok(Overview { apps: apps.collect(), page, pages, has_apps, days, releases })
}

/// A text as the search compares it. Not in SQL, because the databases fold case differently.
fn folded(text: &str) -> String {
    nfc(text.trim()).to_lowercase()
}

fn found(apps: &[NamedApp], rows: Vec<LabeledRow>) -> Vec<(String, LabeledRow)> {
    let known: HashMap<&AppId, &NamedApp> = apps.iter().map(|app| (&app.id, app)).collect();
    let mut unaccepted = 0;
    let found = |row: LabeledRow| {
        let app = known.get(&row.app_id)?;
        unaccepted += usize::from(!app.is_accepted);
        (app.is_accepted || unaccepted <= MAX_UNACCEPTED).then(|| (app.name.clone(), row))
    };
    rows.into_iter().filter_map(found).collect()
}
