//! The state of one connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::bounds::Bounds;
use super::table::{Networks, Table};

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A request. `turn` is its position in the order of idle connections.
    Idle { since: Instant, turn: u64 },
    /// The rest of a request's head.
    Head { since: Instant },
    /// The server: at least one request is in flight.
    Busy,
    /// Nothing: it is being closed to make room for another.
    Evicted,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    under_way: usize,
    /// Since when the client has not read anything that is being sent.
    stalled: Option<Instant>,
}

/// One connection. Lock order: the table's lock first, then a connection's.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: u64,
    pub(super) networks: Networks,
    table: Arc<Table>,
    bounds: Bounds,
    state: Mutex<State>,
    evicted: Notify,
}

impl Connection {
    pub(super) fn new(id: u64, networks: Networks, table: Arc<Table>, bounds: Bounds, now: Instant, turn: u64) -> Self {
        let state = State { phase: Phase::Idle { since: now, turn }, under_way: 0, stalled: None };
        Self { id, networks, table, bounds, state: Mutex::new(state), evicted: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has been idle since it got this turn.
    pub(super) fn is_idle(&self, turn: u64) -> bool {
        matches!(self.state().phase, Phase::Idle { turn: now, .. } if now == turn)
    }

    /// Closes it if it has been idle since this turn. Returns whether it was.
    pub(super) fn evict(&self, turn: u64) -> bool {
        let mut state = self.state();
        let is_idle = matches!(state.phase, Phase::Idle { turn: now, .. } if now == turn);
        if is_idle {
            state.phase = Phase::Evicted;
            self.evicted.notify_one();
        }
        is_idle
    }

    /// Waits until it is evicted.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Records received bytes. Returns false if the connection is already being closed.
    pub(super) fn receive(&self) -> bool {
        let mut state = self.state();
        match &mut state.phase {
            Phase::Evicted => return false,
            // Between requests HTTP/2 has other frames as well, and hyper does not say which one arrived.
            Phase::Idle { since, .. } if self.bounds.has_http2 => *since = Instant::now(),
            Phase::Idle { .. } => state.phase = Phase::Head { since: Instant::now() },
            Phase::Head { .. } | Phase::Busy => {}
        }
        true
    }

    /// Whether a request's head has started and no request is in flight.
    pub(super) fn is_reading_head(&self) -> bool {
        matches!(self.state().phase, Phase::Head { .. })
    }

    /// Records whether the client reads what is sent.
    pub(super) fn set_stalled(&self, is_stalled: bool) {
        let mut state = self.state();
        state.stalled = if is_stalled { state.stalled.or_else(|| Some(Instant::now())) } else { None };
    }

    /// When it times out; `None` while it waits for the server.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let phase = match state.phase {
            Phase::Idle { since, .. } => Some(since + self.bounds.idle),
            Phase::Head { since } => Some(since + self.bounds.head),
            Phase::Busy | Phase::Evicted => None,
        };
        phase.into_iter().chain(state.stalled.map(|since| since + self.bounds.idle)).min()
    }

    /// Removes it from the table.
    pub(super) fn close(&self) {
        self.table.close(self.id);
    }
}

/// A request in flight. Dropped with the last byte of its response, or with the connection.
#[derive(Debug)]
pub(super) struct UnderWay(Arc<Connection>);

impl UnderWay {
    pub(super) fn begin(connection: &Arc<Connection>) -> Self {
        let mut state = connection.state();
        state.under_way += 1;
        if state.phase != Phase::Evicted {
            state.phase = Phase::Busy;
        }
        drop(state);
        Self(Arc::clone(connection))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let turn = self.0.table.turn();
        let mut state = self.0.state();
        state.under_way = state.under_way.saturating_sub(1);
        let is_over = state.under_way == 0 && state.phase == Phase::Busy;
        if is_over {
            state.phase = Phase::Idle { since: Instant::now(), turn };
        }
        // Released first: the lock order is the table's, then a connection's.
        drop(state);
        if is_over {
            self.0.table.wait(&self.0, turn);
        }
    }
}
