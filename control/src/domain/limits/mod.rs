//! Rate limits for unauthenticated requests, and on how often an account may reach out to others. They are exact sliding windows in the database, so
//! they survive restarts and hold across replicas. Each row holds the event times that one limit counted for one subject.
//!
//! Not here: the limits of signed-in callers and of reports, which are in memory. The caller decides what is counted and what a refusal says.
//! `quotas` bounds what an account may have, `under_way` what it may do at once; `settings` has the numbers. Start reading at [`acquire`]. Login counts
//! only failures and uses [`Count`] directly.
//!
//! Lock order, to avoid deadlocks: addresses, then email addresses, then attempts per account, all before `accounts` rows. Device cookies come after
//! email addresses. Counts of quotas by account and of emails to an account come last, after the `accounts` row.

mod address;
pub mod quotas;
pub mod repo;
pub mod settings;
pub mod under_way;

pub use address::{AddressCount, AddressTimes, acquire_for_address, acquire_unauthenticated, find_address};

use std::net::IpAddr;

use shared::hash::Sha256Hex;
use shared::ids::AccountId;
use shared::limit::{Rate, network, site, wide_network};
use shared::time::UnixMillis;

use crate::domain::context::Context;
use crate::domain::email::for_lookup;
use crate::domain::error::{Error, RateLimit, Result};
use crate::infra::db::{ReadTx, WriteTx};

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Failed logins, by client address.
    LoginAddress,
    /// Failed logins, by the email address entered.
    LoginAccount,
    /// Registrations, by client address.
    Register,
    /// Requests for emails (another verification, a password reset), by client address.
    MailRequests,
    /// Registration emails, by email address and requesting network.
    RegistrationMails,
    /// Registration emails, by email address alone.
    AllRegistrationMails,
    /// Password reset requests, by email address.
    ResetMails,
    /// Failed second-factor attempts of all kinds, by account.
    MfaAttempts,
    /// Other unauthenticated requests, by client address.
    Posts,
    /// CLI login requests, by client address.
    CliStarts,
    /// CLI token exchanges, by client address.
    CliTokens,
    /// Wrong user codes, by account.
    CliResolves,
    /// Deployments created, by the account that owns the app.
    Deployments,
    /// Collaborators added and apps transferred, by the account that adds or transfers.
    Collaborators,
    /// Apps renamed, by the account that renames.
    Renames,
    /// Emails about shared or transferred apps, by recipient account.
    AppNotices,
    /// Failed logins with a device cookie, by the cookie.
    DeviceFailures,
    /// Security warnings by email, by account and kind.
    Warnings,
    /// Notices by email, by account and kind.
    Notices,
}

impl Limit {
    /// The name in the database and in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LoginAddress => "login_address",
            Self::LoginAccount => "login_account",
            Self::Register => "register",
            Self::MailRequests => "mail_requests",
            Self::RegistrationMails => "registration_mails",
            Self::AllRegistrationMails => "all_registration_mails",
            Self::ResetMails => "reset_mails",
            Self::MfaAttempts => "mfa_attempts",
            Self::Posts => "posts",
            Self::CliStarts => "cli_starts",
            Self::CliTokens => "cli_tokens",
            Self::CliResolves => "cli_resolves",
            Self::Deployments => "deployments",
            Self::Collaborators => "collaborators",
            Self::Renames => "renames",
            Self::AppNotices => "app_notices",
            Self::DeviceFailures => "device_failures",
            Self::Warnings => "warnings",
            Self::Notices => "notices",
        }
    }
}

/// The key that events are counted under.
#[derive(Clone, Debug)]
pub struct Subject(String);

impl Subject {
    /// A client's address: the address itself on IPv4, its /64 on IPv6.
    pub fn address(address: IpAddr) -> Self {
        Self(network(address))
    }

    /// The site of an address, counted in addition: its /48 on IPv6.
    fn site(address: IpAddr) -> Option<Self> {
        site(address).map(Self)
    }

    /// An email address, with or without an account. It is normalized first: an earlier version may have stored it in another form. Only the hash is
    /// kept.
    pub fn email(email: &str) -> Self {
        Self(Sha256Hex::of(for_lookup(email).as_bytes()).to_string())
    }

    /// An email address together with the network of `from`. Only the hash of both is kept.
    pub fn email_from(email: &str, from: IpAddr) -> Self {
        Self(Sha256Hex::of(format!("{}\n{}", for_lookup(email), wide_network(from)).as_bytes()).to_string())
    }

    /// A browser, by the hash of its device cookie.
    pub fn device(hash: &str) -> Self {
        Self(hash.to_owned())
    }

    /// One kind of mail to an account.
    pub fn of_kind(account: &AccountId, kind: &str) -> Self {
        Self(format!("{account} {kind}"))
    }

    /// An account.
    pub fn account(account: &AccountId) -> Self {
        Self(account.as_str().to_owned())
    }
}

/// The times of the counted events, in milliseconds, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times(Vec<i64>);

impl Times {
    /// Parses a stored row.
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).map(Self).map_err(Error::internal)
    }

    /// Seconds (at least 1) until the next event is allowed, if `rate` is used up.
    pub fn wait(&self, rate: Rate, now: UnixMillis) -> Option<u64> {
        let first = self.nth_newest(rate.count)?;
        seconds_left(first, rate.window, now)
    }

    /// Seconds until a lockout ends. It starts once `rate.count` events fall within `rate.window`, and lasts one window from the last of them.
    pub fn stop(&self, rate: Rate, now: UnixMillis) -> Option<u64> {
        let (first, last) = (self.nth_newest(rate.count)?, *self.0.last()?);
        if last.saturating_sub(first) < rate.window { seconds_left(last, rate.window, now) } else { None }
    }

    /// How many events fall within the window of `rate`.
    pub fn within(&self, rate: Rate, now: UnixMillis) -> u32 {
        u32::try_from(self.0.iter().filter(|time| is_within(**time, rate.window, now)).count()).unwrap_or(u32::MAX)
    }

    fn nth_newest(&self, count: u32) -> Option<i64> {
        let index = self.0.len().checked_sub(usize::try_from(count).ok()?)?;
        self.0.get(index).copied()
    }

    /// Counts one more event. Keeps at most the newest `kept.count` events of the last `kept.window`.
    pub fn add(&mut self, kept: Rate, now: UnixMillis) {
        self.0.push(now.0);
        // The clocks of two replicas differ a little.
        self.0.sort_unstable();
        self.0.retain(|time| is_within(*time, kept.window, now));
        let max = usize::try_from(kept.count).unwrap_or(usize::MAX);
        self.0.drain(..self.0.len().saturating_sub(max));
    }
}

/// Whether `time` is less than a window away. A time further in the future was written before the clock was set back.
fn is_within(time: i64, window: i64, now: UnixMillis) -> bool {
    now.0.abs_diff(time) < window.unsigned_abs()
}

fn seconds_left(time: i64, window: i64, now: UnixMillis) -> Option<u64> {
    let left = time.saturating_add(window).saturating_sub(now.0);
    is_within(time, window, now).then(|| u64::try_from(left).unwrap_or(0).div_ceil(1_000).max(1))
}

/// What one limit has counted for one subject; its row is locked until the transaction ends.
#[derive(Debug)]
pub struct Count {
    limit: Limit,
    subject: Subject,
    times: Times,
}

impl Count {
    /// Locks and reads the row.
    pub async fn lock(tx: &mut WriteTx, limit: Limit, subject: &Subject, now: UnixMillis) -> Result<Self> {
        let times = repo::lock(tx, limit.as_str(), &subject.0, now).await?;
        Ok(Self { limit, subject: subject.clone(), times: Times::parse(&times)? })
    }

    /// The times counted so far.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// Counts one more event and returns the new times. Keeps at most the newest `kept.count` events of the last `kept.window`.
    pub async fn add(mut self, tx: &mut WriteTx, kept: Rate, now: UnixMillis) -> Result<Times> {
        self.times.add(kept, now);
        let text = serde_json::to_string(&self.times.0).map_err(Error::internal)?;
        repo::store(tx, self.limit.as_str(), &self.subject.0, &text, now.plus_millis(kept.window)).await?;
        Ok(self.times)
    }

    /// Clears the count.
    pub async fn clear(self, tx: &mut WriteTx) -> Result<()> {
        repo::clear(tx, self.limit.as_str(), &self.subject.0).await?;
        Ok(())
    }

    /// Releases the row without counting; an empty row is deleted.
    pub async fn leave(self, tx: &mut WriteTx) -> Result<()> {
        if self.times.0.is_empty() { self.clear(tx).await } else { Ok(()) }
    }
}

/// Reads what one limit has counted for one subject.
pub async fn find(tx: &mut ReadTx, limit: Limit, subject: &Subject) -> Result<Times> {
    let found = repo::find(tx, limit.as_str(), &subject.0).await?;
    found.as_deref().map_or(Ok(Times::default()), Times::parse)
}

/// Counts one more event unless `rate` is used up; the error is the number of seconds until the next is allowed.
pub async fn acquire(tx: &mut WriteTx, limit: Limit, subject: &Subject, rate: Rate, now: UnixMillis) -> Result<Result<(), u64>> {
    let count = Count::lock(tx, limit, subject, now).await?;
    match count.times().wait(rate, now) {
        Some(seconds) => Ok(Err(seconds)),
        None => count.add(tx, rate, now).await.map(|_| Ok(())),
    }
}

/// [`acquire`] in its own transaction, after a read-only check like [`acquire_for_address`].
pub async fn acquire_alone(app: &Context, subject: &Subject, limit: Limit, rate: Rate) -> Result<Result<(), u64>> {
    let so_far = find(&mut app.db.read().await?, limit, subject).await?;
    if let Some(seconds) = so_far.wait(rate, app.now()) {
        return Ok(Err(seconds));
    }
    let mut tx = app.db.write().await?;
    let acquired = acquire(&mut tx, limit, subject, rate, app.now()).await?;
    tx.commit().await?;
    Ok(acquired)
}

/// [`acquire_alone`] for several events: all of them or none.
pub async fn acquire_many_alone(app: &Context, subject: &Subject, limit: Limit, rate: Rate, count: usize) -> Result<Result<(), u64>> {
    let mut tx = app.db.write().await?;
    for _ in 0..count {
        if let Err(seconds) = acquire(&mut tx, limit, subject, rate, app.now()).await? {
            return Ok(Err(seconds));
        }
    }
    tx.commit().await?;
    Ok(Ok(()))
}

/// 429 with `Retry-After`, for everything but logins.
pub fn too_many(seconds: u64) -> Error {
    Error::TooMany { limit: RateLimit::Address, retry_after: seconds }
}

/// The same for logins of any kind; the refusal also has the seconds in its body.
pub fn too_many_logins(seconds: u64) -> Error {
    Error::TooMany { limit: RateLimit::AddressLogins, retry_after: seconds }
}
