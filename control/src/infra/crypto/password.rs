//! Password hashes: argon2id with OWASP's parameters (m = 19,456 KiB, t = 2, p = 1), which are the crate's defaults.
//!
//! A hash takes tens of milliseconds and 19 MiB, on purpose. So the server hashes through [`Passwords`]: off the async threads, on at most all
//! cores but one, and with reused memory. Start reading there.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use argon2::password_hash::phc::{Ident, Output, ParamsString, PasswordHash, Salt};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Block, Params, Version};
use shared::limit::{network, site};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::infra::background::{self, Priority};
use crate::infra::clock::Entropy;
use crate::infra::error::Error;

/// How long a hash may wait for a permit before it is refused.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Maximum queue length per network: more than legitimate use needs, and it bounds the part of the queue that a flood from one address can take.
const MAX_WAITING: usize = 256;

/// The memory of one hash, in blocks of 1 KiB.
const MEMORY: u32 = Params::DEFAULT_M_COST;
const PASSES: u32 = Params::DEFAULT_T_COST;
const LANES: u32 = Params::DEFAULT_P_COST;

/// Maximum costs of a stored hash: one with higher costs was not created here and would only delay the others.
const MAX_MEMORY: u32 = 4 * MEMORY;
const MAX_PASSES: u32 = 16;
const MAX_LANES: u32 = 8;

/// Hashes a new password to a PHC string. Slow on purpose: call it off the async threads; the server uses [`Passwords`].
pub fn hash(password: &str, entropy: &Entropy) -> Result<String, Error> {
    hash_in(&mut Vec::new(), password, entropy.bytes()?)
}

/// A PHC string that no known password matches. A comparison takes as long as with any other hash, and always fails.
pub fn unmatched(entropy: &Entropy) -> Result<String, Error> {
    let params = Params::new(MEMORY, PASSES, LANES, None).map_err(fault)?;
    phc(&params, entropy.bytes()?, &entropy.bytes::<{ Params::DEFAULT_OUTPUT_LEN }>()?)
}

/// The result of comparing a password with a stored hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the password matches.
    pub matches: bool,
    /// Whether the hash has outdated parameters and should be recreated while the password is available.
    pub is_outdated: bool,
}

/// Limits concurrent password hashing on the server; clones share the permits.
#[derive(Clone, Debug)]
pub struct Passwords {
    permits: Arc<Semaphore>,
    /// The queue length per network.
    waiting: Arc<Mutex<HashMap<String, usize>>>,
    /// Memory of finished hashes, reused by the next ones. An allocator would retain some for each thread that ever hashed.
    memory: Arc<Mutex<Vec<Vec<Block>>>>,
    hashes: Arc<AtomicU64>,
    entropy: Entropy,
}

impl Passwords {
    /// Creates one permit per core, minus one core for all other requests.
    pub fn new(entropy: Entropy) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let permits = Arc::new(Semaphore::new(cores.saturating_sub(1).max(1)));
        Self { permits, waiting: Arc::default(), memory: Arc::default(), hashes: Arc::default(), entropy }
    }

    /// The number of hashes computed since the start, for tests: the cost of a response must not reveal who has an account.
    pub fn hashes(&self) -> u64 {
        self.hashes.load(Ordering::Relaxed)
    }

    /// Waits for a permit. Fails with [`Error::Busy`] after the maximum wait, or at once if too many wait from the same network. Both must be logged
    /// as exceeded limits, so requests use [`Context::password_permit`](crate::domain::context::Context::password_permit).
    pub async fn acquire(&self, from: IpAddr) -> Result<HashingPermit, Error> {
        let slot = QueueSlot::take(&self.waiting, from)?;
        let waited = tokio::time::timeout(MAX_WAIT, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = waited.map_err(|_| Error::Busy)?.map_err(Error::internal)?;
        drop(slot);
        Ok(HashingPermit { permit, memory: Arc::clone(&self.memory), hashes: Arc::clone(&self.hashes), entropy: self.entropy.clone() })
    }
}

/// A slot in the queue. Dropped when the request gets its permit, times out, or its client disconnects.
struct QueueSlot {
    waiting: Arc<Mutex<HashMap<String, usize>>>,
    /// The client's network and, on IPv6, its site.
    networks: Vec<String>,
}

impl QueueSlot {
    fn take(waiting: &Arc<Mutex<HashMap<String, usize>>>, from: IpAddr) -> Result<Self, Error> {
        let bounds = [(Some(network(from)), MAX_WAITING), (site(from), 10 * MAX_WAITING)];
        let mut all = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut networks = Vec::new();
        for (network, max) in bounds {
            let Some(network) = network else { continue };
            if all.get(&network).is_some_and(|count| *count >= max) {
                return Err(Error::Busy);
            }
            networks.push(network);
        }
        for network in &networks {
            *all.entry(network.clone()).or_default() += 1;
        }
        Ok(Self { waiting: Arc::clone(waiting), networks })
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for network in &self.networks {
            if let Some(count) = all.get_mut(network) {
                *count -= 1;
                if *count == 0 {
                    all.remove(network);
                }
            }
        }
    }
}

/// The permit for one operation on a password, returned when this is dropped.
#[derive(Debug)]
pub struct HashingPermit {
    permit: OwnedSemaphorePermit,
    memory: Arc<Mutex<Vec<Vec<Block>>>>,
    hashes: Arc<AtomicU64>,
    entropy: Entropy,
}

impl HashingPermit {
    /// Hashes a new password to a PHC string.
    pub async fn hash(self, password: &str) -> Result<String, Error> {
        let (password, salt) = (password.to_owned(), self.entropy.bytes()?);
        self.hashes.fetch_add(1, Ordering::Relaxed);
        self.run(move |blocks| hash_in(blocks, &password, salt)).await
    }

    /// Compares a password with the stored hash. Without one it fails, after the same time.
    pub async fn verify(self, password: &str, stored: Option<&str>) -> Result<Verdict, Error> {
        Ok(self.verify_both(password, stored, None).await?.0)
    }

    /// Also compares the password with `other`, if there is one, whatever the result of the first comparison.
    pub async fn verify_both(self, password: &str, stored: Option<&str>, other: Option<&str>) -> Result<(Verdict, bool), Error> {
        let (password, stored, other) = (password.to_owned(), stored.map(str::to_owned), other.map(str::to_owned));
        self.hashes.fetch_add(1 + u64::from(other.is_some()), Ordering::Relaxed);
        self.run(move |blocks| {
            let verdict = match stored {
                Some(stored) => verify_in(blocks, &password, &stored),
                // Only for the time that it takes.
                None => hash_in(blocks, &password, [0; 16]).map(|_| Verdict { matches: false, is_outdated: false }),
            }?;
            let other = other.map(|other| verify_in(blocks, &password, &other)).transpose()?;
            Ok((verdict, other.is_some_and(|other| other.matches)))
        })
        .await
    }

    /// Runs other slow work with this permit, such as checking a new password's strength.
    pub async fn spend<T: Send + 'static>(self, task: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        self.run(move |_| Ok(task())).await
    }

    /// Runs `task` off the async threads, with memory to use. The task holds the permit: if the client disconnects, the permit is not free before its
    /// work is done.
    async fn run<T: Send + 'static>(self, task: impl FnOnce(&mut Vec<Block>) -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
        let Self { permit, memory, .. } = self;
        let hashing = move || {
            let mut blocks = memory.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            let result = task(&mut blocks);
            memory.lock().unwrap_or_else(PoisonError::into_inner).push(blocks);
            drop(permit);
            result
        };
        background::spawn("password", Priority::Low, hashing).map_err(Error::unavailable)?.await.map_err(Error::internal)?
    }
}

fn hash_in(blocks: &mut Vec<Block>, password: &str, salt: [u8; 16]) -> Result<String, Error> {
    let params = Params::new(MEMORY, PASSES, LANES, None).map_err(fault)?;
    let mut output = [0; Params::DEFAULT_OUTPUT_LEN];
    derive(blocks, params.clone(), password, &salt, &mut output)?;
    phc(&params, salt, &output)
}

fn phc(params: &Params, salt: [u8; 16], output: &[u8]) -> Result<String, Error> {
    let hash = PasswordHash {
        algorithm: ARGON2ID_IDENT,
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(params).map_err(fault)?,
        salt: Some(Salt::new(&salt).map_err(fault)?),
        hash: Some(Output::new(output).map_err(fault)?),
    };
    Ok(hash.to_string())
}

/// Compares a password with a stored hash, in memory that may be reused. Slow on purpose, like [`hash`]. Fails if the hash was not created here.
pub fn verify_in(blocks: &mut Vec<Block>, password: &str, stored: &str) -> Result<Verdict, Error> {
    let stored = PasswordHash::new(stored).map_err(fault)?;
    let params = Params::try_from(&stored).map_err(fault)?;
    let (Some(salt), Some(expected)) = (&stored.salt, &stored.hash) else {
        return Err(Error::internal("a stored password hash is incomplete"));
    };
    let is_known = stored.algorithm == Ident::from(Algorithm::Argon2id) && stored.version == Some(Version::V0x13.into());
    let is_bounded = params.m_cost() <= MAX_MEMORY && params.t_cost() <= MAX_PASSES && params.p_cost() <= MAX_LANES;
    if !is_known || !is_bounded {
        return Err(Error::internal("a stored password hash has parameters that this version does not support"));
    }
    let is_outdated =
        (params.m_cost(), params.t_cost(), params.p_cost(), expected.len()) != (MEMORY, PASSES, LANES, Params::DEFAULT_OUTPUT_LEN);
    let mut output = vec![0; expected.len()];
    derive(blocks, params, password, salt.as_ref(), &mut output)?;
    // `Output` compares in constant time.
    Ok(Verdict { matches: Output::new(&output).map_err(fault)? == *expected, is_outdated })
}

fn derive(blocks: &mut Vec<Block>, params: Params, password: &str, salt: &[u8], output: &mut [u8]) -> Result<(), Error> {
    if blocks.len() < params.block_count() {
        blocks.resize(params.block_count(), Block::default());
    }
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon.hash_password_into_with_memory(password.as_bytes(), salt, output, blocks.as_mut_slice()).map_err(fault)
}

/// The crate's errors mention parameters, never passwords.
fn fault(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}
