//! The table of connections: how many there are, from which networks, and which have been idle the longest.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::bounds::Bounds;
use super::state::Connection;

/// Minimum time between two log lines about refused connections.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// What connections are counted by: an IPv4 address, or an IPv6 network.
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

    /// The maximum number of connections. A /48 is a whole site with many /64 networks, so it may have ten times as many.
    fn limit(self, per_address: usize) -> usize {
        if self.bits == 48 { per_address.saturating_mul(10) } else { per_address }
    }
}

/// The networks that a connection is counted for: none, one or two.
pub(super) type Networks = [Option<Network>; 2];

fn networks(address: Option<IpAddr>) -> Networks {
    match address {
        None => [None, None],
        Some(address @ IpAddr::V4(_)) => [Some(Network::of(address, 32)), None],
        Some(address @ IpAddr::V6(_)) => [Some(Network::of(address, 64)), Some(Network::of(address, 48))],
    }
}

/// A connection that became idle. If it has had a request since, its turn has changed.
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
    /// Connections that became idle, oldest first. Outdated entries stay until they reach the front, or until there are too many.
    idle: VecDeque<Waiting>,
    last_id: u64,
    /// Connections refused since the last log line.
    refused: u64,
    logged: Option<Instant>,
}

/// The connections of one listener.
#[derive(Debug)]
pub struct Table {
    bounds: Bounds,
    turns: AtomicU64,
    inner: Mutex<Inner>,
}

impl Table {
    /// An empty table.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, turns: AtomicU64::new(0), inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next position in the order of idle connections.
    pub(super) fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds a connection, counted by its address if there is one. At a limit, the longest idle connection is closed to make room. Returns `None` if no
    /// connection is idle.
    pub(super) fn accept(self: &Arc<Self>, address: Option<IpAddr>, now: Instant) -> Option<Arc<Connection>> {
        let networks = networks(address);
        let mut inner = self.inner();
        for network in networks.into_iter().flatten() {
            let is_full = inner.counts.get(&network).is_some_and(|count| *count >= network.limit(self.bounds.per_address));
            if is_full && !inner.make_room(Some(network)) {
                inner.refuse(now);
                return None;
            }
        }
        if inner.open.len() >= self.bounds.max && !inner.make_room(None) {
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

    /// Adds a connection that became idle to the end of the order.
    pub(super) fn wait(&self, connection: &Connection, turn: u64) {
        self.inner().wait(Waiting { id: connection.id, turn, networks: connection.networks });
    }

    /// Removes a connection.
    pub(super) fn close(&self, id: u64) {
        self.inner().close(id);
    }

    /// The number of connections.
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
        // It may already be closed.
        if self.open.contains_key(&waiting.id) {
            self.idle.push_back(waiting);
        }
    }

    /// Closes the longest idle connection of this network, or of all. Returns whether there was one.
    fn make_room(&mut self, network: Option<Network>) -> bool {
        let matches = |waiting: &Waiting| network.is_none_or(|network| waiting.networks.contains(&Some(network)));
        let mut index = 0;
        while let Some(waiting) = self.idle.get(index) {
            if !matches(waiting) {
                index += 1;
                continue;
            }
            let (id, turn) = (waiting.id, waiting.turn);
            self.idle.remove(index);
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
        if self.logged.is_none_or(|logged| now.duration_since(logged) >= LOG_INTERVAL) {
            tracing::warn!(
                refused = self.refused,
                open = self.open.len(),
                "refusing connections: too many are busy (UPDRAFT_MAX_CONNECTIONS)"
            );
            (self.logged, self.refused) = (Some(now), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::layer::connections::state::UnderWay;

    fn table(max: usize, per_address: usize) -> Arc<Table> {
        let hour = std::time::Duration::from_hours(1);
        Arc::new(Table::new(Bounds { max, per_address, head: hour, idle: hour, pause: hour, has_http2: false }))
    }

    fn accept(table: &Arc<Table>, address: &str) -> Option<Arc<Connection>> {
        table.accept(Some(address.parse().unwrap()), Instant::now())
    }

    fn ids(table: &Table) -> Vec<u64> {
        let mut ids: Vec<u64> = table.inner().open.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn the_longest_idle_connection_is_evicted_and_a_busy_one_never() {
        let table = table(3, 256);
        let connections: Vec<_> = (0..3).map(|_| accept(&table, "192.0.2.1").unwrap()).collect();
        // The first had a request since, so the second has been idle longer.
        drop(UnderWay::begin(&connections[0]));
        assert_eq!(accept(&table, "192.0.2.2").unwrap().id, 4);
        assert_eq!(ids(&table), [1, 3, 4]);
        let busy: Vec<_> = table.inner().open.values().map(Arc::clone).collect();
        let under_way: Vec<UnderWay> = busy.iter().map(UnderWay::begin).collect();
        assert!(accept(&table, "192.0.2.3").is_none());
        drop(under_way);
        assert!(accept(&table, "192.0.2.3").is_some());
    }

    #[test]
    fn an_address_at_its_limit_evicts_its_own_connections() {
        let table = table(100, 2);
        let other = accept(&table, "192.0.2.9").unwrap();
        let (first, second) = (accept(&table, "192.0.2.1").unwrap(), accept(&table, "192.0.2.1").unwrap());
        let third = accept(&table, "192.0.2.1").unwrap();
        assert_eq!(ids(&table), [other.id, second.id, third.id]);
        assert!(!first.receive(), "it is being closed");
        let _busy = (UnderWay::begin(&second), UnderWay::begin(&third));
        assert!(accept(&table, "192.0.2.1").is_none());
        assert!(accept(&table, "192.0.2.2").is_some());
        assert!(table.accept(None, Instant::now()).is_some(), "not counted by address");
    }

    #[test]
    fn ipv6_is_limited_per_64_and_at_ten_times_the_number_per_48() {
        let table = table(100, 2);
        let busy = |address: &str| accept(&table, address).map(|connection| UnderWay::begin(&connection));
        let mut kept = vec![busy("2001:db8:0:1::1").unwrap(), busy("2001:db8:0:1:ffff::2").unwrap()];
        assert!(busy("2001:db8:0:1::3").is_none());
        kept.extend((2..11).flat_map(|network| [1, 2].map(|host| busy(&format!("2001:db8:0:{network}::{host}")).unwrap())));
        assert_eq!(kept.len(), 20);
        assert!(busy("2001:db8:0:77::1").is_none());
        assert!(busy("2001:db8:1:77::1").is_some());
    }

    #[test]
    fn closed_connections_are_removed_and_the_idle_order_stays_short() {
        let table = table(10, 10);
        for _ in 0..1_000 {
            let connection = accept(&table, "192.0.2.1").unwrap();
            (0..5).for_each(|_| drop(UnderWay::begin(&connection)));
            connection.close();
        }
        assert_eq!((table.count(), table.inner().counts.len()), (0, 0));
        assert!(table.inner().idle.len() <= 100, "{}", table.inner().idle.len());
    }
}
