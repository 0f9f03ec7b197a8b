//! Code that the development commands share with the `tests` crate: the repository's paths, programs on a leash, the Worker under wrangler or plain
//! workerd, what people install, and a check of the SQL in the sources.
//!
//! The commands themselves are in the binary. Start reading at [`edge::DevServer`].

pub mod dist;
pub mod edge;
pub mod front;
pub mod leash;
pub mod paths;
pub mod private;
pub mod probe;
pub mod statements;
pub mod workerd;
