//! The rules of collaborators.

use std::collections::BTreeMap;

use serde_json::json;
use shared::Invalid;
use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::{acceptance, notice};
use crate::domain::access::apps::LockedRow;
use crate::domain::access::collaborators::{self as repo, CollaboratorRow};
use crate::domain::access::grant::{LeaveApp, ManageCollaborators, ReadApp};
use crate::domain::access::{AppGrant, Role, SignedIn, names};
use crate::domain::audit::{self, Action, Actor, ClientAddress, Event};
use crate::domain::context::App;
use crate::domain::error::{AppError, AppResult, OrConflict};
use crate::domain::limits::{self, Limit, Subject};
use crate::domain::login::fresh;
use crate::domain::mail::{Kind, Mail, SharedApp};
use crate::domain::second_factors::Proof;
use crate::domain::{accounts, email as addresses, traces};
use crate::http::api::apps::CollaboratorOut;
use crate::http::api::collaborators::{CollaboratorPatch, NamedCollaborator, NewCollaborator};
use crate::http::extract::{Faults, Member};
use crate::infra::clock::Dice;
use crate::infra::db::{ReadTx, WriteTx};

/// A role that can be given: there is one owner, and another only by a transfer.
fn assignable(name: &str) -> Result<Role, Invalid> {
    let role: Option<Role> = name.parse().ok();
    role.filter(|role| *role != Role::Owner).ok_or(Invalid::from("must be Admin, Developer or Viewer"))
}

/// Up to which role a caller may give others one. Only [`prove`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct MayGive {
    is_admin: bool,
}

impl MayGive {
    /// What is wrong with the role, or what it is. Errors: 400; 403 for a role that is more than was asked for.
    fn judge(self, role: Result<Role, Invalid>, step_up: &Member) -> AppResult<Role> {
        let mut faults = Faults::default();
        let (role, proof) = (faults.take("permission", role), faults.take("stepUp", Proof::of(step_up)));
        let (Some(role), Some(_)) = (role, proof) else { return Err(faults.into_error()) };
        if role == Role::Admin && !self.is_admin {
            return Err(AppError::internal("the role Admin is given without the proof for it"));
        }
        Ok(role)
    }
}

/// The right to give this role: Admin needs a fresh proof. A role that is none needs no proof to be told so. Errors: 403 with `reauth_required`, 429.
pub async fn prove(app: &App, caller: &SignedIn, from: ClientAddress, permission: &Member, step_up: &Member) -> AppResult<MayGive> {
    let is_admin = permission.optional_text().is_ok_and(|name| name == Some(Role::Admin.as_str()));
    if is_admin {
        fresh::prove(app, caller, from, step_up).await?;
    }
    Ok(MayGive { is_admin })
}

/// Counts that an account reaches out to another one: adds it, or gives it an app. Attempts count, too, since each tells whether an address has an
/// account. Errors: 429.
pub async fn admit(app: &App, account: &AccountId, from: Option<ClientAddress>) -> AppResult<()> {
    let rate = app.settings.limits.collaborators;
    let admitted = limits::admit_alone(app, &Subject::account(account), Limit::Collaborators, rate).await?;
    admitted.map_err(|seconds| {
        if let Some(from) = from {
            traces::refused(app, from, Limit::Collaborators.as_str(), Some(account));
        }
        let text = "this account has added too many collaborators or transferred too many apps in the last hour";
        AppError::TooMany { text, retry_after: seconds, is_in_body: false }
    })
}

/// The app's collaborators by address.
pub async fn list(tx: &mut ReadTx, grant: &AppGrant<ReadApp>) -> AppResult<BTreeMap<String, CollaboratorOut>> {
    let rows = repo::list(tx, grant.app()).await?;
    let out = |row: CollaboratorRow| {
        let is_current_account = row.account_id == *grant.account();
        (row.email, CollaboratorOut { permission: row.permission, is_current_account })
    };
    Ok(rows.into_iter().map(out).collect())
}

/// Gives an account a role, Developer unless told otherwise, and tells it. Errors: 404 when no verified account has the address, 409 when it has a role, 429.
pub async fn add(
    app: &App,
    grant: &AppGrant<ManageCollaborators>,
    may_give: MayGive,
    actor: &Actor,
    email: &str,
    new: &NewCollaborator,
) -> AppResult<NamedCollaborator> {
    let role = new.permission.optional_text().and_then(|name| name.map_or(Ok(Role::Developer), assignable));
    let role = may_give.judge(role, &new.step_up)?;
    admit(app, grant.account(), actor.address().map(ClientAddress)).await?;
    let (mut tx, now) = (grant.begin(app).await?, app.now());
    let row = grant.lock(&mut tx).await?;
    let account = accounts::repo::find_verified(&mut tx, email).await?.ok_or(AppError::NotFound("account"))?;
    if !accounts::service::lock(&mut tx, &mut [&account]).await? {
        return Err(AppError::NotFound("account"));
    }
    app.settings.limits.quotas.check_collaborators(&mut tx, &row.id).await?;
    let inserted = repo::insert(&mut tx, &row.id, &account, role, now).await;
    inserted.or_conflict(|| "the account is a collaborator of the app already".to_owned())?;
    let owner = accounts::repo::find(&mut tx, &row.namespace_id).await?.ok_or(AppError::NotFound("app"))?;
    let shared = SharedApp {
        time: now,
        app: format!("{}:{}", owner.email, row.name),
        app_id: row.id.clone(),
        from: grant.email().to_owned(),
        permission: role.as_str().to_owned(),
    };
    notice::tell(&mut tx, app, &account, &Mail { to: email.to_owned(), kind: Kind::AppShared(shared) }).await?;
    let event = Event::new(Action::AddCollaborator, &account).of_app(&row.id).with(json!({ "permission": role.as_str() }));
    audit::note(&mut tx, actor, event, &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(NamedCollaborator { email: email.to_owned(), permission: role.as_str().to_owned() })
}

/// Changes a role, in the transaction's last statements. Errors: 404, 409 for the owner's.
pub async fn update(
    tx: &mut WriteTx,
    grant: &AppGrant<ManageCollaborators>,
    may_give: MayGive,
    actor: &Actor,
    email: &str,
    patch: &CollaboratorPatch,
    (dice, now): (&Dice, UnixMillis),
) -> AppResult<NamedCollaborator> {
    let role = may_give.judge(patch.permission.text().and_then(assignable), &patch.step_up)?;
    let app = grant.lock(tx).await?;
    let found = repo::find(tx, &app.id, email).await?.ok_or(AppError::NotFound("collaborator"))?;
    if found.permission == Role::Owner.as_str() || repo::change_role(tx, &app.id, &found.account_id, role).await? == 0 {
        return Err(AppError::Conflict("the owner's role changes only when the app is transferred".to_owned()));
    }
    let details = json!({ "permission": role.as_str(), "before": found.permission });
    let event = Event::new(Action::UpdateCollaborator, &found.account_id).of_app(&app.id).with(details);
    audit::note(tx, actor, event, dice, now).await?;
    Ok(NamedCollaborator { email: found.email, permission: role.as_str().to_owned() })
}

/// Takes an account's access away, in the transaction's last statements; every collaborator may give up its own. The receiver of a transfer may, too, until
/// it has accepted, and the sender may take its access away: then the sender is the owner again. Errors: 403, 404, 409 for the owner, and for the sender of a
/// transfer that is not accepted.
pub async fn remove(tx: &mut WriteTx, app: &App, grant: &AppGrant<LeaveApp>, actor: &Actor, email: &str) -> AppResult<()> {
    let row = grant.lock(tx).await?;
    let is_oneself = email == addresses::sought(grant.email());
    // The sender of a transfer that is not accepted may take it back, whatever role the receiver has given it.
    let is_sender = row.namespace_id == *grant.account();
    if !is_oneself && !is_sender {
        grant.require::<ManageCollaborators>(tx).await?;
    }
    let found = repo::find(tx, &row.id, email).await?.ok_or(AppError::NotFound("collaborator"))?;
    let details = if let Some(sender) = check_may_go(&row, &found, is_oneself || is_sender)? {
        accounts::service::lock(tx, &mut [&found.account_id, sender]).await?;
        let returned = repo::find_shared(tx, &found.account_id, &row.id).await?.ok_or(AppError::NotFound("app"))?;
        acceptance::give_back(tx, std::slice::from_ref(&returned), app.now()).await?;
        repo::delete(tx, &row.id, &found.account_id).await?;
        if is_oneself {
            acceptance::tell_sender(tx, app, &returned, grant.email()).await?;
        }
        json!({ "permission": found.permission, "owner": sender })
    } else {
        if !is_oneself {
            accounts::service::lock(tx, &mut [&found.account_id]).await?;
            names::release(tx, &row.id, &row.name, grant.account(), Some(&found.account_id)).await?;
        }
        repo::delete(tx, &row.id, &found.account_id).await?;
        json!({ "permission": found.permission })
    };
    let event = Event::new(Action::RemoveCollaborator, &found.account_id).of_app(&row.id).with(details);
    audit::note(tx, actor, event, &app.dice, app.now()).await
}

/// Whether a collaborator may lose its access. For the receiver of a transfer, who may decline it, or from whom the sender takes it back, this gives the
/// sender.
fn check_may_go<'r>(app: &'r LockedRow, found: &CollaboratorRow, may_decline: bool) -> AppResult<Option<&'r AccountId>> {
    let (is_owner, has_name) = (found.permission == Role::Owner.as_str(), found.account_id == app.namespace_id);
    if has_name && !is_owner {
        let text = "the sender stays a collaborator until the receiver has accepted the app";
        return Err(AppError::Conflict(text.to_owned()));
    }
    if is_owner && (has_name || !may_decline) {
        return Err(AppError::Conflict("the owner stays: transfer the app first, or delete it".to_owned()));
    }
    Ok(is_owner.then_some(&app.namespace_id))
}
