//! Two parts of a release's page: how it does in its first two days, and what was done with it.

use shared::time::UnixMillis;

use super::audit_words;
use crate::domain::audit::Action;
use crate::domain::audit::repo::ResolvedRow;
use crate::domain::counting::rules::Change;
use crate::domain::error::{Error, Result};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::infra::dates::RelativeTime;

/// A point in time of the curves.
pub(super) struct Point {
    /// For the chart.
    pub iso8601: String,
    /// For people, in UTC.
    pub time: String,
    /// Active, downloaded, installed and failed: for the chart, and as people read them.
    pub numbers: [(i64, String); 4],
}

impl Point {
    pub(super) fn of((time, counts): (UnixMillis, Change)) -> Self {
        let iso8601 = time.iso8601();
        let numbers = [counts.active, counts.downloaded, counts.installed, counts.failed];
        Self {
            time: iso8601.get(..16).unwrap_or_default().replace('T', " "),
            iso8601,
            numbers: numbers.map(|number| (number, view::grouped(number))),
        }
    }
}

/// An audit event.
pub(super) struct Event {
    /// When.
    pub time: RelativeTime,
    /// What.
    pub action: String,
    /// Whether it created the release.
    pub is_creation: bool,
    /// The account that did it.
    pub who: String,
    /// The kind of the credential, in words.
    pub credential: &'static str,
    /// Names and values.
    pub details: Vec<(String, String)>,
}

impl Event {
    pub(super) fn of(frame: &Frame, ResolvedRow { event, email, .. }: ResolvedRow) -> Result<Self> {
        let details: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&event.details).map_err(Error::internal)?;
        let nobody = if event.account_id.is_some() { "Deleted account" } else { "Operator" };
        Ok(Self {
            time: RelativeTime::of(event.time, frame.now()),
            who: email.unwrap_or_else(|| nobody.to_owned()),
            credential: audit_words::credential(&event.credential_kind),
            is_creation: event.action != Action::UpdateRelease.as_str(),
            action: audit_words::action(&event.action).to_owned(),
            details: audit_words::details(details),
        })
    }
}
