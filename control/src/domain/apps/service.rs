//! The rules of apps.

use serde_json::json;
use shared::ids::{AccountId, AppId};
use shared::keys::Name;

use crate::domain::access::grant::{ManageApp, OwnApp};
use crate::domain::access::listing::{App, Collaborator, find, lock_collaborators, taken};
use crate::domain::access::{AppCreator, AppGrant, Role, apps as repo, names};
use crate::domain::accounts;
use crate::domain::audit::{Action, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::deployments::service::{self as deployments, KeyChoice};
use crate::domain::error::{Error, OrConflict, Result};
use crate::domain::limits::quotas;
use crate::domain::login::fresh;
use crate::domain::releases::blob;
use crate::domain::second_factors::Proof;
use crate::infra::db::WriteTx;

/// The deployments of a new app by default, in order.
const FIRST_DEPLOYMENTS: [&str; 2] = ["Production", "Staging"];

/// An app to create.
#[derive(Clone, Debug)]
pub struct NewApp {
    /// Its name.
    pub name: Name,
    /// Whether to create it without deployments.
    pub has_no_deployments: bool,
}

/// Creates an app with its first deployments, owned by the caller. Errors: 409 when the caller has an app with that name, 429.
pub async fn create(app: &Context, owner: &AppCreator, new: NewApp) -> Result<App> {
    let mut change = owner.begin(app).await?;
    let (account, name, now) = (owner.account(), new.name.as_str(), change.now());
    if !accounts::service::lock(&mut change, &mut [account]).await? {
        return Err(Error::Unauthenticated);
    }
    app.settings.limits.quotas.check_apps(&mut change, account).await?;
    let id = AppId::v7(now, app.entropy.bytes()?);
    // An app shared under this name is no reason to refuse it: the bare name means the account's own app first.
    repo::insert(&mut change, &id, account, name, now).await.or_conflict(|| taken(name))?;
    names::keep(&mut change, account, name, &id).await?;
    let first: &[&str] = if new.has_no_deployments { &[] } else { &FIRST_DEPLOYMENTS };
    for deployment in first {
        quotas::acquire_deployment(app, &mut change, &id, (account, account), false, &owner.actor()).await?;
        deployments::insert(&mut change, &id, account, deployment, KeyChoice::Generated, &app.entropy, now).await?;
    }
    let details = json!({ "name": name, "hasNoDeployments": new.has_no_deployments });
    change.commit(Event::new(Action::CreateApp, &id).of_app(&id).with(details)).await?;
    // No need to read it back. The bare name means this app, because it is the caller's own.
    Ok(App {
        id,
        name: new.name.into(),
        created_time: now,
        deployments: first.iter().map(|name| (*name).to_owned()).collect(),
        collaborators: vec![Collaborator { email: owner.email().to_owned(), permission: Role::Owner, is_current_account: true }],
    })
}

/// Refuses a name that the app's owner uses, or has used, for another app: nobody else may change what that name means to the owner.
async fn must_be_unused(tx: &mut WriteTx, owner: &AccountId, name: &str, app: &AppId) -> Result<()> {
    let reached = names::resolve(tx, owner, name).await?;
    if reached.is_some_and(|other| other.id != *app) || names::is_used(tx, owner, name, app).await? {
        return Err(Error::Conflict(Conflict::NameOfOthers(name.to_owned())));
    }
    Ok(())
}

/// Renames the app. For other collaborators, a name that they already use keeps its meaning. Errors: 409 when the owner has another app with that name, or
/// when someone else chooses a name that the owner uses for another app.
pub async fn rename(app: &Context, grant: &AppGrant<ManageApp>, name: &Name) -> Result<App> {
    let mut change = grant.begin(app).await?;
    let (tx, name) = (&mut change, name.as_str());
    let row = grant.lock(tx).await?;
    if name != row.name {
        lock_collaborators(tx, &row.id).await?;
        if *grant.account() != row.namespace_id {
            must_be_unused(tx, &row.namespace_id, name, &row.id).await?;
        }
        names::release(tx, &row.id, &row.name, grant.account(), None).await?;
        repo::rename(tx, &row.id, name).await.or_conflict(|| taken(name))?;
        names::settle(tx, &row.id, &row.namespace_id, name).await?;
        quotas::acquire_rename(app, tx, grant.account(), &grant.caller().actor()).await?;
    }
    let renamed = find(tx, grant.caller(), &row.id).await?;
    let details = json!({ "name": name, "before": row.name });
    change.commit(Event::new(Action::RenameApp, &row.id).of_app(&row.id).with(details)).await?;
    Ok(renamed)
}

/// Deletes the app with its deployments and releases. Device rows and counts are unbounded, so they are deleted later in steps
/// ([`crate::domain::counting::deletions`]). Blobs stay until unused ones are cleaned up. Errors: those of [`fresh::require`].
pub async fn delete(app: &Context, grant: &AppGrant<OwnApp>, proof: Result<Option<Proof>>) -> Result<()> {
    fresh::require(app, grant.caller(), proof).await?;
    let mut change = grant.begin(app).await?;
    let (tx, now) = (&mut change, app.now());
    let row = grant.lock(tx).await?;
    lock_collaborators(tx, &row.id).await?;
    names::release(tx, &row.id, &row.name, grant.account(), None).await?;
    let keys = deployments::lock_all(tx, &row.id).await?;
    blob::touch_all(tx, &row.id, now).await?;
    repo::delete(tx, &row.id).await?;
    deployments::retire_keys(tx, keys, now).await?;
    change.commit(Event::new(Action::DeleteApp, &row.id).of_app(&row.id).with(json!({ "name": row.name }))).await
}
