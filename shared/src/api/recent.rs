//! Recent metrics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::UnixMillis;

/// What changed in the counts of one label or binary version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecentCounts {
    /// Devices that began to run it, less those that stopped: negative when it loses devices.
    pub active: i64,
    /// Devices that downloaded it for the first time; 0 for a binary version.
    pub downloaded: i64,
    /// Devices that installed it for the first time; 0 for a binary version.
    pub installed: i64,
    /// Devices that rolled back from it for the first time; 0 for a binary version.
    pub failed: i64,
}

/// A step of a range in which something changed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecentPoint {
    /// The beginning of the step, as Unix time in milliseconds.
    pub time: UnixMillis,
    /// The changes by release label or binary version. Those without a change are left out.
    pub labels: BTreeMap<String, RecentCounts>,
}

/// The recent metrics of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecentMetricsAnswer {
    /// The beginning of the range, as Unix time in milliseconds.
    pub from: UnixMillis,
    /// The end of the range, which is that of the current minute, as Unix time in milliseconds.
    pub to: UnixMillis,
    /// The minutes of a step: 1, 5 or 15, depending on the range.
    pub step_minutes: u16,
    /// The steps in which something changed, oldest first. Steps without changes are left out.
    pub points: Vec<RecentPoint>,
}
