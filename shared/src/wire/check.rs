//! The update check: query and response.

use super::fields::{self, Names};
use super::path::Case;
use crate::hash::BlobKey;
use crate::invalid::FieldErrors;
use crate::select::{CheckRequest, Decision, Outcome};
use crate::signature::download_url;
use crate::snapshot::Snapshot;
use crate::version::AppVersion;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;

pub use crate::signature::DownloadUrls;

/// Parses the raw query (without `?`). Names are accepted in both cases. An empty value counts as absent; duplicates are refused.
/// The error lists every invalid parameter, as in `deployment_key: is required; app_version: …`.
pub fn parse_query(query: &str) -> Result<CheckRequest, FieldErrors> {
    let pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = form_urlencoded::parse(query.as_bytes()).collect();
    let given = |name: &'static str| pairs.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_ref());
    let first = |name: &'static str| given(name).next().filter(|value| !value.is_empty());
    let value = |names: Names| first(names.snake).or_else(|| first(names.camel));
    let text = |names: Names| value(names).map(str::to_owned);

    let mut errors = FieldErrors::default();
    for names in fields::OF_CHECKS {
        if given(names.snake).nth(1).is_some() || given(names.camel).nth(1).is_some() {
            errors.add(names.snake, "must be given only once");
        }
    }
    let key = fields::deployment_key(&mut errors, value(fields::DEPLOYMENT_KEY));
    let version = fields::required(&mut errors, fields::APP_VERSION, value(fields::APP_VERSION), AppVersion::parse);
    let (Some(deployment_key), Some(app_version), true) = (key, version, errors.is_empty()) else { return Err(errors) };
    Ok(CheckRequest {
        deployment_key,
        app_version,
        package_hash: text(fields::PACKAGE_HASH),
        label: text(fields::LABEL),
        client_id: text(fields::CLIENT_ID),
        is_companion: value(fields::IS_COMPANION).is_some_and(|value| value.eq_ignore_ascii_case("true")),
    })
}

/// The JSON body of the response, with exactly the members that clients of this dialect know.
pub fn answer(case: Case, request: &CheckRequest, snapshot: &Snapshot, decision: &Decision<'_>, urls: &DownloadUrls<'_>) -> String {
    let info = match &decision.outcome {
        Outcome::Update { release, is_mandatory, blob, size } => {
            let key = BlobKey { app: snapshot.app().clone(), sha256: (*blob).clone() };
            Info {
                download_url: download_url(urls, &key),
                description: release.description(),
                is_available: true,
                is_mandatory: *is_mandatory,
                // Exactly as sent: clients compare it character by character.
                app_version: request.app_version.sent(),
                package_hash: release.package_hash.as_str(),
                label: release.label.to_string(),
                package_size: *size,
                update_app_version: false,
                should_run_binary_version: false,
            }
        }
        Outcome::NoUpdate { should_run_binary_version, update_app_version, app_version } => Info {
            download_url: String::new(),
            description: Some(""),
            is_available: false,
            is_mandatory: false,
            app_version,
            package_hash: "",
            label: String::new(),
            package_size: 0,
            update_app_version: *update_app_version,
            should_run_binary_version: *should_run_binary_version,
        },
    };
    // Cannot fail: strings, numbers and flags always serialize.
    serde_json::to_string(&Body { case, info }).unwrap_or_default()
}

struct Body<'a> {
    case: Case,
    info: Info<'a>,
}

/// The members of a response; `target_binary_range` is always a copy of `app_version`.
#[expect(clippy::struct_excessive_bools, reason = "they are the wire's members")]
struct Info<'a> {
    download_url: String,
    /// Absent if never set.
    description: Option<&'a str>,
    is_available: bool,
    is_mandatory: bool,
    app_version: &'a str,
    package_hash: &'a str,
    label: String,
    package_size: u64,
    update_app_version: bool,
    should_run_binary_version: bool,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self.case {
            Case::Snake => map.serialize_entry("update_info", &Members(self))?,
            Case::Camel => map.serialize_entry("updateInfo", &Members(self))?,
        }
        map.end()
    }
}

struct Members<'a>(&'a Body<'a>);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Body { case, info } = self.0;
        let name = |snake, camel| match case {
            Case::Snake => snake,
            Case::Camel => camel,
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(name("download_url", "downloadURL"), &info.download_url)?;
        if let Some(description) = info.description {
            map.serialize_entry("description", description)?;
        }
        map.serialize_entry(name("is_available", "isAvailable"), &info.is_available)?;
        map.serialize_entry(name("is_mandatory", "isMandatory"), &info.is_mandatory)?;
        map.serialize_entry(name("app_version", "appVersion"), info.app_version)?;
        map.serialize_entry(name("package_hash", "packageHash"), info.package_hash)?;
        map.serialize_entry("label", &info.label)?;
        map.serialize_entry(name("package_size", "packageSize"), &info.package_size)?;
        map.serialize_entry(name("update_app_version", "updateAppVersion"), &info.update_app_version)?;
        map.serialize_entry(name("should_run_binary_version", "shouldRunBinaryVersion"), &info.should_run_binary_version)?;
        // Snake case in both dialects, as in the reference.
        map.serialize_entry("target_binary_range", info.app_version)?;
        map.end()
    }
}
