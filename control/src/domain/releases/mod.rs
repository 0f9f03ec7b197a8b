//! Releases: upload, promotion, rollback, update, list. Diffs are read here; [`crate::domain::diffs`] makes them.
//!
//! An upload goes through these steps:
//! - [`upload::accept`]: is there room for it?
//! - [`upload::receive`]: the bytes go to a temporary file, hashed and limited as they arrive.
//! - [`shared::archive`]: the ZIP is checked.
//! - `blob`: the bytes are stored; in a bucket, large ones in `parts`.
//! - [`service::create`]: rules, label, row and outbox in one transaction.
//!
//! Every other operation has its own file, with its rules; all that create a release end in `service::add`. `size` limits what one deployment and one
//! account may cost, `current` returns deployments with their newest release, `contents` the files of a package and what differs between two,
//! in `turns`. `unused` deletes what nothing needs any more. `outlook` tells what devices get, `base_bundle` which bundle they have.

pub mod allowance;
pub mod base_bundle;
pub mod blob;
pub mod change;
pub mod contents;
pub mod current;
pub mod info;
pub mod listing;
mod method;
pub mod outlook;
pub mod parts;
pub mod promotion;
pub mod repo;
pub mod rollback;
pub mod service;
pub mod size;
pub mod turns;
pub mod unused;
pub mod upload;

pub use allowance::{ImportAllowance, UploadAllowance};
pub use method::ReleaseMethod;
