//! `packageInfo`: what an upload says of itself. Every bad field is named at once.

use serde_json::{Map, Value};
use shared::version::Range;

/// The longest description, in UTF-16 code units.
const MAX_DESCRIPTION: usize = 10_000;

/// A sound `packageInfo`.
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
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(text)
            .map_err(|error| format!("packageInfo: not valid JSON (line {}, column {})", error.line(), error.column()))?;
        let Value::Object(members) = value else { return Err("packageInfo: must be a JSON object".to_owned()) };
        let mut faults = Vec::new();
        let app_version = app_version(&members).map_err(|fault| faults.push(fault)).ok();
        let description = description(&members).map_err(|fault| faults.push(fault)).ok();
        let is_mandatory = boolean(&members, "isMandatory").map_err(|fault| faults.push(fault)).ok();
        let is_disabled = boolean(&members, "isDisabled").map_err(|fault| faults.push(fault)).ok();
        let rollout = rollout(&members).map_err(|fault| faults.push(fault)).ok();
        match (app_version, description, is_mandatory, is_disabled, rollout) {
            (Some(app_version), Some(description), Some(is_mandatory), Some(is_disabled), Some(rollout)) => {
                Ok(Self { app_version, description, is_mandatory, is_disabled, rollout })
            }
            _ => Err(faults.join("; ")),
        }
    }
}

/// A member that is there; null means "not given" (decisions section 1).
fn given<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.get(name).filter(|value| !value.is_null())
}

fn app_version(members: &Map<String, Value>) -> Result<Range, String> {
    match given(members, "appVersion") {
        Some(Value::String(text)) => Range::parse(text).map_err(|error| format!("appVersion: {error}")),
        Some(_) => Err("appVersion: must be a string".to_owned()),
        None => Err("appVersion: is needed".to_owned()),
    }
}

fn description(members: &Map<String, Value>) -> Result<Option<String>, String> {
    match given(members, "description") {
        None => Ok(None),
        // PostgreSQL keeps no NUL in a text.
        Some(Value::String(text)) if text.contains('\0') => Err("description: must not contain a NUL character".to_owned()),
        Some(Value::String(text)) if text.encode_utf16().count() <= MAX_DESCRIPTION => Ok(Some(text.clone())),
        Some(Value::String(_)) => Err(format!("description: must be at most {MAX_DESCRIPTION} UTF-16 code units")),
        Some(_) => Err("description: must be a string".to_owned()),
    }
}

fn boolean(members: &Map<String, Value>, name: &str) -> Result<bool, String> {
    match given(members, name) {
        None => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(format!("{name}: must be true or false")),
    }
}

fn rollout(members: &Map<String, Value>) -> Result<Option<u8>, String> {
    let Some(value) = given(members, "rollout") else { return Ok(None) };
    match value.as_u64().and_then(|rollout| u8::try_from(rollout).ok()) {
        Some(100) => Ok(None),
        Some(rollout @ 1..=99) => Ok(Some(rollout)),
        _ => Err("rollout: must be a whole number from 1 to 100".to_owned()),
    }
}
