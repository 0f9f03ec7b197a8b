//! The caller's own account.

use serde_json::json;
use shared::{FieldErrors, Invalid};

use crate::domain::access::{DashboardSession, SignedIn, collaborators};
use crate::domain::accounts::Password;
use crate::domain::accounts::repo::{self, AccountRow};
use crate::domain::accounts::service::validate_password;
use crate::domain::accounts::strength;
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::collaborators::acceptance;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Error, Result};
use crate::domain::login::service as login;
use crate::domain::mail::{Kind, Mail, notices, outbox};
use crate::domain::password_reset::end_old_password;
use crate::domain::second_factors::{self, Proof, step_up};
use crate::infra::db::ReadTx;

/// An account as its owner sees it.
#[derive(Debug)]
pub struct Profile {
    /// The account.
    pub account: AccountRow,
    /// Whether it has a second factor.
    pub has_second_factor: bool,
}

/// The caller's account.
pub async fn find(tx: &mut ReadTx, caller: &SignedIn) -> Result<Profile> {
    let account = repo::find(tx, caller.account()).await?.ok_or(Error::Unauthenticated)?;
    Ok(Profile { account, has_second_factor: second_factors::is_enabled(tx, caller.account()).await? })
}

/// An update of an account. Field errors are reported together with those of the password's strength, which needs the account.
pub struct AccountChange {
    /// The new display name, if it changes.
    pub name: Result<Option<String>, Invalid>,
    /// The password change, if any.
    pub password: Option<PasswordChange>,
    /// A second-factor proof; required with a new password if the account has a second factor.
    pub proof: Result<Option<Proof>, Invalid>,
}

/// A new password and the current one.
pub struct PasswordChange {
    /// The new password.
    pub new: Result<String, Invalid>,
    /// The current password.
    pub current: Result<Password, Invalid>,
}

/// Updates the name, the password, or both, as given. Errors: 400; 401 and 429 as for a login if the current password is wrong; for a new password,
/// 403 with `step_up_required` if the account's second-factor proof is missing or wrong.
pub async fn update(app: &Context, caller: &DashboardSession, AccountChange { name, password, proof }: AccountChange) -> Result<()> {
    if password.is_some() {
        // A session that was revoked while the body arrived must not be able to guess passwords.
        caller.recheck(&mut app.db.read().await?, app).await?;
    }
    let mut errors = FieldErrors::default();
    let name = errors.take("name", name);
    let passwords = match password {
        Some(PasswordChange { new, current }) => {
            let new = validate_new(app, caller, new, name.as_ref().and_then(Option::as_deref)).await?;
            let (new, current) = (errors.take("password", new), errors.take("currentPassword", current));
            new.zip(current).map(Some)
        }
        None => Some(None),
    };
    let proof = errors.take("stepUp", proof);
    let (Some(name), Some(passwords), Some(proof)) = (name, passwords, proof) else { return Err(errors.into()) };
    let passwords = match passwords {
        Some((new, current)) => {
            step_up::look(app, caller, proof.as_ref()).await?;
            let proven = login::confirm(app, caller.from(), caller.email(), &current).await?;
            Some((proven, app.password_permit(caller.from()).await?.hash(&new).await?))
        }
        None => None,
    };
    let mut change = match &passwords {
        Some(_) => step_up::begin(app, caller, proof.as_ref()).await?.0,
        None => caller.begin_holding_account(app).await?,
    };
    if let Some((proven, new)) = &passwords {
        let now = change.now();
        if repo::replace_password(&mut change, caller.account(), proven, new).await? == 0 {
            return Err(changed_meanwhile());
        }
        let notice = end_old_password(&mut change, caller.account(), Some(caller.credential()), caller.from(), now).await?;
        let mail = Mail { to: caller.email().to_owned(), kind: Kind::PasswordChanged(notice) };
        notices::enqueue(&mut change, app, caller.account(), &mail).await?;
    }
    if let Some(name) = &name {
        repo::rename(&mut change, caller.account(), name).await?;
    }
    let details = json!({ "name": name.is_some(), "password": passwords.is_some() });
    change.commit(Event::new(Action::UpdateAccount, caller.account()).with(details)).await
}

/// Checks a new password's strength, given the caller's current or new name.
async fn validate_new(
    app: &Context,
    caller: &DashboardSession,
    new: Result<String, Invalid>,
    name: Option<&str>,
) -> Result<Result<String, Invalid>> {
    let Ok(password) = &new else { return Ok(new) };
    let account = repo::find(&mut app.db.read().await?, caller.account()).await?.ok_or(Error::Unauthenticated)?;
    let known = strength::context(&app.settings.addresses(), caller.email(), name.or(account.name.as_deref()));
    Ok(validate_password(app, caller.from(), password, known).await?.and(new))
}

/// Deletes the caller's account. Its deployment keys, past and present, stay taken. Apps transferred to it and not accepted go back to their senders.
/// Errors: 401 and 429 as for a login if the password is wrong; 403 with `step_up_required` if the account's second-factor proof is missing or wrong;
/// 409 while it owns apps or has transferred apps that are not accepted yet.
pub async fn delete(app: &Context, caller: &DashboardSession, password: &str, proof: Option<&Proof>) -> Result<()> {
    caller.recheck(&mut app.db.read().await?, app).await?;
    step_up::look(app, caller, proof).await?;
    let proven = login::confirm(app, caller.from(), caller.email(), password).await?;
    let (mut change, _) = step_up::begin(app, caller, proof).await?;
    give_apps_back(&mut change, caller).await?;
    let deleted = repo::delete(&mut change, caller.account(), &proven).await.map_err(|error| match &error {
        sqlx::Error::Database(database) if database.is_foreign_key_violation() => Error::Conflict(Conflict::OwnsApps),
        _ => Error::from(error),
    })?;
    if deleted == 0 {
        return Err(changed_meanwhile());
    }
    let kind = Kind::AccountDeleted { time: change.now(), address: caller.from().0.to_string() };
    outbox::enqueue(&mut change, app, &Mail { to: caller.email().to_owned(), kind }).await?;
    change.commit(Event::new(Action::DeleteAccount, caller.account())).await
}

/// Returns apps that were transferred to an account about to be deleted, whose row is locked. Errors: 409 while apps that it transferred itself are
/// not accepted yet.
async fn give_apps_back(change: &mut Change<'_>, caller: &SignedIn) -> Result<()> {
    let (app, now) = (change.context(), change.now());
    if collaborators::outgoing(change, caller.account()).await? > 0 {
        return Err(Error::Conflict(Conflict::TransfersOpen));
    }
    let returned = collaborators::incoming(change, caller.account()).await?;
    acceptance::give_back(change, &returned, now).await?;
    for row in &returned {
        acceptance::tell_sender(change, app, row, caller.email()).await?;
    }
    for row in returned {
        let details = json!({ "permission": row.permission.as_str(), "owner": row.namespace_id });
        let event = Event::new(Action::RemoveCollaborator, caller.account()).of_app(&row.id).with(details);
        change.note(event).await?;
    }
    Ok(())
}

/// A concurrent request with the same password was faster.
fn changed_meanwhile() -> Error {
    Error::Conflict(Conflict::AccountChanged)
}
