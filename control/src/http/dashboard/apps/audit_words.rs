//! Audit events in the words of pages: actions, details and credentials.

use serde_json::{Map, Value};

/// An action as pages call it. One without words is shown as it is recorded.
pub(super) fn action(name: &str) -> &str {
    match name {
        "app.create" => "App created",
        "app.import" => "App imported",
        "release.import" => "Releases imported",
        "app.rename" => "App renamed",
        "app.transfer" => "App transferred",
        "app.delete" => "App deleted",
        "collaborator.add" => "Collaborator added",
        "collaborator.update" => "Role changed",
        "collaborator.accept" => "App accepted",
        "collaborator.remove" => "Collaborator removed",
        "collaborator.forget" => "Awaited collaborator removed",
        "deployment.create" => "Deployment created",
        "deployment.rename" => "Deployment renamed",
        "deployment.delete" => "Deployment deleted",
        "deployment_key.release" => "Deployment key released",
        "deployment_key.assign" => "Deployment key assigned",
        "history.clear" => "History cleared",
        "release.upload" => "Release uploaded",
        "release.promote" => "Release promoted",
        "release.rollback" => "Release rolled back",
        "release.update" => "Release edited",
        name => name,
    }
}

/// The kind of a credential.
pub(super) fn credential(kind: &str) -> &'static str {
    match kind {
        "dashboard_session" => "dashboard session",
        "cli_browser" | "cli_device" => "authorized device",
        "session" => "session",
        "access_key" => "access key",
        "api_key" => "API key",
        _ => "operator",
    }
}

/// What `before` can be the old value of.
const CHANGED: [&str; 2] = ["name", "permission"];

/// The details of an event: names and values. What was changed in a release is listed like the rest, with the old value where the event has it.
pub(super) fn details(mut details: Map<String, Value>) -> Vec<(String, String)> {
    let mut words = Vec::new();
    let mut before = match details.remove("before") {
        Some(Value::Object(values)) => values,
        // What a name or a role was.
        Some(old @ Value::String(_)) => {
            if let Some((name, new)) = CHANGED.into_iter().find_map(|name| details.remove_entry(name)) {
                details.insert("changes".to_owned(), Value::Object(Map::from_iter([(name.clone(), new)])));
                Map::from_iter([(name, old)])
            } else {
                details.insert("before".to_owned(), old);
                Map::new()
            }
        }
        _ => Map::new(),
    };
    let mut change = |(name, after): (String, Value)| {
        let before = before.remove(&name).filter(|before| *before != after).map(|before| detail((name.clone(), before)).1);
        let (name, after) = detail((name, after));
        (name, before.map_or(after.clone(), |before| format!("{before} → {after}")))
    };
    for (name, value) in details {
        match (name.as_str(), value) {
            // As usual.
            ("hasNoDeployments", Value::Bool(false)) => {}
            ("hasNoDeployments", Value::Bool(true)) => words.push(("deployments".to_owned(), "none".to_owned())),
            ("changes", Value::Object(changes)) => words.extend(changes.into_iter().map(&mut change)),
            (_, value) => words.push(detail((name, value))),
        }
    }
    words
}

fn detail((name, value): (String, Value)) -> (String, String) {
    let value = match (name.as_str(), value) {
        // A finished rollout is stored as none.
        ("rollout", Value::Null) => "100%".to_owned(),
        ("rollout", value) => format!("{value}%"),
        // Its text is not recorded.
        ("description", Value::Null) => "edited".to_owned(),
        (_, Value::String(text)) => text,
        (_, Value::Bool(flag)) => if flag { "yes" } else { "no" }.to_owned(),
        (_, Value::Null) => "none".to_owned(),
        (_, Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect::<Vec<_>>().join(", ")
        }
        (_, other) => other.to_string(),
    };
    let name = match name.as_str() {
        "appVersion" => "target version",
        "isMandatory" => "mandatory",
        "isDisabled" => "disabled",
        "packageHash" => "package hash",
        "label" => "release",
        "originalDeployment" => "from deployment",
        "originalLabel" => "from release",
        "permission" => "role",
        "ignoresQuotas" => "quotas ignored",
        name => name,
    };
    (name.to_owned(), value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::apps::events;

    #[test]
    fn every_action_of_an_app_has_words() {
        for name in events::actions() {
            assert!(!action(name).contains('.'), "{name}");
        }
    }

    #[test]
    fn details_are_in_words() {
        let said = |value: Value| {
            details(serde_json::from_value(value).unwrap())
                .into_iter()
                .map(|(name, value)| format!("{name}: {value}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(said(json!({ "hasNoDeployments": false })), "");
        assert_eq!(said(json!({ "hasNoDeployments": true })), "deployments: none");
        assert_eq!(said(json!({ "changes": { "rollout": null } })), "rollout: 100%");
        assert_eq!(said(json!({ "changes": { "rollout": 25 } })), "rollout: 25%");
        assert_eq!(said(json!({ "changes": { "isDisabled": true } })), "disabled: yes");
        assert_eq!(said(json!({ "changes": { "description": null } })), "description: edited");
        let finished = json!({ "changes": { "rollout": null }, "before": { "rollout": 25 } });
        assert_eq!(said(finished), "rollout: 25% → 100%");
        let edited = json!({ "changes": { "description": null }, "before": { "description": null } });
        assert_eq!(said(edited), "description: edited");
        assert_eq!(said(json!({ "name": "Beta", "before": "Staging" })), "name: Staging → Beta");
        assert_eq!(said(json!({ "permission": "Viewer", "before": "Developer" })), "role: Developer → Viewer");
        assert_eq!(said(json!({ "deployments": ["Production", "Staging"] })), "deployments: Production, Staging");
        assert_eq!(said(json!({ "originalLabel": "v3" })), "from release: v3");
        assert_eq!(said(json!({ "permission": "Viewer" })), "role: Viewer");
    }
}
