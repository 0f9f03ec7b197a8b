//! What one connection is doing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::bounds::Bounds;
use super::table::{Networks, Table};

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// For a request. `turn` is its place in the order of those that wait.
    Idle { since: Instant, turn: u64 },
    /// For the rest of a request's head.
    Head { since: Instant },
    /// For us: at least one request is being answered.
    Busy,
    /// For nothing: it made room for another.
    Evicted,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    under_way: usize,
    /// Since when the client has taken nothing of what is sent.
    stalled: Option<Instant>,
}

/// One connection. Locks are taken in this order: the table's, then a connection's.
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

    /// Whether it has been idle since it got that turn.
    pub(super) fn is_idle(&self, turn: u64) -> bool {
        matches!(self.state().phase, Phase::Idle { turn: now, .. } if now == turn)
    }

    /// Closes it, if it has been idle since that turn; whether it was.
    pub(super) fn evict(&self, turn: u64) -> bool {
        let mut state = self.state();
        let is_idle = matches!(state.phase, Phase::Idle { turn: now, .. } if now == turn);
        if is_idle {
            state.phase = Phase::Evicted;
            self.evicted.notify_one();
        }
        is_idle
    }

    /// Waits until it has to make room.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Bytes came in; false: too late, it is being closed.
    pub(super) fn receive(&self) -> bool {
        let mut state = self.state();
        match &mut state.phase {
            Phase::Evicted => return false,
            // Between two requests HTTP/2 has other frames as well, and hyper does not say which came.
            Phase::Idle { since, .. } if self.bounds.has_http2 => *since = Instant::now(),
            Phase::Idle { .. } => state.phase = Phase::Head { since: Instant::now() },
            Phase::Head { .. } | Phase::Busy => {}
        }
        true
    }

    /// Whether a request's head has begun, and no request.
    pub(super) fn is_reading_head(&self) -> bool {
        matches!(self.state().phase, Phase::Head { .. })
    }

    /// Whether the client takes what is sent.
    pub(super) fn set_stalled(&self, is_stalled: bool) {
        let mut state = self.state();
        state.stalled = if is_stalled { state.stalled.or_else(|| Some(Instant::now())) } else { None };
    }

    /// When it has waited for too long; none while it waits for us.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let phase = match state.phase {
            Phase::Idle { since, .. } => Some(since + self.bounds.idle),
            Phase::Head { since } => Some(since + self.bounds.head),
            Phase::Busy | Phase::Evicted => None,
        };
        phase.into_iter().chain(state.stalled.map(|since| since + self.bounds.idle)).min()
    }

    /// Gives its place back.
    pub(super) fn close(&self) {
        self.table.close(self.id);
    }
}

/// A request under way, until it is dropped: with the last byte of its answer, or with the connection.
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
        // The table's lock comes first wherever both are held.
        drop(state);
        if is_over {
            self.0.table.wait(&self.0, turn);
        }
    }
}
