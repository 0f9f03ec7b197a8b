//! `packageInfo`: what an upload, a promotion or a patch says of a release. Every bad member is named at once.

use serde_json::{Map, Value};
use shared::hash::PackageHash;
use shared::keys::Label;
use shared::text::check_prose;
use shared::version::Range;
use shared::wire::json::check_members;
use shared::{FieldErrors, Invalid};
use utoipa::ToSchema;

use crate::http::extract::Member;

/// The longest description, in UTF-16 code units.
const MAX_DESCRIPTION: usize = 10_000;

/// A rollout to everybody, as it is asked for. Stored it is null.
pub const FULL_ROLLOUT: u8 = 100;

/// A sound `packageInfo` of an upload.
#[derive(Clone, Debug)]
pub struct ReleaseInfo {
    /// The binary versions it is for.
    pub app_version: Range,
    /// Release notes.
    pub description: Option<String>,
    /// Whether clients must take it.
    pub is_mandatory: bool,
    /// Whether it is offered to nobody.
    pub is_disabled: bool,
    /// 1-99 for a staged rollout; `None` for everybody (100 is stored as that).
    pub rollout: Option<u8>,
}

impl ReleaseInfo {
    /// Parses the JSON text of the multipart part `packageInfo`. The error names what is wrong.
    pub fn parse(text: &[u8]) -> Result<Self, FieldErrors> {
        let value: Value = serde_json::from_slice(text).map_err(|error| {
            FieldErrors::of("packageInfo", format!("not valid JSON (line {}, column {})", error.line(), error.column()))
        })?;
        let Value::Object(members) = value else { return Err(FieldErrors::of("packageInfo", "must be a JSON object")) };
        if check_members(text).is_err() {
            return Err(FieldErrors::of("packageInfo", "must name each member once"));
        }
        let mut errors = FieldErrors::default();
        let fault = match given(&members, "appVersion") {
            None => Some("is needed"),
            // As a range it would mean every version.
            Some(Value::String(range)) if range.trim().is_empty() => Some("must not be empty; * means every version"),
            Some(_) => None,
        };
        if let Some(fault) = fault {
            errors.add("appVersion", fault);
        }
        let info = GivenInfo::read(&members, &mut errors);
        match info.app_version {
            Some(app_version) if errors.is_empty() => Ok(Self {
                app_version,
                description: info.description,
                is_mandatory: info.is_mandatory.unwrap_or(false),
                is_disabled: info.is_disabled.unwrap_or(false),
                rollout: info.rollout.and_then(stored_rollout),
            }),
            _ => Err(errors),
        }
    }
}

/// `packageInfo` of a change or a promotion. What is not given stays as it is, or is inherited, and so is what is empty in a promotion; its
/// rollout is 100 unless given.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "no value is made of what only describes")]
pub(crate) struct ReleaseChanges {
    /// The binary versions it is for: a version or a range as npm understands it.
    #[schema(max_length = 255)]
    app_version: Option<String>,
    /// Release notes; the length is counted in UTF-16 code units. Those that a release was promoted with stay.
    #[schema(max_length = 10000)]
    description: Option<String>,
    /// Whether clients must take it.
    is_mandatory: Option<bool>,
    /// Whether it is offered to nobody.
    is_disabled: Option<bool>,
    /// The percentage of clients that it is offered to; 100 is everybody. A change must not lower it, and is taken only while the release is the
    /// newest and not yet for everybody.
    #[schema(minimum = 1, maximum = 100)]
    rollout: Option<i32>,
    /// The hash of its contents. A change takes no other one; a promotion that names another one is refused.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    package_hash: Option<String>,
}

/// A `packageInfo` of which each member may be absent: what a patch changes, and what a promotion does not inherit.
#[derive(Clone, Debug, Default)]
pub struct GivenInfo {
    /// The binary versions it is for.
    pub app_version: Option<Range>,
    /// Release notes.
    pub description: Option<String>,
    /// Whether clients must take it.
    pub is_mandatory: Option<bool>,
    /// Whether it is offered to nobody.
    pub is_disabled: Option<bool>,
    /// 1-100.
    pub rollout: Option<u8>,
    /// The hash of its contents, as the sender has it.
    pub package_hash: Option<PackageHash>,
}

impl GivenInfo {
    /// Of a promotion: what is empty is inherited, too.
    pub fn inheriting(info: &Member, errors: &mut FieldErrors) -> Self {
        Self::parse(info, errors, |hash| !hash.is_empty())
    }

    /// Of the member `packageInfo` of a JSON body; without it nothing is given.
    pub fn of(info: &Member, errors: &mut FieldErrors) -> Self {
        Self::parse(info, errors, |_| true)
    }

    fn parse(info: &Member, errors: &mut FieldErrors, is_hash_given: fn(&&str) -> bool) -> Self {
        let Some(Some(members)) = errors.take("packageInfo", info.optional_object()) else { return Self::default() };
        let mut read = Self::read(members, errors);
        let hash = text(members, "packageHash").and_then(|hash| hash.filter(is_hash_given).map(PackageHash::try_from).transpose());
        read.package_hash = errors.take("packageHash", hash).flatten();
        read
    }

    /// The members that an upload has, too.
    fn read(members: &Map<String, Value>, errors: &mut FieldErrors) -> Self {
        let app_version = text(members, "appVersion").and_then(|range| range.map(Range::parse).transpose());
        Self {
            app_version: errors.take("appVersion", app_version).flatten(),
            description: errors.take("description", description(members)).flatten(),
            is_mandatory: errors.take("isMandatory", boolean(members, "isMandatory")).flatten(),
            is_disabled: errors.take("isDisabled", boolean(members, "isDisabled")).flatten(),
            rollout: errors.take("rollout", rollout(members)).flatten(),
            package_hash: None,
        }
    }
}

/// The label that a body may name a release by.
pub(crate) fn given_label(label: &Member) -> Result<Option<Label>, Invalid> {
    label.optional_text()?.map(Label::try_from).transpose()
}

/// A rollout as it is stored: everybody is none.
pub fn stored_rollout(asked: u8) -> Option<u8> {
    (asked != FULL_ROLLOUT).then_some(asked)
}

/// A member that is there; null means "not given" (decisions section 1).
fn given<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.get(name).filter(|value| !value.is_null())
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Invalid> {
    given(members, name).map(|value| value.as_str().ok_or(Invalid::from("must be a string"))).transpose()
}

fn description(members: &Map<String, Value>) -> Result<Option<String>, Invalid> {
    match text(members, "description")? {
        None => Ok(None),
        Some(text) if text.encode_utf16().count() <= MAX_DESCRIPTION => check_prose(text).map(|()| Some(text.to_owned())),
        Some(_) => Err(Invalid::from(format!("must be at most {MAX_DESCRIPTION} UTF-16 code units"))),
    }
}

fn boolean(members: &Map<String, Value>, name: &str) -> Result<Option<bool>, Invalid> {
    given(members, name).map(|value| value.as_bool().ok_or(Invalid::from("must be true or false"))).transpose()
}

fn rollout(members: &Map<String, Value>) -> Result<Option<u8>, Invalid> {
    let Some(value) = given(members, "rollout") else { return Ok(None) };
    let rollout = value.as_u64().and_then(|rollout| u8::try_from(rollout).ok()).filter(|rollout| (1..=FULL_ROLLOUT).contains(rollout));
    rollout.map(Some).ok_or(Invalid::from("must be a whole number from 1 to 100"))
}
