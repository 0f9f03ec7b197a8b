//! The first entry of a diff, by which devices know it as one.

use serde::{Deserialize, Serialize};

/// The content of `hotcodepush.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Marker<N> {
    /// The names of the files that a device deletes.
    pub(super) deleted_files: Vec<N>,
}
