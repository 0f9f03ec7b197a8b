//! An app's audit events, for its managers.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};
use shared::ids::{AccountId, AuditEventId, ReleaseId};
use shared::time::{UnixMillis, UtcDay};

use crate::domain::access::grant::{ManageApp, ReadApp};
use crate::domain::access::{AppGrant, collaborators};
use crate::domain::accounts;
use crate::domain::audit::Action;
use crate::domain::audit::repo::{self, OfDeployment, ResolvedRow};
use crate::domain::deployments;
use crate::domain::email::for_lookup;
use crate::domain::error::{Error, Result};
use crate::infra::db::ReadTx;

/// What the actions of an app's events begin with.
const OF_APPS: [&str; 6] = ["app.", "collaborator.", "deployment.", "deployment_key.", "history.", "release."];

/// The events that a request compares with a filter.
pub const MAX_EXAMINED: i64 = 2_000;

/// How much the clocks of two servers can differ, generously, in milliseconds.
const MAX_SKEW: i64 = 24 * 3_600_000;

/// The requested page of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// The page size, 1 to 100.
    pub limit: u8,
    /// The last event of the previous page.
    pub cursor: Option<AuditEventId>,
    /// Which events.
    pub filter: Filter,
}

/// Which events are listed; what is absent matches all.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Who did it: the email of an account, or `operator`.
    pub person: Option<String>,
    /// What was done, from [`actions`].
    pub action: Option<&'static str>,
    /// The name of the deployment that it concerns.
    pub deployment: Option<String>,
    /// The first day (UTC).
    pub from: Option<UtcDay>,
    /// The last day (UTC).
    pub to: Option<UtcDay>,
}

/// A page of the list.
#[derive(Debug)]
pub struct Found {
    /// The events, newest first.
    pub events: Vec<ResolvedRow>,
    /// The cursor of the next page if there is one.
    pub next_cursor: Option<AuditEventId>,
    /// Whether the page ended because [`MAX_EXAMINED`] events were compared: older ones may match.
    pub is_cut: bool,
}

/// What people can choose from.
#[derive(Debug)]
pub struct Choices {
    /// The emails of the app's collaborators.
    pub people: Vec<String>,
    /// The names of the app's deployments, sorted.
    pub deployments: Vec<String>,
}

/// What the IDs in events stand for.
#[derive(Debug, Default)]
pub struct Names {
    /// The emails of the accounts that exist.
    pub accounts: HashMap<AccountId, String>,
    /// The names of the app's deployments.
    pub deployments: HashMap<String, String>,
}

/// The details that are accounts.
pub const ACCOUNTS: [&str; 3] = ["from", "to", "owner"];

/// The actions that an app's events can have.
pub fn actions() -> impl Iterator<Item = &'static str> {
    Action::ALL.iter().map(|action| action.as_str()).filter(|name| OF_APPS.iter().any(|start| name.starts_with(start)))
}

/// What the filter of the app's events offers.
pub async fn choices(tx: &mut ReadTx, grant: &AppGrant<ManageApp>) -> Result<Choices> {
    let mut people: Vec<String> = collaborators::list(tx, grant.app()).await?.into_iter().map(|row| row.email).collect();
    let mut deployments: Vec<String> = deployments::repo::list(tx, grant.app()).await?.into_iter().map(|row| row.name).collect();
    people.sort_unstable();
    deployments.sort_unstable();
    Ok(Choices { people, deployments })
}

/// The names of the accounts and deployments that these events are about.
pub async fn names(tx: &mut ReadTx, grant: &AppGrant<ManageApp>, events: &[ResolvedRow]) -> Result<Names> {
    let mut ids = BTreeSet::new();
    for row in events {
        let details: Map<String, Value> = serde_json::from_str(&row.event.details).map_err(Error::internal)?;
        let named = ACCOUNTS.iter().filter_map(|name| details.get(*name)?.as_str());
        ids.extend(named.filter_map(|id| AccountId::try_from(id).ok()));
    }
    let deployments = deployments::repo::list(tx, grant.app()).await?;
    Ok(Names {
        accounts: accounts::repo::emails(tx, &ids).await?,
        deployments: deployments.into_iter().map(|row| (row.id.to_string(), row.name)).collect(),
    })
}

/// A page of events of the caller's app, newest first. At most [`MAX_EXAMINED`] events are compared with a filter, however few match. Errors: 400 for a
/// cursor that is not one of this app's.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ManageApp>, page: &Page) -> Result<Found> {
    let unknown = || Error::invalid("cursor", "is not valid for this list");
    let before = match &page.cursor {
        None => i64::MAX,
        Some(id) => repo::place(tx, grant.app(), id).await?.ok_or_else(unknown)?,
    };
    let filter = resolve(tx, grant, &page.filter).await?;
    let limit = usize::from(page.limit);
    // Without a filter, every row matches, so no more are read than are returned.
    let last = if page.filter == Filter::default() { None } else { repo::at_depth(tx, grant.app(), before, MAX_EXAMINED - 1).await? };
    let first_place = last.as_ref().map_or(0, |(place, ..)| *place);
    // Reads one row more than the page size, to know whether there is a next page.
    let mut events = repo::of_app(tx, grant.app(), &filter, first_place..before, i64::from(page.limit) + 1).await?;
    // The cursor is the row's ID: its place counts rows of all accounts, which would leak. Rows are never deleted, so cursors stay valid.
    if events.len() > limit {
        events.truncate(limit);
        let next_cursor = events.last().map(|row| row.event.id.clone());
        return Ok(Found { events, next_cursor, is_cut: false });
    }
    // Older rows are earlier, except that the clocks of two servers can differ a little.
    let next_cursor = last.filter(|(.., time)| time.plus_millis(MAX_SKEW) >= filter.from).map(|(_, id, _)| id);
    Ok(Found { events, is_cut: next_cursor.is_some(), next_cursor })
}

/// The filter as rows are compared with it.
async fn resolve(tx: &mut ReadTx, grant: &AppGrant<ManageApp>, filter: &Filter) -> Result<repo::Filter> {
    let deployment = match &filter.deployment {
        Some(name) => {
            let found = deployments::repo::find(tx, grant.app(), name).await?;
            let details = format!("\"deployment\":{}", json!(name));
            Some(OfDeployment { id: found.map(|row| row.id.to_string()).unwrap_or_default(), details })
        }
        None => None,
    };
    Ok(repo::Filter {
        from: filter.from.map_or(UnixMillis(i64::MIN), |day| UnixMillis(day.plus_days(-1).end().0 + 1)),
        to: filter.to.map_or(UnixMillis(i64::MAX), UtcDay::end),
        person: filter.person.as_deref().map(for_lookup),
        action: filter.action,
        deployment,
    })
}

/// At most `limit` events about a release, newest first; none for callers who may not see the app's activity.
pub async fn of_release(tx: &mut ReadTx, grant: &AppGrant<ReadApp>, release: &ReleaseId, limit: u8) -> Result<Vec<ResolvedRow>> {
    if !grant.also::<ManageApp>() {
        return Ok(Vec::new());
    }
    let object = (Action::UploadRelease.object_kind(), release.as_str());
    Ok(repo::of_object(tx, grant.app(), object, i64::from(limit)).await?)
}
