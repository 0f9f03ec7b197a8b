//! Imported metrics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::metrics::Counts;
use crate::keys::Label;
use crate::time::UnixMillis;

/// What the server that a deployment was imported from had counted. It is not part of the deployment's metrics.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportedMetricsAnswer {
    /// The address of that server; null if the deployment was not imported.
    pub imported_from: Option<String>,
    /// When the counts were read there, as Unix time in milliseconds; null if the deployment was not imported.
    pub imported_time: Option<UnixMillis>,
    /// The newest release that came from there; null if none did.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub newest_imported_label: Option<Label>,
    /// Its counts by release label or binary version, as it gave them. Some servers also give negative counts.
    pub metrics: BTreeMap<String, Counts>,
}
