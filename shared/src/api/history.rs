//! Counts by day.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::keys::Label;

/// The counts of one label at the end of a day, or, of the current day, when the job last looked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DayCounts {
    /// Clients that run it.
    pub active: i64,
    /// Clients that have loaded it so far.
    pub downloaded: i64,
    /// Clients that have run it so far.
    pub installed: i64,
    /// Clients that have fallen back from it so far.
    pub failed: i64,
    /// How many more have loaded it than the day before; null when that day is missing.
    pub downloaded_delta: Option<i64>,
    /// How many more have run it than the day before; null when that day is missing.
    pub installed_delta: Option<i64>,
    /// How many more have fallen back from it than the day before; null when that day is missing.
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

/// The counts of a deployment by UTC day.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MetricsHistoryAnswer {
    /// The first day of the range that is shown, as `YYYY-MM-DD`.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub from: String,
    /// The last day of the range that is shown, as `YYYY-MM-DD`.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub to: String,
    /// The first day with data, as `YYYY-MM-DD`; null when there is none.
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub history_starts_at: Option<String>,
    /// The days of the range that there are, ascending.
    pub days: Vec<Day>,
}
