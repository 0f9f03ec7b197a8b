//! What a server answers to a check, in the form that both families share.

use serde_json::{Map, Value};

/// The answer of one server, after retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// An answer that SDKs can read.
    Info(Info),
    /// Another status than 200.
    Status(u16),
    /// 200 with something that SDKs cannot read.
    Unreadable,
    /// Nothing: what went wrong.
    Nothing(String),
}

/// The members of an answer, apart from the address. A member that is absent is as one that says no, as SDKs read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the wire's members")]
pub(super) struct Info {
    pub(super) is_available: bool,
    pub(super) package_hash: String,
    pub(super) label: String,
    pub(super) is_mandatory: bool,
    pub(super) description: String,
    /// The version that the update is for, or the range that the device is outside of.
    pub(super) target: String,
    pub(super) update_app_version: bool,
    pub(super) should_run_binary: bool,
    pub(super) size: u64,
    pub(super) has_address: bool,
}

impl Answer {
    /// Reads the body of a 200.
    pub(super) fn of(body: &[u8]) -> Self {
        let Ok(Value::Object(mut object)) = serde_json::from_slice(body) else { return Self::Unreadable };
        let info = object.remove("update_info").or_else(|| object.remove("updateInfo"));
        match info {
            Some(Value::Object(info)) => Info::of(&info).map_or(Self::Unreadable, Self::Info),
            _ => Self::Unreadable,
        }
    }

    pub(super) fn info(&self) -> Option<&Info> {
        match self {
            Self::Info(info) => Some(info),
            _ => None,
        }
    }

    /// What it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let texts = match self {
            Self::Info(info) => [&info.package_hash, &info.label, &info.description, &info.target].iter().map(|text| text.len()).sum(),
            Self::Nothing(text) => text.len(),
            Self::Status(_) | Self::Unreadable => 0,
        };
        size_of::<Self>() + texts
    }

    /// Whether the server is at fault: busy, broken or out of reach.
    pub(super) fn is_failure(&self) -> bool {
        match self {
            Self::Info(_) => false,
            Self::Status(status) => *status == 429 || *status >= 500,
            Self::Unreadable | Self::Nothing(_) => true,
        }
    }
}

impl Info {
    /// `None` if SDKs cannot tell from it whether there is an update.
    fn of(object: &Map<String, Value>) -> Option<Self> {
        let member = |snake: &str, camel: &str| object.get(snake).or_else(|| object.get(camel)).filter(|value| !value.is_null());
        let text = |snake, camel| member(snake, camel).and_then(Value::as_str).unwrap_or_default().to_owned();
        let flag = |snake, camel| member(snake, camel).and_then(Value::as_bool).unwrap_or(false);
        let size = member("package_size", "packageSize").and_then(Value::as_f64).unwrap_or_default();
        let target = match text("target_binary_range", "target_binary_range") {
            target if target.is_empty() => text("app_version", "appVersion"),
            target => target,
        };
        let is_available = member("is_available", "isAvailable")?.as_bool()?;
        Some(Self {
            is_available,
            package_hash: text("package_hash", "packageHash"),
            label: text("label", "label"),
            is_mandatory: flag("is_mandatory", "isMandatory"),
            description: text("description", "description"),
            target,
            update_app_version: flag("update_app_version", "updateAppVersion"),
            should_run_binary: flag("should_run_binary_version", "shouldRunBinaryVersion"),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float that does not fit saturates")]
            size: size as u64,
            has_address: ["download_url", "downloadURL", "downloadUrl"]
                .iter()
                .any(|name| object.get(*name).and_then(Value::as_str).is_some_and(|text| !text.is_empty())),
        })
    }

    /// Whether both say the same, apart from size and address.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.differing(other).is_empty()
    }

    /// The members that differ, apart from size and address.
    pub(super) fn differing(&self, other: &Self) -> Vec<&'static str> {
        let members = [
            ("whether there is an update", self.is_available != other.is_available),
            ("package hash", self.package_hash != other.package_hash),
            ("label", self.label != other.label),
            ("mandatory", self.is_mandatory != other.is_mandatory),
            ("description", self.description != other.description),
            ("target version", self.target != other.target),
            ("update_app_version", self.update_app_version != other.update_app_version),
            ("should_run_binary_version", self.should_run_binary != other.should_run_binary),
        ];
        members.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_and_absent_members_read_the_same() {
        let new = br#"{"update_info":{"download_url":"u","is_available":true,"is_mandatory":false,"app_version":"1.0","package_hash":"a",
            "label":"v1","package_size":3,"update_app_version":false,"should_run_binary_version":false,"target_binary_range":"1.0","description":""}}"#;
        let old = br#"{"updateInfo":{"downloadURL":"x","isAvailable":true,"appVersion":"1.0","packageHash":"a","label":"v1",
            "packageSize":3.0,"isDisabled":false,"description":null}}"#;
        assert_eq!(Answer::of(new), Answer::of(old));
        assert!(Answer::of(new).info().is_some_and(|info| info.has_address && info.size == 3));
        for garbage in ["", "<html>", "[]", "{}", r#"{"update_info":null}"#, r#"{"update_info":{}}"#] {
            assert_eq!(Answer::of(garbage.as_bytes()), Answer::Unreadable, "{garbage}");
        }
    }
}
