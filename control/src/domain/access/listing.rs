//! Apps as those who may reach them see them.

use std::collections::{BTreeMap, HashMap, HashSet};

use shared::ids::AppId;
use shared::text::nfc;
use shared::time::UnixMillis;

use super::{SignedIn, apps as repo, collaborators};
use crate::domain::access::Role;
use crate::domain::accounts;
use crate::domain::conflict::Conflict;
use crate::domain::error::{Error, Result, Thing};
use crate::infra::db::{ReadTx, WriteTx};

/// An app as one of its collaborators sees it.
#[derive(Clone, Debug)]
pub struct App {
    /// Its id.
    pub id: AppId,
    /// Its name as the caller may use it.
    pub name: String,
    /// When it was made.
    pub created_time: UnixMillis,
    /// Its deployments' names, in order.
    pub deployments: Vec<String>,
    /// Who works on it.
    pub collaborators: Vec<Collaborator>,
}

/// Somebody who works on an app.
#[derive(Clone, Debug)]
pub struct Collaborator {
    /// The e-mail address.
    pub email: String,
    /// The role.
    pub permission: Role,
    /// Whether it is the caller.
    pub is_current_account: bool,
}

/// What is said of a name that another app of the account has.
pub fn taken(name: &str) -> Conflict {
    Conflict::AppName(name.to_owned())
}

/// Locks the accounts of the app's collaborators, so that what its name means to them changes in no other way until the transaction ends. The app must
/// be locked.
pub async fn lock_collaborators(tx: &mut WriteTx, app: &AppId) -> Result<()> {
    let accounts = collaborators::list(tx, app).await?;
    // One that is deleted meanwhile has no names any more.
    accounts::service::lock(tx, &mut accounts.iter().map(|row| &row.account_id).collect::<Vec<_>>()).await?;
    Ok(())
}

/// The caller's apps, by name. Of several apps of one name, the one that the bare name means is shown by it, the others as `ownerEmail:appName`, and so
/// is every app that the caller has not accepted.
pub async fn list(tx: &mut ReadTx, caller: &SignedIn) -> Result<Vec<App>> {
    read(tx, caller, None).await
}

/// With what belongs to all of them, or to one alone. By what name each is shown depends on the names of the others.
async fn read(tx: &mut ReadTx, caller: &SignedIn, only: Option<&AppId>) -> Result<Vec<App>> {
    let mut deployments: BTreeMap<AppId, Vec<String>> = BTreeMap::new();
    for (app, name) in repo::deployments_of(tx, caller.account(), only).await? {
        deployments.entry(app).or_default().push(name);
    }
    for names in deployments.values_mut() {
        names.sort();
    }
    let mut collaborators: BTreeMap<AppId, Vec<Collaborator>> = BTreeMap::new();
    for (app, email, permission) in repo::collaborators_of(tx, caller.account(), only).await? {
        let is_current_account = email == caller.email();
        collaborators.entry(app).or_default().push(Collaborator { email, permission, is_current_account });
    }
    // Names that were stored before they were normalized are told apart, but what is the caller's own comes before all others of whatever spelling.
    let (mut spelled, mut is_own_first) = (HashSet::new(), HashMap::new());
    let mut rows = repo::list(tx, caller.account()).await?;
    // Sorted here, since databases sort text each in its own way.
    rows.sort_by(|left, right| left.order().cmp(&right.order()));
    let apps = rows.into_iter().map(|app| {
        let is_bare = app.is_accepted()
            && *is_own_first.entry(nfc(&app.name).into_owned()).or_insert(app.is_own) == app.is_own
            && spelled.insert(app.name.clone());
        let name = if is_bare { app.name } else { app.long_name() };
        App {
            name,
            created_time: app.created_time,
            deployments: deployments.remove(&app.id).unwrap_or_default(),
            collaborators: collaborators.remove(&app.id).unwrap_or_default(),
            id: app.id,
        }
    });
    Ok(apps.collect())
}

/// One of the caller's apps, in the form of the list.
pub async fn find(tx: &mut ReadTx, caller: &SignedIn, app: &AppId) -> Result<App> {
    read(tx, caller, Some(app)).await?.into_iter().find(|out| out.id == *app).ok_or(Error::NotFound(Thing::App))
}
