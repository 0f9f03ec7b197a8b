//! Many requests: what they may cost in memory, rows and calls of the control plane, and that each is answered.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod edge;
mod heavy;
mod leaving;
mod soak;
