//! Rate-limit counts by client address: per network, and on IPv6 also per site, the larger block that the network belongs to.

use std::net::IpAddr;

use shared::limit::{Rate, site_rate};
use shared::time::UnixMillis;

use super::{Count, Limit, Subject, Times, find, too_many};
use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::traces;
use crate::infra::db::{ReadTx, WriteTx};

/// What one limit has counted for a client's network and site. A client with an IPv6 /48 has 65,536 networks; together they get ten times the limit
/// of one.
#[derive(Clone, Debug)]
pub struct AddressTimes {
    network: Times,
    site: Option<Times>,
}

impl AddressTimes {
    /// Seconds until the next request is allowed, if `rate` is used up.
    pub fn wait(&self, rate: Rate, now: UnixMillis) -> Option<u64> {
        let site = self.site.as_ref().and_then(|times| times.wait(site_rate(rate), now));
        self.network.wait(rate, now).max(site)
    }
}

/// The same counts, with their rows locked.
#[derive(Debug)]
pub struct AddressCount {
    network: Count,
    site: Option<Count>,
}

impl AddressCount {
    /// Locks and reads the rows, the site's row first.
    pub async fn lock(tx: &mut WriteTx, limit: Limit, address: IpAddr, now: UnixMillis) -> Result<Self> {
        let site = match Subject::site(address) {
            Some(subject) => Some(Count::lock(tx, limit, &subject, now).await?),
            None => None,
        };
        Ok(Self { network: Count::lock(tx, limit, &Subject::address(address), now).await?, site })
    }

    /// The counts so far.
    pub fn times(&self) -> AddressTimes {
        AddressTimes { network: self.network.times.clone(), site: self.site.as_ref().map(|site| site.times.clone()) }
    }

    /// Counts one more event.
    pub async fn add(self, tx: &mut WriteTx, kept: Rate, now: UnixMillis) -> Result<()> {
        if let Some(site) = self.site {
            site.add(tx, site_rate(kept), now).await?;
        }
        self.network.add(tx, kept, now).await?;
        Ok(())
    }

    /// Releases the rows without counting.
    pub async fn leave(self, tx: &mut WriteTx) -> Result<()> {
        if let Some(site) = self.site {
            site.leave(tx).await?;
        }
        self.network.leave(tx).await
    }
}

/// Reads what one limit has counted for a client's address.
pub async fn find_address(tx: &mut ReadTx, limit: Limit, address: IpAddr) -> Result<AddressTimes> {
    let site = match Subject::site(address) {
        Some(subject) => Some(find(tx, limit, &subject).await?),
        None => None,
    };
    Ok(AddressTimes { network: find(tx, limit, &Subject::address(address)).await?, site })
}

/// [`super::acquire`] by client address, in its own transaction: the event counts even if the request fails later. A client over the limit is refused
/// after a read only, so a flood of requests does not block writers.
pub async fn acquire_for_address(app: &Context, address: IpAddr, limit: Limit, rate: Rate) -> Result<Result<(), u64>> {
    let so_far = find_address(&mut app.db.read().await?, limit, address).await?;
    let mut refused = so_far.wait(rate, app.now());
    if refused.is_none() {
        let (mut tx, now) = (app.db.write().await?, app.now());
        let count = AddressCount::lock(&mut tx, limit, address, now).await?;
        refused = count.times().wait(rate, now);
        if refused.is_none() {
            count.add(&mut tx, rate, now).await?;
            tx.commit().await?;
        }
    }
    let Some(seconds) = refused else { return Ok(Ok(())) };
    traces::refused(app, ClientAddress(address), limit.as_str(), None);
    Ok(Err(seconds))
}

/// [`acquire_for_address`] for an unauthenticated request. Errors: 429.
pub async fn acquire_unauthenticated(app: &Context, from: ClientAddress, limit: Limit, rate: Rate) -> Result<()> {
    acquire_for_address(app, from.0, limit, rate).await?.map_err(too_many)
}
