//! What every use case can reach: database, storage, settings, clock, randomness, and the handles that wake the jobs.

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
use crate::infra::clock::{Clock, Entropy};
use crate::infra::crypto::password::{HashingPermit, Passwords};
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
    /// Bundle storage.
    pub storage: Storage,
    /// The settings.
    pub settings: Settings,
    /// The clock.
    pub clock: Clock,
    /// The source of randomness.
    pub entropy: Entropy,
    /// Wakes the snapshot publisher after a change.
    pub publisher: Wake,
    /// Wakes the mail sender after an email was enqueued.
    pub mailer: Wake,
    /// Wakes the job that makes diffs after a change of releases.
    pub differ: Wake,
    /// Verifies that a request comes from a human, where that is configured.
    pub challenge: Challenge,
    /// Counts requests per credential.
    pub callers: Mutex<Limiter>,
    /// Counts requests per account, across all its credentials.
    pub accounts: Mutex<Limiter>,
    /// Counts uploads per credential.
    pub uploaders: Mutex<Limiter>,
    /// Counts uploads per account.
    pub uploading_accounts: Mutex<Limiter>,
    /// Counts requests of imports per account.
    pub importing_accounts: Mutex<Limiter>,
    /// Uploads in progress, by account. Each holds a temporary file until it is stored or refused.
    pub uploads_under_way: UnderWay,
    /// Failures that are not written to the database yet.
    pub traces: Traces,
    /// The relying party for passkeys.
    pub relying_party: RelyingParty,
    /// Hashes and verifies passwords.
    pub passwords: Passwords,
    /// Permits for inspecting uploaded files: one per core.
    pub inspections: Arc<Semaphore>,
    /// Work that outlives the request that started it.
    pub work: Work,
    /// The lock file, held while this process serves the data folder.
    pub lock: File,
}

/// An in-memory limit that was exceeded.
#[derive(Clone, Copy, Debug)]
pub struct Exceeded<'r> {
    /// The limit's name in the log.
    pub name: &'static str,
    /// The limit as the caller sees it.
    pub limit: RateLimit,
    /// Where the request came from, if known.
    pub from: Option<ClientAddress>,
    /// The account it concerned.
    pub account: Option<&'r AccountId>,
}

impl Context {
    /// The current time.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// Counts one request for `key` in an in-memory limiter. Errors: 429.
    pub fn count(&self, limiter: &Mutex<Limiter>, key: &str, rate: Rate, exceeded: &Exceeded<'_>) -> Result<(), Error> {
        let acquired = limiter.lock().unwrap_or_else(PoisonError::into_inner).acquire(key, rate, self.now().as_millis());
        acquired.map_err(|seconds| self.refuse(exceeded, seconds))
    }

    /// Counts one request from an address about `what` in an in-memory limiter. Errors: 429.
    pub fn count_address(
        &self,
        limiter: &Mutex<Limiter>,
        from: ClientAddress,
        what: &str,
        rate: Rate,
        exceeded: &Exceeded<'_>,
    ) -> Result<(), Error> {
        let mut limiter = limiter.lock().unwrap_or_else(PoisonError::into_inner);
        let acquired = limiter.acquire_for_address(from.0, what, rate, self.now().as_millis());
        drop(limiter);
        acquired.map_err(|seconds| self.refuse(exceeded, seconds))
    }

    /// Records a refusal by an in-memory limit. The error (429) says in how many seconds to retry.
    pub fn refuse(&self, exceeded: &Exceeded<'_>, seconds: u64) -> Error {
        if let Some(from) = exceeded.from {
            self.traces.refused(from, exceeded.name, exceeded.account, self.now());
        }
        Error::TooMany { limit: exceeded.limit, retry_after: seconds }
    }

    /// Waits for a permit to hash or verify a password. Errors: 503. It is recorded as a limit's refusal, because anyone can cause it as often as they like.
    pub async fn password_permit(&self, from: ClientAddress) -> Result<HashingPermit, Error> {
        let permit = self.passwords.acquire(from.0).await;
        if matches!(permit, Err(infra::error::Error::Busy)) {
            self.traces.refused(from, "waiting_passwords", None, self.now());
        }
        Ok(permit?)
    }

    /// Verifies that a request comes from a human, where that is configured. Errors: 403 with `challenge_required` without a valid token; 503 when the
    /// verifier cannot be reached.
    pub async fn verify_challenge(&self, token: Option<&str>, from: ClientAddress) -> Result<(), Error> {
        let passes = self.challenge.verify(token, from.0).await?;
        if passes { Ok(()) } else { Err(Error::Refused(Refusal::NoChallenge)) }
    }

    /// The inputs for signed bundle URLs.
    pub fn download_urls(&self) -> DownloadUrls<'_> {
        DownloadUrls { base_url: &self.settings.base_url, secret: self.settings.download_secret.first(), now: self.now() }
    }

    /// A new request ID (UUIDv7).
    pub fn request_id(&self) -> Result<RequestId, Error> {
        Ok(RequestId::v7(self.now(), self.entropy.bytes()?))
    }
}
