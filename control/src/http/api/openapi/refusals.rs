//! Which refusals an operation can answer with: those that follow from what it takes. Its own, such as 409, stand at its handler.

use serde_json::{Value, json};

use super::shape::{elements, list, object};

/// What each status means where a handler does not say it.
const MEANINGS: &[(&str, &str)] = &[
    ("200", "done"),
    ("201", "it was made"),
    ("202", "it was taken in"),
    ("204", "done; there is nothing to say"),
    ("400", "what was sent is wrong; the text names every bad field"),
    ("401", "what was shown to prove who is asking is missing, wrong, expired or revoked"),
    ("403", "the caller may not do this; a code says what would help"),
    ("404", "it does not exist, or the caller has no access to it"),
    ("409", "a rule stands against it"),
    ("413", "the body is too large"),
    ("415", "the body is of another type"),
    ("429", "too many; `Retry-After`, where it stands, says when to try again"),
    ("500", "internal error"),
    ("501", "this server was not set up for it"),
    ("503", "the service is unavailable for the moment; `Retry-After` says when to try again"),
];

/// Completes the answers of one operation.
pub(super) fn complete(path: &str, operation: &mut Value) {
    let has = |name: &str| operation.get(name).is_some();
    let needs = operation.get("security").and_then(Value::as_array);
    let is_guarded = needs.is_some_and(|needs| !needs.is_empty());
    // What the credential must be, or be allowed to; where nothing stands, every credential will do.
    let is_choosy = needs.into_iter().flatten().any(|need| elements(need, "bearer").next().is_some());
    let mut refusals = vec!["500", "503"];
    if is_guarded {
        refusals.extend(["401", "429"]);
    }
    if is_choosy {
        refusals.push("403");
    }
    if has("requestBody") {
        refusals.extend(["400", "413", "415"]);
    }
    let is_in_query = |parameter: &Value| parameter.get("in").is_some_and(|place| place == "query");
    if operation.get("parameters").and_then(Value::as_array).is_some_and(|parameters| parameters.iter().any(is_in_query)) {
        refusals.push("400");
    }
    if path.contains('{') {
        refusals.push("404");
    }
    let Some(responses) = object(operation, "responses") else { return };
    for status in refusals {
        responses.entry(status).or_insert_with(|| json!({}));
    }
    for (status, response) in responses {
        dress(status, response, is_guarded);
    }
}

/// Gives an answer its text, its headers and, when it is a refusal, its body.
fn dress(status: &str, response: &mut Value, is_guarded: bool) {
    let is_refusal = status.starts_with(['4', '5']);
    let Some(answer) = response.as_object_mut() else { return };
    if answer.get("description").and_then(Value::as_str).is_none_or(str::is_empty) {
        let meaning = MEANINGS.iter().find(|(known, _)| *known == status).map_or("see the operation", |(_, meaning)| meaning);
        answer.insert("description".to_owned(), json!(meaning));
    }
    if is_refusal && !answer.contains_key("content") {
        answer.insert("content".to_owned(), json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Problem" } } }));
    }
    let Some(headers) = object(response, "headers") else { return };
    let mut header = |name: &str, text: &str, schema: Value| {
        headers.entry(name).or_insert_with(|| json!({ "description": text, "schema": schema }));
    };
    header("X-Request-Id", "the request's id", json!({ "type": "string", "format": "uuid" }));
    if status == "201" {
        header("Location", "the path of what was made", json!({ "type": "string" }));
    }
    if status == "401" && is_guarded {
        header("WWW-Authenticate", "`Bearer`, when it is the credential that does not hold", json!({ "type": "string" }));
    }
    if matches!(status, "429" | "503") {
        header("Retry-After", "in how many seconds to try again", json!({ "type": "integer", "minimum": 1 }));
    }
}

/// The parameters that paths have, by their names in the routes.
const PATH_PARAMETERS: &[(&str, &str)] = &[
    ("app", "The app's name; `owner@example.com:name` for one that somebody else owns"),
    ("deployment", "The deployment's name"),
    ("label", "The release's label"),
    ("email", "An account's e-mail address"),
    ("source", "A client's address, or a machine's name"),
    ("key", "An access key's friendlyName, or an API key's id"),
    ("authorization", "The authorizationId of a command line's request"),
    ("credential", "A machine's credentialId"),
    ("passkey", "The passkey's id"),
    ("blob", "As it stands in a download address"),
];

/// Adds the parameters that the path names.
pub(super) fn add_path_parameters(path: &str, operation: &mut Value) {
    let Some(parameters) = list(operation, "parameters") else { return };
    let named = path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
    for name in named.collect::<Vec<_>>().into_iter().rev() {
        let is_there = parameters.iter().any(|parameter| parameter.get("name").is_some_and(|known| known == name));
        if !is_there {
            let text = PATH_PARAMETERS.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
            let schema = json!({ "type": "string", "minLength": 1 });
            parameters.insert(0, json!({ "name": name, "in": "path", "required": true, "description": text, "schema": schema }));
        }
    }
    if parameters.is_empty()
        && let Some(operation) = operation.as_object_mut()
    {
        operation.remove("parameters");
    }
}
