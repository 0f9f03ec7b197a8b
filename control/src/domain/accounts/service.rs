//! The rules of accounts.

use std::borrow::Cow;

use serde_json::json;
use shared::Invalid;
use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use super::email;
use super::repo::{self, NewAccountRow};
use crate::domain::access::{DashboardSession, SignedIn, collaborators};
use crate::domain::accounts::settings::AccountLimits;
use crate::domain::accounts::strength;
use crate::domain::audit::{self, Action, Actor, ClientAddress, Event};
use crate::domain::cli_login as cli;
use crate::domain::collaborators::acceptance;
use crate::domain::context::App;
use crate::domain::credentials::{access_keys as keys, api_keys, device_cookies as device};
use crate::domain::error::{AppError, AppResult, OrConflict};
use crate::domain::login::{pending, service as login};
use crate::domain::mail::{Kind, Mail, NewPassword, notices, outbox};
use crate::domain::second_factors::{self as mfa, Proof, factors, step_up};
use crate::http::api::accounts::{AccountDeletion, AccountOut, AccountPatch, LimitsOut};
use crate::http::extract::{Faults, members};
use crate::infra::clock::Dice;
use crate::infra::db::{ReadTx, WriteTx};

/// An account to be made.
#[derive(Debug)]
pub struct NewAccount<'a> {
    /// The address, as it was given.
    pub email: &'a str,
    /// The display name.
    pub name: Option<&'a str>,
    /// The PHC string of the password: made before the transaction, since it takes long.
    pub password_hash: &'a str,
    /// What it may have.
    pub limits: AccountLimits,
}

/// The form in which an account's address is stored and compared.
pub fn normalise_email(email: &str) -> AppResult<String> {
    email::judge(email).map_err(|fault| AppError::Invalid(format!("email: {fault}")))
}

/// The same for an account that is to be made.
pub fn normalise_new_email(email: &str) -> AppResult<String> {
    email::judge_new(email).map_err(|fault| AppError::Invalid(format!("email: {fault}")))
}

/// A display name as it is stored. Refuses one that is empty, too long, or not plain text.
pub fn judge_name(name: &str) -> Result<Cow<'_, str>, Invalid> {
    shared::text::name(name, 255)
}

/// Refuses a password that is too short, too long, or easily guessed, also by somebody who knows these words (decisions sections 5 and 9).
pub fn check_password(password: &str, known: &[String]) -> AppResult<()> {
    strength::judge(password, known).map_err(|fault| AppError::Invalid(format!("password: {fault}")))
}

/// The same for a member among others, in a turn to work on a password, since it takes milliseconds. Errors: 503 while there is none.
pub async fn judge_password(app: &App, from: ClientAddress, password: &str, known: Vec<String>) -> AppResult<Result<(), Invalid>> {
    let password = password.to_owned();
    Ok(app.password_turn(from).await?.spend(move || strength::judge(&password, &known)).await?)
}

/// Makes a verified account, in the transaction's last statements.
pub async fn create(tx: &mut WriteTx, actor: &Actor, new: &NewAccount<'_>, dice: &Dice, now: UnixMillis) -> AppResult<AccountId> {
    let email = normalise_email(new.email)?;
    let id = AccountId::v7(now, dice.bytes()?);
    let row = NewAccountRow { id: &id, email: &email, name: new.name, password_hash: new.password_hash, limits: new.limits, created: now };
    repo::insert(tx, &row).await.or_conflict(|| "an account with this e-mail address exists".to_owned())?;
    audit::note(tx, actor, Event::new(Action::CreateAccount, &id), dice, now).await?;
    Ok(id)
}

/// What is to change of what an account may have; what is `None` stays.
#[derive(Clone, Copy, Debug)]
pub struct LimitsPatch {
    /// API keys that are neither revoked nor expired.
    pub api_keys: Option<u32>,
    /// Days of daily history.
    pub retention_days: Option<u32>,
    /// The largest bundle, in bytes.
    pub upload_bytes: Option<u64>,
}

/// Changes what the account with this address may have, in the transaction's last statements. Errors: 404.
pub async fn set_limits(tx: &mut WriteTx, actor: &Actor, email: &str, patch: LimitsPatch, dice: &Dice, now: UnixMillis) -> AppResult<()> {
    let LimitsPatch { api_keys, retention_days, upload_bytes } = patch;
    let email = normalise_email(email)?;
    let account = repo::find_by_email(tx, &email).await?.ok_or(AppError::NotFound("account"))?;
    if repo::set_limits(tx, &account, api_keys, retention_days, upload_bytes).await? == 0 {
        return Err(AppError::NotFound("account"));
    }
    let details = json!({ "maxApiKeys": api_keys, "retentionDays": retention_days, "maxUploadBytes": upload_bytes });
    audit::note(tx, actor, Event::new(Action::SetLimits, &account).with(details), dice, now).await
}

/// Locks these accounts, so that nothing else changes which apps they reach until the transaction ends; whether all of them are there.
pub async fn lock(tx: &mut WriteTx, accounts: &mut [&AccountId]) -> sqlx::Result<bool> {
    // In one order, so that nobody waits in a circle.
    accounts.sort_unstable();
    let mut found = 0;
    for account in accounts.iter() {
        found += u64::from(repo::hold(tx, account).await?.is_some());
    }
    Ok(usize::try_from(found) == Ok(accounts.len()))
}

/// The caller's account, as it may see it.
pub async fn out(tx: &mut ReadTx, app: &App, caller: &SignedIn) -> AppResult<AccountOut> {
    let row = repo::find(tx, caller.account()).await?.ok_or(AppError::Unauthenticated)?;
    let quotas = app.settings.limits.quotas;
    Ok(AccountOut {
        email: row.email,
        name: row.name,
        created_time: row.created_time,
        email_verified: row.email_verified,
        mfa_enabled: mfa::is_enabled(tx, caller.account()).await?,
        linked_providers: [],
        limits: LimitsOut {
            max_api_keys: row.max_api_keys,
            retention_days: row.retention_days,
            max_upload_bytes: row.max_upload_bytes,
            max_apps: quotas.apps,
            max_deployments_per_app: quotas.deployments,
            max_access_keys: quotas.access_keys,
            max_collaborators_per_app: quotas.collaborators,
            max_stored_bytes: quotas.stored_bytes,
        },
        upload_url: app.settings.upload_url.clone(),
    })
}

/// Changes the name, the password, or both, as far as they are given. Errors: 401 and 429 as of a login when the password so far is
/// wrong; for a new password 403 with `step_up_required` without the proof of a second factor that the account has.
pub async fn update(app: &App, caller: &DashboardSession, from: ClientAddress, patch: &AccountPatch) -> AppResult<()> {
    if patch.password.is_given() {
        // A session that ended while the body came guesses no passwords.
        caller.judge(&mut app.db.read().await?, app).await?;
    }
    let mut faults = Faults::default();
    let name = faults.take("name", members::name(&patch.name));
    let password = match faults.take("password", patch.password.optional_text()) {
        Some(Some(password)) => {
            let account = repo::find(&mut app.db.read().await?, caller.account()).await?.ok_or(AppError::Unauthenticated)?;
            let name = name.as_ref().and_then(Option::as_deref).or(account.name.as_deref());
            let known = strength::context(&app.settings.addresses(), caller.email(), name);
            faults.take("password", judge_password(app, from, password, known).await?.map(|()| Some(password)))
        }
        judged => judged,
    };
    let current = if patch.password.is_given() {
        faults.take("currentPassword", members::password(&patch.current_password).map(Some))
    } else {
        Some(None)
    };
    let proof = faults.take("stepUp", Proof::of(&patch.step_up));
    let (Some(name), Some(password), Some(current), Some(proof)) = (name, password, current, proof) else {
        return Err(faults.into_error());
    };
    let passwords = match password.zip(current) {
        Some((new, current)) => {
            step_up::look(app, caller, proof.as_ref()).await?;
            let proven = login::confirm(app, from, caller.email(), current).await?;
            Some((proven, app.password_turn(from).await?.hash(new).await?))
        }
        None => None,
    };
    let mut tx = match &passwords {
        Some(_) => step_up::begin(app, caller, from, proof.as_ref()).await?.0,
        None => caller.begin_holding_account(app).await?,
    };
    let now = app.now();
    if let Some((proven, new)) = &passwords {
        if repo::replace_password(&mut tx, caller.account(), proven, new).await? == 0 {
            return Err(changed_meanwhile());
        }
        let notice = end_old_password(&mut tx, caller.account(), Some(caller.credential()), from, now).await?;
        let mail = Mail { to: caller.email().to_owned(), kind: Kind::PasswordChanged(notice) };
        notices::put(&mut tx, app, caller.account(), &mail).await?;
    }
    if let Some(name) = &name {
        repo::rename(&mut tx, caller.account(), name).await?;
    }
    let event = Event::new(Action::UpdateAccount, caller.account());
    let event = event.with(json!({ "name": name.is_some(), "password": passwords.is_some() }));
    audit::note(&mut tx, &caller.actor(from), event, &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}

/// Ends what the old password has let in: sessions but the one to keep, command lines' credentials and their requests, logins that wait for a second
/// factor, the resets that were asked for, and device cookies. Gives what the owner is told.
pub async fn end_old_password(
    tx: &mut WriteTx,
    account: &AccountId,
    keep: Option<&AccessKeyId>,
    from: ClientAddress,
    now: UnixMillis,
) -> AppResult<NewPassword> {
    keys::repo::delete_logins(tx, account, keep).await?;
    repo::cancel_resets(tx, account).await?;
    cli::repo::cancel(tx, account, now).await?;
    pending::repo::cancel(tx, account).await?;
    device::repo::delete_all(tx, account).await?;
    let mut keys = keys::repo::names(tx, account, now).await?;
    keys.extend(api_keys::repo::names(tx, account, now).await?);
    let factors = factors::names(tx, account).await?;
    Ok(NewPassword { time: now, address: from.0.to_string(), keys, factors, revoked_keys: None })
}

/// Deletes the caller's account. The keys of deployments that it ever had stay taken. Errors: 401 and 429 as of a login when the password is wrong, 403
/// with `step_up_required` without the proof of a second factor that the account has, 409 while it owns apps, or has transferred some that nobody has
/// accepted. Apps that were transferred to it and not accepted are their senders' again.
pub async fn delete(app: &App, caller: &DashboardSession, from: ClientAddress, deletion: &AccountDeletion) -> AppResult<()> {
    let mut faults = Faults::default();
    let password = faults.take("password", members::password(&deletion.password));
    let proof = faults.take("stepUp", Proof::of(&deletion.step_up));
    let (Some(password), Some(proof)) = (password, proof) else { return Err(faults.into_error()) };
    caller.judge(&mut app.db.read().await?, app).await?;
    step_up::look(app, caller, proof.as_ref()).await?;
    let proven = login::confirm(app, from, caller.email(), password).await?;
    let (mut tx, _) = step_up::begin(app, caller, from, proof.as_ref()).await?;
    let now = app.now();
    give_apps_back(&mut tx, app, caller, from).await?;
    let deleted = repo::delete(&mut tx, caller.account(), &proven).await.map_err(|error| match &error {
        sqlx::Error::Database(database) if database.is_foreign_key_violation() => {
            AppError::Conflict("the account owns apps: delete them or transfer them first".to_owned())
        }
        _ => AppError::from(error),
    })?;
    if deleted == 0 {
        return Err(changed_meanwhile());
    }
    let kind = Kind::AccountDeleted { time: now, address: from.0.to_string() };
    outbox::put(&mut tx, app, &Mail { to: caller.email().to_owned(), kind }).await?;
    audit::note(&mut tx, &caller.actor(from), Event::new(Action::DeleteAccount, caller.account()), &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}

/// Gives back what was transferred to an account that is about to go, whose row is held. Errors: 409 while others have not accepted what it has transferred
/// itself.
async fn give_apps_back(tx: &mut WriteTx, app: &App, caller: &SignedIn, from: ClientAddress) -> AppResult<()> {
    if collaborators::outgoing(tx, caller.account()).await? > 0 {
        let text = "the account has transferred apps that are not accepted yet: it can be deleted once they are";
        return Err(AppError::Conflict(text.to_owned()));
    }
    let returned = collaborators::incoming(tx, caller.account()).await?;
    acceptance::give_back(tx, &returned, app.now()).await?;
    for row in &returned {
        acceptance::tell_sender(tx, app, row, caller.email()).await?;
    }
    for row in returned {
        let details = json!({ "permission": row.permission, "owner": row.namespace_id });
        let event = Event::new(Action::RemoveCollaborator, caller.account()).of_app(&row.id).with(details);
        audit::note(tx, &caller.actor(from), event, &app.dice, app.now()).await?;
    }
    Ok(())
}

/// Somebody else was faster, with the same password.
fn changed_meanwhile() -> AppError {
    AppError::Conflict("the account was changed at the same moment: try again".to_owned())
}
