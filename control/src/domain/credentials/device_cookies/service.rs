//! The rules of device cookies.

use std::fmt;

use shared::ids::AccountId;
use shared::limit::Rate;
use shared::time::UnixMillis;

use super::repo;
use crate::domain::accounts;
use crate::domain::context::Context;
use crate::domain::credentials::token::{PlainToken, TokenHash};
use crate::domain::error::Result;
use crate::domain::limits::{self, Count, Limit, Subject};
use crate::infra::db::{ReadTx, WriteTx};

/// How long a cookie is valid, in milliseconds: 90 days.
pub const LIFETIME: i64 = 90 * 86_400_000;

/// Failed logins within a day after which a cookie is deleted.
const MAX_FAILURES: Rate = Rate { count: 10, window: 86_400_000 };

/// Accounts that one browser remembers.
const MAX_ACCOUNTS: usize = 5;

/// Browsers that remember one account; a further one replaces the oldest.
const MAX_BROWSERS: i64 = 100;

/// The length of a token: 32 bytes in base64url.
const LENGTH: usize = 43;

/// Separates the tokens in a cookie.
const SEPARATOR: char = '.';

/// The contents of a browser's cookie: one token per account, the latest first. `Debug` does not print them.
#[derive(Clone, Default)]
pub struct Device(Vec<String>);

impl fmt::Debug for Device {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Device")
    }
}

impl Device {
    /// Parses a cookie's value, and skips parts that are not tokens.
    pub fn parse(value: &str) -> Self {
        let is_token = |text: &&str| text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        Self(value.split(SEPARATOR).filter(is_token).take(MAX_ACCOUNTS).map(str::to_owned).collect())
    }

    /// The cookie's value.
    pub fn reveal(&self) -> String {
        self.0.join(&SEPARATOR.to_string())
    }

    /// The token for the account with this email, if there is a valid one.
    pub async fn find(&self, tx: &mut ReadTx, email: &str, now: UnixMillis) -> Result<Option<TokenHash>> {
        for token in &self.0 {
            let hash = TokenHash::of(token);
            if is_valid(tx, &hash, email, now).await? {
                return Ok(Some(hash));
            }
        }
        Ok(None)
    }

    /// The contents of the cookie after a sign-in to the account: the browser's existing token for it, or a new one, comes first. A token that is not the
    /// account's own is never adopted for it.
    pub async fn remember(mut self, app: &Context, account: &AccountId) -> Result<Self> {
        let (mut tx, now) = (app.db.write().await?, app.now());
        // The account was deleted meanwhile, so it is not remembered.
        if accounts::repo::hold(&mut tx, account).await?.is_none() {
            return Ok(self);
        }
        let mut own = None;
        for (place, token) in self.0.iter().enumerate() {
            if repo::touch(&mut tx, &TokenHash::of(token), account, now.plus_millis(-LIFETIME), now).await? {
                own = Some(place);
                break;
            }
        }
        let token = if let Some(place) = own {
            self.0.remove(place)
        } else {
            let token = PlainToken::device(&app.entropy)?;
            repo::insert(&mut tx, &token.hash(), account, now).await?;
            repo::delete_oldest(&mut tx, account, MAX_BROWSERS).await?;
            token.reveal().to_owned()
        };
        tx.commit().await?;
        self.0.insert(0, token);
        self.0.truncate(MAX_ACCOUNTS);
        Ok(self)
    }
}

async fn is_valid(tx: &mut ReadTx, hash: &TokenHash, email: &str, now: UnixMillis) -> Result<bool> {
    if !repo::is_of(tx, hash, email, now.plus_millis(-LIFETIME)).await? {
        return Ok(false);
    }
    let failures = limits::find(tx, Limit::DeviceFailures, &Subject::device(hash.as_str())).await?;
    Ok(failures.wait(MAX_FAILURES, now).is_none())
}

/// A cookie whose failure counter is locked: of any number of concurrent guesses, no more than the limit are judged with it.
#[derive(Debug)]
pub struct LockedCookie {
    hash: TokenHash,
    failures: Count,
}

impl LockedCookie {
    /// Locks the failure counter; `None` when the cookie is no longer valid.
    pub async fn lock(tx: &mut WriteTx, hash: &TokenHash, email: &str, now: UnixMillis) -> Result<Option<Self>> {
        let failures = Count::lock(tx, Limit::DeviceFailures, &Subject::device(hash.as_str()), now).await?;
        if is_valid(tx, hash, email, now).await? {
            return Ok(Some(Self { hash: hash.clone(), failures }));
        }
        failures.leave(tx).await?;
        Ok(None)
    }

    /// Counts a failed login; the tenth within a day deletes the cookie.
    pub async fn fail(self, tx: &mut WriteTx, now: UnixMillis) -> Result<()> {
        if self.failures.add(tx, MAX_FAILURES, now).await?.wait(MAX_FAILURES, now).is_some() {
            repo::delete(tx, &self.hash).await?;
        }
        Ok(())
    }

    /// Leaves the counter unchanged.
    pub async fn leave(self, tx: &mut WriteTx) -> Result<()> {
        self.failures.leave(tx).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_contains_up_to_five_tokens_and_nothing_else() {
        let tokens: Vec<String> = (0..7).map(|number| number.to_string().repeat(LENGTH)).collect();
        let device = Device::parse(&format!("x.{}..{}", tokens.join("."), "é".repeat(21)));
        assert_eq!(device.0, tokens[..5]);
        assert_eq!(Device::parse(&device.reveal()).0, device.0);
        assert_eq!(format!("{device:?}"), "Device");
        assert!(Device::parse("").0.is_empty() && Device::default().reveal().is_empty());
    }
}
