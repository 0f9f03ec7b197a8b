//! All connections: how many there are, of whom, and which of them have been idle for longest.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::bounds::Bounds;
use super::state::Connection;

/// How often at most the log says that connections are refused.
const TOLD_EVERY: Duration = Duration::from_mins(1);

/// What connections are counted by: an address of IPv4, or a network of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Network {
    bits: u8,
    address: u128,
}

impl Network {
    fn of(address: IpAddr, bits: u8) -> Self {
        match address {
            IpAddr::V4(address) => Self { bits: 32, address: address.to_bits().into() },
            IpAddr::V6(address) => Self { bits, address: address.to_bits() >> (128 - u32::from(bits)) },
        }
    }

    /// A site's network has many of a home's.
    fn most(self, per_address: usize) -> usize {
        if self.bits == 48 { per_address.saturating_mul(10) } else { per_address }
    }
}

/// The networks that a connection counts for: none, one, or two.
pub(super) type Networks = [Option<Network>; 2];

fn networks(address: Option<IpAddr>) -> Networks {
    match address {
        None => [None, None],
        Some(address @ IpAddr::V4(_)) => [Some(Network::of(address, 32)), None],
        Some(address @ IpAddr::V6(_)) => [Some(Network::of(address, 64)), Some(Network::of(address, 48))],
    }
}

/// One that became idle. It may have had a request since: then its turn is another.
#[derive(Debug)]
struct Waiting {
    id: u64,
    turn: u64,
    networks: Networks,
}

#[derive(Debug, Default)]
struct Inner {
    open: HashMap<u64, Arc<Connection>>,
    counts: HashMap<Network, usize>,
    /// Those that became idle, in order. Entries whose turn is over are left until they come to the front, or until there are too many of them.
    idle: VecDeque<Waiting>,
    last_id: u64,
    /// Connections refused since the log said so.
    refused: u64,
    told: Option<Instant>,
}

/// The connections of one listener.
#[derive(Debug)]
pub struct Table {
    bounds: Bounds,
    turns: AtomicU64,
    inner: Mutex<Inner>,
}

impl Table {
    /// None yet.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, turns: AtomicU64::new(0), inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next place in the order of those that wait.
    pub(super) fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a connection in, counted by its address if there is one. Where a bound is reached, the one that has been idle for longest is closed for it;
    /// none when there is none.
    pub(super) fn admit(self: &Arc<Self>, address: Option<IpAddr>, now: Instant) -> Option<Arc<Connection>> {
        let networks = networks(address);
        let mut inner = self.inner();
        for network in networks.into_iter().flatten() {
            let is_full = inner.counts.get(&network).is_some_and(|count| *count >= network.most(self.bounds.per_address));
            if is_full && !inner.make_room(Some(network)) {
                inner.refuse(now);
                return None;
            }
        }
        if inner.open.len() >= self.bounds.most && !inner.make_room(None) {
            inner.refuse(now);
            return None;
        }
        inner.last_id += 1;
        let (id, turn) = (inner.last_id, self.turn());
        for network in networks.into_iter().flatten() {
            *inner.counts.entry(network).or_default() += 1;
        }
        let connection = Arc::new(Connection::new(id, networks, Arc::clone(self), self.bounds, now, turn));
        inner.open.insert(id, Arc::clone(&connection));
        inner.wait(Waiting { id, turn, networks });
        Some(connection)
    }

    /// Puts a connection that became idle behind the others.
    pub(super) fn wait(&self, connection: &Connection, turn: u64) {
        self.inner().wait(Waiting { id: connection.id, turn, networks: connection.networks });
    }

    /// Forgets a connection.
    pub(super) fn close(&self, id: u64) {
        self.inner().close(id);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.inner().open.len()
    }
}

impl Inner {
    fn wait(&mut self, waiting: Waiting) {
        if self.idle.len() > 2 * self.open.len() + 64 {
            let open = &self.open;
            self.idle.retain(|waiting| open.get(&waiting.id).is_some_and(|connection| connection.is_idle(waiting.turn)));
        }
        // One that is closed already has no place here.
        if self.open.contains_key(&waiting.id) {
            self.idle.push_back(waiting);
        }
    }

    /// Closes the one that has been idle for longest, of that network or of all; whether there was one.
    fn make_room(&mut self, network: Option<Network>) -> bool {
        let is_meant = |waiting: &Waiting| network.is_none_or(|network| waiting.networks.contains(&Some(network)));
        let mut place = 0;
        while let Some(waiting) = self.idle.get(place) {
            if !is_meant(waiting) {
                place += 1;
                continue;
            }
            let (id, turn) = (waiting.id, waiting.turn);
            self.idle.remove(place);
            if self.open.get(&id).is_some_and(|connection| connection.evict(turn)) {
                self.close(id);
                return true;
            }
        }
        false
    }

    fn close(&mut self, id: u64) {
        let Some(connection) = self.open.remove(&id) else { return };
        for network in connection.networks.into_iter().flatten() {
            if let Some(count) = self.counts.get_mut(&network) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&network);
                }
            }
        }
    }

    fn refuse(&mut self, now: Instant) {
        self.refused += 1;
        if self.told.is_none_or(|told| now.duration_since(told) >= TOLD_EVERY) {
            tracing::warn!(
                refused = self.refused,
                open = self.open.len(),
                "connections are refused: too many are busy (UPDRAFT_MAX_CONNECTIONS)"
            );
            (self.told, self.refused) = (Some(now), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::layer::connections::state::UnderWay;

    fn table(most: usize, per_address: usize) -> Arc<Table> {
        let hour = std::time::Duration::from_hours(1);
        Arc::new(Table::new(Bounds { most, per_address, head: hour, idle: hour, pause: hour, has_http2: false }))
    }

    fn admit(table: &Arc<Table>, address: &str) -> Option<Arc<Connection>> {
        table.admit(Some(address.parse().unwrap()), Instant::now())
    }

    fn ids(table: &Table) -> Vec<u64> {
        let mut ids: Vec<u64> = table.inner().open.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn the_longest_idle_makes_room_and_none_that_is_busy() {
        let table = table(3, 256);
        let connections: Vec<_> = (0..3).map(|_| admit(&table, "192.0.2.1").unwrap()).collect();
        // The first has had a request in between: it has not been idle for as long as the second.
        drop(UnderWay::begin(&connections[0]));
        assert_eq!(admit(&table, "192.0.2.2").unwrap().id, 4);
        assert_eq!(ids(&table), [1, 3, 4]);
        let busy: Vec<_> = table.inner().open.values().map(Arc::clone).collect();
        let under_way: Vec<UnderWay> = busy.iter().map(UnderWay::begin).collect();
        assert!(admit(&table, "192.0.2.3").is_none());
        drop(under_way);
        assert!(admit(&table, "192.0.2.3").is_some());
    }

    #[test]
    fn an_address_makes_room_among_its_own() {
        let table = table(100, 2);
        let other = admit(&table, "192.0.2.9").unwrap();
        let (first, second) = (admit(&table, "192.0.2.1").unwrap(), admit(&table, "192.0.2.1").unwrap());
        let third = admit(&table, "192.0.2.1").unwrap();
        assert_eq!(ids(&table), [other.id, second.id, third.id]);
        assert!(!first.receive(), "it is being closed");
        let _busy = (UnderWay::begin(&second), UnderWay::begin(&third));
        assert!(admit(&table, "192.0.2.1").is_none());
        assert!(admit(&table, "192.0.2.2").is_some());
        assert!(table.admit(None, Instant::now()).is_some(), "not counted by address");
    }

    #[test]
    fn ipv6_counts_by_64_and_by_48_at_ten_times_the_number() {
        let table = table(100, 2);
        let busy = |address: &str| admit(&table, address).map(|connection| UnderWay::begin(&connection));
        let mut kept = vec![busy("2001:db8:0:1::1").unwrap(), busy("2001:db8:0:1:ffff::2").unwrap()];
        assert!(busy("2001:db8:0:1::3").is_none());
        kept.extend((2..11).flat_map(|network| [1, 2].map(|host| busy(&format!("2001:db8:0:{network}::{host}")).unwrap())));
        assert_eq!(kept.len(), 20);
        assert!(busy("2001:db8:0:77::1").is_none());
        assert!(busy("2001:db8:1:77::1").is_some());
    }

    #[test]
    fn places_are_given_back_and_the_order_does_not_grow() {
        let table = table(10, 10);
        for _ in 0..1_000 {
            let connection = admit(&table, "192.0.2.1").unwrap();
            (0..5).for_each(|_| drop(UnderWay::begin(&connection)));
            connection.close();
        }
        assert_eq!((table.count(), table.inner().counts.len()), (0, 0));
        assert!(table.inner().idle.len() <= 100, "{}", table.inner().idle.len());
    }
}
