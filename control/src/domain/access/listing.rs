//! Apps as their collaborators see them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use shared::ids::{AccountId, AppId};
use shared::text::nfc;
use shared::time::UnixMillis;

use super::SignedIn;
use super::apps::{self as repo, AppRow};
use super::collaborators::{self, CollaboratorRow};
use crate::domain::access::Role;
use crate::domain::accounts;
use crate::domain::conflict::Conflict;
use crate::domain::error::{Error, Result, Thing};
use crate::infra::db::{ReadTx, WriteTx};

/// An app as one of its collaborators sees it.
#[derive(Clone, Debug)]
pub struct App {
    /// Its ID.
    pub id: AppId,
    /// Its name, as the caller can use it.
    pub name: String,
    /// When it was created.
    pub created_time: UnixMillis,
    /// Its deployments' names, sorted.
    pub deployments: Vec<String>,
    /// Its collaborators.
    pub collaborators: Vec<Collaborator>,
}

/// An app in a list that shows neither its deployments nor its collaborators.
#[derive(Clone, Debug)]
pub struct NamedApp {
    /// Its ID.
    pub id: AppId,
    /// Its name, as the caller can use it.
    pub name: String,
    /// When it was created.
    pub created_time: UnixMillis,
    /// The caller's role.
    pub role: Role,
    /// The email of the account whose namespace holds it; none if that is the caller's.
    pub owner: Option<String>,
    /// Whether it is the caller's own, or accepted. Anyone can share others with the caller.
    pub is_accepted: bool,
}

/// A collaborator of an app.
#[derive(Clone, Debug)]
pub struct Collaborator {
    /// The email.
    pub email: String,
    /// The role.
    pub permission: Role,
    /// Whether it is the caller.
    pub is_current_account: bool,
}

impl Collaborator {
    /// Converts a row to what this account sees.
    pub fn of(row: CollaboratorRow, account: &AccountId) -> Self {
        Self { is_current_account: row.account_id == *account, email: row.email, permission: row.permission }
    }
}

/// The conflict for a name that another app of the account has.
pub fn taken(name: &str) -> Conflict {
    Conflict::AppName(name.to_owned())
}

/// Locks the accounts of the app's collaborators, so that the meaning of its name to them cannot change otherwise until the transaction ends. The app must be
/// locked.
pub async fn lock_collaborators(tx: &mut WriteTx, app: &AppId) -> Result<()> {
    let accounts = collaborators::list(tx, app).await?;
    // An account that is deleted meanwhile has no names anymore.
    accounts::service::lock(tx, &mut accounts.iter().map(|row| &row.account_id).collect::<Vec<_>>()).await?;
    Ok(())
}

/// The caller's apps, by name. Of apps with the same name, the one that the bare name means is shown with it, the others as `ownerEmail:appName`. So is every
/// app that the caller has not accepted.
pub async fn list(tx: &mut ReadTx, caller: &SignedIn) -> Result<Vec<App>> {
    let mut deployments: BTreeMap<AppId, BTreeSet<String>> = BTreeMap::new();
    for (app, name) in repo::deployments_of(tx, caller.account()).await? {
        deployments.entry(app).or_default().insert(name);
    }
    let mut collaborators: BTreeMap<AppId, Vec<Collaborator>> = BTreeMap::new();
    for (app, email, permission) in repo::collaborators_of(tx, caller.account()).await? {
        let is_current_account = email == caller.email();
        collaborators.entry(app).or_default().push(Collaborator { email, permission, is_current_account });
    }
    let apps = named(repo::list(tx, caller.account()).await?).map(|(row, name)| App {
        name,
        created_time: row.created_time,
        deployments: deployments.remove(&row.id).unwrap_or_default().into_iter().collect(),
        collaborators: collaborators.remove(&row.id).unwrap_or_default(),
        id: row.id,
    });
    Ok(apps.collect())
}

/// The same apps by name alone, in one statement. Those that the caller has not accepted come last, so that others cannot push them before the caller's.
pub async fn names(tx: &mut ReadTx, caller: &SignedIn) -> Result<Vec<NamedApp>> {
    let app = |(row, name): (AppRow, String)| NamedApp {
        is_accepted: row.is_accepted(),
        owner: (!row.is_own).then_some(row.owner_email),
        role: row.permission,
        created_time: row.created_time,
        id: row.id,
        name,
    };
    let mut apps: Vec<NamedApp> = named(repo::list(tx, caller.account()).await?).map(app).collect();
    apps.sort_by_key(|app| !app.is_accepted);
    Ok(apps)
}

/// Sorts the apps, and names each as the caller can use it.
fn named(mut rows: Vec<AppRow>) -> impl Iterator<Item = (AppRow, String)> {
    // Sorted here, because each database sorts text in its own way.
    rows.sort_by(|left, right| left.order().cmp(&right.order()));
    // Names stored before they were normalized count as different names. But the caller's own app comes first, whatever its spelling.
    let (mut spelled, mut is_own_first) = (HashSet::new(), HashMap::new());
    rows.into_iter().map(move |row| {
        let is_bare = row.is_accepted()
            && *is_own_first.entry(nfc(&row.name).into_owned()).or_insert(row.is_own) == row.is_own
            && spelled.insert(row.name.clone());
        let name = if is_bare { row.name.clone() } else { row.long_name() };
        (row, name)
    })
}

/// One of the caller's apps, in the same form as in the list.
pub async fn find(tx: &mut ReadTx, caller: &SignedIn, app: &AppId) -> Result<App> {
    let missing = || Error::NotFound(Thing::App);
    let row = repo::find(tx, caller.account(), app).await?.ok_or_else(missing)?;
    // The bare name always means an own app, and never one that is not accepted.
    let is_clear = row.is_own || !row.is_accepted();
    let rows = if is_clear { vec![row] } else { repo::namesakes(tx, caller.account(), &row.name).await? };
    let (row, name) = named(rows).find(|(row, _)| row.id == *app).ok_or_else(missing)?;
    let mut deployments = repo::deployments(tx, app).await?;
    deployments.sort();
    let collaborators = collaborators::list(tx, app).await?.into_iter().map(|row| Collaborator::of(row, caller.account())).collect();
    Ok(App { id: row.id, name, created_time: row.created_time, deployments, collaborators })
}
