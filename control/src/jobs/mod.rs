//! Background jobs, which run as long as the server.
//!
//! Their rules are in [`crate::domain`]. Start reading at [`start`] and [`runner::Job`].

pub mod cleanup;
pub mod deletion;
pub mod diffs;
pub mod history;
pub mod import;
pub mod mail;
pub mod publish_all;
pub mod queue;
pub mod reconcile;
pub mod replay;
pub mod runner;
pub mod snapshots;
pub mod stores;
pub mod traces;

use std::sync::Arc;

use tokio::sync::watch;

use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::outbox::Kind;
use crate::domain::snapshot::Snapshots;
use crate::infra::kv::KvConfig;
use queue::Queue;
use runner::Runner;

/// Settings of jobs, besides those of the domain.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where snapshots are pushed; `None` without an edge.
    pub kv: Option<KvConfig>,
    /// How emails are sent.
    pub mail: mail::Settings,
}

/// Starts all jobs.
pub fn start(context: &Arc<Context>, snapshots: &Snapshots, settings: Settings, stopped: watch::Receiver<bool>) -> Result<Runner> {
    let mut runner = Runner::new(context.clock.clone(), context.entropy.clone(), stopped.clone());
    if let Some(kv) = settings.kv {
        let pusher = Arc::new(snapshots::Pusher::new(Arc::clone(context), snapshots.clone(), &kv)?);
        let shared = Arc::clone(&pusher);
        runner.start(move || snapshots::Publish(Arc::clone(&pusher)));
        runner.start(move || reconcile::Reconcile::new(Arc::clone(&shared)));
    }
    runner.start(with(context, cleanup::Cleanup::new));
    runner.start(with(context, deletion::Deletion::new));
    let diffs = Queue::new(context, Kind::Diffs)?;
    runner.start(with(context, move |context| diffs::Diffs::new(context, diffs.clone())));
    runner.start(with(context, history::History));
    runner.start(with(context, traces::Traces));
    let mails = Queue::new(context, Kind::Mail)?;
    runner.start(with(context, move |context| mail::Mails::new(context, settings.mail.clone(), mails.clone(), stopped.clone())));
    Ok(runner)
}

/// A factory that creates a job from the context, and recreates it after a panic.
fn with<J>(context: &Arc<Context>, new: impl Fn(Arc<Context>) -> J + Send + Sync + 'static) -> impl Fn() -> J + Send + Sync + 'static {
    let context = Arc::clone(context);
    move || new(Arc::clone(&context))
}
