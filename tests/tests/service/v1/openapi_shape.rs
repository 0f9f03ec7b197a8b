//! The shape of the interface: what programs rely on, without names of components and without words.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Members that only tell people something.
const WORDS: [&str; 7] = ["description", "title", "summary", "example", "examples", "operationId", "tags"];

/// The document as lines, one for each fact, such as `/v1/apps.post.requestBody…properties.name.maxLength 255`. References are resolved, lists that are sets
/// are sorted.
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
                    // All of them have the one envelope; what each says is in the reviewed refusals.
                    lines.insert(format!("{at}.{name}"));
                } else {
                    flatten(document, &format!("{at}.{name}"), member, lines);
                }
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                // Parameters have names, and the order of plain values, such as required members, says nothing.
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

/// A member of a body may be called `description`, too.
fn is_words(name: &str, member: &Value, siblings: &Map<String, Value>) -> bool {
    WORDS.contains(&name) && !(member.is_object() && siblings.values().all(Value::is_object) && name != "example")
}
