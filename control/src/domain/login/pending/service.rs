//! Pending logins.

use shared::ids::{AccountId, PendingLoginId};
use shared::time::UnixMillis;

use crate::domain::accounts;
use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::credentials::token::{PlainToken, TokenHash};
use crate::domain::error::{Credentials, Error, Refusal, Result};
use crate::domain::limits::{self, Count, Limit, Subject};
use crate::domain::login::service::{self as login, LoggedIn};
use crate::domain::second_factors::pending_logins::{self as repo, Issued, PendingLogin};
use crate::domain::second_factors::{Factor, LockedAccount};
use crate::domain::traces::Warning;
use crate::domain::traces::{self, Event, Trace};
use crate::infra::db::{ReadTx, WriteTx};

/// Lifetime of a pending login, in milliseconds.
const LIFETIME: i64 = 5 * 60_000;

/// Attempts per pending login.
const MAX_ATTEMPTS: i64 = 5;

/// Pending logins per account. The next one replaces the oldest, so that logins do not fill the database.
const MAX_PER_ACCOUNT: i64 = 100;

/// The same error for an unknown pending login and for a wrong proof.
pub const WRONG: Error = Error::WrongCredentials(Credentials::PendingLogin);

/// Creates a pending login for an account that this transaction has locked. `has_device` says whether the password came with a device cookie of the
/// account.
pub async fn create(tx: &mut WriteTx, app: &Context, account: &AccountId, has_device: bool) -> Result<Issued> {
    let (now, token) = (app.now(), PlainToken::pending_login(&app.entropy)?);
    let issued = Issued { id: PendingLoginId::v7(now, app.entropy.bytes()?), token, expires: now.plus_millis(LIFETIME) };
    repo::delete_oldest(tx, account, MAX_PER_ACCOUNT - 1).await?;
    repo::insert(tx, &issued, account, now, has_device).await?;
    Ok(issued)
}

/// Reads the pending login with this token, without a lock, for operations that only prepare a proof. Errors: 401.
pub async fn find(tx: &mut ReadTx, token: &str, now: UnixMillis) -> Result<PendingLogin> {
    repo::find(tx, &TokenHash::of(token), now).await?.ok_or(WRONG)
}

/// One attempt at a pending login: an open transaction that has locked the account and the login. Dropped without `succeed` or `fail`, it rolls back.
#[derive(Debug)]
pub struct Attempt {
    tx: WriteTx,
    locked: LockedAccount,
    pending: PendingLogin,
    number: i64,
    failed_logins: Count,
    from: ClientAddress,
}

impl Attempt {
    /// Begins an attempt. Errors: 401 for a token that is unknown, used or expired; 429 after too many failures of the account.
    pub async fn begin(app: &Context, from: ClientAddress, token: &str) -> Result<Self> {
        let found = repo::find(&mut app.db.read().await?, &TokenHash::of(token), app.now()).await?;
        let Some(pending) = found else {
            // Attempts at a login count by its account; these have none, so they count by address.
            let posts = app.settings.limits.unauthenticated.posts;
            limits::acquire_for_address(app, from.0, Limit::Posts, posts).await?.map_err(limits::too_many_logins)?;
            traces::fail(app, Trace { event: Event::SecondFactor, outcome: "unknown_login", account: None, from });
            return Err(WRONG);
        };
        let (mut tx, now) = (app.db.write().await?, app.now());
        let failed_logins = Count::lock(&mut tx, Limit::LoginAccount, &Subject::email(&pending.email), now).await?;
        // If the account was deleted meanwhile, its pending logins are gone too.
        let locked = LockedAccount::lock(&mut tx, app, &pending.account_id, from).await.map_err(|error| match error {
            Error::Unauthenticated => WRONG,
            error => error,
        })?;
        locked.check_limit(app)?;
        let number = repo::try_one(&mut tx, &pending.id, now).await?.ok_or(WRONG)?;
        Ok(Self { tx, locked, pending, number, failed_logins, from })
    }

    /// The transaction to verify the proof in.
    pub fn tx(&mut self) -> &mut WriteTx {
        &mut self.tx
    }

    /// The account.
    pub fn account(&self) -> &AccountId {
        self.locked.account()
    }

    /// Its email address.
    pub fn email(&self) -> &str {
        self.locked.email()
    }

    /// The pending login.
    pub fn pending(&self) -> &PendingLoginId {
        &self.pending.id
    }

    /// Refuses a code, right or wrong, while codes are blocked for the account. Uses nothing up. Errors: 403.
    pub fn require_codes_allowed(&self, app: &Context) -> Result<()> {
        if self.locked.allows_codes(app) { Ok(()) } else { Err(Error::Refused(Refusal::LoginCodesStopped)) }
    }

    /// Counts the failure for this login and for the account, and returns the error to send. The last attempt deletes the login.
    pub async fn fail(mut self, app: &Context, outcome: &'static str) -> Error {
        let (account, from) = (self.locked.account().clone(), self.from);
        let counted = async {
            if self.number >= MAX_ATTEMPTS {
                repo::delete(&mut self.tx, &self.pending.id).await?;
            }
            self.failed_logins.leave(&mut self.tx).await?;
            self.locked.fail(self.tx, app, Event::SecondFactor, outcome).await
        };
        match counted.await {
            Ok(()) => {
                traces::warn(app, &account, Warning::WrongFactor, from);
                WRONG
            }
            Err(error) => error,
        }
    }

    /// Deletes the pending login and creates the session. Also clears the failed logins.
    pub async fn succeed(mut self, app: &Context, factor: Factor) -> Result<LoggedIn> {
        if repo::delete(&mut self.tx, &self.pending.id).await? == 0 {
            return Err(WRONG);
        }
        self.failed_logins.clear(&mut self.tx).await?;
        accounts::repo::forgive_factors(&mut self.tx, &self.pending.account_id).await?;
        let method = login::Method::SecondFactor(factor);
        login::finish(self.tx, app, &self.pending.account_id, self.from, method, self.pending.has_device).await
    }
}
