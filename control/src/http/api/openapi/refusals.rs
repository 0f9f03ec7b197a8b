//! The error responses that follow from an operation's credentials, parameters and body. Its handler declares its own, such as 409.

use serde_json::{Value, json};

use super::shape::{elements, list, object};

/// The description of each status, unless a handler declares another.
const MEANINGS: &[(&str, &str)] = &[
    ("200", "Success"),
    ("201", "Created"),
    ("202", "Accepted"),
    ("204", "Success. No content"),
    ("400", "Invalid request. `error` names every invalid field"),
    ("401", "Credentials are missing, wrong, expired or revoked"),
    ("403", "Not allowed. `code`, if present, says what is required"),
    ("404", "Not found, or the caller has no access"),
    ("409", "Conflict: a rule does not allow this"),
    ("413", "The body is too large"),
    ("415", "Unsupported media type"),
    ("429", "Too many requests. `Retry-After`, if present, tells when to try again"),
    ("500", "Internal error"),
    ("501", "Not configured on this server"),
    ("503", "Temporarily unavailable. `Retry-After` tells when to try again"),
];

/// Completes the responses of an operation.
pub(super) fn complete(path: &str, operation: &mut Value) {
    let has = |name: &str| operation.get(name).is_some();
    let needs = operation.get("security").and_then(Value::as_array);
    let is_guarded = needs.is_some_and(|needs| !needs.is_empty());
    // The kind or permission that the credential needs. If none is listed, any credential works.
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
        complete_response(status, response, is_guarded);
    }
}

/// Gives a response its description, its headers and, for an error, its body.
fn complete_response(status: &str, response: &mut Value, is_guarded: bool) {
    let is_refusal = status.starts_with(['4', '5']);
    let Some(answer) = response.as_object_mut() else { return };
    if answer.get("description").and_then(Value::as_str).is_none_or(str::is_empty) {
        let meaning = MEANINGS.iter().find(|(known, _)| *known == status).map_or("See the operation", |(_, meaning)| meaning);
        answer.insert("description".to_owned(), json!(meaning));
    }
    if is_refusal && !answer.contains_key("content") {
        answer.insert("content".to_owned(), json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Problem" } } }));
    }
    let Some(headers) = object(response, "headers") else { return };
    let mut header = |name: &str, text: &str, schema: Value| {
        headers.entry(name).or_insert_with(|| json!({ "description": text, "schema": schema }));
    };
    header("X-Request-Id", "The request id", json!({ "type": "string", "format": "uuid" }));
    if status == "201" {
        header("Location", "The path of the created resource", json!({ "type": "string" }));
    }
    if status == "401" && is_guarded {
        header("WWW-Authenticate", "`Bearer`, if the credential is not valid", json!({ "type": "string" }));
    }
    if matches!(status, "429" | "503") {
        header("Retry-After", "Seconds to wait before retrying", json!({ "type": "integer", "minimum": 1 }));
    }
}

/// The descriptions of path parameters, by their names in the routes.
const PATH_PARAMETERS: &[(&str, &str)] = &[
    ("app", "The app's name. `owner@example.com:name` for an app that someone else owns"),
    ("deployment", "The deployment's name"),
    ("label", "The release's label"),
    ("email", "An account's email address"),
    ("source", "A client address, or a device's name"),
    ("key", "An access key's `friendlyName`, or an API key's id"),
    ("authorization", "The `authorizationId` of a CLI authorization"),
    ("credential", "A device's `credentialId`"),
    ("passkey", "The passkey's id"),
    ("blob", "The blob in a download URL"),
];

/// Adds the path parameters that the handler does not declare.
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
