//! An account's passkeys: adding, renaming and removing them.

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
use crate::domain::second_factors::changes::{self, ChangedFactor};
use crate::domain::second_factors::recovery::service::Codes;
use crate::domain::second_factors::{self, Proof, step_up};
use crate::infra::db::ReadTx;

/// The default name of a passkey.
const DEFAULT_NAME: &str = "Passkey";

/// The longest name, in characters.
const MAX_NAME: usize = 100;

/// Passkeys per account: the options for a browser list all of them.
const MAX_PASSKEYS: i64 = 100;

const UNKNOWN: Error = Error::NotFound(Thing::Passkey);

/// The name that its owner gave a passkey.
#[derive(Clone, Debug)]
pub struct PasskeyName(String);

impl FromStr for PasskeyName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Ok(Self(shared::text::name(text, MAX_NAME)?.into_owned()))
    }
}

/// A passkey to add.
pub struct NewPasskey {
    /// The browser's response.
    pub response: RegisterPublicKeyCredential,
    /// Its name; the default name if not given.
    pub name: Option<PasskeyName>,
    /// A proof of one of the account's existing factors.
    pub proof: Option<Proof>,
}

/// An added passkey.
#[derive(Debug)]
pub struct Added {
    /// The passkey.
    pub passkey: PasskeyRow,
    /// The recovery codes, if this is the account's first factor. They are never shown again.
    pub codes: Option<Codes>,
}

/// Creates the options for a new passkey; they replace the session's previous ones. Errors: 403 with `reauth_required` if it would be the account's
/// first factor and the session is not fresh; 501.
pub async fn ask(app: &Context, caller: &DashboardSession) -> Result<Options> {
    second_factors::check_first(&mut app.db.read().await?, app, caller).await?;
    let existing = repo::list(&mut app.db.read().await?, caller.account()).await?;
    let owner = Owner { account: caller.account(), email: caller.email() };
    let started = ceremony::start_registration(&app.relying_party, owner, &existing)?;
    let mut change = caller.begin(app).await?;
    challenge::store(&mut change, app, Holder::Registration(caller.credential(), caller.account()), &started.state).await?;
    change.commit_bookkeeping().await?;
    Ok(started.options)
}

/// Adds a passkey from the browser's response. Field errors are reported only if passkeys are configured. A response without the required proof is
/// not used up: it can be sent again with one. Errors: 400; 403 with `step_up_required`, or with `reauth_required` for a first factor that was not
/// started in time; 409 if the passkey is already registered, to any account; 429; 501.
pub async fn add(app: &Context, caller: &DashboardSession, new: Result<NewPasskey, FieldErrors>) -> Result<Added> {
    ceremony::webauthn(&app.relying_party)?;
    let NewPasskey { response, name, proof } = new?;
    let (mut change, stepped_up) = step_up::begin(app, caller, proof.as_ref()).await?;
    if stepped_up.passkeys() >= MAX_PASSKEYS {
        return Err(Error::Conflict(Conflict::PasskeysFull));
    }
    let holder = Holder::Registration(caller.credential(), caller.account());
    let Some(Claimed { state, started_at }) = challenge::claim(&mut change, app, holder).await? else {
        let text = "does not match an open challenge: get new options, which are valid for five minutes and one response";
        return Err(commit_rejection(change, Error::invalid("response", text)).await);
    };
    if !stepped_up.were_on() {
        // Nothing is used up: the response can be sent again.
        freshness::check_at(&mut change, app, caller, started_at).await?;
    }
    let created = match ceremony::finish_registration(&app.relying_party, &state, &response)? {
        Ok(created) => created,
        Err(rejection) => return Err(commit_rejection(change, rejected(rejection)).await),
    };
    let now = change.now();
    let passkey = PasskeyRow {
        id: PasskeyId::v7(now, app.entropy.bytes()?),
        account_id: caller.account().clone(),
        credential_id: created.credential_id,
        credential: created.credential.json,
        name: name.map_or_else(|| DEFAULT_NAME.to_owned(), |name| name.0),
        is_backup_eligible: created.is_backup_eligible,
        is_backed_up: created.credential.is_backed_up,
        transports: created.transports,
        counter: created.credential.counter,
        created_time: now,
        last_used_time: now,
    };
    if repo::insert(&mut change, &passkey).await? == 0 {
        return Err(commit_rejection(change, Error::Conflict(Conflict::PasskeyKnown)).await);
    }
    let codes = changes::added(&mut change, &stepped_up, ChangedFactor::Passkey(&passkey.name)).await?;
    let details = json!({ "name": passkey.name, "isBackupEligible": passkey.is_backup_eligible });
    change.commit(Event::new(Action::AddPasskey, &passkey.id).with(details)).await?;
    Ok(Added { passkey, codes })
}

fn rejected(rejection: AnswerError) -> Error {
    Error::invalid("response", rejection.to_string())
}

/// Commits after a refusal, because the proof and the challenge are used up. Returns the error to send.
async fn commit_rejection(change: Change<'_>, answer: Error) -> Error {
    change.commit_bookkeeping().await.map_or_else(|error| error, |()| answer)
}

/// The caller's passkeys, oldest first.
pub async fn list(tx: &mut ReadTx, caller: &LoginSession) -> Result<Vec<PasskeyRow>> {
    Ok(repo::list(tx, caller.account()).await?)
}

/// Renames one of the caller's passkeys. Errors: 404.
pub async fn rename(app: &Context, caller: &LoginSession, id: &PasskeyId, PasskeyName(name): &PasskeyName) -> Result<PasskeyRow> {
    let mut change = caller.begin(app).await?;
    let passkey = repo::rename(&mut change, caller.account(), id, name).await?.ok_or(UNKNOWN)?;
    change.commit(Event::new(Action::RenamePasskey, id).with(json!({ "name": name }))).await?;
    Ok(passkey)
}

/// Removes one of the caller's passkeys. Returns whether second factors are still on. Errors: 403 with `step_up_required`; 404; 429.
pub async fn remove(app: &Context, caller: &LoginSession, id: &PasskeyId, proof: Option<&Proof>) -> Result<bool> {
    // Checked first, so that no proof is used up for a passkey that does not exist.
    repo::find(&mut app.db.read().await?, caller.account(), id).await?.ok_or(UNKNOWN)?;
    let (mut change, stepped_up) = step_up::begin(app, caller, proof).await?;
    let passkey = repo::find(&mut change, caller.account(), id).await?.ok_or(UNKNOWN)?;
    if repo::delete(&mut change, caller.account(), id).await? == 0 {
        return Err(UNKNOWN);
    }
    let are_on = changes::removed(&mut change, &stepped_up, ChangedFactor::Passkey(&passkey.name)).await?;
    change.commit(Event::new(Action::RemovePasskey, id).with(json!({ "name": passkey.name }))).await?;
    Ok(are_on)
}
