//! Deployments: the named channels of an app, each with the key that its clients present.
//!
//! A key is never freed: `deployment_keys` has every one that ever was, with the account that alone may use it again: the owner of the app that had it
//! last. A transfer hands the keys over with the app, since whoever has a key decides what the clients run that present it.
//!
//! Deployments are listed, read and renamed with their newest release in [`crate::domain::releases::current`]. Start reading at [`service`].

pub mod repo;
pub mod service;
