//! Updraft's pure core: what `edge` and `control` must never disagree about.
//!
//! Here are the wire formats, node-semver ranges, rollout buckets, the snapshot of a deployment, and the one function that decides
//! which update a client gets, [`select::select`]. Deliberately not here: input and output, async, clocks, randomness and logging; the
//! time, the dice and the bytes come in as arguments, so that the crate is the same natively and as Wasm. Start reading at [`select`].

#[cfg(feature = "api")]
pub mod api;
pub mod hash;
pub mod ids;
mod invalid;
pub mod keys;
pub mod kv;
pub mod limit;
pub mod lru;
pub mod package;
pub mod report;
pub mod rollout;
pub mod select;
pub mod signature;
pub mod snapshot;
pub mod text;
pub mod time;
pub mod version;
pub mod wire;

pub use invalid::{FieldError, FieldErrors, Invalid};
