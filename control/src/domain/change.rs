//! The unit of work for a change that a caller requests. A right begins it; its audit row ends it.

use std::ops::{Deref, DerefMut};

use shared::time::UnixMillis;

use crate::domain::audit::{self, Actor, Event};
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::infra::clock::Entropy;
use crate::infra::db::{Db, WriteTx};

/// What a change needs besides its transaction.
pub trait ChangeContext {
    /// The database.
    fn db(&self) -> &Db;
    /// Randomness.
    fn entropy(&self) -> &Entropy;
    /// The current time.
    fn now(&self) -> UnixMillis;
    /// Wakes the jobs that send what the change enqueued.
    fn wake(&self);
}

impl ChangeContext for Context {
    fn db(&self) -> &Db {
        &self.db
    }

    fn entropy(&self) -> &Entropy {
        &self.entropy
    }

    fn now(&self) -> UnixMillis {
        Context::now(self)
    }

    fn wake(&self) {
        self.mailer.wake();
        self.publisher.wake();
        self.differ.wake();
    }
}

/// An open transaction, with the actor and the start time. [`Change::commit`] ends it and requires an audit event; dropping it rolls back. The caller's right
/// has been checked again inside the transaction.
#[derive(Debug)]
pub struct Change<'c, C = Context> {
    context: &'c C,
    tx: WriteTx,
    actor: Actor,
    now: UnixMillis,
}

/// Begins a change by this actor. Only the rights in [`crate::domain::access`] may call it, by their own `begin`; the import check holds that.
pub async fn begin<C: ChangeContext>(context: &C, actor: Actor) -> Result<Change<'_, C>> {
    let db = context.db();
    Ok(begin_in(context, db.write().await?, actor))
}

/// Continues as a change in a transaction that is open already, because it locked or counted something first. For the rights as well.
pub fn begin_in<C: ChangeContext>(context: &C, tx: WriteTx, actor: Actor) -> Change<'_, C> {
    Change { context, tx, actor, now: context.now() }
}

impl<'c, C: ChangeContext> Change<'c, C> {
    /// The context, for everything other than the transaction.
    pub fn context(&self) -> &'c C {
        self.context
    }

    /// Who makes the change.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// When it began.
    pub fn now(&self) -> UnixMillis {
        self.now
    }

    /// Writes a further audit row, for what happens besides the change itself. It locks the end of the trail: write it last.
    pub async fn note(&mut self, event: Event<'_>) -> Result<()> {
        audit::note(&mut self.tx, &self.actor, event, self.context.entropy(), self.now).await
    }

    /// Commits bookkeeping, when there is no change after all: a counted failure, a used-up proof, a stored challenge. Writes no audit row.
    pub async fn commit_bookkeeping(self) -> Result<()> {
        Ok(self.tx.commit().await?)
    }

    /// Writes the audit row, commits, and wakes the jobs. The audit row comes last because it locks the end of the trail: nothing else may wait while that
    /// lock is held.
    pub async fn commit(mut self, event: Event<'_>) -> Result<()> {
        self.note(event).await?;
        self.tx.commit().await?;
        self.context.wake();
        Ok(())
    }
}

impl<C> Deref for Change<'_, C> {
    type Target = WriteTx;

    fn deref(&self) -> &WriteTx {
        &self.tx
    }
}

impl<C> DerefMut for Change<'_, C> {
    fn deref_mut(&mut self) -> &mut WriteTx {
        &mut self.tx
    }
}
