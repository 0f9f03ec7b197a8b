//! Logging: one JSON object per line, so that logs are searchable and tests can parse them. Only failures are logged, once, where they are handled.
//! Deployment keys, client IDs, addresses and bodies are never logged.

use serde_json::{Map, Value};

/// Writes one line: `fields` plus `"event"`.
pub(crate) fn event(name: &str, fields: Value) {
    let mut line = match fields {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => Map::from_iter([("detail".to_owned(), other)]),
    };
    line.insert("event".to_owned(), Value::from(name));
    // Not `Display`, which would add a second JSON writer to the Worker's code.
    worker::console_error!("{}", serde_json::to_string(&Value::Object(line)).unwrap_or_default());
}
