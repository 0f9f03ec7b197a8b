//! A package's manifest, and the hash by which clients verify the package.
//!
//! `manifest` lists files with their hashes; `hash` combines them into one. Reading ZIP files is not here. Start at [`Manifest`].

mod hash;
pub mod manifest;

pub use manifest::{Manifest, is_bundle, is_signature, is_single_bundle, normalize_name};
