//! An update check that both servers are asked.

use std::borrow::Cow;

use shared::select::CheckRequest;
use shared::wire::check;

/// A check of the newer family of paths.
pub(super) const NEW: &str = "/v0.1/public/codepush/update_check";
/// A check of the older family.
pub(super) const OLD: &str = "/updateCheck";
/// App Center's path for SDKs of the older family.
const LEGACY: &str = "/v0.1/legacy/updateCheck";

/// The characters of a key or an ID that a report shows.
const SHOWN: usize = 8;

/// A check of one of the compared deployments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Check {
    /// The index of its deployment.
    pub(super) deployment: usize,
    /// The path below the address of a server.
    pub(super) path: &'static str,
    /// The query, as devices send it.
    pub(super) query: String,
}

impl Check {
    /// Path and query.
    pub(super) fn target(&self) -> String {
        format!("{}?{}", self.path, self.query)
    }

    /// Path and query, fit for a report that others may read: of the key and of the device's ID only the beginning.
    pub(super) fn shown(&self) -> String {
        let shorten = |(name, value): (Cow<'_, str>, Cow<'_, str>)| {
            let is_long = value.chars().count() > SHOWN;
            let is_hidden = ["deployment_key", "deploymentKey", "client_unique_id", "clientUniqueId"].contains(&&*name) && is_long;
            let value = if is_hidden { value.chars().take(SHOWN).chain(['…']).collect() } else { value.into_owned() };
            format!("{name}={value}")
        };
        let query: Vec<_> = form_urlencoded::parse(self.query.as_bytes()).map(shorten).collect();
        format!("{}?{}", self.path, query.join("&"))
    }

    /// Whether a parameter is there, empty or not, under one of its names.
    fn has(&self, names: [&str; 2]) -> bool {
        form_urlencoded::parse(self.query.as_bytes()).any(|(name, _)| names.contains(&&*name))
    }

    /// Whether a parameter that both servers know is there twice.
    pub(super) fn repeats_a_parameter(&self) -> bool {
        let mut names: Vec<_> = form_urlencoded::parse(self.query.as_bytes()).map(|(name, _)| name).filter(|name| is_known(name)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        names.len() < count
    }

    /// The check as a server reads it; `None` if a server refuses it.
    pub(super) fn request(&self) -> Option<Request> {
        Some(Request {
            check: check::parse_query(&self.query).ok()?,
            has_label: self.has(["label", "label"]),
            has_client_id: self.has(["client_unique_id", "clientUniqueId"]),
        })
    }
}

fn is_known(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "deployment_key",
        "deploymentKey",
        "app_version",
        "appVersion",
        "package_hash",
        "packageHash",
        "label",
        "is_companion",
        "isCompanion",
        "client_unique_id",
        "clientUniqueId",
    ];
    NAMES.contains(&name)
}

/// The path of the check's family, if the path of a request is one of update checks, with any prefix.
pub(super) fn family(path: &str) -> Option<&'static str> {
    let path = path.trim_end_matches('/');
    if path.ends_with(LEGACY) {
        return Some(LEGACY);
    }
    if path.ends_with(OLD) {
        return Some(OLD);
    }
    path.ends_with("/update_check").then_some(NEW)
}

/// A check as a server reads it. The reference tells a parameter that is empty from one that is absent.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) check: CheckRequest,
    pub(super) has_label: bool,
    pub(super) has_client_id: bool,
}

impl Request {
    pub(super) fn hash(&self) -> Option<&str> {
        self.check.package_hash.as_deref().filter(|hash| !hash.is_empty())
    }

    pub(super) fn label(&self) -> Option<&str> {
        self.check.label.as_deref().filter(|label| !label.is_empty())
    }

    /// The full version, if the device sent a short one such as `1.0`.
    pub(super) fn expanded(&self) -> Option<String> {
        let (sent, full) = (self.check.app_version.sent(), self.check.app_version.version().to_string());
        (sent != full && sent.starts_with(|first: char| first.is_ascii_digit()) && !sent.ends_with(char::is_whitespace)).then_some(full)
    }
}
