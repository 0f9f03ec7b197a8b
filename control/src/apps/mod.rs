//! Apps: created, listed and read. Renaming, deleting, sharing and transferring are not here yet.
//!
//! A path names an app by its bare name, or as `ownerEmail:appName`; [`repo::resolve`] decides which one that is.

pub mod http;
pub mod repo;
pub mod service;
