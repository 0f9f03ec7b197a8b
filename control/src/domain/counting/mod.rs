//! Counting: turns reports about downloaded, installed and failed releases into counts.
//!
//! `rules` has the rules without a database; `service` counts one batch per transaction; `versions` decides hourly which binary versions have their own
//! counter; `saved` estimates what diffs save; `counters`, `history` and `recent` read the counts: current, daily, and by the minute. `shared::wire::report` parses the bodies. [`crate::http::devices`],
//! [`crate::http::edge`] and [`crate::jobs::replay`] supply the reports. Start reading at [`service::store`].

pub mod buckets;
pub mod counters;
pub mod deletions;
pub mod flags;
pub mod history;
pub mod recent;
pub mod repo;
pub mod rules;
pub mod saved;
pub mod service;
pub mod versions;

use shared::ids::ReportId;
use shared::wire::report::Dropped;

/// What happened to a report in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is counted, or was counted before.
    Counted,
    /// Its deployment has no release with its label: it is not counted.
    NoRelease,
    /// No deployment has its key, or no longer has it: it is not counted.
    NoDeployment,
}

/// The final result for a report. Errors are not final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportStatus {
    /// It is counted, was counted before, or its label does not exist, in which case it is not counted.
    Accepted,
    /// It is not a valid report; the text says why.
    Dropped(String),
    /// No deployment has its key, or no longer has it.
    UnknownDeployment,
}

impl From<Outcome> for ReportStatus {
    /// The sender is not told that a label does not exist.
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Counted | Outcome::NoRelease => Self::Accepted,
            Outcome::NoDeployment => Self::UnknownDeployment,
        }
    }
}

impl ReportStatus {
    /// The response entry for the report with this ID; none when it was accepted.
    pub fn dropped(self, id: &ReportId) -> Option<Dropped> {
        let reason = match self {
            Self::Accepted => return None,
            Self::Dropped(reason) => reason,
            Self::UnknownDeployment => "unknown deployment".to_owned(),
        };
        Some(Dropped { id: id.to_string(), reason })
    }
}
