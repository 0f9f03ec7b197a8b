//! Snapshots: what the edge, and the devices' paths served here, answer from; made from the database's state.
//!
//! `repo` reads the history, `builds` makes each version once, `turns` says whose turn that is, `cache` keeps it, `versions` says which of them are still
//! right. What one deployment may cost is bounded by [`crate::domain::releases::size`], what KV lacks is noted in [`crate::domain::outbox::snapshots`].
//! Pushing snapshots is [`crate::jobs::snapshots`]', repairing what nobody noted [`crate::jobs::reconcile`]'s; the snapshot's form and the selection are
//! `shared`'s. Start reading at [`Snapshots::current`].

mod builds;
mod cache;
pub mod repo;
mod turns;
mod versions;

pub use builds::{Answer, Fault, Form, Snapshots, Source, Worker};
pub use cache::Built;
pub use turns::Turn;
pub use versions::Versions;
