//! `storage verify`: reads every bundle that something refers to, and compares it with its hash.

use futures_util::stream::{self, StreamExt};

use shared::time::UnixMillis;

use super::{AT_ONCE, Broken, Fault, Stores, copy, is_needed, key, page, read};
use crate::domain::diffs::lost;
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
    /// Diffs that were broken, and are offered to no device any more: the server makes them again.
    pub dropped: Vec<Broken>,
    /// What is broken.
    pub broken: Vec<Broken>,
}

enum Outcome {
    Intact(u64),
    Repaired(Broken),
    Dropped(Broken),
    Broken(Broken),
    /// Nothing refers to it any more.
    Gone,
}

/// How broken objects are repaired.
#[derive(Clone, Copy, Debug)]
pub struct Repair<'s> {
    /// Where they are taken from. Diffs that are not there are dropped.
    pub other: Option<&'s Storage>,
}

/// Reads every bundle and diff. Without `repair`, what is broken is only listed. `tell` gets the number of those read. Errors: the database, or a storage that
/// cannot be read at all.
pub async fn verify(stores: Stores<'_>, repair: Option<Repair<'_>>, tell: &mut dyn FnMut(u64)) -> Result<Verified> {
    let (mut found, mut count, mut after, mut unreadable) = (Verified::default(), 0, None, 0);
    loop {
        // Those that nothing refers to may have no object: an upload may have been refused.
        let page = page(stores.db, after.as_ref(), UnixMillis(i64::MAX)).await?;
        let mut checks = stream::iter(&page).map(|needed| check(stores, repair, needed)).buffered(AT_ONCE);
        while let Some(outcome) = checks.next().await {
            count += 1;
            match outcome? {
                Outcome::Intact(size) => {
                    unreadable = 0;
                    found.intact += 1;
                    found.bytes += size;
                }
                Outcome::Repaired(broken) => found.repaired.push(broken),
                Outcome::Dropped(broken) => found.dropped.push(broken),
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

async fn check(stores: Stores<'_>, repair: Option<Repair<'_>>, needed: &Needed) -> Result<Outcome> {
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
    let broken = Broken::of(needed, fault);
    let Some(repair) = repair else { return Ok(Outcome::Broken(broken)) };
    if let Some(other) = repair.other
        && copy(Stores { from: other, ..stores }, stores.from, needed).await?.is_ok()
    {
        return Ok(Outcome::Repaired(broken));
    }
    // One that cannot be read may be there a moment later.
    if broken.is_diff
        && fault != Fault::Unreadable
        && lost::drop_unless_used(stores.db, &broken.key, needed.stamp, stores.clock.now()).await?
    {
        return Ok(Outcome::Dropped(broken));
    }
    Ok(Outcome::Broken(broken))
}
