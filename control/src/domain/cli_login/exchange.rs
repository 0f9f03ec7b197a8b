//! The third step: a command line exchanges what it has for a credential, or is told why not in the words of RFC 6749 part 5.2 and RFC 8628 part 3.5.
//!
//! A request is exchanged under the locks of its account and of itself, so that of any number at once one gets the credential. A code that comes again
//! may have been caught by somebody else: its request ends, and so does the credential that was given for it.

use serde_json::{Value, json};
use shared::api::cli_login::CliTokenError;
use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use super::repo::{self, Owner};
use super::request::{AuthorizationRow, Mode, State};
use super::{notice, proof};
use crate::domain::audit::{Action, Actor, ClientAddress, Event};
use crate::domain::change::Change;
use crate::domain::context::Context;
use crate::domain::credentials::token::{PlainToken, TokenHash};
use crate::domain::credentials::{access_keys as keys, session};
use crate::domain::error::{Error, Result};
use crate::domain::limits::{Limit, admit_stranger};
use crate::domain::mail::Kind;
use crate::domain::traces::{self, Trace};
use crate::infra::db::{ReadTx, WriteTx};

/// What a command line shows.
pub enum Grant<'a> {
    /// The code that its browser brought, and what shows that it is the one who asked.
    Code {
        /// The code.
        code: &'a str,
        /// The rest.
        proof: Proof<'a>,
    },
    /// The code that it polls with.
    Device {
        /// The code.
        device_code: &'a str,
    },
}

/// What shows that a code comes from the command line that asked for it.
#[derive(Clone, Copy)]
pub struct Proof<'a> {
    /// The secret whose hash it showed at first.
    pub verifier: &'a str,
    /// The address that it gave at first.
    pub redirect_uri: &'a str,
}

impl Proof<'_> {
    fn fits(self, row: &AuthorizationRow) -> bool {
        row.redirect_uri.as_deref() == Some(self.redirect_uri)
            && proof::is_verifier(self.verifier)
            && row.code_challenge.as_deref().is_some_and(|challenge| proof::answers(self.verifier, challenge))
    }
}

/// The credential of a command line.
#[derive(Debug)]
pub struct Given {
    /// Its id.
    pub id: AccessKeyId,
    /// Its raw form, the only time it is known.
    pub token: PlainToken,
    /// When it ends.
    pub expires: UnixMillis,
    /// The account's e-mail address.
    pub email: String,
}

/// Exchanges a grant. Errors: a [`CliTokenError`], 429.
pub async fn exchange(app: &Context, from: ClientAddress, grant: &Grant<'_>) -> Result<Given> {
    let (row, given) = match grant {
        Grant::Code { code, proof } => {
            admit_exchange(app, from).await?;
            let row = repo::find_by_code(&mut app.db.read().await?, &TokenHash::of(code)).await?;
            let given = match &row {
                Some(row) => redeem(app, from, row, Some(*proof)).await,
                None => Err(CliTokenError::InvalidGrant.into()),
            };
            (row, given)
        }
        Grant::Device { device_code } => {
            let row = repo::find_by_device_code(&mut app.db.read().await?, &TokenHash::of(device_code)).await?;
            let given = poll(app, from, row.as_ref()).await;
            (row, given)
        }
    };
    if let Err(Error::NotExchanged(refusal)) = &given {
        note(app, from, *refusal, row.as_ref());
    }
    given
}

/// The refusal of what is no grant, noted: nothing else looks at it.
pub fn refuse(app: &Context, from: ClientAddress, refusal: CliTokenError) -> Error {
    note(app, from, refusal, None);
    refusal.into()
}

/// Notes an exchange that failed. Polls that come early, or too often, have not.
fn note(app: &Context, from: ClientAddress, refusal: CliTokenError, row: Option<&AuthorizationRow>) {
    if matches!(refusal, CliTokenError::AuthorizationPending | CliTokenError::SlowDown) {
        return;
    }
    let account = row.and_then(|row| row.account_id.as_ref());
    let trace = Trace { event: traces::Event::Exchange, outcome: refusal.as_str(), account, from };
    // A wrong proof, and a code that came again, have ended the request: that has a row of its own in the trail.
    let is_ended = row.is_some_and(|row| row.mode == Mode::Pkce && matches!(row.state(app.now()), State::Approved | State::Consumed));
    if is_ended { traces::log(app, trace) } else { traces::fail(app, trace) }
}

async fn admit_exchange(app: &Context, from: ClientAddress) -> Result<()> {
    admit_stranger(app, from, Limit::CliTokens, app.settings.limits.cli.tokens).await
}

/// A poll that keeps its interval counts for nothing while the request may still be approved; any other counts.
async fn poll(app: &Context, from: ClientAddress, row: Option<&AuthorizationRow>) -> Result<Given> {
    let Some(row) = row else {
        admit_exchange(app, from).await?;
        return Err(CliTokenError::InvalidGrant.into());
    };
    let now = app.now();
    let (state, is_paced) = (row.state(now), row.next_poll_time <= now);
    if state == State::Pending && is_paced {
        let mut tx = app.db.write().await?;
        let is_noted = repo::poll(&mut tx, &row.id, now).await? > 0;
        tx.commit().await?;
        if is_noted {
            return Err(CliTokenError::AuthorizationPending.into());
        }
        // Another poll was faster, or the request was decided on.
    }
    if state != State::Approved || !is_paced {
        admit_exchange(app, from).await?;
    }
    if state != State::Pending {
        return redeem(app, from, row, None).await;
    }
    let mut tx = app.db.write().await?;
    let is_slower = repo::slow_down(&mut tx, &row.id, now).await? > 0;
    tx.commit().await?;
    Err(if is_slower { CliTokenError::SlowDown } else { CliTokenError::AuthorizationPending }.into())
}

/// Gives the credential of a request that is approved; `proof` comes with a code.
async fn redeem(app: &Context, from: ClientAddress, found: &AuthorizationRow, proof: Option<Proof<'_>>) -> Result<Given> {
    let (mut tx, now) = (app.db.write().await?, app.now());
    let owner = match &found.account_id {
        Some(account) => repo::lock_account(&mut tx, account).await?,
        None => None,
    };
    let row = repo::lock(&mut tx, &found.id).await?.ok_or(CliTokenError::InvalidGrant)?;
    match row.state(now) {
        State::Approved if proof.is_some_and(|proof| !proof.fits(&row)) => {
            end(Change::over(app, tx, Actor::stranger(from)), &row, json!({ "reason": "wrong proof" })).await?;
            Err(CliTokenError::InvalidGrant.into())
        }
        State::Approved => give(tx, app, from, &row, owner).await,
        // A device repeats a poll whose answer was lost; nobody but the device knows its code.
        State::Consumed if proof.is_some() => {
            revoke(Change::over(app, tx, Actor::stranger(from)), from, &row, owner).await?;
            Err(CliTokenError::InvalidGrant.into())
        }
        State::Consumed | State::Ended => Err(CliTokenError::InvalidGrant.into()),
        State::Denied | State::Cancelled => Err(CliTokenError::AccessDenied.into()),
        State::Expired => Err(CliTokenError::ExpiredToken.into()),
        State::Pending => Err(CliTokenError::AuthorizationPending.into()),
    }
}

async fn give(mut tx: WriteTx, app: &Context, from: ClientAddress, row: &AuthorizationRow, owner: Option<Owner>) -> Result<Given> {
    let (Some(owner), Some(account), Some(approved_by)) = (owner, &row.account_id, &row.session_id) else {
        return cancel(tx, row).await;
    };
    if !is_session_alive(&mut tx, app, account, approved_by).await? {
        return cancel(tx, row).await;
    }
    let origin = row.mode.origin();
    let mut change = Change::over(app, tx, Actor::owner(account, from));
    let issued = session::issue(&mut change, app, account, origin, from, &row.device).await?;
    repo::consume(&mut change, &row.id, &issued.id).await?;
    notice::put(&mut change, (account, &owner.email), from, vec![row.device.label()], Kind::MachineAdded).await?;
    let details = json!({ "authorization": row.id, "credentialOrigin": origin.kind().origin() });
    change.commit(Event::new(Action::AddMachine, &issued.id).with(details)).await?;
    Ok(Given { id: issued.id, token: issued.token, expires: issued.expires, email: owner.email })
}

/// Cancels a request whose approval is worth nothing any more, so that from now on its polls count.
async fn cancel(mut tx: WriteTx, row: &AuthorizationRow) -> Result<Given> {
    repo::cancel_one(&mut tx, &row.id).await?;
    tx.commit().await?;
    Err(CliTokenError::AccessDenied.into())
}

/// Ends the credential that was given for a code, since the code came again.
async fn revoke(mut change: Change<'_>, from: ClientAddress, row: &AuthorizationRow, owner: Option<Owner>) -> Result<()> {
    let credential = row.account_id.as_ref().zip(row.credential_id.as_ref());
    let is_revoked = match credential {
        Some((account, credential)) => keys::repo::delete(&mut change, account, credential).await? > 0,
        None => false,
    };
    if let Some((account, owner)) = row.account_id.as_ref().zip(owner).filter(|_| is_revoked) {
        notice::put(&mut change, (account, &owner.email), from, vec![row.device.label()], Kind::MachineRemoved).await?;
    }
    let revoked = row.credential_id.as_ref().filter(|_| is_revoked);
    end(change, row, json!({ "reason": "replay", "revoked": revoked })).await
}

/// Whether a session can still be used: what it has approved depends on it until it is exchanged.
pub(crate) async fn is_session_alive(tx: &mut ReadTx, app: &Context, account: &AccountId, session: &AccessKeyId) -> Result<bool> {
    let found = keys::repo::find_usable(tx, account, session).await?;
    Ok(found.is_some_and(|session| session::is_alive(&session, &app.settings.limits.sessions, app.now())))
}

/// Ends a request and commits.
async fn end(mut change: Change<'_>, row: &AuthorizationRow, details: Value) -> Result<()> {
    repo::end(&mut change, &row.id).await?;
    change.commit(Event::new(Action::EndCliAuthorization, &row.id).with(details)).await
}
