//! Named access keys: made by the operator's command, used as bearer tokens. The HTTP operations on keys are not here yet.

pub mod repo;
pub mod service;
