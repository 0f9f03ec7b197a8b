//! Snapshots of the database's state. The edge, and the device endpoints of this server, answer from them.
//!
//! `repo` reads the history, `builds` builds each version once, `slots` hands out build slots, `cache` keeps the results, `versions` reads which
//! versions are current. `of_deployment` finds the snapshot of a deployment for callers of the API.
//!
//! [`crate::domain::releases::size`] limits a deployment's snapshot. [`crate::domain::deployments::snapshots`] records what KV lacks.
//! [`crate::jobs::snapshots`] pushes snapshots, and [`crate::jobs::reconcile`] repairs what was never recorded. The snapshot format and the selection
//! are in `shared`. Start reading at [`Snapshots::current`].

mod builds;
mod cache;
mod of_deployment;
pub mod repo;
pub mod slots;
mod versions;

pub use builds::{Answer, Fault, Form, Snapshots, Source, Worker};
pub use cache::Built;
pub use of_deployment::of_deployment;
pub use slots::BuildSlot;
pub use versions::Versions;
