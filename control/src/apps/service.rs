//! The rules of apps.

use std::collections::{BTreeMap, HashSet};

use serde_json::json;
use shared::ids::{AccountId, AppId};
use shared::keys::Name;
use shared::time::UnixMillis;

use super::http::{AppOut, AppPatch, CollaboratorOut, NewApp};
use super::repo::{self, LockedRow};
use crate::accounts;
use crate::app::App;
use crate::audit::{self, Action, Actor, Event};
use crate::auth::grant::{ManageApp, OwnApp};
use crate::auth::{AppCreator, AppGrant, Fresh, Role, SignedIn};
use crate::clock::Dice;
use crate::collaborators;
use crate::db::{ReadTx, WriteTx};
use crate::deployments::service::{self as deployments, KeyChoice};
use crate::error::{AppError, AppResult, OrConflict};
use crate::mail::{self, Kind, Mail, Transfer};
use crate::quotas::Quotas;
use crate::web::{ClientAddress, Faults};

/// The deployments a new app gets unless it says otherwise, in order.
const FIRST_DEPLOYMENTS: [&str; 2] = ["Production", "Staging"];

/// Makes an app with its first deployments, owned by the caller, in the transaction's last statements.
pub async fn create(
    tx: &mut WriteTx,
    owner: &AppCreator,
    actor: &Actor,
    new: &NewApp,
    quotas: Quotas,
    dice: &Dice,
    now: UnixMillis,
) -> AppResult<AppOut> {
    let mut faults = Faults::default();
    let name = faults.take("name", new.name.text().and_then(Name::try_from));
    let is_manual = faults.take("manuallyProvisionDeployments", new.manually_provision_deployments.flag());
    let (Some(name), Some(is_manual)) = (name, is_manual) else { return Err(faults.into_error()) };
    if !accounts::service::lock(tx, &mut [owner.account()]).await? {
        return Err(AppError::Unauthenticated);
    }
    // A shared app of that name, too: otherwise the new one would take the name away from it.
    must_be_free(tx, owner.account(), name.as_str()).await?;
    quotas.check_apps(tx, owner.account()).await?;
    let id = AppId::v7(now, dice.bytes()?);
    repo::insert(tx, &id, owner.account(), name.as_str(), now).await.or_conflict(|| taken(name.as_str()))?;
    let first: &[&str] = if is_manual { &[] } else { &FIRST_DEPLOYMENTS };
    for deployment in first {
        quotas.admit_deployment(tx, &id, owner.account(), now).await?;
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

/// Refuses a name by which the account reaches an app. The account must be locked.
async fn must_be_free(tx: &mut WriteTx, account: &AccountId, name: &str) -> AppResult<()> {
    match repo::resolve(tx, account, name).await? {
        Some(_) => Err(AppError::Conflict(taken(name))),
        None => Ok(()),
    }
}

fn taken(name: &str) -> String {
    format!("an app named {name} exists")
}

/// Gives the app another name, in the transaction's last statements. To its other collaborators what they call by that name already stays what it
/// means. Errors: 409 when the caller or the owner reaches another app by it.
pub async fn rename(
    tx: &mut WriteTx,
    grant: &AppGrant<ManageApp>,
    actor: &Actor,
    patch: &AppPatch,
    dice: &Dice,
    now: UnixMillis,
) -> AppResult<()> {
    let mut faults = Faults::default();
    let Some(name) = faults.take("name", patch.name.text().and_then(Name::try_from)) else { return Err(faults.into_error()) };
    let app = grant.lock(tx).await?;
    // Else the app would be the one that its collaborators reached last, and lose its name to them.
    if name.as_str() != app.name {
        let accounts = collaborators::repo::list(tx, &app.id).await?;
        // One that is deleted meanwhile has no names any more.
        accounts::service::lock(tx, &mut accounts.iter().map(|row| &row.account_id).collect::<Vec<_>>()).await?;
        for account in [grant.account(), &app.owner_id] {
            must_be_free(tx, account, name.as_str()).await?;
        }
        repo::rename(tx, &app.id, name.as_str()).await.or_conflict(|| taken(name.as_str()))?;
        collaborators::repo::renew_access(tx, &app.id, now).await?;
    }
    let details = json!({ "name": name.as_str(), "before": app.name });
    audit::note(tx, actor, Event::new(Action::RenameApp, &app.id).of_app(&app.id).with(details), dice, now).await
}

/// Gives the app, and the keys of all deployments that it ever had, to another account, and tells both. The owner so far becomes an Admin. Errors: 404
/// when no verified account has the address, 409 when it owns the app or reaches another one by its name, 429.
pub async fn transfer(
    app: &App,
    grant: &AppGrant<OwnApp>,
    _fresh: Fresh,
    caller: &SignedIn,
    from: ClientAddress,
    email: &str,
) -> AppResult<AppOut> {
    collaborators::service::admit(app, grant.account(), Some(from)).await?;
    let (mut tx, now) = (grant.begin(app).await?, app.now());
    let LockedRow { id, name, owner_id } = grant.lock(&mut tx).await?;
    let receiver = accounts::repo::find_verified(&mut tx, email).await?.ok_or(AppError::NotFound("account"))?;
    if receiver == owner_id {
        return Err(AppError::Conflict("the account owns the app already".to_owned()));
    }
    if !accounts::service::lock(&mut tx, &mut [&owner_id, &receiver]).await? {
        return Err(AppError::NotFound("account"));
    }
    let called_so = repo::resolve(&mut tx, &receiver, &name).await?;
    if called_so.is_some_and(|other| other.id != id) {
        return Err(AppError::Conflict(format!("the account reaches another app by the name {name}")));
    }
    app.config.limits.quotas.check_apps(&mut tx, &receiver).await?;
    collaborators::repo::set_role(&mut tx, &id, &owner_id, Role::Admin).await?;
    if collaborators::repo::set_role(&mut tx, &id, &receiver, Role::Owner).await? == 0 {
        collaborators::repo::insert(&mut tx, &id, &receiver, Role::Owner, now).await?;
    }
    deployments::give_keys(&mut tx, &id, &receiver).await?;
    repo::set_owner(&mut tx, &id, &receiver).await.or_conflict(|| taken(&name))?;
    let notice = Transfer { time: now, address: from.0.to_string(), app: name, from: caller.email().to_owned(), to: email.to_owned() };
    let given = (&owner_id, caller.email(), Kind::AppGivenAway(notice.clone()));
    let mut notices = [given, (&receiver, email, Kind::AppReceived(notice))];
    // In one order, so that two transfers in opposite directions do not wait in a circle for what was counted of either account.
    notices.sort_by_key(|(account, ..)| account.as_str().to_owned());
    for (account, to, kind) in notices {
        mail::notices::put(&mut tx, app, account, &Mail { to: to.to_owned(), kind }).await?;
    }
    let out = find(&mut tx, caller, &id).await?;
    let event = Event::new(Action::TransferApp, &id).of_app(&id).with(json!({ "from": owner_id, "to": receiver }));
    audit::note(&mut tx, &Actor::caller(caller, from), event, &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(out)
}

/// Deletes the app with its deployments and releases, in the transaction's last statements. What has no end of rows, the clients that reported and the
/// counts, goes later, in steps ([`crate::reports::gone`]); blobs stay for whoever clears unused ones away.
pub async fn delete(
    tx: &mut WriteTx,
    grant: &AppGrant<OwnApp>,
    _fresh: Fresh,
    actor: &Actor,
    dice: &Dice,
    now: UnixMillis,
) -> AppResult<()> {
    let app = grant.lock(tx).await?;
    let keys = deployments::lock_all(tx, &app.id).await?;
    crate::deployments::repo::let_go_all(tx, &app.id, now).await?;
    repo::delete(tx, &app.id).await?;
    deployments::bury(tx, keys, now).await?;
    audit::note(tx, actor, Event::new(Action::DeleteApp, &app.id).of_app(&app.id).with(json!({ "name": app.name })), dice, now).await
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
