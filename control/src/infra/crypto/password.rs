//! Password hashes: argon2id with OWASP's parameters (m = 19,456 KiB, t = 2, p = 1), which are the crate's defaults.
//!
//! A hash takes tens of milliseconds and 19 MiB, on purpose. So the server makes them through [`Passwords`]: off the async threads, on all
//! cores but one at once, in memory that is used again and again. Start reading there.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use argon2::password_hash::phc::{Ident, Output, ParamsString, PasswordHash, Salt};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Block, Params, Version};
use shared::limit::{network, site};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::infra::clock::Dice;
use crate::infra::error::Error;

/// How long a hash may wait for its turn before it is refused.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How many may wait from one network at once: more than come in earnest, so that a flood from one address takes a bounded part of the queue.
const MOST_WAITING: usize = 256;

/// The memory of one hash, in blocks of 1 KiB.
const MEMORY: u32 = Params::DEFAULT_M_COST;
const PASSES: u32 = Params::DEFAULT_T_COST;
const LANES: u32 = Params::DEFAULT_P_COST;

/// What a stored hash may cost at most: one with greater costs was not made here and would only hold up the others.
const MOST_MEMORY: u32 = 4 * MEMORY;
const MOST_PASSES: u32 = 16;
const MOST_LANES: u32 = 8;

/// The PHC string of a new password. Slow on purpose: call it off the async threads; the server has [`Passwords`].
pub fn hash(password: &str, dice: &Dice) -> Result<String, Error> {
    hash_in(&mut Vec::new(), password, dice.bytes()?)
}

/// A PHC string that no password is known of: to compare with it takes as long as with any other, and the answer is no.
pub fn unmatched(dice: &Dice) -> Result<String, Error> {
    let params = Params::new(MEMORY, PASSES, LANES, None).map_err(fault)?;
    phc(&params, dice.bytes()?, &dice.bytes::<{ Params::DEFAULT_OUTPUT_LEN }>()?)
}

/// What came of comparing a password with a stored hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is the password.
    pub matches: bool,
    /// Whether the hash was made with other parameters than those of today, and is to be made anew while the password is at hand.
    pub is_outdated: bool,
}

/// Gives out turns to make and compare password hashes for the server; clones share their permits.
#[derive(Clone, Debug)]
pub struct Passwords {
    permits: Arc<Semaphore>,
    /// How many wait, by network.
    waiting: Arc<Mutex<HashMap<String, usize>>>,
    /// The memory of hashes that are done, for the next ones. An allocator would keep some for each thread that ever hashed.
    memory: Arc<Mutex<Vec<Vec<Block>>>>,
    hashes: Arc<AtomicU64>,
    dice: Dice,
}

impl Passwords {
    /// With a permit for each core but one, which is for everybody else.
    pub fn new(dice: Dice) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let permits = Arc::new(Semaphore::new(cores.saturating_sub(1).max(1)));
        Self { permits, waiting: Arc::default(), memory: Arc::default(), hashes: Arc::default(), dice }
    }

    /// How many hashes were computed since the start, to store or to compare: what an answer costs must not tell who has an account.
    pub fn hashes(&self) -> u64 {
        self.hashes.load(Ordering::Relaxed)
    }

    /// Waits for a turn. Errors: [`Error::Busy`] when it takes too long, and at once when too many wait from the same network. Both
    /// are for the log's lines on limits, so requests ask by [`App::password_turn`](crate::domain::context::Context::password_turn).
    pub async fn turn(&self, from: IpAddr) -> Result<Turn, Error> {
        let place = Place::take(&self.waiting, from)?;
        let waited = tokio::time::timeout(LONGEST_WAIT, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = waited.map_err(|_| Error::Busy)?.map_err(Error::internal)?;
        drop(place);
        Ok(Turn { permit, memory: Arc::clone(&self.memory), hashes: Arc::clone(&self.hashes), dice: self.dice.clone() })
    }
}

/// A place in the queue, given up when it is dropped: when it is the request's turn, it waited too long, or its client has gone.
struct Place {
    waiting: Arc<Mutex<HashMap<String, usize>>>,
    /// The network, and the site on IPv6.
    networks: Vec<String>,
}

impl Place {
    fn take(waiting: &Arc<Mutex<HashMap<String, usize>>>, from: IpAddr) -> Result<Self, Error> {
        let bounds = [(Some(network(from)), MOST_WAITING), (site(from), 10 * MOST_WAITING)];
        let mut all = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut networks = Vec::new();
        for (network, most) in bounds {
            let Some(network) = network else { continue };
            if all.get(&network).is_some_and(|count| *count >= most) {
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

impl Drop for Place {
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

/// The permit for one piece of work on a password; dropped, it is another's turn.
#[derive(Debug)]
pub struct Turn {
    permit: OwnedSemaphorePermit,
    memory: Arc<Mutex<Vec<Vec<Block>>>>,
    hashes: Arc<AtomicU64>,
    dice: Dice,
}

impl Turn {
    /// The PHC string of a new password.
    pub async fn hash(self, password: &str) -> Result<String, Error> {
        let (password, salt) = (password.to_owned(), self.dice.bytes()?);
        self.hashes.fetch_add(1, Ordering::Relaxed);
        self.run(move |blocks| hash_in(blocks, &password, salt)).await
    }

    /// Compares a password with the stored hash; without one the answer is no, after as long a time.
    pub async fn verify(self, password: &str, stored: Option<&str>) -> Result<Verdict, Error> {
        Ok(self.verify_both(password, stored, None).await?.0)
    }

    /// The same, and then compares it with `other` if there is one, whatever the first comparison said.
    pub async fn verify_both(self, password: &str, stored: Option<&str>, other: Option<&str>) -> Result<(Verdict, bool), Error> {
        let (password, stored, other) = (password.to_owned(), stored.map(str::to_owned), other.map(str::to_owned));
        self.hashes.fetch_add(1 + u64::from(other.is_some()), Ordering::Relaxed);
        self.run(move |blocks| {
            let verdict = match stored {
                Some(stored) => verify_in(blocks, &password, &stored),
                // Not for the hash, but for the time that it takes.
                None => hash_in(blocks, &password, [0; 16]).map(|_| Verdict { matches: false, is_outdated: false }),
            }?;
            let other = other.map(|other| verify_in(blocks, &password, &other)).transpose()?;
            Ok((verdict, other.is_some_and(|other| other.matches)))
        })
        .await
    }

    /// Runs other work that takes long, such as judging a new password, in this turn.
    pub async fn spend<T: Send + 'static>(self, task: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        self.run(move |_| Ok(task())).await
    }

    /// Runs `task` off the async threads, in memory that it may use. The permit goes with the task: a client that goes away does not make room for
    /// another before the work that it caused is done.
    async fn run<T: Send + 'static>(self, task: impl FnOnce(&mut Vec<Block>) -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
        let Self { permit, memory, .. } = self;
        let (answer, answered) = oneshot::channel();
        let hashing = move || {
            stand_back();
            let mut blocks = memory.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            let result = task(&mut blocks);
            memory.lock().unwrap_or_else(PoisonError::into_inner).push(blocks);
            drop(permit);
            // Whoever asked may be gone.
            drop(answer.send(result));
        };
        // A thread of its own, whose priority nobody else inherits. To make one takes a thousandth of what it then does.
        thread::Builder::new().name("password".to_owned()).spawn(hashing).map_err(Error::unavailable)?;
        answered.await.map_err(Error::internal)?
    }
}

/// Lowers the priority of this thread a little, so that other requests need not wait until it has had its turn on a core. A busy machine still gives
/// it a share: logins must come to an end, too.
fn stand_back() {
    // Linux counts this by thread, others by process. Where it cannot be had, others wait a little longer.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(5) {
        tracing::debug!(%error, "a thread keeps its priority");
    }
}

fn hash_in(blocks: &mut Vec<Block>, password: &str, salt: [u8; 16]) -> Result<String, Error> {
    let params = Params::new(MEMORY, PASSES, LANES, None).map_err(fault)?;
    let mut output = [0; Params::DEFAULT_OUTPUT_LEN];
    derive(blocks, params.clone(), password, &salt, &mut output)?;
    phc(&params, salt, &output)
}

fn phc(params: &Params, salt: [u8; 16], output: &[u8]) -> Result<String, Error> {
    let made = PasswordHash {
        algorithm: ARGON2ID_IDENT,
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(params).map_err(fault)?,
        salt: Some(Salt::new(&salt).map_err(fault)?),
        hash: Some(Output::new(output).map_err(fault)?),
    };
    Ok(made.to_string())
}

/// Compares a password with a stored hash, in memory that may have been used before. Slow on purpose, as [`hash`]. Errors: a hash that was not made here.
pub fn verify_in(blocks: &mut Vec<Block>, password: &str, stored: &str) -> Result<Verdict, Error> {
    let stored = PasswordHash::new(stored).map_err(fault)?;
    let params = Params::try_from(&stored).map_err(fault)?;
    let (Some(salt), Some(expected)) = (&stored.salt, &stored.hash) else {
        return Err(Error::internal("a stored password hash is not whole"));
    };
    let is_known = stored.algorithm == Ident::from(Algorithm::Argon2id) && stored.version == Some(Version::V0x13.into());
    let is_bounded = params.m_cost() <= MOST_MEMORY && params.t_cost() <= MOST_PASSES && params.p_cost() <= MOST_LANES;
    if !is_known || !is_bounded {
        return Err(Error::internal("a stored password hash has parameters that this version does not take"));
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

/// The crate's errors speak of parameters, never of passwords.
fn fault(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[tokio::test(start_paused = true)]
    async fn a_hash_waits_for_ten_seconds_and_no_longer() {
        let passwords = Passwords::new(Dice::test());
        let all = u32::try_from(passwords.permits.available_permits()).unwrap();
        let held = Arc::clone(&passwords.permits).acquire_many_owned(all).await.unwrap();
        let began = tokio::time::Instant::now();
        assert!(matches!(passwords.turn(HERE).await, Err(Error::Busy)));
        assert_eq!(began.elapsed().as_secs(), 10);
        drop(held);
        assert!(passwords.turn(HERE).await.unwrap().hash("correct horse").await.is_ok());
        assert!(passwords.waiting.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_permit_is_held_until_the_work_is_done_although_nobody_waits_for_it() {
        let passwords = Passwords::new(Dice::test());
        let all = passwords.permits.available_permits();
        let (start, started) = tokio::sync::oneshot::channel();
        let (finish, finished) = std::sync::mpsc::channel::<()>();
        let work = tokio::spawn({
            let passwords = passwords.clone();
            async move {
                let turn = passwords.turn(HERE).await?;
                turn.run(move |_| {
                    start.send(()).unwrap();
                    finished.recv().map_err(Error::internal)
                })
                .await
            }
        });
        started.await.unwrap();
        work.abort();
        assert!(work.await.unwrap_err().is_cancelled());
        assert_eq!(passwords.permits.available_permits(), all - 1);
        finish.send(()).unwrap();
        drop(passwords.permits.acquire_many(u32::try_from(all).unwrap()).await.unwrap());
    }
}
