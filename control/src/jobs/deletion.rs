//! The job that deletes bundles that no release needs any more. Replicas may run it at the same time: a mark in the row says who deletes.

use std::sync::Arc;
use std::time::Duration;

use super::runner::{Job, Pause};
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::releases::unused::Sweep;

/// The time between two rounds.
const EVERY: Duration = Duration::from_mins(1);
/// Steps in one round, so that a walk over very many bundles does not keep the database busy.
const STEPS: usize = 10;

/// The job.
#[derive(Debug)]
pub struct Deletion {
    context: Arc<Context>,
    sweep: Sweep,
}

impl Deletion {
    /// Creates the job.
    pub fn new(context: Arc<Context>) -> Self {
        Self { context, sweep: Sweep::default() }
    }
}

impl Job for Deletion {
    const NAME: &'static str = "deletion";

    async fn round(&mut self) -> Result<Pause> {
        let before = self.sweep.deleted;
        let mut walked = Ok(true);
        for _ in 0..STEPS {
            walked = self.sweep.step(&self.context).await;
            if !matches!(walked, Ok(true)) {
                break;
            }
        }
        let deleted = self.sweep.deleted - before;
        if deleted > 0 {
            tracing::info!(count = deleted, "bundles that nothing needs were deleted");
        }
        walked.map(|_| Pause::For(EVERY))
    }
}
