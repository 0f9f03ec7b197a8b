//! What every use case can reach: the database, the store, the settings, time and chance, and what wakes the jobs.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use shared::ids::{AccountId, RequestId};
use shared::limit::{Limiter, Rate};
use shared::time::UnixMillis;
use shared::wire::check::DownloadUrls;
use tokio::sync::Semaphore;

use crate::domain::audit::client_address::ClientAddress;
use crate::domain::error::{Error, RateLimit, Refusal};
use crate::domain::limits::under_way::UnderWay;
use crate::domain::settings::Settings;
use crate::domain::traces::memory::Traces;
use crate::infra;
use crate::infra::challenge::Challenge;
use crate::infra::clock::{Clock, Dice};
use crate::infra::crypto::password::{Passwords, Turn};
use crate::infra::db::Db;
use crate::infra::storage::Storage;
use crate::infra::wake::Wake;
use crate::infra::webauthn::RelyingParty;
use crate::infra::work::Work;

/// What every use case and job can reach.
#[derive(Debug)]
pub struct Context {
    /// The database.
    pub db: Db,
    /// Where bundles are kept.
    pub storage: Storage,
    /// The settings.
    pub settings: Settings,
    /// The time.
    pub clock: Clock,
    /// Chance.
    pub dice: Dice,
    /// Wakes the publisher of snapshots after a change.
    pub publisher: Wake,
    /// Wakes the sender of mails after one was put into the outbox.
    pub mailer: Wake,
    /// Asks whether a human sent a request, where that is configured.
    pub challenge: Challenge,
    /// Counts requests by credential.
    pub callers: Mutex<Limiter>,
    /// Counts requests by account, whatever credential they are made with.
    pub accounts: Mutex<Limiter>,
    /// Counts uploads by credential.
    pub uploaders: Mutex<Limiter>,
    /// Counts uploads by account.
    pub uploading_accounts: Mutex<Limiter>,
    /// Uploads that are under way, by account: each has a file until it is stored or refused.
    pub uploads_under_way: UnderWay,
    /// What failed and is not written down yet.
    pub traces: Traces,
    /// Whom passkeys are for.
    pub relying_party: RelyingParty,
    /// Password hashes, made and compared.
    pub passwords: Passwords,
    /// Permits for looking into uploaded files: as many as there are cores.
    pub inspections: Arc<Semaphore>,
    /// Work that outlives the request that began it.
    pub work: Work,
    /// Held while this process serves the data folder.
    pub lock: File,
}

/// A limit in memory that refuses.
#[derive(Clone, Copy, Debug)]
pub struct Exceeded<'r> {
    /// Its name in the log.
    pub name: &'static str,
    /// What the caller is told.
    pub limit: RateLimit,
    /// From where the request came, where that is known.
    pub from: Option<ClientAddress>,
    /// Whose account it was about.
    pub account: Option<&'r AccountId>,
}

impl Context {
    /// The time now.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// Counts one request of `key` by one of the limiters in memory. Errors: 429.
    pub fn count(&self, limiter: &Mutex<Limiter>, key: &str, rate: Rate, exceeded: &Exceeded<'_>) -> Result<(), Error> {
        let admitted = limiter.lock().unwrap_or_else(PoisonError::into_inner).admit(key, rate, self.now().as_millis());
        admitted.map_err(|seconds| self.refuse(exceeded, seconds))
    }

    /// Counts one request of an address about `what` by one of the limiters in memory. Errors: 429.
    pub fn count_address(
        &self,
        limiter: &Mutex<Limiter>,
        from: ClientAddress,
        what: &str,
        rate: Rate,
        exceeded: &Exceeded<'_>,
    ) -> Result<(), Error> {
        let mut limiter = limiter.lock().unwrap_or_else(PoisonError::into_inner);
        let admitted = limiter.admit_address(from.0, what, rate, self.now().as_millis());
        drop(limiter);
        admitted.map_err(|seconds| self.refuse(exceeded, seconds))
    }

    /// Notes what a limit in memory refuses; the error (429) says in how many seconds to try again.
    pub fn refuse(&self, exceeded: &Exceeded<'_>, seconds: u64) -> Error {
        if let Some(from) = exceeded.from {
            self.traces.refused(from, exceeded.name, exceeded.account, self.now());
        }
        Error::TooMany { limit: exceeded.limit, retry_after: seconds }
    }

    /// Waits for a turn to work on a password. Errors: 503, noted as the refusal by a limit that it is: anybody can bring it about, as often as they like.
    pub async fn password_turn(&self, from: ClientAddress) -> Result<Turn, Error> {
        let turn = self.passwords.turn(from.0).await;
        if matches!(turn, Err(infra::error::Error::Busy)) {
            self.traces.refused(from, "waiting_passwords", None, self.now());
        }
        Ok(turn?)
    }

    /// Asks whether a human sent a request, where that is configured. Errors: 403 with `challenge_required` without a token that passes; 503 when the
    /// verifier cannot be asked.
    pub async fn verify_challenge(&self, token: Option<&str>, from: ClientAddress) -> Result<(), Error> {
        let passes = self.challenge.verify(token, from.0).await?;
        if passes { Ok(()) } else { Err(Error::Refused(Refusal::NoChallenge)) }
    }

    /// What signed bundle addresses are made from.
    pub fn download_urls(&self) -> DownloadUrls<'_> {
        DownloadUrls { base_url: &self.settings.base_url, secret: self.settings.download_secret.first(), now: self.now() }
    }

    /// A new request id (UUIDv7).
    pub fn request_id(&self) -> Result<RequestId, Error> {
        Ok(RequestId::v7(self.now(), self.dice.bytes()?))
    }
}
