//! The rules of an account's passkeys: how one is added, renamed and removed.

use std::borrow::Cow;

use serde_json::{Value, json};
use shared::ids::PasskeyId;
use shared::{FieldErrors, Invalid};

use super::ceremony::{self, Owner, Refusal};
use super::challenge::{self, Claimed, Holder};
use super::repo::{self, PasskeyRow};
use crate::domain::access::{DashboardSession, LoginSession};
use crate::domain::audit::{self, Action, ClientAddress, Event};
use crate::domain::context::Context;
use crate::domain::error::{AppError, AppResult};
use crate::domain::login::fresh;
use crate::domain::second_factors::factors::{self, Changed};
use crate::domain::second_factors::recovery::service::Codes;
use crate::domain::second_factors::{Proof, step_up};
use crate::http::api::passkeys::NewPasskey;
use crate::http::extract::Member;
use crate::infra::db::{ReadTx, WriteTx};

/// The name of a passkey that was given none.
const DEFAULT_NAME: &str = "Passkey";

/// How many characters a name may have (decisions section 2).
const LONGEST_NAME: usize = 100;

/// How many passkeys an account has at most: each question to a browser names all of them.
const MOST: i64 = 100;

const UNKNOWN: AppError = AppError::NotFound("passkey");

fn judge_name(name: &str) -> Result<Cow<'_, str>, Invalid> {
    shared::text::name(name, LONGEST_NAME)
}

/// A passkey that was just added.
#[derive(Debug)]
pub struct Added {
    /// The passkey.
    pub passkey: PasskeyRow,
    /// The recovery codes that came with the account's first factor, the only time they are known.
    pub codes: Option<Codes>,
}

/// Asks a session for a new passkey, in the place of what it was asked before. Errors: 403 with `reauth_required` where it would be the account's first
/// factor and the session is not fresh; 501.
pub async fn ask(app: &Context, caller: &DashboardSession) -> AppResult<Value> {
    fresh::check_first_factor(&mut app.db.read().await?, app, caller).await?;
    let existing = repo::list(&mut app.db.read().await?, caller.account()).await?;
    let owner = Owner { account: caller.account(), email: caller.email() };
    let question = ceremony::ask_for_new(&app.relying_party, owner, &existing)?;
    let mut tx = caller.begin_tx(app).await?;
    challenge::put(&mut tx, app, Holder::Registration(caller.credential(), caller.account()), &question.state).await?;
    tx.commit().await?;
    Ok(question.options)
}

/// Adds the passkey that answers. A response without the proof that is needed is not used up: it can be sent again with one. Errors: 400; 403 with
/// `step_up_required`, or with `reauth_required` for a first factor that was not begun in time; 409 when anybody has the passkey already; 429; 501.
pub async fn add(app: &Context, caller: &DashboardSession, from: ClientAddress, new: &NewPasskey) -> AppResult<Added> {
    app.relying_party.webauthn()?;
    let mut errors = FieldErrors::default();
    let answer = errors.take("response", ceremony::read_new(&new.response));
    let name = errors.take("name", new.name.optional_text().and_then(|name| judge_name(name.unwrap_or(DEFAULT_NAME))));
    let proof = errors.take("stepUp", Proof::of(&new.step_up));
    let (Some(answer), Some(name), Some(proof)) = (answer, name, proof) else { return Err(errors.into()) };
    let (mut tx, held) = step_up::begin(app, caller, proof.as_ref()).await?;
    if held.passkeys() >= MOST {
        return Err(AppError::Conflict("the account has as many passkeys as it may have: remove one first".to_owned()));
    }
    let Some(Claimed { state, asked }) =
        challenge::claim(&mut tx, app, Holder::Registration(caller.credential(), caller.account())).await?
    else {
        let text = "answers no open challenge; ask for new options, they are good for five minutes and one response";
        return Err(give_up(tx, AppError::invalid("response", text)).await);
    };
    if !held.were_on() {
        // Nothing is used up: it can be sent again.
        fresh::check_at(&mut tx, app, caller, asked).await?;
    }
    let made = match ceremony::judge_new(&app.relying_party, &state, &answer)? {
        Ok(made) => made,
        Err(refusal) => return Err(give_up(tx, refused(refusal)).await),
    };
    let now = app.now();
    let passkey = PasskeyRow {
        id: PasskeyId::v7(now, app.dice.bytes()?),
        account_id: caller.account().clone(),
        credential_id: made.credential_id,
        credential: made.credential.json,
        name: name.clone().into_owned(),
        is_backup_eligible: made.is_backup_eligible,
        is_backed_up: made.credential.is_backed_up,
        transports: made.transports,
        counter: made.credential.counter,
        created_time: now,
        last_used_time: now,
    };
    if repo::insert(&mut tx, &passkey).await? == 0 {
        return Err(give_up(tx, AppError::Conflict("this passkey is registered already".to_owned())).await);
    }
    let codes = factors::added(&mut tx, app, &held, from, Changed::Passkey(&name)).await?;
    let details = json!({ "name": name, "isBackupEligible": passkey.is_backup_eligible });
    let event = Event::new(Action::AddPasskey, &passkey.id).with(details);
    audit::note(&mut tx, &caller.actor(), event, &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(Added { passkey, codes })
}

fn refused(refusal: Refusal) -> AppError {
    AppError::invalid("response", refusal.to_string())
}

/// Ends a try that was refused after its proof and its challenge were taken: both are used up. Gives what is answered.
async fn give_up(tx: WriteTx, answer: AppError) -> AppError {
    tx.commit().await.map_or_else(AppError::from, |()| answer)
}

/// The caller's passkeys, oldest first.
pub async fn list(tx: &mut ReadTx, caller: &LoginSession) -> AppResult<Vec<PasskeyRow>> {
    Ok(repo::list(tx, caller.account()).await?)
}

/// Gives one of the caller's passkeys another name. Errors: 400; 404.
pub async fn rename(app: &Context, caller: &LoginSession, from: ClientAddress, id: &PasskeyId, name: &Member) -> AppResult<PasskeyRow> {
    let mut errors = FieldErrors::default();
    let Some(name) = errors.take("name", name.text().and_then(judge_name)) else { return Err(errors.into()) };
    let mut tx = caller.begin_tx(app).await?;
    let passkey = repo::rename(&mut tx, caller.account(), id, &name).await?.ok_or(UNKNOWN)?;
    let event = Event::new(Action::RenamePasskey, id).with(json!({ "name": name }));
    audit::note(&mut tx, &caller.actor(), event, &app.dice, app.now()).await?;
    tx.commit().await?;
    Ok(passkey)
}

/// Removes one of the caller's passkeys; whether second factors are still on. Errors: 403 with `step_up_required`; 404; 429.
pub async fn remove(app: &Context, caller: &LoginSession, from: ClientAddress, id: &PasskeyId, proof: Option<&Proof>) -> AppResult<bool> {
    // No proof is used up for what is not there.
    repo::find(&mut app.db.read().await?, caller.account(), id).await?.ok_or(UNKNOWN)?;
    let (mut tx, held) = step_up::begin(app, caller, proof).await?;
    let passkey = repo::find(&mut tx, caller.account(), id).await?.ok_or(UNKNOWN)?;
    if repo::delete(&mut tx, caller.account(), id).await? == 0 {
        return Err(UNKNOWN);
    }
    let are_on = factors::removed(&mut tx, app, &held, from, Changed::Passkey(&passkey.name)).await?;
    let event = Event::new(Action::RemovePasskey, id).with(json!({ "name": passkey.name }));
    audit::note(&mut tx, &caller.actor(), event, &app.dice, app.now()).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(are_on)
}
