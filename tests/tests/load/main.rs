//! Load tests: the memory, rows and control plane calls that many requests may cost, and that each gets a response.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod diffs;
mod disk;
mod edge;
mod heavy;
mod leaving;
mod soak;
mod storage;
