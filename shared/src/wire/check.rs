//! The update check: query and response.

use super::fields::{self, Names};
use super::path::Case;
use crate::hash::BlobKey;
use crate::invalid::FieldErrors;
use crate::keys::DeploymentKey;
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
    let query = Query::parse(query);
    let mut errors = query.repeated();
    let key = fields::deployment_key(&mut errors, query.value(fields::DEPLOYMENT_KEY));
    let version = query.app_version(&mut errors);
    let (Some(key), Some(version), true) = (key, version, errors.is_empty()) else { return Err(errors) };
    Ok(query.request(key, version))
}

/// [`parse_query`] for a check whose deployment is known from elsewhere: the query must not name a key. Returns the request to be made with the key.
pub fn parse_query_without_key(query: &str) -> Result<impl FnOnce(DeploymentKey) -> CheckRequest, FieldErrors> {
    let query = Query::parse(query);
    let mut errors = query.repeated();
    if query.value(fields::DEPLOYMENT_KEY).is_some() {
        errors.add(fields::DEPLOYMENT_KEY.snake, "must not be given: the path names the deployment");
    }
    let version = query.app_version(&mut errors);
    let (Some(version), true) = (version, errors.is_empty()) else { return Err(errors) };
    Ok(move |key| query.request(key, version))
}

/// The parameters of a check.
struct Query<'q>(Vec<(Cow<'q, str>, Cow<'q, str>)>);

impl<'q> Query<'q> {
    fn parse(query: &'q str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).collect())
    }

    /// Every value of this name.
    fn given(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_ref())
    }

    /// The value in either case, unless absent or empty.
    fn value(&self, names: Names) -> Option<&str> {
        let first = |name: &'static str| self.given(name).next().filter(|value| !value.is_empty());
        first(names.snake).or_else(|| first(names.camel))
    }

    fn text(&self, names: Names) -> Option<String> {
        self.value(names).map(str::to_owned)
    }

    /// An error for each parameter that is given more than once.
    fn repeated(&self) -> FieldErrors {
        let mut errors = FieldErrors::default();
        for names in fields::OF_CHECKS {
            if self.given(names.snake).nth(1).is_some() || self.given(names.camel).nth(1).is_some() {
                errors.add(names.snake, "must be given only once");
            }
        }
        errors
    }

    fn app_version(&self, errors: &mut FieldErrors) -> Option<AppVersion> {
        fields::required(errors, fields::APP_VERSION, self.value(fields::APP_VERSION), AppVersion::parse)
    }

    /// The request with its two required values.
    fn request(&self, deployment_key: DeploymentKey, app_version: AppVersion) -> CheckRequest {
        CheckRequest {
            deployment_key,
            app_version,
            package_hash: self.text(fields::PACKAGE_HASH),
            label: self.text(fields::LABEL),
            client_id: self.text(fields::CLIENT_ID),
            is_companion: self.value(fields::IS_COMPANION).is_some_and(|value| value.eq_ignore_ascii_case("true")),
        }
    }
}

/// The JSON body of the response, with exactly the members that clients of this dialect know.
pub fn answer(case: Case, request: &CheckRequest, snapshot: &Snapshot, decision: &Decision<'_>, urls: &DownloadUrls<'_>) -> String {
    let info = Info::of(request, snapshot, decision, urls);
    // Cannot fail: strings, numbers and flags always serialize.
    serde_json::to_string(&Body { case, info }).unwrap_or_default()
}

struct Body<'a> {
    case: Case,
    info: Info<'a>,
}

/// The members of a response; `target_binary_range` is always a copy of `app_version`.
#[expect(clippy::struct_excessive_bools, reason = "they are the wire's members")]
pub(crate) struct Info<'a> {
    pub(crate) download_url: String,
    /// Absent if never set.
    pub(crate) description: Option<&'a str>,
    pub(crate) is_available: bool,
    pub(crate) is_mandatory: bool,
    pub(crate) app_version: &'a str,
    pub(crate) package_hash: &'a str,
    pub(crate) label: String,
    pub(crate) package_size: u64,
    pub(crate) update_app_version: bool,
    pub(crate) should_run_binary_version: bool,
}

impl<'a> Info<'a> {
    pub(crate) fn of(request: &'a CheckRequest, snapshot: &Snapshot, decision: &'a Decision<'_>, urls: &DownloadUrls<'_>) -> Self {
        match &decision.outcome {
            Outcome::Update { release, is_mandatory, blob, size } => {
                let key = BlobKey { app: snapshot.app().clone(), sha256: (*blob).clone() };
                Self {
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
            Outcome::NoUpdate { should_run_binary_version, update_app_version, app_version } => Self {
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
        }
    }
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
