//! What a package consists of, and the hash by which clients verify it.
//!
//! `manifest` lists files with their hashes, `hash` makes one hash of them. Reading zip files is not here. Start at [`Manifest`].

mod hash;
pub mod manifest;

pub use manifest::{Manifest, normalise_name};
