//! Addresses from which a validly signed request of an edge came recently.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use shared::time::UnixMillis;

/// How long an address is remembered after its last valid signature, in milliseconds.
const LIFETIME: i64 = 10 * 60_000;

/// Maximum number of remembered addresses. An edge uses a few; beyond the maximum, new addresses are limited like any other.
const MAX_ADDRESSES: usize = 10_000;

/// Addresses with the time of their last valid signature.
#[derive(Debug, Default)]
pub struct EdgeAddresses(Mutex<HashMap<IpAddr, UnixMillis>>);

impl EdgeAddresses {
    /// Records a valid signature from this address.
    pub fn note(&self, address: IpAddr, now: UnixMillis) {
        let mut addresses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= MAX_ADDRESSES && !addresses.contains_key(&address) {
            addresses.retain(|_, last| is_fresh(*last, now));
        }
        if addresses.len() < MAX_ADDRESSES || addresses.contains_key(&address) {
            addresses.insert(address, now);
        }
    }

    /// Whether a valid signature came from this address in the last ten minutes.
    pub fn is_fresh(&self, address: IpAddr, now: UnixMillis) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&address).is_some_and(|last| is_fresh(*last, now))
    }
}

fn is_fresh(last: UnixMillis, now: UnixMillis) -> bool {
    now.as_millis().saturating_sub(last.as_millis()) < LIFETIME
}
