//! One JSON object per line, so that logs can be searched and tests can read them. Only what went wrong is logged, once, where it is
//! handled; never a deployment key, client id, address or body.

use serde_json::{Map, Value};

/// Writes one line: `fields` with `"event"` added.
pub(crate) fn event(name: &str, fields: Value) {
    let mut line = match fields {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => Map::from_iter([("detail".to_owned(), other)]),
    };
    line.insert("event".to_owned(), Value::from(name));
    // Not by `Display`: the Worker has the code of one way of writing JSON already.
    worker::console_error!("{}", serde_json::to_string(&Value::Object(line)).unwrap_or_default());
}
