//! Deployments: the named channels of an app, each with the key that its devices present.
//!
//! Keys are never deleted: `deployment_keys` contains every key that was ever used, with the only account that may use it again. That is the owner of the app
//! that had it last. A transfer hands over the keys with the app, because the owner of a key decides what the devices that present it run.
//!
//! [`crate::domain::releases::current`] lists, reads and renames deployments, each with its newest release, and clears and deletes them. Start reading at
//! [`service`].

pub mod first_checks;
pub mod repo;
pub mod service;
pub mod snapshots;
