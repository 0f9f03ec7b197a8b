//! Works off the outbox of mails: claims what is due, sends a few at a time, deletes what is out. `letter` has the words of each kind of mail,
//! `message` the form in which it is sent.
//!
//! The waiting between two looks is real, at most a second, and cut short by [`crate::infra::wake::Wake`].
//! A mail can arrive twice only when nobody can know better: the server took it and its answer was lost, or this process died before it could
//! note the answer. Both copies then have the same `Message-ID`.

pub mod letter;
pub mod message;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lettre::message::Mailbox;
use shared::time::UnixMillis;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::queue::Queue;
use super::runner::{Job, Rest};
use crate::domain::context::Context;
use crate::domain::error::{Result, chain};
use crate::domain::mail::{Kind, outbox as mails};
use crate::domain::outbox::{self, Lease};
use crate::domain::password_reset as reset;
use crate::infra::loopback::is_loopback_address;
use crate::infra::mail::smtp::Server;
use crate::infra::mail::{Failure, MailConfig, folder};

/// Mails under way at once: one that waits for a slow server does not hold up the others.
const LANES: usize = 4;
/// The longest wait for the next look at the outbox.
const TICK: Duration = Duration::from_secs(1);
/// How long mails under way may take once the process is to stop.
const GRACE: Duration = Duration::from_secs(5);
/// The wait after the database failed.
const REST: Duration = Duration::from_secs(2);
/// The wait after the first failure of a mail, in milliseconds; it doubles each time, up to the longest.
const FIRST_DELAY: i64 = 5_000;
const LONGEST_DELAY: i64 = 3_600_000;
/// A mail that could not be sent for so long is given up, in milliseconds.
const GIVE_UP: i64 = 3 * 86_400_000;
/// How much longer than an attempt a lease lasts, in milliseconds.
const LEASE_MARGIN: i64 = 60_000;

/// What carries mails.
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
    /// The longest that an attempt may take.
    longest: Duration,
}

/// How mails go out.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The sender, and the mail server.
    pub mail: MailConfig,
    /// Where mails become files when there is no mail server.
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
    /// A sender of what is in this queue. Once `stopped` turns true, mails under way have five seconds to end.
    pub fn new(app: Arc<Context>, settings: Settings, queue: Queue, stopped: watch::Receiver<bool>) -> Self {
        let MailConfig { from, smtp } = settings.mail;
        let (transport, longest) = match smtp {
            Some(smtp) => {
                let server = Server::new(smtp, &from);
                let longest = server.longest();
                (Transport::Smtp(server), longest)
            }
            None => (Transport::Folder(settings.folder), TICK * 60),
        };
        let sender = Arc::new(Sender { app, queue, from, transport, longest });
        Self { sender, stopped, under_way: JoinSet::new() }
    }
}

impl Job for Mails {
    const NAME: &'static str = "mail";
    // A claim that is cut off would leave its mail to the end of the lease.
    const GRACE: Duration = GRACE;
    const LONGEST_PAUSE: Duration = Duration::from_secs(2);

    async fn round(&mut self) -> Result<Rest> {
        // One that panicked has left its lease behind, and with it the mail to a later attempt.
        while self.under_way.try_join_next().is_some() {}
        while self.under_way.len() < LANES
            && let Some(lease) = self.sender.claim().await?
        {
            self.under_way.spawn(deliver(Arc::clone(&self.sender), lease, self.stopped.clone()));
        }
        Ok(Rest::AtMost(TICK))
    }

    async fn woken(&mut self) {
        let has_room = self.under_way.len() < LANES;
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

/// Makes one attempt and notes what became of it.
async fn deliver(sender: Arc<Sender>, lease: Lease, mut stop: watch::Receiver<bool>) {
    let overdue = async {
        // An error means that the process is ending without order.
        let _ = stop.wait_for(|stop| *stop).await;
        tokio::time::sleep(GRACE).await;
    };
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(sender.longest, sender.attempt(&lease)) => {
            outcome.unwrap_or_else(|_| Err(Failure::Passing("it took too long".to_owned())))
        }
        () = overdue => Err(Failure::Passing("this process ends".to_owned())),
    };
    // What went out must not go out again for want of a note: the note is repeated while the server runs, and in vain only if the database
    // stays away for longer than the lease.
    while let Err(error) = sender.settle(&lease, &outcome).await {
        tracing::warn!(mail.id = lease.key, cause = %chain(&error), "what became of a mail cannot be noted");
        if *stop.borrow() {
            return;
        }
        tokio::time::sleep(REST).await;
    }
}

impl Sender {
    /// Leases the mail that has been due for longest, for somewhat longer than an attempt may take.
    async fn claim(&self) -> Result<Option<Lease>> {
        let longest = i64::try_from(self.longest.as_millis()).unwrap_or(0);
        Ok(self.queue.claim(1, longest.saturating_add(LEASE_MARGIN)).await?.pop())
    }

    async fn attempt(&self, lease: &Lease) -> Result<(), Failure> {
        // Another version of the program, or another replica's settings, may well know the key or the kind that this one does not.
        let mail = mails::open(lease, &self.app.settings.encryption_keys).map_err(|error| Failure::Passing(chain(&error)))?;
        if mail.kind.lifetime().is_some_and(|lifetime| self.app.now() >= lease.created_time.plus_millis(lifetime)) {
            return Err(Failure::Final("its link has ended".to_owned()));
        }
        if matches!(mail.kind, Kind::ForgotPassword) {
            return self.answer(lease, &mail.to).await.map_err(|error| Failure::Passing(chain(&error)));
        }
        // Such an error may repeat the address, which is not for the log.
        let message = message::build(&self.from, &self.app.settings.dashboard_url, lease, &mail)
            .map_err(|_| Failure::Final("it has no valid form".to_owned()))?;
        match &self.transport {
            Transport::Smtp(server) => server.send(&message).await,
            Transport::Folder(folder) => {
                let file = folder::write(folder, &lease.key, lease.created_time, &message)
                    .await
                    .map_err(|error| Failure::Passing(error.to_string()))?;
                // Whoever tries the service out on this machine finds the way on here; anywhere else a link is a secret.
                let link = mail.kind.link().filter(|_| is_loopback_address(&self.app.settings.base_url));
                tracing::info!(file, link, "a mail was written");
                Ok(())
            }
        }
    }

    /// Puts into the row's place the mail that was asked for, if there is one to be sent.
    async fn answer(&self, lease: &Lease, email: &str) -> Result<()> {
        let mut tx = self.app.db.write().await?;
        // Another sender may have taken the lease over, and have done this.
        if outbox::close(&mut tx, lease).await? {
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
            Err(Failure::Passing(_)) if !is_old => {
                outbox::back_off(&mut tx, lease, now.plus_millis(delay(lease.attempts)), UnixMillis(0)).await?;
            }
            _ => drop(outbox::close(&mut tx, lease).await?),
        }
        tx.commit().await?;
        match outcome {
            Ok(()) => tracing::debug!(mail.id = id, attempts, "a mail was sent"),
            Err(Failure::Passing(reason)) if !is_old => {
                tracing::warn!(mail.id = id, attempts, reason, "a mail was not sent and is tried again");
            }
            Err(Failure::Passing(reason) | Failure::Final(reason)) => {
                tracing::error!(mail.id = id, attempts, reason, "a mail cannot be delivered and is given up");
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

    /// How long the link can be used, in milliseconds.
    fn lifetime(&self) -> Option<i64> {
        match self {
            Self::VerifyEmail { lifetime, .. } | Self::ResetPassword { lifetime, .. } => Some(*lifetime),
            _ => None,
        }
    }
}

/// How long a mail waits after it failed once more than `attempts` times, in milliseconds.
fn delay(attempts: i64) -> i64 {
    let doublings = attempts.clamp(0, 12);
    (FIRST_DELAY << doublings).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use crate::jobs::mail::delay;

    #[test]
    fn the_wait_doubles_from_five_seconds_to_an_hour() {
        assert_eq!([0, 1, 2, 8, 9, 10, 11].map(delay), [5_000, 10_000, 20_000, 1_280_000, 2_560_000, 3_600_000, 3_600_000]);
        assert_eq!((delay(-1), delay(i64::MAX)), (5_000, 3_600_000));
    }
}
