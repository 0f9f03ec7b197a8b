//! The shape of the API: what clients rely on, without component names and descriptions.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Members that are only documentation.
const WORDS: [&str; 7] = ["description", "title", "summary", "example", "examples", "operationId", "tags"];

/// The document as lines, one per fact, such as `/v1/apps.post.requestBody…properties.name.maxLength 255`. References are resolved, and unordered
/// lists are sorted.
pub(super) fn lines(document: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        flatten(document, path, operations, &mut lines);
    }
    lines
}

fn flatten(document: &Value, at: &str, value: &Value, lines: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                return flatten(document, at, document.pointer(reference.trim_start_matches('#')).unwrap(), lines);
            }
            if members.is_empty() {
                lines.insert(format!("{at} {{}}"));
            }
            for (name, member) in members.iter().filter(|(name, member)| !is_words(name, member, members)) {
                if at.ends_with(".responses") && name.starts_with(['4', '5']) {
                    // All have the same envelope; their texts are in the snapshots of refusals.
                    lines.insert(format!("{at}.{name}"));
                } else {
                    flatten(document, &format!("{at}.{name}"), member, lines);
                }
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                // Parameters are identified by name; the order of plain values, such as required members, does not matter.
                let place = match item.get("name").and_then(Value::as_str) {
                    Some(name) => name.to_owned(),
                    None if item.is_object() => place.to_string(),
                    None => String::new(),
                };
                flatten(document, &format!("{at}[{place}]"), item, lines);
            }
        }
        value => drop(lines.insert(format!("{at} {value}"))),
    }
}

/// A member of a body may also be called `description`.
fn is_words(name: &str, member: &Value, siblings: &Map<String, Value>) -> bool {
    WORDS.contains(&name) && !(member.is_object() && siblings.values().all(Value::is_object) && name != "example")
}
