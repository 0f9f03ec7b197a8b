//! One password attempt: the limits that protect the account, the comparison, and how a failure is counted.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::repo;
use crate::domain::accounts;
use crate::domain::accounts::settings::PENDING_LIFETIME;
use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::credentials::device_cookies::Device;
use crate::domain::credentials::device_cookies::service::LockedCookie;
use crate::domain::credentials::token::TokenHash;
use crate::domain::error::{Credentials, Error, RateLimit, Refusal, Result};
use crate::domain::limits::{self, AddressCount, AddressTimes, Count, Limit, Subject, Times};
use crate::domain::traces::Warning;
use crate::domain::traces::{self, Event, Trace};
use crate::infra::db::WriteTx;

const WRONG: Error = Error::WrongCredentials(Credentials::Password);

/// What protects an account from password guessing, besides the limit per address.
#[derive(Clone, Copy)]
pub(crate) enum Guard {
    /// After a few failures, a human-verification challenge is required.
    Challenge { is_passed: bool },
    /// After ten failures, the account is locked for an hour.
    Stop,
}

/// The name of the limit that refused, and the refusal.
type Refused = (&'static str, Error);

impl Guard {
    /// `is_known` (a device cookie) bypasses the protection of the account, but not the limit of the address.
    fn check(self, app: &Context, address: &AddressTimes, account: &Times, is_known: bool, now: UnixMillis) -> Result<(), Refused> {
        let rates = &app.settings.limits.unauthenticated;
        if let Some(seconds) = address.wait(rates.login_address, now) {
            return Err((Limit::LoginAddress.as_str(), too_many(seconds)));
        }
        match self {
            _ if is_known => Ok(()),
            Self::Challenge { is_passed: false } if account.wait(rates.login_challenge, now).is_some() => {
                Err(("login_challenge", Error::Refused(Refusal::NoChallengeAfterFailures)))
            }
            Self::Challenge { .. } => Ok(()),
            Self::Stop => account.stop(rates.login_stop, now).map_or(Ok(()), |seconds| Err(("login_stop", too_many(seconds)))),
        }
    }
}

/// A password attempt.
#[derive(Clone, Copy)]
pub(crate) struct Guess<'g> {
    pub(crate) from: ClientAddress,
    pub(crate) email: &'g str,
    pub(crate) password: &'g str,
    pub(crate) guard: Guard,
    pub(crate) device: &'g Device,
    pub(crate) passwords: Passwords,
}

impl Guess<'_> {
    /// Logs a refusal by a limit. A request for a challenge is not logged.
    fn log_refusal(&self, app: &Context, (limit, error): Refused) -> Error {
        if matches!(error, Error::TooMany { .. }) {
            traces::refused(app, self.from, limit, None);
        }
        error
    }
}

pub(crate) fn too_many(seconds: u64) -> Error {
    Error::TooMany { limit: RateLimit::FailedLogins, retry_after: seconds }
}

/// Checks the limits before spending time on a hash. Returns the device cookie if it belongs to the account.
pub(crate) async fn check_limits(app: &Context, guess: &Guess<'_>) -> Result<Option<TokenHash>> {
    let (mut tx, now) = (app.db.read().await?, app.now());
    let address = limits::find_address(&mut tx, Limit::LoginAddress, guess.from.0).await?;
    let account = limits::find(&mut tx, Limit::LoginAccount, &Subject::email(guess.email)).await?;
    let device = guess.device.find(&mut tx, guess.email, now).await?;
    guess.guard.check(app, &address, &account, device.is_some(), now).map_err(|refused| guess.log_refusal(app, refused))?;
    Ok(device)
}

/// A correct password: its account, and the hash as it is stored now.
pub(crate) struct Verified {
    pub(crate) account: AccountId,
    pub(crate) hash: String,
    /// The account's failed logins, locked; cleared on success.
    pub(crate) failures: Count,
    /// Whether the request had a device cookie of the account.
    pub(crate) has_device: bool,
}

/// Whose passwords to compare with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passwords {
    /// The account's, and that of a registration for the same address.
    AccountOrRegistration,
    /// Only the account's: its owner is signed in.
    AccountOnly,
}

/// Compares the password, and counts a failure. On success, returns the open transaction; it has locked the account and checked that the hash is
/// still the one compared.
pub(crate) async fn verify(app: &Context, guess: &Guess<'_>) -> Result<(WriteTx, Verified)> {
    let Guess { from, email, password, .. } = *guess;
    // A concurrent login may replace the hash with a newer hash of the same password; then compare once more.
    for _ in 0..2 {
        let permit = app.password_permit(from).await?;
        // While this waited for its permit, other attempts may have used up the limits.
        let device = check_limits(app, guess).await?;
        let (account, pending) = find(app, email, guess.passwords).await?;
        let stored = account.as_ref().map(|(_, hash)| hash.as_str());
        let (verdict, is_pending) = permit.verify_both(password, stored, pending.as_deref()).await?;
        let new_hash =
            if verdict.matches && verdict.is_outdated { Some(app.password_permit(from).await?.hash(password).await?) } else { None };
        let (mut tx, now) = (app.db.write().await?, app.now());
        let at_address = AddressCount::lock(&mut tx, Limit::LoginAddress, from.0, now).await?;
        let at_account = Count::lock(&mut tx, Limit::LoginAccount, &Subject::email(email), now).await?;
        let shown = match &device {
            Some(hash) => LockedCookie::lock(&mut tx, hash, email, now).await?,
            None => None,
        };
        let checked = guess.guard.check(app, &at_address.times(), at_account.times(), shown.is_some(), now);
        checked.map_err(|refused| guess.log_refusal(app, refused))?;
        let has_device = shown.is_some();
        if let Some((account, hash)) = account.as_ref().filter(|_| verdict.matches) {
            at_address.leave(&mut tx).await?;
            if let Some(shown) = shown {
                shown.leave(&mut tx).await?;
            }
            let new_hash = new_hash.unwrap_or_else(|| hash.clone());
            // Also locks the account against a concurrent password change, and detects one that has committed.
            if accounts::repo::replace_password(&mut tx, account, hash, &new_hash).await? > 0 {
                return Ok((tx, Verified { account: account.clone(), hash: new_hash, failures: at_account, has_device }));
            }
            continue;
        }
        // The password of a registration counts as a failure too: someone else may have chosen it.
        let failed = FailedLogin { address: at_address, account: at_account, shown };
        failed.count(tx, app, guess, account.map(|(account, _)| account), is_pending).await?;
        return Err(if is_pending { Error::Refused(Refusal::NotVerified) } else { WRONG });
    }
    Err(Error::unavailable("the account's password changed twice during the comparison"))
}

/// The locked counts of a failed login.
struct FailedLogin {
    address: AddressCount,
    account: Count,
    shown: Option<LockedCookie>,
}

impl FailedLogin {
    /// Counts and commits the failure, then logs it. The writes do not depend on whether the address has an account.
    async fn count(self, mut tx: WriteTx, app: &Context, guess: &Guess<'_>, account: Option<AccountId>, is_pending: bool) -> Result<()> {
        let (rates, now) = (&app.settings.limits.unauthenticated, app.now());
        self.address.add(&mut tx, rates.login_address, now).await?;
        let failures = self.account.add(&mut tx, rates.login_memory(), now).await?;
        if let Some(shown) = self.shown {
            shown.fail(&mut tx, now).await?;
        }
        tx.commit().await?;
        let outcome = if is_pending { "not_verified" } else { "wrong_password" };
        let outcome = if account.is_none() && !is_pending { "unknown_account" } else { outcome };
        traces::fail(app, Trace { event: Event::Login, outcome, account: account.as_ref(), from: guess.from });
        let has_stopped = matches!(guess.guard, Guard::Stop) && failures.stop(rates.login_stop, now).is_some();
        if let Some(account) = account.filter(|_| has_stopped) {
            traces::warn(app, &account, Warning::LoginStopped, guess.from);
        }
        Ok(())
    }
}

/// Finds the account of the address with its hash, and the hash of its newest registration or decoy. Runs the same queries whether or not the address
/// has an account.
async fn find(app: &Context, email: &str, passwords: Passwords) -> Result<(Option<(AccountId, String)>, Option<String>)> {
    let mut tx = app.db.read().await?;
    let account = repo::find_account(&mut tx, email).await?;
    let pending = match passwords {
        Passwords::AccountOrRegistration => repo::find_pending(&mut tx, email, app.now().plus_millis(-PENDING_LIFETIME)).await?,
        Passwords::AccountOnly => None,
    };
    Ok((account, pending))
}
