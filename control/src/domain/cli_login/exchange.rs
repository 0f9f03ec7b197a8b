//! Step three: a CLI exchanges its grant for a credential, or gets an error as defined by RFC 6749 section 5.2 and RFC 8628 section 3.5.
//!
//! The exchange locks the account, then the request, so that of any number of concurrent exchanges one gets the credential. A reused code may have been
//! intercepted: its request is ended, and the credential that it was exchanged for is revoked.

use serde_json::{Value, json};
use shared::api::cli_login::CliTokenError;
use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use super::repo;
use super::request::{AuthorizationRow, Mode, State};
use super::{notice, proof};
use crate::domain::access::anonymous::Anonymous;
use crate::domain::accounts::{self, repo::LockedRow};
use crate::domain::audit::{Action, ClientAddress, Event};
use crate::domain::change::Change;
use crate::domain::context::Context;
use crate::domain::credentials::token::{PlainToken, TokenHash};
use crate::domain::credentials::{access_keys as keys, session};
use crate::domain::error::{Error, Result};
use crate::domain::limits::{Limit, acquire_unauthenticated};
use crate::domain::mail::Kind;
use crate::domain::traces::{self, Trace};
use crate::infra::db::{ReadTx, WriteTx};

/// What a CLI presents.
pub enum Grant<'a> {
    /// The authorization code that the browser delivered, with proof that it was issued to this CLI.
    Code {
        /// The code.
        code: &'a str,
        /// The proof.
        proof: Proof<'a>,
    },
    /// The device code, when polling.
    Device {
        /// The code.
        device_code: &'a str,
    },
}

/// Proof that a code belongs to the CLI that requested it.
#[derive(Clone, Copy)]
pub struct Proof<'a> {
    /// The secret whose hash was sent at the start (the PKCE verifier).
    pub verifier: &'a str,
    /// The redirect URI that was sent at the start.
    pub redirect_uri: &'a str,
}

impl Proof<'_> {
    fn fits(self, row: &AuthorizationRow) -> bool {
        row.redirect_uri.as_deref() == Some(self.redirect_uri)
            && proof::is_verifier(self.verifier)
            && row.code_challenge.as_deref().is_some_and(|challenge| proof::answers(self.verifier, challenge))
    }
}

/// A CLI's credential.
#[derive(Debug)]
pub struct IssuedToken {
    /// Its ID.
    pub id: AccessKeyId,
    /// The plain token, which cannot be recovered later.
    pub token: PlainToken,
    /// When it expires.
    pub expires: UnixMillis,
    /// The account's email.
    pub email: String,
}

/// Exchanges a grant. Errors: a [`CliTokenError`], 429.
pub async fn exchange(app: &Context, from: ClientAddress, grant: &Grant<'_>) -> Result<IssuedToken> {
    let (row, given) = match grant {
        Grant::Code { code, proof } => {
            count_exchange(app, from).await?;
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

/// Records and returns the error for a request that is not a valid grant; such a request is not processed further.
pub fn refuse(app: &Context, from: ClientAddress, refusal: CliTokenError) -> Error {
    note(app, from, refusal, None);
    refusal.into()
}

/// Records a failed exchange. Polls while the request is pending, and polls that are too fast, are not failures.
fn note(app: &Context, from: ClientAddress, refusal: CliTokenError, row: Option<&AuthorizationRow>) {
    if matches!(refusal, CliTokenError::AuthorizationPending | CliTokenError::SlowDown) {
        return;
    }
    let account = row.and_then(|row| row.account_id.as_ref());
    let trace = Trace { event: traces::Event::Exchange, outcome: refusal.as_str(), account, from };
    // A wrong proof or a reused code has ended the request, which has its own audit row.
    let is_ended = row.is_some_and(|row| row.mode == Mode::Pkce && matches!(row.state(app.now()), State::Approved | State::Consumed));
    if is_ended { traces::log(app, trace) } else { traces::fail(app, trace) }
}

async fn count_exchange(app: &Context, from: ClientAddress) -> Result<()> {
    acquire_unauthenticated(app, from, Limit::CliTokens, app.settings.limits.cli.tokens).await
}

/// Polls at the right interval do not count against the limit while the request can still be approved. All other polls count.
async fn poll(app: &Context, from: ClientAddress, row: Option<&AuthorizationRow>) -> Result<IssuedToken> {
    let Some(row) = row else {
        count_exchange(app, from).await?;
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
        // Another poll was faster, or the request has been decided.
    }
    if state != State::Approved || !is_paced {
        count_exchange(app, from).await?;
    }
    if state != State::Pending {
        return redeem(app, from, row, None).await;
    }
    let mut tx = app.db.write().await?;
    let is_slower = repo::slow_down(&mut tx, &row.id, now).await? > 0;
    tx.commit().await?;
    Err(if is_slower { CliTokenError::SlowDown } else { CliTokenError::AuthorizationPending }.into())
}

/// Issues the credential of an approved request. An authorization code comes with a `proof`.
async fn redeem(app: &Context, from: ClientAddress, found: &AuthorizationRow, proof: Option<Proof<'_>>) -> Result<IssuedToken> {
    let (mut tx, now) = (app.db.write().await?, app.now());
    let owner = match &found.account_id {
        Some(account) => accounts::repo::hold(&mut tx, account).await?,
        None => None,
    };
    let row = repo::lock(&mut tx, &found.id).await?.ok_or(CliTokenError::InvalidGrant)?;
    match row.state(now) {
        State::Approved if proof.is_some_and(|proof| !proof.fits(&row)) => {
            end(Anonymous::at(from).change_in(app, tx), &row, json!({ "reason": "wrong proof" })).await?;
            Err(CliTokenError::InvalidGrant.into())
        }
        State::Approved => issue(tx, app, from, &row, owner).await,
        // A device repeats a poll whose response was lost; only the device knows its code.
        State::Consumed if proof.is_some() => {
            revoke(Anonymous::at(from).change_in(app, tx), from, &row, owner).await?;
            Err(CliTokenError::InvalidGrant.into())
        }
        State::Consumed | State::Ended => Err(CliTokenError::InvalidGrant.into()),
        State::Denied | State::Cancelled => Err(CliTokenError::AccessDenied.into()),
        State::Expired => Err(CliTokenError::ExpiredToken.into()),
        State::Pending => Err(CliTokenError::AuthorizationPending.into()),
    }
}

async fn issue(
    mut tx: WriteTx,
    app: &Context,
    from: ClientAddress,
    row: &AuthorizationRow,
    owner: Option<LockedRow>,
) -> Result<IssuedToken> {
    let (Some(owner), Some(account), Some(approved_by)) = (owner, &row.account_id, &row.session_id) else {
        return cancel(tx, row).await;
    };
    if !is_session_alive(&mut tx, app, account, approved_by).await? {
        return cancel(tx, row).await;
    }
    let origin = row.mode.origin();
    let mut change = Anonymous::owner(account, from).change_in(app, tx);
    let issued = session::issue(&mut change, app, account, origin, from, &row.device).await?;
    repo::consume(&mut change, &row.id, &issued.id).await?;
    notice::enqueue(&mut change, (account, &owner.email), from, vec![row.device.label()], Kind::DeviceAuthorized).await?;
    let details = json!({ "authorization": row.id, "credentialOrigin": origin.kind().origin() });
    change.commit(Event::new(Action::AuthorizeDevice, &issued.id).with(details)).await?;
    Ok(IssuedToken { id: issued.id, token: issued.token, expires: issued.expires, email: owner.email })
}

/// Cancels a request whose approval no longer works, so that its polls count against the limit from now on.
async fn cancel(mut tx: WriteTx, row: &AuthorizationRow) -> Result<IssuedToken> {
    repo::cancel_one(&mut tx, &row.id).await?;
    tx.commit().await?;
    Err(CliTokenError::AccessDenied.into())
}

/// Revokes the credential that a code was exchanged for, because the code was used again.
async fn revoke(mut change: Change<'_>, from: ClientAddress, row: &AuthorizationRow, owner: Option<LockedRow>) -> Result<()> {
    let credential = row.account_id.as_ref().zip(row.credential_id.as_ref());
    let is_revoked = match credential {
        Some((account, credential)) => keys::repo::delete(&mut change, account, credential).await? > 0,
        None => false,
    };
    if let Some((account, owner)) = row.account_id.as_ref().zip(owner).filter(|_| is_revoked) {
        notice::enqueue(&mut change, (account, &owner.email), from, vec![row.device.label()], Kind::DeviceRevoked).await?;
    }
    let revoked = row.credential_id.as_ref().filter(|_| is_revoked);
    end(change, row, json!({ "reason": "replay", "revoked": revoked })).await
}

/// Whether a session is still valid. A request it approved depends on it until the exchange.
pub(crate) async fn is_session_alive(tx: &mut ReadTx, app: &Context, account: &AccountId, session: &AccessKeyId) -> Result<bool> {
    let found = keys::repo::find_usable(tx, account, session).await?;
    Ok(found.is_some_and(|session| session::is_alive(&session, &app.settings.limits.sessions, app.now())))
}

/// Ends a request and commits.
async fn end(mut change: Change<'_>, row: &AuthorizationRow, details: Value) -> Result<()> {
    repo::end(&mut change, &row.id).await?;
    change.commit(Event::new(Action::EndCliAuthorization, &row.id).with(details)).await
}
