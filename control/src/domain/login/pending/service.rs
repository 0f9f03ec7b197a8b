//! The rules of pending logins.

use shared::ids::{AccountId, PendingLoginId};
use shared::time::UnixMillis;

use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::credentials::token::{PlainToken, TokenHash};
use crate::domain::error::{Credentials, Error, Refusal, Result};
use crate::domain::limits::{self, Count, Limit, Subject};
use crate::domain::login::service::{self as login, LoggedIn};
use crate::domain::second_factors::pending_logins::{self as repo, Issued, PendingLogin};
use crate::domain::second_factors::{Factor, Held, factors};
use crate::domain::traces::Warning;
use crate::domain::traces::{self, Event, Trace};
use crate::infra::db::{ReadTx, WriteTx};

/// How long a pending login lasts, in milliseconds.
const LIFETIME: i64 = 5 * 60_000;

/// How many attempts it takes.
const ATTEMPTS: i64 = 5;

/// How many of one account there are at most: the next one ends the oldest, so that logins do not fill the database.
const MOST: i64 = 100;

/// Of a pending login that is not there, and of a wrong proof alike.
pub const WRONG: Error = Error::WrongCredentials(Credentials::PendingLogin);

/// Makes a pending login of an account that this transaction holds. `has_device` says whether a device cookie of the account came with the password.
pub async fn create(tx: &mut WriteTx, app: &Context, account: &AccountId, has_device: bool) -> Result<Issued> {
    let (now, token) = (app.now(), PlainToken::pending_login(&app.dice)?);
    let issued = Issued { id: PendingLoginId::v7(now, app.dice.bytes()?), token, expires: now.plus_millis(LIFETIME) };
    repo::delete_oldest(tx, account, MOST - 1).await?;
    repo::insert(tx, &issued, account, now, has_device).await?;
    Ok(issued)
}

/// The pending login with this token, as it is now, for what only prepares a proof. Errors: 401.
pub async fn find(tx: &mut ReadTx, token: &str, now: UnixMillis) -> Result<PendingLogin> {
    repo::find(tx, &TokenHash::of(token), now).await?.ok_or(WRONG)
}

/// One attempt at a pending login: an open transaction that holds the account and the login. Nothing of it lasts unless it succeeds or fails in order.
#[derive(Debug)]
pub struct Attempt {
    tx: WriteTx,
    held: Held,
    pending: PendingLogin,
    number: i64,
    failed_logins: Count,
    from: ClientAddress,
}

impl Attempt {
    /// Begins one. Errors: 401 for a token that is not known, was used or has ended; 429 after too many failures of the account.
    pub async fn begin(app: &Context, from: ClientAddress, token: &str) -> Result<Self> {
        let found = repo::find(&mut app.db.read().await?, &TokenHash::of(token), app.now()).await?;
        let Some(pending) = found else {
            // Attempts at a login are counted by its account; these have none.
            let posts = app.settings.limits.strangers.posts;
            limits::admit_address(app, from.0, Limit::Posts, posts).await?.map_err(limits::too_many_logins)?;
            traces::fail(app, Trace { event: Event::SecondFactor, outcome: "unknown_login", account: None, from });
            return Err(WRONG);
        };
        let (mut tx, now) = (app.db.write().await?, app.now());
        let failed_logins = Count::lock(&mut tx, Limit::LoginAccount, &Subject::email(&pending.email), now).await?;
        // An account that was deleted meanwhile took its pending logins along.
        let held = Held::lock(&mut tx, app, &pending.account_id, from).await.map_err(|error| match error {
            Error::Unauthenticated => WRONG,
            error => error,
        })?;
        held.check_limit(app)?;
        let number = repo::try_one(&mut tx, &pending.id, now).await?.ok_or(WRONG)?;
        Ok(Self { tx, held, pending, number, failed_logins, from })
    }

    /// The transaction, to judge the proof in.
    pub fn tx(&mut self) -> &mut WriteTx {
        &mut self.tx
    }

    /// The account.
    pub fn account(&self) -> &AccountId {
        self.held.account()
    }

    /// Its e-mail address.
    pub fn email(&self) -> &str {
        self.held.email()
    }

    /// The pending login.
    pub fn pending(&self) -> &PendingLoginId {
        &self.pending.id
    }

    /// Refuses a code, right or wrong, while codes of the account are stopped. It uses nothing up. Errors: 403.
    pub fn must_take_codes(&self, app: &Context) -> Result<()> {
        if self.held.takes_codes(app) { Ok(()) } else { Err(Error::Refused(Refusal::LoginCodesStopped)) }
    }

    /// Counts the failure, of this login and of the account, and gives what is answered. The last one ends the login.
    pub async fn fail(mut self, app: &Context, outcome: &'static str) -> Error {
        let (account, from) = (self.held.account().clone(), self.from);
        let counted = async {
            if self.number >= ATTEMPTS {
                repo::delete(&mut self.tx, &self.pending.id).await?;
            }
            self.failed_logins.leave(&mut self.tx).await?;
            self.held.fail(self.tx, app, Event::SecondFactor, outcome).await
        };
        match counted.await {
            Ok(()) => {
                traces::warn(app, &account, Warning::WrongFactor, from);
                WRONG
            }
            Err(error) => error,
        }
    }

    /// Uses the login up and gives the session. It forgives the failed logins, too.
    pub async fn succeed(mut self, app: &Context, factor: Factor) -> Result<LoggedIn> {
        if repo::delete(&mut self.tx, &self.pending.id).await? == 0 {
            return Err(WRONG);
        }
        self.failed_logins.clear(&mut self.tx).await?;
        factors::forgive(&mut self.tx, &self.pending.account_id).await?;
        let way = login::Way::SecondFactor(factor);
        login::finish(self.tx, app, &self.pending.account_id, self.from, way, self.pending.has_device).await
    }
}
