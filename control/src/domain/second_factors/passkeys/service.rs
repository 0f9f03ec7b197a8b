//! The rules of an account's passkeys: how one is added, renamed and removed.

use std::str::FromStr;

use serde_json::json;
use shared::ids::PasskeyId;
use shared::{FieldErrors, Invalid};
use webauthn_rs::prelude::RegisterPublicKeyCredential;

use super::ceremony::{self, AnswerError, Owner};
use super::challenge::{self, Claimed, Holder};
use super::message::Options;
use super::repo::{self, PasskeyRow};
use crate::domain::access::{DashboardSession, LoginSession, freshness};
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::second_factors::changes::{self, Changed};
use crate::domain::second_factors::recovery::service::Codes;
use crate::domain::second_factors::{self, Proof, step_up};
use crate::infra::db::ReadTx;

/// The name of a passkey that was given none.
const DEFAULT_NAME: &str = "Passkey";

/// How many characters a name may have.
const LONGEST_NAME: usize = 100;

/// How many passkeys an account has at most: each question to a browser names all of them.
const MOST: i64 = 100;

const UNKNOWN: Error = Error::NotFound(Thing::Passkey);

/// A passkey's name, as its owner tells it from others.
#[derive(Clone, Debug)]
pub struct PasskeyName(String);

impl FromStr for PasskeyName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Ok(Self(shared::text::name(text, LONGEST_NAME)?.into_owned()))
    }
}

/// A passkey to be added.
#[derive(Debug)]
pub struct NewPasskey {
    /// What the browser has answered.
    pub response: RegisterPublicKeyCredential,
    /// Its name, unless it has the one of all that were given none.
    pub name: Option<PasskeyName>,
    /// A proof of a factor that the account has already.
    pub proof: Option<Proof>,
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
pub async fn ask(app: &Context, caller: &DashboardSession) -> Result<Options> {
    second_factors::check_first(&mut app.db.read().await?, app, caller).await?;
    let existing = repo::list(&mut app.db.read().await?, caller.account()).await?;
    let owner = Owner { account: caller.account(), email: caller.email() };
    let question = ceremony::ask_for_new(&app.relying_party, owner, &existing)?;
    let mut change = caller.begin(app).await?;
    challenge::put(&mut change, app, Holder::Registration(caller.credential(), caller.account()), &question.state).await?;
    change.into_tx().commit().await?;
    Ok(question.options)
}

/// Adds the passkey that answers. What is wrong with the form of the answer is told once it is known that there can be passkeys at all. A response without
/// the proof that is needed is not used up: it can be sent again with one. Errors: 400; 403 with `step_up_required`, or with `reauth_required` for a first
/// factor that was not begun in time; 409 when anybody has the passkey already; 429; 501.
pub async fn add(app: &Context, caller: &DashboardSession, new: Result<NewPasskey, FieldErrors>) -> Result<Added> {
    ceremony::webauthn(&app.relying_party)?;
    let NewPasskey { response, name, proof } = new?;
    let (mut change, held) = step_up::begin(app, caller, proof.as_ref()).await?;
    if held.passkeys() >= MOST {
        return Err(Error::Conflict(Conflict::PasskeysFull));
    }
    let holder = Holder::Registration(caller.credential(), caller.account());
    let Some(Claimed { state, asked }) = challenge::claim(&mut change, app, holder).await? else {
        let text = "answers no open challenge; ask for new options, they are good for five minutes and one response";
        return Err(give_up(change, Error::invalid("response", text)).await);
    };
    if !held.were_on() {
        // Nothing is used up: it can be sent again.
        freshness::check_at(&mut change, app, caller, asked).await?;
    }
    let made = match ceremony::judge_new(&app.relying_party, &state, &response)? {
        Ok(made) => made,
        Err(refusal) => return Err(give_up(change, refused(refusal)).await),
    };
    let now = change.now();
    let passkey = PasskeyRow {
        id: PasskeyId::v7(now, app.dice.bytes()?),
        account_id: caller.account().clone(),
        credential_id: made.credential_id,
        credential: made.credential.json,
        name: name.map_or_else(|| DEFAULT_NAME.to_owned(), |name| name.0),
        is_backup_eligible: made.is_backup_eligible,
        is_backed_up: made.credential.is_backed_up,
        transports: made.transports,
        counter: made.credential.counter,
        created_time: now,
        last_used_time: now,
    };
    if repo::insert(&mut change, &passkey).await? == 0 {
        return Err(give_up(change, Error::Conflict(Conflict::PasskeyKnown)).await);
    }
    let codes = changes::added(&mut change, &held, Changed::Passkey(&passkey.name)).await?;
    let details = json!({ "name": passkey.name, "isBackupEligible": passkey.is_backup_eligible });
    change.commit(Event::new(Action::AddPasskey, &passkey.id).with(details)).await?;
    Ok(Added { passkey, codes })
}

fn refused(refusal: AnswerError) -> Error {
    Error::invalid("response", refusal.to_string())
}

/// Ends a try that was refused after its proof and its challenge were taken: both are used up. Gives what is answered.
async fn give_up(change: Change<'_>, answer: Error) -> Error {
    change.into_tx().commit().await.map_or_else(Error::from, |()| answer)
}

/// The caller's passkeys, oldest first.
pub async fn list(tx: &mut ReadTx, caller: &LoginSession) -> Result<Vec<PasskeyRow>> {
    Ok(repo::list(tx, caller.account()).await?)
}

/// Gives one of the caller's passkeys another name. Errors: 404.
pub async fn rename(app: &Context, caller: &LoginSession, id: &PasskeyId, PasskeyName(name): &PasskeyName) -> Result<PasskeyRow> {
    let mut change = caller.begin(app).await?;
    let passkey = repo::rename(&mut change, caller.account(), id, name).await?.ok_or(UNKNOWN)?;
    change.commit(Event::new(Action::RenamePasskey, id).with(json!({ "name": name }))).await?;
    Ok(passkey)
}

/// Removes one of the caller's passkeys; whether second factors are still on. Errors: 403 with `step_up_required`; 404; 429.
pub async fn remove(app: &Context, caller: &LoginSession, id: &PasskeyId, proof: Option<&Proof>) -> Result<bool> {
    // No proof is used up for what is not there.
    repo::find(&mut app.db.read().await?, caller.account(), id).await?.ok_or(UNKNOWN)?;
    let (mut change, held) = step_up::begin(app, caller, proof).await?;
    let passkey = repo::find(&mut change, caller.account(), id).await?.ok_or(UNKNOWN)?;
    if repo::delete(&mut change, caller.account(), id).await? == 0 {
        return Err(UNKNOWN);
    }
    let are_on = changes::removed(&mut change, &held, Changed::Passkey(&passkey.name)).await?;
    change.commit(Event::new(Action::RemovePasskey, id).with(json!({ "name": passkey.name }))).await?;
    Ok(are_on)
}
