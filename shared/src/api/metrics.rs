//! Counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The counts of one label or binary version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Counts {
    /// Clients that run it now.
    pub active: i64,
    /// Clients that have loaded it; 0 for a binary version.
    pub downloaded: i64,
    /// Clients that have run it; 0 for a binary version.
    pub installed: i64,
    /// Clients that have fallen back from it; 0 for a binary version.
    pub failed: i64,
}

/// The counts of a deployment by label or binary version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MetricsAnswer {
    /// The counts by release label or binary version.
    pub metrics: BTreeMap<String, Counts>,
}
