//! What the development commands and the `tests` crate share: the repository's paths, programs on a leash, the Worker under wrangler
//! or by itself, and a look at the SQL in the sources.
//!
//! Deliberately not here: the commands themselves, which belong to the binary. Start reading at [`edge::DevServer`].

pub mod edge;
pub mod leash;
pub mod paths;
pub mod private;
pub mod probe;
pub mod statements;
pub mod workerd;
