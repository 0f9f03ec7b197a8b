//! The unit of work of a change that a caller asks for. A right begins it, and its row in the audit trail ends it.

use std::ops::{Deref, DerefMut};

use shared::time::UnixMillis;

use crate::domain::audit::{self, Actor, Event};
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::infra::db::WriteTx;

/// An open transaction, with who makes the change and when it began. It ends with [`Change::commit`], which cannot be called without saying what was done;
/// dropped without that, nothing of it happens. Whoever began it has judged the right again in it.
#[derive(Debug)]
pub struct Change<'c> {
    context: &'c Context,
    tx: WriteTx,
    actor: Actor,
    now: UnixMillis,
}

impl<'c> Change<'c> {
    /// A change of this actor. Grants and callers begin theirs by their own `begin`; operations without a credential and the operator begin here.
    pub async fn begin(context: &'c Context, actor: Actor) -> Result<Self> {
        Ok(Self::over(context, context.db.write().await?, actor))
    }

    /// The same over a transaction that is open already: an attempt that fails is counted in that transaction instead.
    pub(crate) fn over(context: &'c Context, tx: WriteTx, actor: Actor) -> Self {
        Self { context, tx, actor, now: context.now() }
    }

    /// What the change can reach beside its transaction.
    pub fn context(&self) -> &'c Context {
        self.context
    }

    /// Whose change it is.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// When it began.
    pub fn now(&self) -> UnixMillis {
        self.now
    }

    /// The transaction alone, for what keeps books when there is no change after all: a failure that is counted, a proof that is
    /// used up, a question that is kept until its answer comes.
    pub(crate) fn into_tx(self) -> WriteTx {
        self.tx
    }

    /// Writes the audit row, commits, and wakes the jobs. The row comes last: it locks the end of the trail, and nobody is to wait for anything else while
    /// holding that.
    pub async fn commit(mut self, event: Event<'_>) -> Result<()> {
        audit::note(&mut self.tx, &self.actor, event, &self.context.dice, self.now).await?;
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
