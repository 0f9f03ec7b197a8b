//! Updraft's pure core: the logic on which `edge` and `control` must agree.
//!
//! It has the wire formats, node-semver ranges, rollout buckets, deployment snapshots, and [`select::select`], the one function that decides
//! which update a device gets. It has no I/O, async, clocks, randomness or logging: time, random bytes and input are arguments (`archive` reads
//! the file that it is given), so the crate behaves the same natively and as Wasm. Start reading at [`select`].

#[cfg(feature = "api")]
pub mod api;
#[cfg(feature = "archive")]
pub mod archive;
#[cfg(feature = "archive")]
pub mod diff;
pub mod explanation;
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
