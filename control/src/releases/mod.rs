//! Releases: uploaded, stored, listed. Promotion, rollback and PATCH are not here yet; diffs are read but not made yet.
//!
//! The way of an upload: `http` → [`upload`] (multipart to a temporary file, hashed and limited on the way) → [`archive`] (the zip is checked) →
//! `blob` (stored) → [`service::commit`] (rules, label, row, outbox: one transaction). Start reading at [`http::create_release`].

pub mod archive;
pub mod blob;
pub mod http;
pub mod info;
mod meter;
pub mod repo;
pub mod service;
pub mod upload;
