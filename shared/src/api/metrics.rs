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
#[serde(rename_all = "camelCase")]
pub struct MetricsAnswer {
    /// The counts by release label or binary version.
    pub metrics: BTreeMap<String, Counts>,
    /// About how much the devices did not have to download, because they got diffs.
    // The CLI also reads it from servers that do not send it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub estimated_bytes_saved: BytesSaved,
}

/// An estimate of the bytes that devices did not have to download, because they got a diff instead of a full release. The counts beside it are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BytesSaved {
    /// The sum of all releases since the history was last cleared.
    pub total: i64,
    /// The bytes by release label. Releases whose diffs have saved nothing are left out.
    pub labels: BTreeMap<String, i64>,
}
