//! The rules of collaborators.

use std::collections::HashSet;

use serde_json::json;
use shared::ids::AccountId;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use super::{acceptance, notice};
use crate::domain::access::apps::LockedRow;
use crate::domain::access::awaited::{self, AwaitedRow};
use crate::domain::access::collaborators::{self as repo, CollaboratorRow};
use crate::domain::access::grant::{LeaveApp, ManageCollaborators, ReadApp};
use crate::domain::access::listing::Collaborator;
use crate::domain::access::{AppGrant, Role, SignedIn, names};
use crate::domain::audit::{Action, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Error, OrConflict, RateLimit, Result, Thing};
use crate::domain::limits::{self, Limit, Subject};
use crate::domain::login::fresh;
use crate::domain::mail::{Kind, Mail, SharedApp};
use crate::domain::second_factors::Proof;
use crate::domain::{accounts, email as addresses, traces};
use crate::infra::db::ReadTx;

/// A role to give. Each part is validated separately: a proof that the role requires is verified before their errors are reported.
pub struct RoleInput {
    /// The role.
    pub role: Result<Role, Invalid>,
    /// A second-factor proof; required to give the role Admin in a session that is not fresh.
    pub proof: Result<Option<Proof>, Invalid>,
}

impl RoleInput {
    /// The role, if the caller may give it. The Owner role cannot be given: there is one owner, who changes only by a transfer. Admin requires a fresh proof.
    /// Errors: 403 with `reauth_required`, 400, 409, 429.
    async fn validate(self, app: &Context, caller: &SignedIn) -> Result<Role> {
        match self.role {
            Ok(Role::Owner) => return Err(owner_stays_owner()),
            Ok(Role::Admin) => fresh::prove(app, caller, Proof::parsed(&self.proof)).await?,
            Ok(Role::Developer | Role::Viewer) | Err(_) => {}
        }
        let mut errors = FieldErrors::default();
        let role = errors.take("permission", self.role);
        errors.take("stepUp", self.proof);
        role.filter(|_| errors.is_empty()).ok_or_else(|| errors.into())
    }
}

fn owner_stays_owner() -> Error {
    Error::Conflict(Conflict::OwnersRole)
}

/// Counts an attempt to add a collaborator or to transfer an app. Failed attempts count too, because each reveals whether an address has an account. Errors:
/// 429.
pub async fn acquire(app: &Context, caller: &SignedIn) -> Result<()> {
    let rate = app.settings.limits.collaborators;
    let acquired = limits::acquire_alone(app, &Subject::account(caller.account()), Limit::Collaborators, rate).await?;
    acquired.map_err(|seconds| too_many(app, caller, seconds))
}

/// Counts the collaborators of an imported app together, or none of them. Errors: 429.
pub async fn acquire_many(app: &Context, caller: &SignedIn, count: usize) -> Result<()> {
    let rate = app.settings.limits.collaborators;
    let acquired = limits::acquire_many_alone(app, &Subject::account(caller.account()), Limit::Collaborators, rate, count).await?;
    acquired.map_err(|seconds| too_many(app, caller, seconds))
}

fn too_many(app: &Context, caller: &SignedIn, seconds: u64) -> Error {
    traces::refused(app, caller.from(), Limit::Collaborators.as_str(), Some(caller.account()));
    Error::TooMany { limit: RateLimit::Collaborators, retry_after: seconds }
}

/// The app's collaborators.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ReadApp>) -> Result<Vec<Collaborator>> {
    Ok(repo::list(tx, grant.app()).await?.into_iter().map(|row| Collaborator::of(row, grant.account())).collect())
}

/// Those who have no account yet, and get access once they confirm their address. Nobody, if the caller may not manage collaborators.
pub async fn awaited(tx: &mut ReadTx, grant: &AppGrant<ReadApp>, now: UnixMillis) -> Result<Vec<AwaitedRow>> {
    // Nobody else needs the addresses of people who are not here.
    if !grant.also::<ManageCollaborators>() {
        return Ok(Vec::new());
    }
    Ok(awaited::rows(tx, grant.app(), now).await?)
}

/// The emails of those who have not accepted the app. An owner has nothing to accept, except for a transfer.
pub async fn waiting(tx: &mut ReadTx, grant: &AppGrant<ReadApp>) -> Result<HashSet<String>> {
    let rows = repo::list(tx, grant.app()).await?;
    // The sender of a transfer, in whose namespace the app still is, has nothing to accept either.
    let is_waiting =
        |row: &CollaboratorRow| row.account_id != *grant.namespace() && (row.permission == Role::Owner || row.accepted_time.is_none());
    Ok(rows.into_iter().filter(is_waiting).map(|row| row.email).collect())
}

/// Gives an account a role, and notifies it. Returns the role. Errors: those of [`RoleInput`]; 404 when no verified account has the address, 409 when it
/// already has a role, 429.
pub async fn add(app: &Context, grant: &AppGrant<ManageCollaborators>, given: RoleInput, email: &str) -> Result<Role> {
    let role = given.validate(app, grant.caller()).await?;
    acquire(app, grant.caller()).await?;
    let mut tx = grant.begin(app).await?;
    let now = tx.now();
    let row = grant.lock(&mut tx).await?;
    let account = accounts::repo::find_verified(&mut tx, email).await?.ok_or(Error::NotFound(Thing::Account))?;
    if !accounts::service::lock(&mut tx, &mut [&account]).await? {
        return Err(Error::NotFound(Thing::Account));
    }
    app.settings.limits.quotas.check_collaborators(&mut tx, &row.id).await?;
    let inserted = repo::insert(&mut tx, &row.id, &account, role, now).await;
    inserted.or_conflict(|| Conflict::IsCollaborator)?;
    let owner = accounts::repo::find(&mut tx, &row.namespace_id).await?.ok_or(Error::NotFound(Thing::App))?;
    let shared = SharedApp {
        time: now,
        app: format!("{}:{}", owner.email, row.name),
        app_id: row.id.clone(),
        from: grant.email().to_owned(),
        permission: role.as_str().to_owned(),
    };
    notice::tell(&mut tx, app, &account, &Mail { to: email.to_owned(), kind: Kind::AppShared(shared) }).await?;
    tx.commit(Event::new(Action::AddCollaborator, &account).of_app(&row.id).with(json!({ "permission": role.as_str() }))).await?;
    Ok(role)
}

/// Changes a role, and returns it with the collaborator's email as stored. Errors: those of [`RoleInput`]; 404, 409 for the owner's role.
pub async fn update(app: &Context, grant: &AppGrant<ManageCollaborators>, given: RoleInput, email: &str) -> Result<(String, Role)> {
    let role = given.validate(app, grant.caller()).await?;
    let mut tx = grant.begin(app).await?;
    let row = grant.lock(&mut tx).await?;
    let found = repo::find(&mut tx, &row.id, email).await?.ok_or(Error::NotFound(Thing::Collaborator))?;
    if found.permission == Role::Owner || repo::change_role(&mut tx, &row.id, &found.account_id, role).await? == 0 {
        return Err(owner_stays_owner());
    }
    let details = json!({ "permission": role.as_str(), "before": found.permission.as_str() });
    tx.commit(Event::new(Action::UpdateCollaborator, &found.account_id).of_app(&row.id).with(details)).await?;
    Ok((found.email, role))
}

/// Removes an account's access, or that of an address which is waited for; every collaborator may remove their own. Until a transfer is accepted, its receiver may decline it and its sender may take it
/// back, which makes the sender the owner again. Errors: 403, 404, 409 for the owner, and for the sender of a transfer that is not accepted yet.
pub async fn remove(app: &Context, grant: &AppGrant<LeaveApp>, email: &str) -> Result<()> {
    let mut change = grant.begin(app).await?;
    let tx = &mut change;
    let row = grant.lock(tx).await?;
    let is_oneself = email == addresses::for_lookup(grant.email());
    // The sender of an unaccepted transfer may take it back, whatever role the receiver has given them.
    let is_sender = row.namespace_id == *grant.account();
    if !is_oneself && !is_sender {
        grant.require::<ManageCollaborators>(tx).await?;
    }
    let Some(found) = repo::find(tx, &row.id, email).await? else {
        // The sender of a transfer may have got here without that right.
        match grant.require::<ManageCollaborators>(tx).await {
            Err(Error::Refused(_)) => return Err(Error::NotFound(Thing::Collaborator)),
            required => required?,
        }
        let now = tx.now();
        let role = awaited::remove(tx, &row.id, email, now).await?.ok_or(Error::NotFound(Thing::Collaborator))?;
        let event = Event::about_email(Action::ForgetCollaborator, email).of_app(&row.id);
        return change.commit(event.with(json!({ "permission": role.as_str() }))).await;
    };
    let details = if let Some(sender) = check_removable(&row, &found, is_oneself || is_sender)? {
        accounts::service::lock(tx, &mut [&found.account_id, sender]).await?;
        let returned = repo::find_shared(tx, &found.account_id, &row.id).await?.ok_or(Error::NotFound(Thing::App))?;
        acceptance::give_back(tx, std::slice::from_ref(&returned), app.now()).await?;
        repo::delete(tx, &row.id, &found.account_id).await?;
        if is_oneself {
            acceptance::tell_sender(tx, app, &returned, grant.email()).await?;
        }
        json!({ "permission": found.permission.as_str(), "owner": sender })
    } else {
        if !is_oneself {
            accounts::service::lock(tx, &mut [&found.account_id]).await?;
            names::release(tx, &row.id, &row.name, grant.account(), Some(&found.account_id)).await?;
        }
        repo::delete(tx, &row.id, &found.account_id).await?;
        json!({ "permission": found.permission.as_str() })
    };
    change.commit(Event::new(Action::RemoveCollaborator, &found.account_id).of_app(&row.id).with(details)).await
}

/// Whether a collaborator may lose their access. Returns the sender if the collaborator is the receiver of an unaccepted transfer, which the receiver
/// declines or the sender takes back.
fn check_removable<'r>(app: &'r LockedRow, found: &CollaboratorRow, may_decline: bool) -> Result<Option<&'r AccountId>> {
    let (is_owner, has_name) = (found.permission == Role::Owner, found.account_id == app.namespace_id);
    if has_name && !is_owner {
        return Err(Error::Conflict(Conflict::SenderStays));
    }
    if is_owner && (has_name || !may_decline) {
        return Err(Error::Conflict(Conflict::OwnerStays));
    }
    Ok(is_owner.then_some(&app.namespace_id))
}
