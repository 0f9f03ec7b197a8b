//! Recovery codes: ten, for whoever has lost every factor. Each completes one login, and proves nothing else.
//!
//! They come with the first factor and go with the last one. Start reading at [`service`].

pub mod repo;
pub mod service;
