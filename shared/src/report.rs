//! Device reports: their meaning, and the JSON that carries them from receipt to counting.
//!
//! [`crate::wire::report`] parses the bodies that devices post.

use crate::Invalid;
use crate::ids::ReportId;
use crate::keys::{BinaryVersion, ClientId, DeploymentKey, Label};
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A report before it gets its ID and time of receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReport {
    /// The key of the device's deployment.
    pub deployment_key: DeploymentKey,
    /// The device's ID; old SDKs send none.
    pub client_id: Option<ClientId>,
    /// What happened.
    pub event: Event,
}

/// What happened on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It runs the bundle that shipped in its app store build.
    Binary {
        /// The version of the build.
        app_version: BinaryVersion,
    },
    /// It runs a release.
    Installed {
        /// The release.
        label: Label,
    },
    /// It could not run a release and rolled back.
    Failed {
        /// The release.
        label: Label,
    },
    /// It downloaded a release.
    Downloaded {
        /// The release.
        label: Label,
    },
}

/// A report with its ID and time of receipt, as queued and counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Assigned on receipt. A report that is delivered twice keeps its ID.
    pub id: ReportId,
    /// When it was received.
    pub received: UnixMillis,
    /// What was reported.
    pub report: NewReport,
}

impl Report {
    /// Serializes to compact JSON: a message in the queue, an element of a batch.
    pub fn to_text(&self) -> String {
        // Cannot fail: strings and numbers always serialize.
        serde_json::to_string(&Message::from(self.clone())).unwrap_or_default()
    }

    /// Parses the output of [`Report::to_text`].
    pub fn from_text(text: &str) -> Result<Self, Invalid> {
        serde_json::from_str::<Message>(text).map_err(|_| unreadable())?.try_into()
    }

    /// Parses one element of a batch.
    pub fn from_value(value: Value) -> Result<Self, Invalid> {
        serde_json::from_value::<Message>(value).map_err(|_| unreadable())?.try_into()
    }
}

/// Leaves out the parser's message, which may quote values: this text is logged.
fn unreadable() -> Invalid {
    Invalid::from("is not a report")
}

/// The JSON of a report.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    id: ReportId,
    received: UnixMillis,
    deployment_key: DeploymentKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_id: Option<ClientId>,
    event: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    app_version: Option<BinaryVersion>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Binary,
    Installed,
    Failed,
    Downloaded,
}

impl From<Report> for Message {
    fn from(Report { id, received, report }: Report) -> Self {
        let (event, label, app_version) = match report.event {
            Event::Binary { app_version } => (Kind::Binary, None, Some(app_version)),
            Event::Installed { label } => (Kind::Installed, Some(label), None),
            Event::Failed { label } => (Kind::Failed, Some(label), None),
            Event::Downloaded { label } => (Kind::Downloaded, Some(label), None),
        };
        Self { id, received, deployment_key: report.deployment_key, client_id: report.client_id, event, label, app_version }
    }
}

impl TryFrom<Message> for Report {
    type Error = Invalid;

    fn try_from(message: Message) -> Result<Self, Invalid> {
        let event = match (message.event, message.label, message.app_version) {
            (Kind::Binary, _, Some(app_version)) => Event::Binary { app_version },
            (Kind::Installed, Some(label), _) => Event::Installed { label },
            (Kind::Failed, Some(label), _) => Event::Failed { label },
            (Kind::Downloaded, Some(label), _) => Event::Downloaded { label },
            (Kind::Binary, _, None) => return Err(Invalid::from("is not a report: appVersion is missing")),
            (_, None, _) => return Err(Invalid::from("is not a report: label is missing")),
        };
        let report = NewReport { deployment_key: message.deployment_key, client_id: message.client_id, event };
        Ok(Self { id: message.id, received: message.received, report })
    }
}
