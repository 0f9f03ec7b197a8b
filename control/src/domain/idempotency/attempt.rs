//! A request that may have been sent before.

use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::hash::Sha256Hex;
use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::IdempotencyKey;
use super::repo::{self, KeyRow};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::error::{Error, Result};
use crate::infra::db::ReadTx;

/// How long a key is in use after its request was answered, in milliseconds: 24 hours.
const KEPT: i64 = 86_400_000;

/// What a use case answers to an [`Attempt`].
#[derive(Clone, Debug)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// Whether an earlier request got it first, so that this one changed nothing.
    pub is_repeated: bool,
}

impl<T> Answer<T> {
    /// The answer to what was done now.
    pub fn new(value: T) -> Self {
        Self { value, is_repeated: false }
    }

    /// The answer that an earlier request got.
    pub fn repeated(value: T) -> Self {
        Self { value, is_repeated: true }
    }
}

/// A request of an account, with its key if it has one. Without one, nothing below reads or writes anything.
///
/// The use case calls [`Attempt::claim`] as the first statement of its change, and [`Attempt::complete`] before it commits. Its answer `T` is stored as JSON
/// and read by later releases of this program: give new members a default.
#[derive(Debug)]
pub struct Attempt<'a> {
    account: &'a AccountId,
    keyed: Option<Keyed<'a>>,
}

#[derive(Debug)]
struct Keyed<'a> {
    key: &'a IdempotencyKey,
    fingerprint: Sha256Hex,
}

impl<'a> Attempt<'a> {
    /// A request of this account. `parts` identifies it: the operation, what it is applied to, and everything that it was given. It is a tuple, whose
    /// order cannot change.
    pub fn new(account: &'a AccountId, key: Option<&'a IdempotencyKey>, parts: &impl Serialize) -> Result<Self> {
        let keyed = match key {
            Some(key) => Some(Keyed { key, fingerprint: Sha256Hex::of(&serde_json::to_vec(parts).map_err(Error::internal)?) }),
            None => None,
        };
        Ok(Self { account, keyed })
    }

    /// The answer, if the request was answered before. Saves work, but does not replace [`Attempt::claim`]. Errors: 409 if the key is in use for another
    /// request.
    pub async fn earlier<T: DeserializeOwned>(&self, tx: &mut ReadTx, now: UnixMillis) -> Result<Option<T>> {
        let Some(keyed) = &self.keyed else { return Ok(None) };
        match repo::find(tx, self.account, keyed.key, now).await? {
            Some(row) => keyed.answer(row).map(Some),
            None => Ok(None),
        }
    }

    /// Claims the key for this change. If the request was answered before, returns the answer: the change must not be committed then. If another
    /// transaction has claimed the key, waits for its end. Errors: 409 if the key is in use for another request.
    pub async fn claim<T: DeserializeOwned>(&self, change: &mut Change<'_>) -> Result<Option<T>> {
        let Some(keyed) = &self.keyed else { return Ok(None) };
        let now = change.now();
        if repo::claim(change, self.account, keyed.key, &keyed.fingerprint, now.plus_millis(KEPT), now).await? {
            return Ok(None);
        }
        // The row exists: the statement has locked it, although it did not change it.
        let answer = self.earlier(change, now).await?;
        answer.map(Some).ok_or_else(|| Error::internal("an idempotency key was neither free nor in use"))
    }

    /// Stores the answer of the change that claimed the key.
    pub async fn complete(&self, change: &mut Change<'_>, answer: &impl Serialize) -> Result<()> {
        let Some(keyed) = &self.keyed else { return Ok(()) };
        let answer = serde_json::to_string(answer).map_err(Error::internal)?;
        match repo::complete(change, self.account, keyed.key, &answer).await? {
            1 => Ok(()),
            _ => Err(Error::internal("an answer was stored without claiming its idempotency key")),
        }
    }
}

impl Keyed<'_> {
    fn answer<T: DeserializeOwned>(&self, row: KeyRow) -> Result<T> {
        if row.fingerprint != self.fingerprint {
            return Err(Error::Conflict(Conflict::IdempotencyKeyUsed));
        }
        let answer = row.answer.ok_or_else(|| Error::internal("an idempotency key has no answer"))?;
        serde_json::from_str(&answer).map_err(Error::internal)
    }
}

/// Whether the account has used this key. It shows before the rest of the request is known.
pub async fn is_used(tx: &mut ReadTx, account: &AccountId, key: &IdempotencyKey, now: UnixMillis) -> Result<bool> {
    Ok(repo::find(tx, account, key, now).await?.is_some())
}
