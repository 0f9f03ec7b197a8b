//! `storage verify`: reads every bundle that something refers to, and compares it with its hash.

use futures_util::stream::{self, StreamExt};

use shared::time::UnixMillis;

use super::{AT_ONCE, Broken, Fault, Stores, copy, is_needed, key, page, read};
use crate::domain::error::{Error, Result, chain};
use crate::domain::releases::blob::Needed;
use crate::infra::storage::Storage;

/// After so many objects one after the other that cannot be read, the storage is down.
const MOST_UNREADABLE: usize = 20;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Bundles, and their lists of files, that are as they were stored.
    pub intact: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What was broken, and was replaced from the other storage.
    pub repaired: Vec<Broken>,
    /// What is broken.
    pub broken: Vec<Broken>,
}

enum Outcome {
    Intact(u64),
    Repaired(Broken),
    Broken(Broken),
    /// Nothing refers to it any more.
    Gone,
}

/// Reads every bundle. `other` is where broken ones are taken from; without it, they are only counted. `tell` gets the number of those read. Errors: the
/// database, or a storage that cannot be read at all.
pub async fn verify(stores: Stores<'_>, other: Option<&Storage>, tell: &mut dyn FnMut(u64)) -> Result<Verified> {
    let (mut found, mut count, mut after, mut unreadable) = (Verified::default(), 0, None, 0);
    loop {
        // Those that nothing refers to may have no object: an upload may have been refused.
        let page = page(stores.db, after.as_ref(), UnixMillis(i64::MAX)).await?;
        let mut checks = stream::iter(&page).map(|needed| check(stores, other, needed)).buffered(AT_ONCE);
        while let Some(outcome) = checks.next().await {
            count += 1;
            match outcome? {
                Outcome::Intact(size) => {
                    unreadable = 0;
                    found.intact += 1;
                    found.bytes += size;
                }
                Outcome::Repaired(broken) => found.repaired.push(broken),
                Outcome::Broken(broken) => {
                    unreadable = if broken.fault == Fault::Unreadable { unreadable + 1 } else { 0 };
                    if unreadable >= MOST_UNREADABLE {
                        return Err(Error::unavailable("the storage cannot be read"));
                    }
                    found.broken.push(broken);
                }
                Outcome::Gone => {}
            }
        }
        drop(checks);
        after = page.last().cloned();
        if after.is_none() {
            return Ok(found);
        }
        tell(count);
    }
}

async fn check(stores: Stores<'_>, other: Option<&Storage>, needed: &Needed) -> Result<Outcome> {
    let fault = match read(stores.from, needed, None).await {
        Ok(Ok(size)) => return Ok(Outcome::Intact(size)),
        Ok(Err(fault)) => fault,
        Err(error) => {
            tracing::warn!(cause = %chain(&Error::unavailable(error)), key = %key(needed), "an object could not be read");
            Fault::Unreadable
        }
    };
    if !is_needed(stores.db, needed).await? {
        return Ok(Outcome::Gone);
    }
    let broken = Broken { key: key(needed), fault };
    let Some(other) = other else { return Ok(Outcome::Broken(broken)) };
    match copy(Stores { from: other, ..stores }, stores.from, needed).await? {
        Ok(_) => Ok(Outcome::Repaired(broken)),
        Err(_) => Ok(Outcome::Broken(broken)),
    }
}
