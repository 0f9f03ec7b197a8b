//! `packageInfo`: the metadata of a release in an upload, a promotion or an update. Errors name every invalid member at once.

use serde_json::Value;
use shared::FieldErrors;
use shared::api::Field;
use shared::api::releases::{NewRelease, ReleaseChanges};
use shared::hash::PackageHash;
use shared::rollout::Percent;
use shared::version::Range;
use shared::wire::json::check_members;

use crate::domain::releases::info::{Description, ReleaseInfo, ReleaseInfoInput};

/// Parses the JSON text of an upload.
pub(crate) fn of_upload(text: &[u8]) -> Result<ReleaseInfo, FieldErrors> {
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| FieldErrors::of("packageInfo", format!("is not valid JSON (line {}, column {})", error.line(), error.column())))?;
    let no_object = || FieldErrors::of("packageInfo", "must be a JSON object");
    if !value.is_object() {
        return Err(no_object());
    }
    if check_members(text).is_err() {
        return Err(FieldErrors::of("packageInfo", "must not repeat a member"));
    }
    let sent: NewRelease = serde_json::from_value(value).map_err(|_| no_object())?;
    let mut errors = FieldErrors::default();
    let app_version = sent.app_version.required();
    // An empty range would mean every version.
    if app_version.as_ref().is_ok_and(|range| range.trim().is_empty()) {
        errors.add("appVersion", "must not be empty: use * for every version");
    }
    let app_version = errors.take("appVersion", app_version.and_then(|range| Range::parse(&range)));
    let description = errors.take("description", sent.description.parse_optional());
    let is_mandatory = errors.take("isMandatory", sent.is_mandatory.optional());
    let is_disabled = errors.take("isDisabled", sent.is_disabled.optional());
    let rollout = errors.take("rollout", sent.rollout.optional());
    match app_version {
        Some(app_version) if errors.is_empty() => Ok(ReleaseInfo {
            app_version,
            description: description.flatten(),
            is_mandatory: is_mandatory.flatten().unwrap_or(false),
            is_disabled: is_disabled.flatten().unwrap_or(false),
            rollout: rollout.flatten().unwrap_or(Percent::ALL),
        }),
        _ => Err(errors),
    }
}

/// Reads an update's metadata.
pub(crate) fn of_change(sent: Field<ReleaseChanges>, errors: &mut FieldErrors) -> ReleaseInfoInput {
    validate(sent, errors, |_| true)
}

/// Of a promotion: an empty hash is none.
pub(crate) fn of_promotion(sent: Field<ReleaseChanges>, errors: &mut FieldErrors) -> ReleaseInfoInput {
    validate(sent, errors, |hash| !hash.is_empty())
}

fn validate(sent: Field<ReleaseChanges>, errors: &mut FieldErrors, is_hash_given: fn(&String) -> bool) -> ReleaseInfoInput {
    let Some(Some(sent)) = errors.take("packageInfo", sent.optional()) else { return ReleaseInfoInput::default() };
    // Older clients send an empty text for what is not to change.
    let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let range = |range: Option<String>| filled(range).as_deref().map(Range::parse).transpose();
    let description = |text: Option<String>| filled(text).as_deref().map(str::parse).transpose();
    let hash = |hash: Option<String>| hash.filter(is_hash_given).map(PackageHash::try_from).transpose();
    let mut info = ReleaseInfoInput {
        app_version: errors.take("appVersion", sent.app_version.optional().and_then(range)).flatten(),
        description: errors.take("description", sent.description.optional().and_then(description)).flatten(),
        is_mandatory: errors.take("isMandatory", sent.is_mandatory.optional()).flatten(),
        is_disabled: errors.take("isDisabled", sent.is_disabled.optional()).flatten(),
        rollout: errors.take("rollout", sent.rollout.optional()).flatten(),
        package_hash: errors.take("packageHash", sent.package_hash.optional().and_then(hash)).flatten(),
    };
    for name in errors.take("clear", sent.clear.optional()).flatten().unwrap_or_default() {
        match name.as_str() {
            "description" if info.description.as_ref().is_some_and(|text| !text.is_empty()) => {
                errors.add("clear", "must not contain description if description is set");
            }
            "description" => info.description = Some(Description::EMPTY),
            _ => errors.add("clear", "can only contain description"),
        }
    }
    info
}
