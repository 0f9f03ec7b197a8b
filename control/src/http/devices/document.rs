//! The OpenAPI description of the acquisition paths. `shared` writes their responses, so they are described here and not at a handler.

use serde_json::{Map, Value, json};
use shared::wire::path::{Case, Endpoint, Job, all};

/// The path families that are listed in the document; the others are mentioned as aliases.
const FAMILIES: [(&str, &str); 3] = [("/v1/public/svc/", ""), ("/v0.1/public/svc/", "_legacy"), ("/", "_variant")];

/// What every operation says about the paths that are not listed.
const ALIASES: &str = "Aliases: /v1/public/codepush and /v0.1/public/codepush (snake case), /v0.1/legacy (camel case), and each of these paths \
    prefixed with /v1. Every path accepts field names in both cases. An empty value counts as missing. OPTIONS returns 204 with CORS headers.";

/// The paths by name, each with its operation.
pub fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    for (path, endpoint) in all() {
        let family = FAMILIES.iter().find(|(prefix, _)| belongs(&path, prefix));
        if let Some((_, suffix)) = family {
            paths.insert(path, json!({ endpoint.job.method().to_lowercase(): operation(&endpoint, suffix) }));
        }
    }
    paths.insert(format!("{}{{blob}}", shared::wire::path::BUNDLES), json!({ "get": bundle() }));
    paths
}

/// Whether a path belongs to the family, and not to one with a longer prefix.
fn belongs(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| {
        let parts = rest.split('/').count();
        parts <= 2 && matches!(rest.split('/').next(), Some("update_check" | "report_status" | "updateCheck" | "reportStatus"))
    })
}

fn operation(endpoint: &Endpoint, suffix: &str) -> Value {
    let (name, summary) = match endpoint.job {
        Job::Check => ("check_for_update", "Check for an update."),
        Job::DeployReport => ("report_deploy", "Report that a release or a binary runs, or that a release failed."),
        Job::DownloadReport => ("report_download", "Report that a release was downloaded."),
    };
    let about = match endpoint.successor {
        Some(successor) => format!("Use {successor} instead. {ALIASES}"),
        None => ALIASES.to_owned(),
    };
    let mut operation = json!({
        "operationId": format!("{name}{suffix}"), "tags": ["acquisition"], "summary": summary, "description": about,
        "deprecated": endpoint.successor.is_some(),
        "responses": { "400": {}, "404": { "description": "no deployment has this key" } },
    });
    let (answer, question) = match (endpoint.job, endpoint.case) {
        // A check has query parameters and no body.
        (Job::Check, Case::Snake) => ("UpdateAnswer", ""),
        (Job::Check, Case::Camel) => ("UpdateAnswerCamelCase", ""),
        (Job::DeployReport, Case::Snake) => ("ReportTaken", "DeployReport"),
        (Job::DeployReport, Case::Camel) => ("ReportTaken", "DeployReportCamelCase"),
        (Job::DownloadReport, Case::Snake) => ("ReportTaken", "DownloadReport"),
        (Job::DownloadReport, Case::Camel) => ("ReportTaken", "DownloadReportCamelCase"),
    };
    if let Some(members) = operation.as_object_mut() {
        if endpoint.job == Job::Check {
            members.insert("parameters".to_owned(), Value::Array(check_parameters(endpoint.case)));
        } else {
            members.insert("requestBody".to_owned(), json!({ "required": true, "content": json_content(question) }));
        }
        if let Some(responses) = members.get_mut("responses").and_then(Value::as_object_mut) {
            responses.insert("200".to_owned(), json!({ "description": "success", "content": json_content(answer) }));
            if endpoint.job != Job::Check {
                responses.insert("429".to_owned(), json!({}));
            }
        }
    }
    operation
}

fn json_content(schema: &str) -> Value {
    json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{schema}") } } })
}

/// The name in the case that the path uses.
fn name(case: Case, snake: &'static str, camel: &'static str) -> &'static str {
    match case {
        Case::Snake => snake,
        Case::Camel => camel,
    }
}

fn key_schema() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{10,100}$", "description": "The deployment key" })
}

fn label_schema() -> Value {
    json!({ "type": "string", "pattern": "^v[1-9][0-9]{0,8}$", "description": "The release's label" })
}

fn check_parameters(case: Case) -> Vec<Value> {
    let named = |snake, camel| name(case, snake, camel);
    let text = |text: &str| json!({ "type": "string", "description": text });
    [
        (named("deployment_key", "deploymentKey"), true, key_schema()),
        (
            named("app_version", "appVersion"),
            true,
            json!({ "type": "string", "minLength": 1, "description": "The version of the app binary", "examples": ["1.0.0"] }),
        ),
        (named("package_hash", "packageHash"), false, text("The package hash of the installed release")),
        ("label", false, text("The label of the installed release")),
        (named("client_unique_id", "clientUniqueId"), false, text("The device's ID; decides whether it is part of a rollout")),
        (named("is_companion", "isCompanion"), false, text("`true` ignores the version of the app binary")),
    ]
    .into_iter()
    .map(|(name, is_required, schema)| {
        let text = schema.get("description").cloned().unwrap_or_default();
        json!({ "name": name, "in": "query", "required": is_required, "description": text, "schema": schema })
    })
    .collect()
}

fn bundle() -> Value {
    let file = json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } });
    let parameter = |name: &str, text: &str| json!({ "name": name, "in": "query", "required": true, "description": text, "schema": { "type": "string" } });
    json!({
        "operationId": "get_bundle", "tags": ["acquisition"], "summary": "Download a bundle, or a range of it.",
        "description": "Use the signed URL from an update check or a release. It expires after a day. Only single ranges are supported.",
        "parameters": [parameter("expires", "Taken from the signed URL"), parameter("signature", "Taken from the signed URL")],
        "responses": {
            "200": { "description": "the bundle", "content": file },
            "206": { "description": "the requested range", "content": file },
            "304": { "description": "the client's copy is current" },
            "403": { "description": "the URL is invalid or expired" },
            "416": { "description": "the range is outside the file" },
        },
    })
}

/// The schemas of these paths, in snake case and camel case.
pub fn schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    for (case, suffix) in [(Case::Snake, ""), (Case::Camel, "CamelCase")] {
        schemas.insert(format!("UpdateAnswer{suffix}"), update_answer(case));
        schemas.insert(format!("DeployReport{suffix}"), deploy_report(case));
        schemas.insert(format!("DownloadReport{suffix}"), download_report(case));
    }
    let taken = json!({ "type": "object", "required": ["status"], "properties": { "status": { "type": "string", "enum": ["ok"] } } });
    schemas.insert("ReportTaken".to_owned(), taken);
    schemas
}

fn update_answer(case: Case) -> Value {
    let named = |snake, camel| name(case, snake, camel);
    let (text, flag) = (json!({ "type": "string" }), json!({ "type": "boolean" }));
    let properties: Map<String, Value> = [
        (named("download_url", "downloadURL"), text.clone()),
        ("description", text.clone()),
        (named("is_available", "isAvailable"), flag.clone()),
        (named("is_mandatory", "isMandatory"), flag.clone()),
        (named("app_version", "appVersion"), text.clone()),
        (named("package_hash", "packageHash"), text.clone()),
        ("label", text.clone()),
        (named("package_size", "packageSize"), json!({ "type": "integer", "minimum": 0 })),
        (named("update_app_version", "updateAppVersion"), flag.clone()),
        (named("should_run_binary_version", "shouldRunBinaryVersion"), flag),
        ("target_binary_range", text),
    ]
    .into_iter()
    .map(|(name, schema)| (name.to_owned(), schema))
    .collect();
    let required: Vec<&String> = properties.keys().filter(|name| *name != "description").collect();
    let info = json!({ "type": "object", "required": required, "properties": properties });
    let outer = named("update_info", "updateInfo");
    json!({ "type": "object", "required": [outer], "properties": { outer: info } })
}

fn deploy_report(case: Case) -> Value {
    let named = |snake, camel| name(case, snake, camel);
    let (key, version, client) =
        (named("deployment_key", "deploymentKey"), named("app_version", "appVersion"), named("client_unique_id", "clientUniqueId"));
    json!({
        "type": "object", "required": [key, version],
        "description": "Without a label, the report is about the app store build. With a label, a missing status means success.",
        "properties": {
            key: key_schema(),
            version: { "type": "string", "minLength": 1, "maxLength": 100, "description": "The version of the app binary" },
            client: { "type": "string", "minLength": 1, "maxLength": 128, "description": "The device's ID" },
            "label": label_schema(),
            "status": { "type": "string", "enum": ["DeploymentSucceeded", "DeploymentFailed"] },
            named("previous_deployment_key", "previousDeploymentKey"): { "type": "string", "description": "Accepted and ignored" },
            named("previous_label_or_app_version", "previousLabelOrAppVersion"): { "type": "string", "description": "Accepted and ignored" },
        },
        "example": { key: "0123456789abcdef", version: "1.0.0", client: "device-1", "label": "v1", "status": "DeploymentSucceeded" },
    })
}

fn download_report(case: Case) -> Value {
    let named = |snake, camel| name(case, snake, camel);
    let (key, client) = (named("deployment_key", "deploymentKey"), named("client_unique_id", "clientUniqueId"));
    json!({
        "type": "object", "required": [key, "label"],
        "properties": {
            key: key_schema(),
            client: { "type": "string", "minLength": 1, "maxLength": 128, "description": "The device's ID" },
            "label": label_schema(),
        },
        "example": { key: "0123456789abcdef", client: "device-1", "label": "v1" },
    })
}
