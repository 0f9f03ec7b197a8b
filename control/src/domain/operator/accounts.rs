//! What the operator does when an account was taken over, or its owner is locked out: suspend and reinstate it, end what is signed in, clear stops.
//!
//! Each function writes one audit row and one mail to the owner, as the last statements of its transaction. Removing second factors is in
//! [`crate::domain::second_factors::changes`].

use serde_json::json;
use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::domain::accounts::repo;
use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::cli_login as cli;
use crate::domain::conflict::Conflict;
use crate::domain::credentials::{access_keys as keys, api_keys, device_cookies as device};
use crate::domain::email::Email;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::limits::{Count, Limit, Subject};
use crate::domain::mail::{Kind, Mail, outbox};
use crate::domain::second_factors::{factors, pending_logins};
use crate::infra::clock::Dice;
use crate::infra::crypto::keys::EncryptionKeys;
use crate::infra::db::WriteTx;

/// What an operator's command needs besides the transaction.
#[derive(Debug)]
pub struct Operation<'o> {
    /// The account's e-mail address.
    pub email: &'o Email,
    /// The keys that seal the owner's mail.
    pub keys: &'o EncryptionKeys,
    /// Randomness.
    pub dice: &'o Dice,
    /// The time.
    pub now: UnixMillis,
}

/// What `end-sessions` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Dashboard sessions and CLI credentials.
    pub sessions: u64,
    /// Named access keys deleted and API keys revoked.
    pub keys: usize,
}

impl Operation<'_> {
    /// Suspends the account: every credential of it is 401 and every right login 403 until it is reinstated. What waits to become a credential is
    /// cancelled. Its apps stay open to other collaborators, and devices go on. Errors: 404; 409 when it is suspended already.
    pub async fn suspend(&self, tx: &mut WriteTx) -> Result<()> {
        let account = self.hold(tx).await?;
        if repo::suspend(tx, &account, self.now).await? == 0 {
            return Err(Error::Conflict(Conflict::IsSuspended));
        }
        repo::cancel_resets(tx, &account).await?;
        pending_logins::cancel(tx, &account).await?;
        cli::repo::cancel(tx, &account, self.now).await?;
        self.note(tx, &account, Action::SuspendAccount, json!({}), Kind::AccountSuspended { time: self.now }).await
    }

    /// Ends a suspension; credentials that have not expired work again. Errors: 404; 409 when the account is not suspended.
    pub async fn reinstate(&self, tx: &mut WriteTx) -> Result<()> {
        let account = self.hold(tx).await?;
        if repo::reinstate(tx, &account).await? == 0 {
            return Err(Error::Conflict(Conflict::NotSuspended));
        }
        self.note(tx, &account, Action::ReinstateAccount, json!({}), Kind::AccountReinstated { time: self.now }).await
    }

    /// Signs the account out everywhere: sessions, CLI credentials, and logins that are under way; with `with_keys` its access keys and API keys, too.
    /// Errors: 404.
    pub async fn end_sessions(&self, tx: &mut WriteTx, with_keys: bool) -> Result<Ended> {
        let account = self.hold(tx).await?;
        let sessions = keys::repo::delete_logins(tx, &account, None).await?;
        pending_logins::cancel(tx, &account).await?;
        cli::repo::cancel(tx, &account, self.now).await?;
        device::repo::delete_all(tx, &account).await?;
        let mut names = Vec::new();
        if with_keys {
            names.extend(keys::repo::delete_named(tx, &account).await?);
            names.extend(api_keys::repo::revoke_all(tx, &account, self.now).await?);
        }
        let ended = Ended { sessions, keys: names.len() };
        let details = json!({ "sessions": ended.sessions, "keys": ended.keys });
        let kind = Kind::SessionsEnded { time: self.now, keys: names };
        self.note(tx, &account, Action::EndAllSessions, details, kind).await?;
        Ok(ended)
    }

    /// Clears what failed logins and failed second factors have stopped. Limits by address stay: they are not the account's. Errors: 404.
    pub async fn unlock(&self, tx: &mut WriteTx) -> Result<()> {
        // In the order in which logins lock them: e-mail addresses, then the attempts of accounts, then the account's row.
        let account = repo::find_by_email(tx, self.email).await?.ok_or(Error::NotFound(Thing::Account))?;
        Count::lock(tx, Limit::LoginAccount, &Subject::email(self.email), self.now).await?.clear(tx).await?;
        for limit in [Limit::MfaAttempts, Limit::CliResolves] {
            Count::lock(tx, limit, &Subject::account(&account), self.now).await?.clear(tx).await?;
        }
        let account = self.hold(tx).await?;
        factors::restart(tx, &account).await?;
        self.note(tx, &account, Action::UnlockAccount, json!({}), Kind::AccountUnlocked { time: self.now }).await
    }

    /// The account, its row held.
    async fn hold(&self, tx: &mut WriteTx) -> Result<AccountId> {
        let account = repo::find_by_email(tx, self.email).await?.ok_or(Error::NotFound(Thing::Account))?;
        repo::hold(tx, &account).await?.ok_or(Error::NotFound(Thing::Account))?;
        Ok(account)
    }

    async fn note(&self, tx: &mut WriteTx, account: &AccountId, action: Action, details: serde_json::Value, kind: Kind) -> Result<()> {
        let mail = Mail { to: self.email.to_string(), kind };
        outbox::put_at(tx, self.keys, self.dice, self.now, &mail).await?;
        audit::note(tx, &Actor::operator(), Event::new(action, account).with(details), self.dice, self.now).await
    }
}
