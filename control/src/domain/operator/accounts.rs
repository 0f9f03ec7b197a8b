//! Operator commands for accounts: create, set limits; and for one that was taken over, or whose owner is locked out: suspend, reinstate, sign out
//! everywhere, unlock, remove second factors.
//!
//! Each is a transaction of its own, with one audit row and, where it is about someone's account, one email to the owner.

use std::borrow::Cow;

use serde_json::json;
use shared::ids::AccountId;

use crate::domain::access::awaited;
use crate::domain::access::operator::{Operator, OperatorChange};
use crate::domain::accounts::settings::AccountLimits;
use crate::domain::accounts::{repo, service, strength};
use crate::domain::audit::{Action, Event};
use crate::domain::change::ChangeContext;
use crate::domain::cli_login as cli;
use crate::domain::conflict::Conflict;
use crate::domain::credentials::{access_keys as keys, api_keys, device_cookies as device};
use crate::domain::email::Email;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::limits::settings::Quotas;
use crate::domain::limits::{Count, Limit, Subject};
use crate::domain::mail::{Kind, Mail, outbox};
use crate::domain::password_reset;
use crate::domain::second_factors::factors::Factors;
use crate::domain::second_factors::{changes, pending_logins};
use crate::infra::clock::Entropy;
use crate::infra::crypto::keys::EncryptionKeys;
use crate::infra::crypto::password;
use crate::infra::db::WriteTx;

/// An account to create, checked, with its password hashed.
#[derive(Debug)]
pub struct NewAccount {
    email: Email,
    name: Option<String>,
    password_hash: String,
}

impl NewAccount {
    /// Checks what was typed, and hashes the password, which takes long. `addresses` are the service's own: a password must not consist of their words.
    /// Errors: 400.
    pub async fn new(email: &str, name: Option<&str>, password: String, addresses: &[String], entropy: Entropy) -> Result<Self> {
        let email = Email::parse_new(email).map_err(|fault| Error::invalid("email", fault))?;
        let name = name.map(service::validate_name).transpose().map_err(|fault| Error::invalid("name", fault))?;
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        let known = strength::context(&addresses, &email, name.as_deref());
        strength::validate(&password, &known).map_err(|fault| Error::invalid("password", fault))?;
        let hashing = tokio::task::spawn_blocking(move || password::hash(&password, &entropy));
        let password_hash = hashing.await.map_err(Error::internal)??;
        Ok(Self { email, name: name.map(Cow::into_owned), password_hash })
    }
}

/// Creates a verified account. Errors: 409 when the email already has an account.
pub async fn create(operator: &Operator<'_>, new: &NewAccount, limits: AccountLimits, quotas: &Quotas) -> Result<()> {
    let mut change = operator.begin().await?;
    let (entropy, now) = (change.context().entropy(), change.now());
    let account = service::NewAccount { email: &new.email, name: new.name.as_deref(), password_hash: &new.password_hash, limits };
    let id = service::insert(&mut change, &account, entropy, now).await?;
    awaited::join(&mut change, quotas, &new.email, &id, now).await?;
    change.commit(Event::new(Action::CreateAccount, &id)).await
}

/// New limits of an account; `None` keeps the current value.
#[derive(Clone, Copy, Debug)]
pub struct LimitsPatch {
    /// Maximum number of API keys that are neither revoked nor expired.
    pub api_keys: Option<u32>,
    /// Days of daily history.
    pub retention_days: Option<u32>,
    /// Maximum bundle size, in bytes.
    pub upload_bytes: Option<u64>,
}

/// Updates the limits of the account with this email. Errors: 404.
pub async fn set_limits(operator: &Operator<'_>, email: &Email, patch: LimitsPatch) -> Result<()> {
    let LimitsPatch { api_keys, retention_days, upload_bytes } = patch;
    let mut change = operator.begin().await?;
    let account = repo::find_by_email(&mut change, email).await?.ok_or(Error::NotFound(Thing::Account))?;
    if repo::set_limits(&mut change, &account, api_keys, retention_days, upload_bytes).await? == 0 {
        return Err(Error::NotFound(Thing::Account));
    }
    let details = json!({ "maxApiKeys": api_keys, "retentionDays": retention_days, "maxUploadBytes": upload_bytes });
    change.commit(Event::new(Action::SetLimits, &account).with(details)).await
}

/// A command for one account.
#[derive(Debug)]
pub struct Operation<'o> {
    /// The operator.
    pub operator: &'o Operator<'o>,
    /// The account's email.
    pub email: &'o Email,
    /// The keys that encrypt the email to the owner.
    pub keys: &'o EncryptionKeys,
}

/// What `end-sessions` revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevokedAccess {
    /// Dashboard sessions and CLI credentials.
    pub sessions: u64,
    /// Named access keys deleted and API keys revoked.
    pub keys: usize,
}

impl<'o> Operation<'o> {
    /// Suspends the account: its credentials get 401 and correct logins 403 until it is reinstated. Pending logins, CLI logins and password resets
    /// are canceled. Its apps stay open to other collaborators, and devices still get updates. Errors: 404; 409 if it is already suspended.
    pub async fn suspend(&self) -> Result<()> {
        let (mut change, account) = self.begin().await?;
        let (now, tx) = (change.now(), &mut change);
        if repo::suspend(tx, &account, now).await? == 0 {
            return Err(Error::Conflict(Conflict::IsSuspended));
        }
        password_reset::repo::cancel(tx, &account).await?;
        pending_logins::cancel(tx, &account).await?;
        cli::repo::cancel(tx, &account, now).await?;
        self.finish(change, &account, Action::SuspendAccount, json!({}), Kind::AccountSuspended { time: now }).await
    }

    /// Ends a suspension; unexpired credentials work again. Errors: 404; 409 if the account is not suspended.
    pub async fn reinstate(&self) -> Result<()> {
        let (mut change, account) = self.begin().await?;
        let (now, tx) = (change.now(), &mut change);
        if repo::reinstate(tx, &account).await? == 0 {
            return Err(Error::Conflict(Conflict::NotSuspended));
        }
        self.finish(change, &account, Action::ReinstateAccount, json!({}), Kind::AccountReinstated { time: now }).await
    }

    /// Signs the account out everywhere: revokes sessions, CLI credentials and pending logins; with `with_keys`, access keys and API keys too.
    /// Errors: 404.
    pub async fn end_sessions(&self, with_keys: bool) -> Result<RevokedAccess> {
        let (mut change, account) = self.begin().await?;
        let (now, tx) = (change.now(), &mut change);
        let sessions = keys::repo::delete_logins(tx, &account, None).await?;
        pending_logins::cancel(tx, &account).await?;
        cli::repo::cancel(tx, &account, now).await?;
        device::repo::delete_all(tx, &account).await?;
        let mut names = Vec::new();
        if with_keys {
            names.extend(keys::repo::delete_named(tx, &account).await?);
            names.extend(api_keys::repo::revoke_all(tx, &account, now).await?);
        }
        let revoked = RevokedAccess { sessions, keys: names.len() };
        let details = json!({ "sessions": revoked.sessions, "keys": revoked.keys });
        let kind = Kind::SessionsEnded { time: now, keys: names };
        self.finish(change, &account, Action::EndAllSessions, details, kind).await?;
        Ok(revoked)
    }

    /// Clears the lockouts caused by failed logins and failed second factors. Limits by address remain: they do not belong to the account. Errors:
    /// 404.
    pub async fn unlock(&self) -> Result<()> {
        let mut change = self.operator.begin().await?;
        let (now, tx) = (change.now(), &mut change);
        // Same lock order as logins: email addresses, then attempts per account, then the `accounts` row.
        let account = repo::find_by_email(tx, self.email).await?.ok_or(Error::NotFound(Thing::Account))?;
        Count::lock(tx, Limit::LoginAccount, &Subject::email(self.email), now).await?.clear(tx).await?;
        for limit in [Limit::MfaAttempts, Limit::CliResolves] {
            Count::lock(tx, limit, &Subject::account(&account), now).await?.clear(tx).await?;
        }
        let account = self.hold(tx).await?;
        repo::restart_factors(tx, &account).await?;
        self.finish(change, &account, Action::UnlockAccount, json!({}), Kind::AccountUnlocked { time: now }).await
    }

    /// Removes every second factor with its recovery codes and pending logins, for an owner who lost them all. Sessions and keys remain. Errors: 404;
    /// 409 if there is no second factor.
    pub async fn remove_second_factors(&self) -> Result<Factors> {
        let (mut change, account) = self.begin().await?;
        let now = change.now();
        let factors = changes::remove_all(&mut change, &account).await?;
        let details = json!({ "passkeys": factors.passkeys, "authenticators": factors.authenticators });
        self.finish(change, &account, Action::RemoveSecondFactors, details, Kind::FactorsRemoved { time: now }).await?;
        Ok(factors)
    }

    /// Begins a change, with the account found and its row locked.
    async fn begin(&self) -> Result<(OperatorChange<'o>, AccountId)> {
        let mut change = self.operator.begin().await?;
        let account = self.hold(&mut change).await?;
        Ok((change, account))
    }

    async fn hold(&self, tx: &mut WriteTx) -> Result<AccountId> {
        let account = repo::find_by_email(tx, self.email).await?.ok_or(Error::NotFound(Thing::Account))?;
        repo::hold(tx, &account).await?.ok_or(Error::NotFound(Thing::Account))?;
        Ok(account)
    }

    /// Enqueues the email to the owner and commits.
    async fn finish(
        &self,
        mut change: OperatorChange<'_>,
        account: &AccountId,
        action: Action,
        details: serde_json::Value,
        kind: Kind,
    ) -> Result<()> {
        let (entropy, now) = (change.context().entropy(), change.now());
        let mail = Mail { to: self.email.to_string(), kind };
        outbox::enqueue_at(&mut change, self.keys, entropy, now, &mail).await?;
        change.commit(Event::new(action, account).with(details)).await
    }
}
