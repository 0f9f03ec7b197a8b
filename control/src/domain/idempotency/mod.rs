//! Idempotency keys: a request that is sent again with the same key gets the first answer again, and nothing is done twice.
//!
//! An account's key is claimed in the transaction of the change, and the answer is stored there too. So a change that was committed can be answered again,
//! and one that was refused or lost leaves its key free. What a request and its answer consist of is up to the use case. Start reading at [`Attempt`].

pub mod attempt;
mod key;
pub mod repo;

pub use attempt::{Answer, Attempt, is_used};
pub use key::IdempotencyKey;
