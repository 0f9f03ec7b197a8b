//! Accessors for an OpenAPI document as JSON.

use serde_json::{Map, Value};

/// The members of a path that are operations.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The prefix of a reference to a schema.
const SCHEMAS: &str = "#/components/schemas/";

/// The object under `name`, created if missing. `None` if it is something else.
pub(super) fn object<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Map<String, Value>> {
    value.as_object_mut()?.entry(name).or_insert_with(|| Value::Object(Map::new())).as_object_mut()
}

/// The list under `name`, created if missing. `None` if it is something else.
pub(super) fn list<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Vec<Value>> {
    value.as_object_mut()?.entry(name).or_insert_with(|| Value::Array(Vec::new())).as_array_mut()
}

/// Calls `change` with the path and method of every operation, and the operation itself.
pub(super) fn each_operation(document: &mut Value, mut change: impl FnMut(&str, &str, &mut Value)) {
    let Some(paths) = object(document, "paths") else { return };
    for (path, item) in paths {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            if METHODS.contains(&method.as_str()) {
                change(path, method, operation);
            }
        }
    }
}

/// Every operation with its path and method, sorted by path.
pub(super) fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let operations = item.as_object().into_iter().flatten().filter(|(method, _)| METHODS.contains(&method.as_str()));
        operations.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

/// The text under `name`, or an empty text.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of the list under `name`.
pub(super) fn elements<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// The members of the object under `name`.
pub(super) fn members<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = (&'v str, &'v Value)> {
    value.get(name).and_then(Value::as_object).into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// The name of the schema that is referenced.
pub(super) fn referred(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix(SCHEMAS))
}
