//! Daily metrics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::keys::Label;

/// The counts of a release label at the end of a day. For the current day: at the last hourly run of the job.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DayCounts {
    /// Devices that run the release.
    pub active: i64,
    /// Devices that downloaded the release so far.
    pub downloaded: i64,
    /// Devices that installed the release so far.
    pub installed: i64,
    /// Devices that rolled back from the release so far.
    pub failed: i64,
    /// Change of `downloaded` since the day before; null if that day is missing.
    pub downloaded_delta: Option<i64>,
    /// Change of `installed` since the day before; null if that day is missing.
    pub installed_delta: Option<i64>,
    /// Change of `failed` since the day before; null if that day is missing.
    pub failed_delta: Option<i64>,
}

/// A UTC day.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Day {
    /// The date, as `YYYY-MM-DD`.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub date: String,
    /// The counts by release label.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, DayCounts>))]
    pub labels: BTreeMap<Label, DayCounts>,
}

/// The daily metrics of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MetricsHistoryAnswer {
    /// The first day of the effective range, as `YYYY-MM-DD`.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub from: String,
    /// The last day of the effective range, as `YYYY-MM-DD`.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub to: String,
    /// The first day with data, as `YYYY-MM-DD`; null if there is none.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub history_starts_at: Option<String>,
    /// The days with data in the range, oldest first.
    pub days: Vec<Day>,
}
