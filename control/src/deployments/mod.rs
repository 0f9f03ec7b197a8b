//! Deployments: the named channels of an app, each with the key that its clients present. Renaming and deleting are not here yet.

pub mod http;
pub mod repo;
pub mod service;
