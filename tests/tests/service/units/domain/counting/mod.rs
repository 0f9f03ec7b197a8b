//! Counting.

mod flags;
