//! Processes the outbox of emails: claims due emails, sends a few at a time, deletes sent ones. `content` has the texts of each kind of mail, `message`
//! builds the message.
//!
//! The wait between two polls uses real time, at most a second, and [`crate::infra::wake::Wake`] cuts it short.
//! An email is sent twice only if the outcome is unknown: the server accepted it and its reply was lost, or this process died before it could record the
//! reply. Both copies then have the same `Message-ID`.

pub mod content;
pub mod message;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lettre::message::Mailbox;
use shared::time::UnixMillis;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::queue::Queue;
use super::runner::{Job, Pause};
use crate::domain::context::Context;
use crate::domain::error::{Result, chain};
use crate::domain::mail::{Kind, outbox as mails};
use crate::domain::outbox::{self, Lease};
use crate::domain::password_reset as reset;
use crate::infra::loopback::is_loopback_address;
use crate::infra::mail::smtp::Server;
use crate::infra::mail::{Failure, MailConfig, folder};

/// Maximum number of concurrent emails: one that waits for a slow server does not block the others.
const MAX_CONCURRENT: usize = 4;
/// The maximum time between two polls of the outbox.
const TICK: Duration = Duration::from_secs(1);
/// How long emails in progress may take once the process is told to stop.
const GRACE: Duration = Duration::from_secs(5);
/// The pause after a failure of the database.
const REST: Duration = Duration::from_secs(2);
/// The delay after the first failure of an email, in milliseconds; it doubles each time, up to the maximum.
const FIRST_DELAY: i64 = 5_000;
const MAX_DELAY: i64 = 3_600_000;
/// The age at which an email that cannot be sent is dropped, in milliseconds.
const GIVE_UP: i64 = 3 * 86_400_000;
/// How much longer a lease lasts than an attempt, in milliseconds.
const LEASE_MARGIN: i64 = 60_000;

/// How emails are transported.
#[derive(Debug)]
enum Transport {
    Smtp(Server),
    Folder(PathBuf),
}

#[derive(Debug)]
struct Sender {
    app: Arc<Context>,
    queue: Queue,
    from: Mailbox,
    transport: Transport,
    /// Timeout of an attempt.
    timeout: Duration,
}

/// How emails are sent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The sender, and the mail server.
    pub mail: MailConfig,
    /// The folder for emails if there is no mail server.
    pub folder: PathBuf,
}

/// The job.
#[derive(Debug)]
pub struct Mails {
    sender: Arc<Sender>,
    stopped: watch::Receiver<bool>,
    under_way: JoinSet<()>,
}

impl Mails {
    /// A sender for this queue. Once `stopped` turns true, emails in progress have five seconds to complete.
    pub fn new(app: Arc<Context>, settings: Settings, queue: Queue, stopped: watch::Receiver<bool>) -> Self {
        let MailConfig { from, smtp } = settings.mail;
        let (transport, timeout) = match smtp {
            Some(smtp) => {
                let server = Server::new(smtp, &from);
                let timeout = server.max_duration();
                (Transport::Smtp(server), timeout)
            }
            None => (Transport::Folder(settings.folder), TICK * 60),
        };
        let sender = Arc::new(Sender { app, queue, from, transport, timeout });
        Self { sender, stopped, under_way: JoinSet::new() }
    }
}

impl Job for Mails {
    const NAME: &'static str = "mail";
    // An aborted claim would delay its mail until the lease expires.
    const GRACE: Duration = GRACE;
    const MAX_PAUSE: Duration = Duration::from_secs(2);

    async fn round(&mut self) -> Result<Pause> {
        // Removes finished tasks. One that panicked keeps its lease; the email is retried when that expires.
        while self.under_way.try_join_next().is_some() {}
        while self.under_way.len() < MAX_CONCURRENT
            && let Some(lease) = self.sender.claim().await?
        {
            self.under_way.spawn(deliver(Arc::clone(&self.sender), lease, self.stopped.clone()));
        }
        Ok(Pause::AtMost(TICK))
    }

    async fn woken(&mut self) {
        let has_room = self.under_way.len() < MAX_CONCURRENT;
        tokio::select! {
            Some(_) = self.under_way.join_next() => {}
            () = self.sender.app.mailer.woken(), if has_room => {}
            else => {}
        }
    }

    async fn finish(mut self) {
        while self.under_way.join_next().await.is_some() {}
    }
}

/// Makes one attempt and records the outcome.
async fn deliver(sender: Arc<Sender>, lease: Lease, mut stop: watch::Receiver<bool>) {
    let overdue = async {
        // An error means that the sender is gone, which also means stop.
        let _ = stop.wait_for(|stop| *stop).await;
        tokio::time::sleep(GRACE).await;
    };
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(sender.timeout, sender.attempt(&lease)) => {
            outcome.unwrap_or_else(|_| Err(Failure::Transient("timed out".to_owned())))
        }
        () = overdue => Err(Failure::Transient("the server is stopping".to_owned())),
    };
    // Without a recorded outcome a sent mail would be sent again. So this is retried while the server runs; it fails only if the database is
    // unavailable for longer than the lease.
    while let Err(error) = sender.settle(&lease, &outcome).await {
        tracing::warn!(mail.id = lease.key, cause = %chain(&error), "the outcome of an email could not be recorded");
        if *stop.borrow() {
            return;
        }
        tokio::time::sleep(REST).await;
    }
}

impl Sender {
    /// Leases the email that has been due the longest, for a little longer than the timeout of an attempt.
    async fn claim(&self) -> Result<Option<Lease>> {
        let timeout = i64::try_from(self.timeout.as_millis()).unwrap_or(0);
        Ok(self.queue.claim(1, timeout.saturating_add(LEASE_MARGIN)).await?.pop())
    }

    async fn attempt(&self, lease: &Lease) -> Result<(), Failure> {
        // Transient: another version of the program, or a replica with other settings, may know the key or the kind.
        let mail = mails::open(lease, &self.app.settings.encryption_keys).map_err(|error| Failure::Transient(chain(&error)))?;
        if mail.kind.lifetime().is_some_and(|lifetime| self.app.now() >= lease.created_time.plus_millis(lifetime)) {
            return Err(Failure::Permanent("its link has expired".to_owned()));
        }
        if matches!(mail.kind, Kind::ForgotPassword) {
            return self.answer(lease, &mail.to).await.map_err(|error| Failure::Transient(chain(&error)));
        }
        // The error is dropped: it may contain the address, which must not be logged.
        let message = message::build(&self.from, &self.app.settings.dashboard_url, lease, &mail)
            .map_err(|_| Failure::Permanent("it cannot be formatted".to_owned()))?;
        match &self.transport {
            Transport::Smtp(server) => server.send(&message).await,
            Transport::Folder(folder) => {
                let file = folder::write(folder, &lease.key, lease.created_time, &message)
                    .await
                    .map_err(|error| Failure::Transient(error.to_string()))?;
                // On a local base URL the link is logged, for people who try the service out. Otherwise a link is a secret.
                let link = mail.kind.link().filter(|_| is_loopback_address(&self.app.settings.base_url));
                tracing::info!(file, link, "an email was written");
                Ok(())
            }
        }
    }

    /// Replaces the row with the requested mail, if there is one to send.
    async fn answer(&self, lease: &Lease, email: &str) -> Result<()> {
        let mut tx = self.app.db.write().await?;
        // False if another sender took over the lease; then that one does this.
        if outbox::delete(&mut tx, lease).await? {
            reset::service::answer(&mut tx, &self.app, email, lease.created_time).await?;
        }
        tx.commit().await?;
        self.app.mailer.wake();
        Ok(())
    }

    async fn settle(&self, lease: &Lease, outcome: &Result<(), Failure>) -> Result<()> {
        let (id, attempts, now) = (lease.key.as_str(), lease.attempts + 1, self.app.now());
        let is_old = now.as_millis().saturating_sub(lease.created_time.as_millis()) >= GIVE_UP;
        let mut tx = self.app.db.write().await?;
        match outcome {
            Err(Failure::Transient(_)) if !is_old => {
                outbox::retry_later(&mut tx, lease, now.plus_millis(delay(lease.attempts)), UnixMillis(0)).await?;
            }
            _ => drop(outbox::delete(&mut tx, lease).await?),
        }
        tx.commit().await?;
        match outcome {
            Ok(()) => tracing::debug!(mail.id = id, attempts, "an email was sent"),
            Err(Failure::Transient(reason)) if !is_old => {
                tracing::warn!(mail.id = id, attempts, reason, "an email could not be sent; retrying later");
            }
            Err(Failure::Transient(reason) | Failure::Permanent(reason)) => {
                tracing::error!(mail.id = id, attempts, reason, "an email could not be sent and is dropped");
            }
        }
        Ok(())
    }
}

impl Kind {
    fn link(&self) -> Option<&str> {
        match self {
            Self::VerifyEmail { link, .. } | Self::ResetPassword { link, .. } => Some(link),
            _ => None,
        }
    }

    /// The lifetime of the link, in milliseconds.
    fn lifetime(&self) -> Option<i64> {
        match self {
            Self::VerifyEmail { lifetime, .. } | Self::ResetPassword { lifetime, .. } => Some(*lifetime),
            _ => None,
        }
    }
}

/// The back-off of an email with `attempts` earlier failures, in milliseconds.
fn delay(attempts: i64) -> i64 {
    let doublings = attempts.clamp(0, 12);
    (FIRST_DELAY << doublings).min(MAX_DELAY)
}

#[cfg(test)]
mod tests {
    use crate::jobs::mail::delay;

    #[test]
    fn the_delay_doubles_from_five_seconds_to_an_hour() {
        assert_eq!([0, 1, 2, 8, 9, 10, 11].map(delay), [5_000, 10_000, 20_000, 1_280_000, 2_560_000, 3_600_000, 3_600_000]);
        assert_eq!((delay(-1), delay(i64::MAX)), (5_000, 3_600_000));
    }
}
