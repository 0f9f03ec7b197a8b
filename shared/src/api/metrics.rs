//! Metrics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The counts of one label or binary version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Counts {
    /// Devices that run it now.
    pub active: i64,
    /// Devices that downloaded it; 0 for a binary version.
    pub downloaded: i64,
    /// Devices that installed it; 0 for a binary version.
    pub installed: i64,
    /// Devices that rolled back from it; 0 for a binary version.
    pub failed: i64,
}

/// The metrics of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MetricsAnswer {
    /// The counts by release label or binary version.
    pub metrics: BTreeMap<String, Counts>,
}
