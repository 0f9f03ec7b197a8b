//! The document: what the handlers say, and what follows for all of them.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::refusals;
use super::shape::{each_operation, object};

/// The whole document of a service at this base address. More paths and schemas are those that no handler describes.
pub fn finish(collected: &OpenApi, more_paths: Map<String, Value>, more_schemas: Map<String, Value>, base_url: &str) -> Value {
    // Texts, numbers, lists and objects always have a JSON form; there is no error to give.
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
        let text = "A session, a named access key or an API key, as `Authorization: Bearer`. What else an operation needs stands with it.";
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
