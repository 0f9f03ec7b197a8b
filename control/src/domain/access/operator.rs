//! The right to the operator's commands. Only the program may create it, on the machine that holds the database and the secrets.

use shared::time::UnixMillis;

use crate::domain::audit::Actor;
use crate::domain::change::{self, Change, ChangeContext};
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::infra::clock::{Clock, Entropy};
use crate::infra::db::Db;

/// The operator of this database.
#[derive(Debug)]
pub struct Operator<'o> {
    db: &'o Db,
    entropy: Entropy,
    clock: Clock,
}

/// A change by the operator.
pub type OperatorChange<'o> = Change<'o, Operator<'o>>;

impl<'o> Operator<'o> {
    /// The operator, with randomness and a clock.
    pub fn new(db: &'o Db, entropy: Entropy, clock: Clock) -> Self {
        Self { db, entropy, clock }
    }

    /// Begins a change with the context of a control plane, for what accounts otherwise do themselves.
    pub async fn begin_in<'c>(&self, app: &'c Context) -> Result<Change<'c>> {
        change::begin(app, Actor::operator()).await
    }

    /// Begins a change.
    pub async fn begin(&self) -> Result<OperatorChange<'_>> {
        change::begin(self, Actor::operator()).await
    }
}

impl ChangeContext for Operator<'_> {
    fn db(&self) -> &Db {
        self.db
    }

    fn entropy(&self) -> &Entropy {
        &self.entropy
    }

    fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// Does nothing: a running server finds what was enqueued on its own.
    fn wake(&self) {}
}
