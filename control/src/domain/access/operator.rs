//! The right to the operator's commands. Only the program may create it, on the machine that holds the database and the secrets.

use std::ops::{Deref, DerefMut};

use shared::time::UnixMillis;

use crate::domain::audit::{self, Actor, Event};
use crate::domain::error::Result;
use crate::infra::clock::{Clock, Dice};
use crate::infra::db::{Db, WriteTx};

/// The operator of this database.
#[derive(Debug)]
pub struct Operator<'o> {
    db: &'o Db,
    dice: Dice,
    clock: Clock,
}

impl<'o> Operator<'o> {
    /// The operator, with randomness and a clock.
    pub fn new(db: &'o Db, dice: Dice, clock: Clock) -> Self {
        Self { db, dice, clock }
    }

    /// The database.
    pub fn db(&self) -> &'o Db {
        self.db
    }

    /// Randomness.
    pub fn dice(&self) -> &Dice {
        &self.dice
    }

    /// Begins a change.
    pub async fn begin(&self) -> Result<OperatorChange<'_>> {
        Ok(OperatorChange { tx: self.db.write().await?, dice: &self.dice, now: self.clock.now() })
    }
}

/// An open transaction of the operator. Like a [`Change`](crate::domain::change::Change), it ends with an audit row, or nothing of it happens.
#[derive(Debug)]
pub struct OperatorChange<'o> {
    tx: WriteTx,
    dice: &'o Dice,
    now: UnixMillis,
}

impl<'o> OperatorChange<'o> {
    /// When it began.
    pub fn now(&self) -> UnixMillis {
        self.now
    }

    /// Randomness.
    pub fn dice(&self) -> &'o Dice {
        self.dice
    }

    /// Writes the audit row and commits. A running server finds what was enqueued on its own.
    pub async fn commit(mut self, event: Event<'_>) -> Result<()> {
        audit::note(&mut self.tx, &Actor::operator(), event, self.dice, self.now).await?;
        Ok(self.tx.commit().await?)
    }
}

impl Deref for OperatorChange<'_> {
    type Target = WriteTx;

    fn deref(&self) -> &WriteTx {
        &self.tx
    }
}

impl DerefMut for OperatorChange<'_> {
    fn deref_mut(&mut self) -> &mut WriteTx {
        &mut self.tx
    }
}
