//! The unit of work for a change that a caller requests. A right begins it; its audit row ends it.

use std::ops::{Deref, DerefMut};

use shared::time::UnixMillis;

use crate::domain::audit::{self, Actor, Event};
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::infra::db::WriteTx;

/// An open transaction, with the actor and the start time. [`Change::commit`] ends it and requires an audit event; dropping it rolls back. The caller's right
/// has been checked again inside the transaction.
#[derive(Debug)]
pub struct Change<'c> {
    context: &'c Context,
    tx: WriteTx,
    actor: Actor,
    now: UnixMillis,
}

/// Begins a change by this actor. Only the rights in [`crate::domain::access`] may call it, by their own `begin`; the import check holds that.
pub async fn begin(context: &Context, actor: Actor) -> Result<Change<'_>> {
    Ok(over(context, context.db.write().await?, actor))
}

/// Continues as a change in a transaction that is open already, because it locked or counted something first. For the rights as well.
pub fn over(context: &Context, tx: WriteTx, actor: Actor) -> Change<'_> {
    Change { context, tx, actor, now: context.now() }
}

impl<'c> Change<'c> {
    /// The context, for everything other than the transaction.
    pub fn context(&self) -> &'c Context {
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
        audit::note(&mut self.tx, &self.actor, event, &self.context.dice, self.now).await
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
        self.context.mailer.wake();
        self.context.publisher.wake();
        Ok(())
    }
}

impl Deref for Change<'_> {
    type Target = WriteTx;

    fn deref(&self) -> &WriteTx {
        &self.tx
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut WriteTx {
        &mut self.tx
    }
}
