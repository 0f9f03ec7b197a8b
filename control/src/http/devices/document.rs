//! What the interface's document says of the acquisition paths. Their answers are written by `shared`, so they are described here and not at a handler.

use serde_json::{Map, Value, json};
use shared::wire::path::{Case, Endpoint, Job, all};

/// The paths that stand in the document; the others are said to be the same.
const FAMILIES: [(&str, &str); 3] = [("/v1/public/svc/", ""), ("/v0.1/public/svc/", "_legacy"), ("/", "_variant")];

/// What every operation says of the paths that are not listed.
const ALIASES: &str = "The same is served under /v1/public/codepush and /v0.1/public/codepush (members in snake case) and under /v0.1/legacy (camel case), \
    and each of these paths with /v1 before it. Every path takes the names of members in both cases; an empty value is taken as absent. OPTIONS is \
    answered with 204 and what other origins may send.";

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

/// Whether a path is of the family, and not of one whose prefix is longer.
fn belongs(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| {
        let parts = rest.split('/').count();
        parts <= 2 && matches!(rest.split('/').next(), Some("update_check" | "report_status" | "updateCheck" | "reportStatus"))
    })
}

fn operation(endpoint: &Endpoint, suffix: &str) -> Value {
    let (name, summary) = match endpoint.job {
        Job::Check => ("check_for_update", "Is there an update for this client?"),
        Job::DeployReport => ("report_deploy", "Say that a release or a binary runs, or that a release failed."),
        Job::DownloadReport => ("report_download", "Say that a release was downloaded."),
    };
    let about = match endpoint.successor {
        Some(successor) => format!("Use {successor} instead. {ALIASES}"),
        None => ALIASES.to_owned(),
    };
    let mut operation = json!({
        "operationId": format!("{name}{suffix}"), "tags": ["acquisition"], "summary": summary, "description": about,
        "deprecated": endpoint.successor.is_some(),
        "responses": { "400": {}, "404": { "description": "no deployment has this key, or no longer" } },
    });
    let (answer, question) = match (endpoint.job, endpoint.case) {
        // The question of a check is its query.
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
            responses.insert("200".to_owned(), json!({ "description": "the answer", "content": json_content(answer) }));
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

/// A name in the case of the path.
fn name(case: Case, snake: &'static str, camel: &'static str) -> &'static str {
    match case {
        Case::Snake => snake,
        Case::Camel => camel,
    }
}

fn key_schema() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{10,100}$", "description": "The deployment's key" })
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
            json!({ "type": "string", "minLength": 1, "description": "The binary's version", "examples": ["1.0.0"] }),
        ),
        (named("package_hash", "packageHash"), false, text("The hash of the release that runs")),
        ("label", false, text("The label of the release that runs")),
        (named("client_unique_id", "clientUniqueId"), false, text("The client; decides whether it is in a rollout")),
        (named("is_companion", "isCompanion"), false, text("`true`: whatever the binary's version")),
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
        "operationId": "get_bundle", "tags": ["acquisition"], "summary": "Read a bundle, or a part of it.",
        "description": "The address comes out of the answer to a check, or out of a release; it is valid for a day. One range is served.",
        "parameters": [parameter("expires", "As the address has it"), parameter("signature", "As the address has it")],
        "responses": {
            "200": { "description": "the bundle", "content": file },
            "206": { "description": "the part that was asked for", "content": file },
            "304": { "description": "the client has it already" },
            "403": { "description": "the address is not valid, or no longer" },
            "416": { "description": "the range lies outside the file" },
        },
    })
}

/// The schemas of these paths, in both cases.
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
        "description": "Without label it is about the store's binary; with label, an absent status means success.",
        "properties": {
            key: key_schema(),
            version: { "type": "string", "minLength": 1, "maxLength": 100, "description": "The binary's version" },
            client: { "type": "string", "minLength": 1, "maxLength": 128, "description": "The client" },
            "label": label_schema(),
            "status": { "type": "string", "enum": ["DeploymentSucceeded", "DeploymentFailed"] },
            named("previous_deployment_key", "previousDeploymentKey"): { "type": "string", "description": "Taken and ignored" },
            named("previous_label_or_app_version", "previousLabelOrAppVersion"): { "type": "string", "description": "Taken and ignored" },
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
            client: { "type": "string", "minLength": 1, "maxLength": 128, "description": "The client" },
            "label": label_schema(),
        },
        "example": { key: "0123456789abcdef", client: "device-1", "label": "v1" },
    })
}
