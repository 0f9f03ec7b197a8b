//! The OpenAPI document and its page: complete, self-contained, and matching the routes.

use std::collections::BTreeSet;
use std::path::Path;

use crate::v1::openapi_shape;
use serde_json::Value;
use tests::TestApp;

/// Every operation of a document: path, method, definition.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| item.as_object().unwrap().iter().map(|(method, operation)| (path.as_str(), method.as_str(), operation)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_fully_documented() {
    let app = TestApp::spawn().await;
    let answer = app.anonymous().get("/v1/openapi.json").await;
    let document = answer.assert(200);
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["servers"][0]["url"], app.base);
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    let tags: BTreeSet<&str> = document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let asked = format!("{method} {path}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{asked}: another operation has the same ID");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{asked}");
        assert!(operation["tags"].as_array().unwrap().iter().all(|tag| tags.contains(tag.as_str().unwrap())), "{asked}");
        let named: Vec<&str> = path.split('{').skip(1).map(|rest| rest.split_once('}').unwrap().0).collect();
        let parameters = operation.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default();
        for name in &named {
            assert!(parameters.iter().any(|parameter| parameter["name"] == *name && parameter["in"] == "path"), "{asked}: {name}");
        }
        assert!(parameters.iter().all(|parameter| !parameter["description"].as_str().unwrap().is_empty()), "{asked}: {parameters:?}");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.contains_key("500") && responses.keys().any(|status| status.starts_with('2')), "{asked}");
        let guarded = !operation["security"].as_array().unwrap().is_empty();
        assert!(!guarded || responses.contains_key("401"), "{asked}");
        for (status, response) in responses {
            assert!(!response["description"].as_str().unwrap().is_empty(), "{asked}: {status}");
            assert!(response["headers"].get("X-Request-Id").is_some(), "{asked}: {status}");
            let has_body = response.get("content").is_some();
            assert_eq!(has_body, !matches!(status.as_str(), "204" | "304"), "{asked}: {status}");
        }
    }
    let text = answer.text();
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"].get(name).is_some(), "the schema {name} is missing");
    }
    assert!(!text.contains("/internal/"), "the edge's own paths are not documented");
}

/// Every change of the API shows up here for review.
#[test]
fn the_document_matches_its_snapshot() {
    let document = control::testing::server::document("https://updates.example.com");
    insta::assert_snapshot!("openapi", serde_json::to_string_pretty(&document).unwrap());
}

/// Every change of what clients rely on shows up here: it must correct a wrong schema and be in CHANGELOG.md.
#[test]
fn the_shape_of_the_api_matches_its_snapshot() {
    let document = serde_json::to_value(control::testing::server::document("https://updates.example.com")).unwrap();
    let lines: Vec<String> = openapi_shape::lines(&document).into_iter().collect();
    insta::assert_snapshot!("shape", lines.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_promotion_refusal_is_documented() {
    let app = TestApp::spawn().await;
    let document = app.anonymous().get("/v1/openapi.json").await.assert(200);
    let promote = &document["paths"]["/v1/apps/{app}/deployments/{deployment}/promotions"]["post"];
    let told = promote["responses"]["409"]["description"].as_str().unwrap();
    for rule in ["is the source", "unfinished rollout", "same contents", "no enabled release", "is disabled", "packageHash", "deleted"] {
        assert!(told.contains(rule), "{rule}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_and_leaving_are_documented_separately() {
    let app = TestApp::spawn().await;
    let document = app.anonymous().get("/v1/openapi.json").await.assert(200);
    let remove = &document["paths"]["/v1/apps/{app}/collaborators/{email}"]["delete"];
    let about = remove["description"].as_str().unwrap();
    assert!(about.contains("`collaborators.manage`") && about.contains("`collaborators.leave`"), "{about}");
    assert!(remove["responses"]["403"]["description"].as_str().unwrap().contains("`collaborators.manage`"));
    let page = app.anonymous().get("/v1/docs").await.text();
    // That address leads to the dashboard.
    assert!(page.contains("<a href=\"/\">Back to the dashboard</a>"), "{page}");
    let part = page.split(&format!("<article id=\"{}\">", remove["operationId"].as_str().unwrap())).nth(1).unwrap();
    assert!(part.split("</article>").next().unwrap().contains("Authorization: collaborators.manage or collaborators.leave."), "{part}");
}

/// Paths that existing CLIs open in a browser: they redirect to the dashboard, and are not operations.
const OPENED: [&str; 2] = ["/v1/auth/login", "/v1/auth/register"];

#[tokio::test(flavor = "multi_thread")]
async fn each_path_serves_exactly_the_documented_methods() {
    let app = TestApp::spawn().await;
    let client = app.anonymous();
    let document = client.get("/v1/openapi.json").await.assert(200);
    for (path, item) in document["paths"].as_object().unwrap() {
        let mut documented: BTreeSet<String> = item.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect();
        if OPENED.contains(&path.as_str()) {
            documented.insert("GET".to_owned());
        }
        if documented.contains("GET") {
            documented.insert("HEAD".to_owned());
        }
        let called = path.replace(['{', '}'], "");
        let answer = client.send(client.request("BREW".parse().unwrap(), &called)).await;
        answer.refused(405);
        let allow = answer.header("allow");
        // OPTIONS on device paths is for CORS, not an operation.
        let allowed = allow.split(',').map(|method| method.trim().to_owned()).filter(|method| method != "OPTIONS");
        assert_eq!(allowed.collect::<BTreeSet<_>>(), documented, "{path}");
    }
}

/// The number of routes outside the document, by source file. All other routes are documented.
const UNDESCRIBED: &[(&str, usize)] = &[
    // One for the device paths, which `http::devices::document` documents, and one for bundles.
    ("http/devices/bundle.rs", 2),
    ("http/devices/http.rs", 2),
    // For the edge only.
    ("http/edge/bindings.rs", 4),
    ("http/edge/reports.rs", 1),
    ("http/edge/snapshots.rs", 3),
    // For users and probes.
    ("http/api/health.rs", 1),
    // The CodePush dialect: its operations are in a list of their own, each with a row in the access table. App Center's paths are refused.
    ("http/codepush/mod.rs", 3),
    ("http/codepush/app_center.rs", 2),
    // Unknown paths and methods, and a panic on demand that released programs do not have.
    ("server/router.rs", 3),
];

#[test]
fn every_undocumented_route_is_in_the_list() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../control/src");
    let mut found = Vec::new();
    collect(&sources, &sources, &mut found);
    let mut known: Vec<(String, usize)> = UNDESCRIBED.iter().map(|(file, count)| ((*file).to_owned(), *count)).collect();
    found.sort();
    known.sort();
    assert_eq!(found, known);
}

/// How a path can be added to a router without the macro that documents it.
const WAYS_IN: [&str; 5] = [".route(", ".route_service(", ".nest(", ".nest_service(", "fallback("];

fn collect(root: &Path, folder: &Path, into: &mut Vec<(String, usize)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // Pages: `control::http::dashboard::pages` lists them, and their own tests use that list.
            if path.file_name().is_some_and(|name| name == "dashboard") {
                continue;
            }
            collect(root, &path, into);
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let count = WAYS_IN.iter().map(|way| source.matches(way).count()).sum();
        if count > 0 {
            into.push((path.strip_prefix(root).unwrap().display().to_string(), count));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_docs_page_loads_only_its_stylesheet() {
    let app = TestApp::spawn().await;
    let client = app.anonymous();
    let page = client.get("/v1/docs").await;
    page.assert_status(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'self'; ") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let html = page.text();
    for unwanted in ["<script", "<img", "src=", "style=", "<style", "href=\"http", "@import", "url("] {
        assert!(!html.contains(unwanted), "{unwanted}");
    }
    let document = client.get("/v1/openapi.json").await.assert(200);
    for (path, method, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(html.contains(&format!("<article id=\"{id}\">")) && html.contains(&format!("<code>{path}</code>")), "{method} {path}");
    }
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(html.contains(&format!("<article id=\"schema-{name}\">")), "{name}");
    }
    for link in html.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(html.contains(&format!("id=\"{link}\"")), "the link to {link} is broken");
    }
    let style = html.split("/v1/docs/assets/").nth(1).unwrap().split('"').next().unwrap();
    let asset = client.get(&format!("/v1/docs/assets/{style}")).await;
    asset.assert_status(200);
    assert_eq!(asset.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(asset.header("cache-control"), "public, max-age=31536000, immutable");
    assert!(!asset.text().contains("url(") && !asset.text().contains("@import"));
    for absent in ["docs-000000000000.css", "docs.css", "..%2fdocs.css"] {
        let refusal = client.get(&format!("/v1/docs/assets/{absent}")).await;
        refusal.refused(404);
        assert_eq!(refusal.header("cache-control"), "no-store");
    }
}
