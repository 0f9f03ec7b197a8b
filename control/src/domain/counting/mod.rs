//! Counting: what clients say they have loaded, run and left, and how that becomes counts.
//!
//! `rules` has the rules without a database, `service` one transaction per batch, `versions` decides hourly which binary versions have a counter of their
//! own, `counters` and `history` show the counts, now and by day. The bodies of clients are read in `shared::wire::report`; those who bring them are
//! [`crate::http::devices`], [`crate::http::edge`] and [`crate::jobs::replay`]. Start reading at [`service::store`].

pub mod buckets;
pub mod counters;
pub mod flags;
pub mod gone;
pub mod history;
pub mod repo;
pub mod rules;
pub mod service;
pub mod versions;

use shared::ids::ReportId;
use shared::wire::report::Dropped;

/// What a report has come to in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is counted, or was counted before.
    Counted,
    /// Its deployment has no release with its label: it is counted nowhere.
    NoRelease,
    /// No deployment has its key, or no longer: it is counted nowhere.
    NoDeployment,
}

/// What became of a report; each is final, and an error is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is counted, was counted before, or is of a label that does not exist, which is counted nowhere.
    Accepted,
    /// It is not a report; the text says why.
    Dropped(String),
    /// No deployment has its key, or no longer.
    UnknownDeployment,
}

impl From<Outcome> for Judgement {
    /// Who reports a label that does not exist is not told so.
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Counted | Outcome::NoRelease => Self::Accepted,
            Outcome::NoDeployment => Self::UnknownDeployment,
        }
    }
}

impl Judgement {
    /// What to say of the report with this id; none when it is accepted.
    pub fn dropped(self, id: &ReportId) -> Option<Dropped> {
        let reason = match self {
            Self::Accepted => return None,
            Self::Dropped(reason) => reason,
            Self::UnknownDeployment => "unknown deployment".to_owned(),
        };
        Some(Dropped { id: id.to_string(), reason })
    }
}
