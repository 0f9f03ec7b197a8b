//! The rules of an owner's own account.

use serde_json::json;

use crate::domain::access::{DashboardSession, SignedIn, collaborators};
use crate::domain::accounts::service::judge_password;
use crate::domain::accounts::{repo, strength};
use crate::domain::audit::{self, Action, ClientAddress, Event};
use crate::domain::collaborators::acceptance;
use crate::domain::context::Context;
use crate::domain::error::{AppError, AppResult};
use crate::domain::login::service as login;
use crate::domain::mail::{Kind, Mail, notices, outbox};
use crate::domain::password_reset::end_old_password;
use crate::domain::second_factors::{self, Proof, step_up};
use crate::http::api::accounts::{AccountDeletion, AccountOut, AccountPatch, LimitsOut};
use crate::http::extract::members;
use crate::infra::db::{ReadTx, WriteTx};
use shared::FieldErrors;

/// The caller's account, as it may see it.
pub async fn out(tx: &mut ReadTx, app: &Context, caller: &SignedIn) -> AppResult<AccountOut> {
    let row = repo::find(tx, caller.account()).await?.ok_or(AppError::Unauthenticated)?;
    let quotas = app.settings.limits.quotas;
    Ok(AccountOut {
        email: row.email,
        name: row.name,
        created_time: row.created_time,
        email_verified: row.email_verified,
        mfa_enabled: second_factors::is_enabled(tx, caller.account()).await?,
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
pub async fn update(app: &Context, caller: &DashboardSession, from: ClientAddress, patch: &AccountPatch) -> AppResult<()> {
    if patch.password.is_given() {
        // A session that ended while the body came guesses no passwords.
        caller.judge(&mut app.db.read().await?, app).await?;
    }
    let mut errors = FieldErrors::default();
    let name = errors.take("name", members::name(&patch.name));
    let password = match errors.take("password", patch.password.optional_text()) {
        Some(Some(password)) => {
            let account = repo::find(&mut app.db.read().await?, caller.account()).await?.ok_or(AppError::Unauthenticated)?;
            let name = name.as_ref().and_then(Option::as_deref).or(account.name.as_deref());
            let known = strength::context(&app.settings.addresses(), caller.email(), name);
            errors.take("password", judge_password(app, from, password, known).await?.map(|()| Some(password)))
        }
        judged => judged,
    };
    let current = if patch.password.is_given() {
        errors.take("currentPassword", members::password(&patch.current_password).map(Some))
    } else {
        Some(None)
    };
    let proof = errors.take("stepUp", Proof::of(&patch.step_up));
    let (Some(name), Some(password), Some(current), Some(proof)) = (name, password, current, proof) else {
        return Err(errors.into());
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
        Some(_) => step_up::begin(app, caller, proof.as_ref()).await?.0,
        None => caller.begin_tx_holding_account(app).await?,
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
    audit::note(&mut tx, &caller.actor(), event, &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}

/// Deletes the caller's account. The keys of deployments that it ever had stay taken. Errors: 401 and 429 as of a login when the password is wrong, 403
/// with `step_up_required` without the proof of a second factor that the account has, 409 while it owns apps, or has transferred some that nobody has
/// accepted. Apps that were transferred to it and not accepted are their senders' again.
pub async fn delete(app: &Context, caller: &DashboardSession, from: ClientAddress, deletion: &AccountDeletion) -> AppResult<()> {
    let mut errors = FieldErrors::default();
    let password = errors.take("password", members::password(&deletion.password));
    let proof = errors.take("stepUp", Proof::of(&deletion.step_up));
    let (Some(password), Some(proof)) = (password, proof) else { return Err(errors.into()) };
    caller.judge(&mut app.db.read().await?, app).await?;
    step_up::look(app, caller, proof.as_ref()).await?;
    let proven = login::confirm(app, from, caller.email(), password).await?;
    let (mut tx, _) = step_up::begin(app, caller, proof.as_ref()).await?;
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
    audit::note(&mut tx, &caller.actor(), Event::new(Action::DeleteAccount, caller.account()), &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}

/// Gives back what was transferred to an account that is about to go, whose row is held. Errors: 409 while others have not accepted what it has transferred
/// itself.
async fn give_apps_back(tx: &mut WriteTx, app: &Context, caller: &SignedIn, from: ClientAddress) -> AppResult<()> {
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
        audit::note(tx, &caller.actor(), event, &app.dice, app.now()).await?;
    }
    Ok(())
}

/// Somebody else was faster, with the same password.
fn changed_meanwhile() -> AppError {
    AppError::Conflict("the account was changed at the same moment: try again".to_owned())
}
