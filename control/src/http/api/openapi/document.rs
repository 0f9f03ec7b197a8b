//! The OpenAPI document: what the handlers declare, completed with what all operations share.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::refusals;
use super::shape::{each_operation, object};

/// Completes the document of a service with this base URL. `more_paths` and `more_schemas` are those that no handler describes.
pub fn finish(collected: &OpenApi, more_paths: Map<String, Value>, more_schemas: Map<String, Value>, base_url: &str) -> Value {
    // Strings, numbers, lists and objects always serialize: this cannot fail.
    let mut document = serde_json::to_value(collected).unwrap_or_default();
    if let Some(members) = document.as_object_mut() {
        members.insert("openapi".to_owned(), json!("3.1.0"));
        members.insert("servers".to_owned(), json!([{ "url": base_url }]));
    }
    if let Some(info) = object(&mut document, "info") {
        info.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
        info.insert("license".to_owned(), json!({ "name": "Apache-2.0", "identifier": "Apache-2.0" }));
    }
    if let Some(components) = object(&mut document, "components") {
        let text =
            "A session key, a named access key or an API key, sent as `Authorization: Bearer`. Each operation lists what else it requires.";
        components.insert("securitySchemes".to_owned(), json!({ "bearer": { "type": "http", "scheme": "bearer", "description": text } }));
    }
    if let Some(paths) = object(&mut document, "paths") {
        paths.extend(more_paths);
    }
    if let Some(schemas) = document.get_mut("components").and_then(|components| object(components, "schemas")) {
        schemas.extend(more_schemas);
    }
    each_operation(&mut document, |path, _, operation| {
        if let Some(operation) = operation.as_object_mut() {
            operation.entry("security").or_insert_with(|| json!([]));
        }
        refusals::add_path_parameters(path, operation);
        refusals::complete(path, operation);
    });
    document
}
