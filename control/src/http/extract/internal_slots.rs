//! Turns for bodies of the edge's calls.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Bodies of verified calls that are read or worked on at once.
const VERIFIED: usize = 16;

/// The same for calls whose signature is without the body's hash. Strangers can send such as well, and then hold these up.
const UNVERIFIED: usize = 4;

/// Turns for bodies of internal calls.
#[derive(Debug)]
pub struct InternalSlots {
    pub(super) verified: Arc<Semaphore>,
    pub(super) unverified: Arc<Semaphore>,
}

impl Default for InternalSlots {
    fn default() -> Self {
        Self { verified: Arc::new(Semaphore::new(VERIFIED)), unverified: Arc::new(Semaphore::new(UNVERIFIED)) }
    }
}

impl InternalSlots {
    /// Turns that are free: for verified calls, and for the others.
    pub fn free(&self) -> (usize, usize) {
        (self.verified.available_permits(), self.unverified.available_permits())
    }
}
