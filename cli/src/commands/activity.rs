//! What an audit event is about, in words: which release, deployment or person.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use shared::api::audit::AuditEvent;

/// The email addresses of accounts by their IDs, as far as events tell.
pub(super) fn people(events: &[AuditEvent]) -> BTreeMap<String, String> {
    let actors = events
        .iter()
        .filter_map(|event| event.account.as_ref())
        .filter_map(|account| Some((account.id.to_string(), account.email.clone()?)));
    let objects = events.iter().filter_map(|event| Some((event.object.id.clone(), event.object.email.clone()?)));
    actors.chain(objects).collect()
}

/// What it is about.
pub(super) fn about(event: &AuditEvent, people: &BTreeMap<String, String>) -> String {
    let detail = |name: &str| event.details.get(name).and_then(Value::as_str);
    let person = |id: &str| people.get(id).cloned().unwrap_or_else(|| "a deleted account".to_owned());
    match (event.object.kind.as_str(), detail("label"), detail("deployment"), detail("name")) {
        ("release", Some(label), Some(deployment), _) => {
            let origin = match (detail("originalLabel"), detail("originalDeployment")) {
                (Some(label), Some(deployment)) => format!(", from {label} of {deployment}"),
                (Some(label), None) => format!(", back to {label}"),
                _ => detail("appVersion").map(|range| format!(", for {range}")).unwrap_or_default(),
            };
            format!("{label} of {deployment}{origin}{}", changes(event.details.get("changes").and_then(Value::as_object)))
        }
        ("deployment" | "app", _, _, Some(name)) | ("deployment", _, Some(name), None) => {
            let before = detail("before").map(|before| format!("{before}, now ")).unwrap_or_default();
            format!("{before}{name}")
        }
        ("app", ..) => detail("to").map_or_else(|| "the app".to_owned(), |to| format!("the app, to {}", person(to))),
        ("account", ..) => {
            let role = detail("permission").map(|role| format!(", {role}")).unwrap_or_default();
            let before = detail("before").map(|before| format!(", before {before}")).unwrap_or_default();
            format!("{}{role}{before}", person(&event.object.id))
        }
        (kind, ..) => kind.replace('_', " "),
    }
}

/// The changed settings of a release, with their new values.
fn changes(settings: Option<&Map<String, Value>>) -> String {
    let texts = settings.into_iter().flatten().map(|(name, value)| match (name.as_str(), value) {
        ("appVersion", Value::String(range)) => format!("target version {range}"),
        ("description", _) => "description".to_owned(),
        ("isDisabled", Value::Bool(is_disabled)) => if *is_disabled { "disabled" } else { "enabled" }.to_owned(),
        ("isMandatory", Value::Bool(is_mandatory)) => if *is_mandatory { "mandatory" } else { "optional" }.to_owned(),
        // A finished rollout has no percentage.
        ("rollout", Value::Null) => "rollout 100%".to_owned(),
        ("rollout", percent) => format!("rollout {percent}%"),
        (name, _) => name.to_owned(),
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { String::new() } else { format!(": {}", texts.join(", ")) }
}
