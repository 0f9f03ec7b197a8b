//! Addresses that an edge has signed something from, a short while ago.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use shared::time::UnixMillis;

/// How long a signature speaks for the address that it came from, in milliseconds.
const LIFETIME: i64 = 10 * 60_000;

/// Addresses that are remembered. An edge comes from a few; with more, the older ones are counted like everybody else.
const MOST: usize = 10_000;

/// Addresses that a valid signature came from, with the time of the last one.
#[derive(Debug, Default)]
pub struct Vouched(Mutex<HashMap<IpAddr, UnixMillis>>);

impl Vouched {
    /// A valid signature came from there.
    pub fn note(&self, address: IpAddr, now: UnixMillis) {
        let mut addresses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= MOST && !addresses.contains_key(&address) {
            addresses.retain(|_, last| is_fresh(*last, now));
        }
        if addresses.len() < MOST || addresses.contains_key(&address) {
            addresses.insert(address, now);
        }
    }

    /// Whether one came from there in the last ten minutes.
    pub fn is_fresh(&self, address: IpAddr, now: UnixMillis) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&address).is_some_and(|last| is_fresh(*last, now))
    }
}

fn is_fresh(last: UnixMillis, now: UnixMillis) -> bool {
    now.as_millis().saturating_sub(last.as_millis()) < LIFETIME
}
