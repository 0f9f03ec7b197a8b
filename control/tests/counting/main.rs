//! Counting: whatever the order, repetition and batching of reports, the counters match a model of their set.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test's helpers fail as tests do")]

mod cases;
mod collected;
mod model;
mod pure;
mod random;
mod stored;
mod world;
