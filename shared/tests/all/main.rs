//! The tests of `shared`, in one binary so that they link once. One module per area; `reference` is the model that `select` is compared with.

mod checks;
#[cfg(feature = "sqlx")]
mod columns;
#[cfg(feature = "archive")]
mod diffs;
mod envelopes;
mod explanations;
mod limit;
mod lru;
mod names;
mod packages;
mod paths;
mod reference;
mod reports;
mod rollouts;
mod select;
mod signatures;
mod snapshots;
mod versions;
