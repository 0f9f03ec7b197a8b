//! Permits that limit how many bodies of the edge's calls are handled at once.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Bodies of verified calls that are read or processed at once.
const VERIFIED: usize = 16;

/// The same for calls whose signature has no body hash. Anyone can send such calls, so they can only block each other.
const UNVERIFIED: usize = 4;

/// Permits for bodies of internal calls.
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
    /// Free permits: for verified calls, and for the others.
    pub fn free(&self) -> (usize, usize) {
        (self.verified.available_permits(), self.unverified.available_permits())
    }
}
