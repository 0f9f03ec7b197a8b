//! Counting: whatever the order, the repetition and the batching of reports, the counters equal what a model makes of their set.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test's helpers fail as tests do")]

mod cases;
mod collected;
mod model;
mod pure;
mod random;
mod stored;
mod world;
