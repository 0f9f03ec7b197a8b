//! The rules of apps.

use std::collections::{BTreeMap, HashSet};

use serde_json::json;
use shared::ids::AppId;
use shared::keys::Name;
use shared::time::UnixMillis;

use super::http::{AppOut, CollaboratorOut, NewApp};
use super::repo;
use crate::audit::{self, Action, Actor, Event};
use crate::auth::{AppCreator, Role, SignedIn};
use crate::clock::Dice;
use crate::db::{ReadTx, WriteTx};
use crate::deployments::service::{self as deployments, KeyChoice};
use crate::error::{AppError, AppResult, OrConflict};
use crate::web::Faults;

/// The deployments a new app gets unless it says otherwise, in order.
const FIRST_DEPLOYMENTS: [&str; 2] = ["Production", "Staging"];

/// Makes an app with its first deployments, owned by the caller, in the transaction's last statements.
pub async fn create(tx: &mut WriteTx, owner: &AppCreator, actor: &Actor, new: &NewApp, dice: &Dice, now: UnixMillis) -> AppResult<AppOut> {
    let mut faults = Faults::default();
    let name = faults.take("name", new.name.text().and_then(Name::try_from));
    let is_manual = faults.take("manuallyProvisionDeployments", new.manually_provision_deployments.flag());
    let (Some(name), Some(is_manual)) = (name, is_manual) else { return Err(faults.into_error()) };
    let taken = || format!("an app named {} exists", name.as_str());
    // A shared app of that name, too: otherwise the new one would take the name away from it.
    if repo::resolve(tx, owner.account(), name.as_str()).await?.is_some() {
        return Err(AppError::Conflict(taken()));
    }
    let id = AppId::v7(now, dice.bytes()?);
    repo::insert(tx, &id, owner.account(), name.as_str(), now).await.or_conflict(taken)?;
    let first: &[&str] = if is_manual { &[] } else { &FIRST_DEPLOYMENTS };
    for deployment in first {
        deployments::insert(tx, &id, owner.account(), deployment, KeyChoice::Generated, dice, now).await?;
    }
    let event = Event::new(Action::CreateApp, &id).of_app(&id).with(json!({ "name": name.as_str(), "hasNoDeployments": is_manual }));
    audit::note(tx, actor, event, dice, now).await?;
    // Known without reading it, so that nobody waits for the trail's end meanwhile. The bare name means this app: no other has it.
    let caller = CollaboratorOut { permission: Role::Owner.as_str().to_owned(), is_current_account: true };
    Ok(AppOut {
        name: name.as_str().to_owned(),
        created_time: now,
        deployments: first.iter().map(|name| (*name).to_owned()).collect(),
        collaborators: BTreeMap::from([(owner.email().to_owned(), caller)]),
        id,
    })
}

/// The caller's apps, by name. Of several apps of one name, the one that the bare name means is shown by it, the others as `ownerEmail:appName`.
pub async fn list(tx: &mut ReadTx, caller: &SignedIn) -> AppResult<Vec<AppOut>> {
    let mut deployments: BTreeMap<AppId, Vec<String>> = BTreeMap::new();
    for (app, name) in repo::deployments_of(tx, caller.account()).await? {
        deployments.entry(app).or_default().push(name);
    }
    for names in deployments.values_mut() {
        names.sort();
    }
    let mut collaborators: BTreeMap<AppId, BTreeMap<String, CollaboratorOut>> = BTreeMap::new();
    for (app, email, permission) in repo::collaborators_of(tx, caller.account()).await? {
        let is_current_account = email == caller.email();
        collaborators.entry(app).or_default().insert(email, CollaboratorOut { permission, is_current_account });
    }
    let mut bare = HashSet::new();
    let mut rows = repo::list(tx, caller.account()).await?;
    // Sorted here, since databases sort text each in its own way. Stable: of one name, the longest-held access stays first.
    rows.sort_by(|left, right| left.name.cmp(&right.name));
    let apps = rows.into_iter().map(|app| {
        let name = if bare.insert(app.name.clone()) { app.name } else { format!("{}:{}", app.owner_email, app.name) };
        AppOut {
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
pub async fn find(tx: &mut ReadTx, caller: &SignedIn, app: &AppId) -> AppResult<AppOut> {
    list(tx, caller).await?.into_iter().find(|out| out.id == *app).ok_or(AppError::NotFound("app"))
}
