//! How much strangers may ask for, and how often an account may reach out to others: exact sliding windows in the database, so that neither a restart
//! nor a second replica forgets. Each row holds the times of what one limit counted of one subject.
//!
//! The limits of signed-in callers and those of reports are in memory and not here. What is counted, and what a refusal says, is the caller's.
//! `quotas` bounds what an account may have, `under_way` what it may do at once, `settings` has the numbers. Start reading at
//! [`admit`]; login, which counts failures only, goes by [`Count`].
//!
//! Code that locks several rows locks those of addresses before those of e-mail addresses, those before the attempts of accounts, and all before rows
//! of accounts; so nobody waits in a circle. Those of device cookies come after those of e-mail addresses. What quotas count by account, and mails to
//! it, comes last, after the account's row.

mod address;
pub mod quotas;
pub mod repo;
pub mod settings;
pub mod under_way;

pub use address::{AddressCount, AddressTimes, admit_address, admit_stranger, find_address};

use std::net::IpAddr;

use shared::hash::Sha256Hex;
use shared::ids::AccountId;
use shared::limit::{Rate, network, site, wide_network};
use shared::time::UnixMillis;

use crate::domain::context::Context;
use crate::domain::email::sought;
use crate::domain::error::{Error, RateLimit, Result};
use crate::infra::db::{ReadTx, WriteTx};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Failed logins, by client address.
    LoginAddress,
    /// Failed logins, by the e-mail address that was given.
    LoginAccount,
    /// Registrations, by client address.
    Register,
    /// Requests for mails (another verification, a password reset), by client address.
    MailRequests,
    /// Mails about registrations, by e-mail address and the network that asked for them.
    RegistrationMails,
    /// The same, by e-mail address alone.
    AllRegistrationMails,
    /// Requests for password resets, by e-mail address.
    ResetMails,
    /// Failed proofs of a second factor, of all kinds together, by account.
    MfaAttempts,
    /// Other requests that need no credential, by client address.
    Posts,
    /// Requests of command lines to be let in, by client address.
    CliStarts,
    /// Exchanges of command lines, by client address.
    CliTokens,
    /// Wrong user codes, by account.
    CliResolves,
    /// Deployments created, by the account that owns the app.
    Deployments,
    /// Collaborators added and apps transferred, by the account that does it.
    Collaborators,
    /// New names of apps, by the account that gives them.
    Renames,
    /// Mails about apps that were shared or transferred, by the account that gets them.
    AppNotices,
    /// Failed logins with a device cookie, by the cookie.
    DeviceFailures,
    /// Mails that warn an owner, by account and kind.
    Warnings,
    /// Notices to an owner, by account and kind.
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

/// Whose requests are counted together.
#[derive(Clone, Debug)]
pub struct Subject(String);

impl Subject {
    /// A client's address: itself on IPv4, its /64 on IPv6.
    pub fn address(address: IpAddr) -> Self {
        Self(network(address))
    }

    /// What an address belongs to besides, and counts for there: its /48 on IPv6.
    fn site(address: IpAddr) -> Option<Self> {
        site(address).map(Self)
    }

    /// An e-mail address, whether or not there is an account, by its normal form: an earlier version may have stored it in another one. Only the hash
    /// is kept.
    pub fn email(email: &str) -> Self {
        Self(Sha256Hex::of(sought(email).as_bytes()).to_string())
    }

    /// An e-mail address as somebody in the network of `from` gives it. Only the hash of both is kept.
    pub fn email_from(email: &str, from: IpAddr) -> Self {
        Self(Sha256Hex::of(format!("{}\n{}", sought(email), wide_network(from)).as_bytes()).to_string())
    }

    /// A browser, by the hash of its device cookie.
    pub fn device(hash: &str) -> Self {
        Self(hash.to_owned())
    }

    /// Mails of one kind to an account.
    pub fn of_kind(account: &AccountId, kind: &str) -> Self {
        Self(format!("{account} {kind}"))
    }

    /// An account.
    pub fn account(account: &AccountId) -> Self {
        Self(account.as_str().to_owned())
    }
}

/// The times of what was counted, in milliseconds, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times(Vec<i64>);

impl Times {
    /// Reads what a row holds.
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).map(Self).map_err(Error::internal)
    }

    /// The seconds (at least 1) until one more may come, when there were as many as `rate` allows.
    pub fn wait(&self, rate: Rate, now: UnixMillis) -> Option<u64> {
        let first = self.nth_newest(rate.count)?;
        seconds_left(first, rate.window, now)
    }

    /// The seconds until a stop is over: it begins when there were `rate.count` within `rate.window`, and lasts that long from the last of them.
    pub fn stop(&self, rate: Rate, now: UnixMillis) -> Option<u64> {
        let (first, last) = (self.nth_newest(rate.count)?, *self.0.last()?);
        if last.saturating_sub(first) < rate.window { seconds_left(last, rate.window, now) } else { None }
    }

    fn nth_newest(&self, count: u32) -> Option<i64> {
        let place = self.0.len().checked_sub(usize::try_from(count).ok()?)?;
        self.0.get(place).copied()
    }

    /// Counts one more. No more than `kept.count` of the last `kept.window` are kept.
    pub fn add(&mut self, kept: Rate, now: UnixMillis) {
        self.0.push(now.0);
        // Clocks of two replicas differ a little.
        self.0.sort_unstable();
        self.0.retain(|time| is_within(*time, kept.window, now));
        let most = usize::try_from(kept.count).unwrap_or(usize::MAX);
        self.0.drain(..self.0.len().saturating_sub(most));
    }
}

/// Whether `time` is less than a window away. One that lies further in the future was left there by a clock that was set back since.
fn is_within(time: i64, window: i64, now: UnixMillis) -> bool {
    now.0.abs_diff(time) < window.unsigned_abs()
}

fn seconds_left(time: i64, window: i64, now: UnixMillis) -> Option<u64> {
    let left = time.saturating_add(window).saturating_sub(now.0);
    is_within(time, window, now).then(|| u64::try_from(left).unwrap_or(0).div_ceil(1_000).max(1))
}

/// What one limit counted of one subject; its row is locked until the transaction ends.
#[derive(Debug)]
pub struct Count {
    limit: Limit,
    subject: Subject,
    times: Times,
}

impl Count {
    /// Locks the row and reads it.
    pub async fn lock(tx: &mut WriteTx, limit: Limit, subject: &Subject, now: UnixMillis) -> Result<Self> {
        let times = repo::lock(tx, limit.as_str(), &subject.0, now).await?;
        Ok(Self { limit, subject: subject.clone(), times: Times::parse(&times)? })
    }

    /// What was counted.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// Counts one more, and gives what is counted now. No more than `kept.count` of the last `kept.window` are kept.
    pub async fn add(mut self, tx: &mut WriteTx, kept: Rate, now: UnixMillis) -> Result<Times> {
        self.times.add(kept, now);
        let text = serde_json::to_string(&self.times.0).map_err(Error::internal)?;
        repo::store(tx, self.limit.as_str(), &self.subject.0, &text, now.plus_millis(kept.window)).await?;
        Ok(self.times)
    }

    /// Forgets all.
    pub async fn clear(self, tx: &mut WriteTx) -> Result<()> {
        repo::clear(tx, self.limit.as_str(), &self.subject.0).await?;
        Ok(())
    }

    /// Leaves it as it was; a row that counts nothing is not kept.
    pub async fn leave(self, tx: &mut WriteTx) -> Result<()> {
        if self.times.0.is_empty() { self.clear(tx).await } else { Ok(()) }
    }
}

/// What one limit counted of one subject so far.
pub async fn find(tx: &mut ReadTx, limit: Limit, subject: &Subject) -> Result<Times> {
    let found = repo::find(tx, limit.as_str(), &subject.0).await?;
    found.as_deref().map_or(Ok(Times::default()), Times::parse)
}

/// Counts one more, unless there were as many as `rate` allows: then the error says in how many seconds the next may come.
pub async fn admit(tx: &mut WriteTx, limit: Limit, subject: &Subject, rate: Rate, now: UnixMillis) -> Result<Result<(), u64>> {
    let count = Count::lock(tx, limit, subject, now).await?;
    match count.times().wait(rate, now) {
        Some(seconds) => Ok(Err(seconds)),
        None => count.add(tx, rate, now).await.map(|_| Ok(())),
    }
}

/// [`admit`] of one subject in a transaction of its own, as with an address.
pub async fn admit_alone(app: &Context, subject: &Subject, limit: Limit, rate: Rate) -> Result<Result<(), u64>> {
    let so_far = find(&mut app.db.read().await?, limit, subject).await?;
    if let Some(seconds) = so_far.wait(rate, app.now()) {
        return Ok(Err(seconds));
    }
    let mut tx = app.db.write().await?;
    let admitted = admit(&mut tx, limit, subject, rate, app.now()).await?;
    tx.commit().await?;
    Ok(admitted)
}

/// 429 with `Retry-After`, for all but logins.
pub fn too_many(seconds: u64) -> Error {
    Error::TooMany { limit: RateLimit::Address, retry_after: seconds }
}

/// The same for logins of any kind, whose refusals name the seconds in the body, too.
pub fn too_many_logins(seconds: u64) -> Error {
    Error::TooMany { limit: RateLimit::AddressLogins, retry_after: seconds }
}
