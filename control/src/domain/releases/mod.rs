//! Releases: uploaded, promoted, rolled back, changed, listed. Diffs are read but not made yet.
//!
//! The way of an upload: [`upload::admit`] (is there room for it?) → [`upload::receive`] (its bytes to a temporary file, hashed and limited on the way) →
//! [`archive`] (the zip is checked) → `blob` (stored) → [`service::make`] (rules, label, row, outbox: one transaction). Each other operation stands in
//! a file of its own, with its rules; what makes a release ends in `service::add`. `size` bounds what one deployment and one account may cost, `current`
//! shows deployments with their newest release.

pub mod allowance;
pub mod archive;
pub mod blob;
pub mod change;
pub mod current;
pub mod info;
pub mod listing;
mod method;
pub mod promotion;
pub mod repo;
pub mod rollback;
pub mod service;
pub mod size;
pub mod upload;

pub use allowance::UploadAllowance;
pub use method::ReleaseMethod;
