//! The rules of apps.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::json;
use shared::ids::{AccountId, AppId};
use shared::keys::Name;
use shared::text::nfc;
use shared::time::UnixMillis;

use crate::domain::access::grant::{ManageApp, OwnApp};
use crate::domain::access::{AppCreator, AppGrant, Role, SignedIn, apps as repo, collaborators, names};
use crate::domain::accounts;
use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::context::App;
use crate::domain::deployments::service::{self as deployments, KeyChoice};
use crate::domain::error::{AppError, AppResult, OrConflict};
use crate::domain::limits::quotas;
use crate::domain::login::Fresh;
use crate::http::api::apps::{AppOut, AppPatch, CollaboratorOut, NewApp};
use crate::http::extract::Faults;
use crate::infra::clock::Dice;
use crate::infra::db::{ReadTx, WriteTx};

/// The deployments a new app gets unless it says otherwise, in order.
const FIRST_DEPLOYMENTS: [&str; 2] = ["Production", "Staging"];

/// Makes an app with its first deployments, owned by the caller, in the transaction's last statements.
pub async fn create(tx: &mut WriteTx, app: &App, owner: &AppCreator, actor: &Actor, new: &NewApp) -> AppResult<AppOut> {
    let (dice, now) = (&app.dice, app.now());
    let mut faults = Faults::default();
    let name = faults.take("name", new.name.text().and_then(Name::try_from));
    let is_manual = faults.take("manuallyProvisionDeployments", new.manually_provision_deployments.flag());
    let (Some(name), Some(is_manual)) = (name, is_manual) else { return Err(faults.into_error()) };
    if !accounts::service::lock(tx, &mut [owner.account()]).await? {
        return Err(AppError::Unauthenticated);
    }
    app.settings.limits.quotas.check_apps(tx, owner.account()).await?;
    let id = AppId::v7(now, dice.bytes()?);
    // What others share by this name is no reason to refuse it: the bare name means the account's own app first.
    repo::insert(tx, &id, owner.account(), name.as_str(), now).await.or_conflict(|| taken(name.as_str()))?;
    names::keep(tx, owner.account(), name.as_str(), &id).await?;
    let first: &[&str] = if is_manual { &[] } else { &FIRST_DEPLOYMENTS };
    for deployment in first {
        quotas::admit_deployment(app, tx, &id, (owner.account(), owner.account()), false, actor).await?;
        deployments::insert(tx, &id, owner.account(), deployment, KeyChoice::Generated, dice, now).await?;
    }
    let event = Event::new(Action::CreateApp, &id).of_app(&id).with(json!({ "name": name.as_str(), "hasNoDeployments": is_manual }));
    audit::note(tx, actor, event, dice, now).await?;
    // Known without reading it, so that nobody waits for the trail's end meanwhile. The bare name means this app: it is the caller's own.
    let caller = CollaboratorOut { permission: Role::Owner.as_str().to_owned(), is_current_account: true };
    Ok(AppOut {
        name: name.as_str().to_owned(),
        created_time: now,
        deployments: first.iter().map(|name| (*name).to_owned()).collect(),
        collaborators: BTreeMap::from([(owner.email().to_owned(), caller)]),
        id,
    })
}

/// Refuses a name that the app's owner uses for another app, or has used: somebody else must not decide what it means to the owner.
async fn must_be_unused(tx: &mut WriteTx, owner: &AccountId, name: &str, app: &AppId) -> AppResult<()> {
    let reached = names::resolve(tx, owner, name).await?;
    if reached.is_some_and(|other| other.id != *app) || names::is_used(tx, owner, name, app).await? {
        return Err(AppError::Conflict(format!(
            "the app's owner uses the name {name} for another app: only the owner can give it to this one"
        )));
    }
    Ok(())
}

/// What is said of a name that another app of the account has.
pub fn taken(name: &str) -> String {
    format!("an app named {name} exists")
}

/// Gives the app another name, in the transaction's last statements. To its other collaborators what they call by that name already stays what it
/// means. Errors: 409 when the owner has another app of that name, or somebody else gives a name that the owner uses for another app.
pub async fn rename(tx: &mut WriteTx, app: &App, grant: &AppGrant<ManageApp>, actor: &Actor, patch: &AppPatch) -> AppResult<()> {
    let mut faults = Faults::default();
    let Some(name) = faults.take("name", patch.name.text().and_then(Name::try_from)) else { return Err(faults.into_error()) };
    let row = grant.lock(tx).await?;
    if name.as_str() != row.name {
        lock_collaborators(tx, &row.id).await?;
        if *grant.account() != row.namespace_id {
            must_be_unused(tx, &row.namespace_id, name.as_str(), &row.id).await?;
        }
        names::release(tx, &row.id, &row.name, grant.account(), None).await?;
        repo::rename(tx, &row.id, name.as_str()).await.or_conflict(|| taken(name.as_str()))?;
        names::settle(tx, &row.id, &row.namespace_id, name.as_str()).await?;
        quotas::admit_rename(app, tx, grant.account(), actor).await?;
    }
    let details = json!({ "name": name.as_str(), "before": row.name });
    audit::note(tx, actor, Event::new(Action::RenameApp, &row.id).of_app(&row.id).with(details), &app.dice, app.now()).await
}

/// Locks the accounts of the app's collaborators, so that what its name means to them changes in no other way until the transaction ends. The app must
/// be locked.
pub async fn lock_collaborators(tx: &mut WriteTx, app: &AppId) -> AppResult<()> {
    let accounts = collaborators::list(tx, app).await?;
    // One that is deleted meanwhile has no names any more.
    accounts::service::lock(tx, &mut accounts.iter().map(|row| &row.account_id).collect::<Vec<_>>()).await?;
    Ok(())
}

/// Deletes the app with its deployments and releases, in the transaction's last statements. What has no end of rows, the clients that reported and the
/// counts, goes later, in steps ([`crate::domain::counting::gone`]); blobs stay for whoever clears unused ones away.
pub async fn delete(
    tx: &mut WriteTx,
    grant: &AppGrant<OwnApp>,
    _fresh: Fresh,
    actor: &Actor,
    dice: &Dice,
    now: UnixMillis,
) -> AppResult<()> {
    let app = grant.lock(tx).await?;
    lock_collaborators(tx, &app.id).await?;
    names::release(tx, &app.id, &app.name, grant.account(), None).await?;
    let keys = deployments::lock_all(tx, &app.id).await?;
    crate::domain::deployments::repo::let_go_all(tx, &app.id, now).await?;
    repo::delete(tx, &app.id).await?;
    deployments::bury(tx, keys, now).await?;
    audit::note(tx, actor, Event::new(Action::DeleteApp, &app.id).of_app(&app.id).with(json!({ "name": app.name })), dice, now).await
}

/// The caller's apps, by name. Of several apps of one name, the one that the bare name means is shown by it, the others as `ownerEmail:appName`, and so
/// is every app that the caller has not accepted.
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
