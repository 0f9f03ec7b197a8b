//! Cross-origin requests in a real browser, at the edge and at the control plane.

use serde_json::{Value, json};
use shared::wire::path::{self, Case, Job};
use tests::browser::{Browser, empty_page};
use tests::edge::{EdgeApp, EdgeOptions};
use tests::{Bundle, Client};

/// Fetches a URL. Returns the readable parts of the response, or `refused` if the browser blocks it.
const FETCH: &str = "
    const [url, options] = arguments;
    const readable = answer => Object.fromEntries(answer.headers.entries());
    return fetch(url, options).then(
        async answer => ({ status: answer.status, headers: readable(answer), text: await answer.text() }),
        error => ({ refused: error.name }),
    );";

/// The headers that JavaScript clients send with every request.
fn client_headers() -> Value {
    json!({
        "Accept": "application/json",
        "X-CodePush-Plugin-Name": "cordova-plugin-code-push",
        "X-CodePush-Plugin-Version": "2.0.0",
        "X-CodePush-SDK-Version": "4.2.3",
    })
}

fn with_type(kind: &str) -> Value {
    let mut headers = client_headers();
    headers["Content-Type"] = json!(kind);
    headers
}

/// A service in the browser.
struct Page<'b> {
    browser: &'b Browser,
    base: &'b str,
}

impl Page<'_> {
    /// Fetches a path and expects a response that the page can read.
    async fn fetch(&self, path: &str, options: Value) -> Value {
        let answer = self.browser.run(FETCH, &[json!(format!("{}{path}", self.base)), options.clone()]).await;
        assert!(answer["status"].is_u64(), "{}{path} {options}: {answer}", self.base);
        // The exposed header is among them, and those that are always readable.
        assert!(answer["headers"]["x-request-id"].is_string(), "{path}: {answer}");
        answer
    }

    /// Fetches a path and expects the browser to block the response.
    async fn refused(&self, path: &str, options: Value) {
        let answer = self.browser.run(FETCH, &[json!(format!("{}{path}", self.base)), options.clone()]).await;
        assert_eq!(answer, json!({ "refused": "TypeError" }), "{}{path} {options}", self.base);
    }
}

fn body(answer: &Value) -> Value {
    serde_json::from_str(answer["text"].as_str().unwrap()).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// Expects a refusal that the page can read, including the envelope, and returns its text.
fn assert_refusal(answer: &Value, status: u16) -> String {
    assert_eq!(answer["status"], status, "{answer}");
    let body = body(answer);
    assert_eq!(body["requestId"], answer["headers"]["x-request-id"], "{answer}");
    body["error"].as_str().unwrap().to_owned()
}

/// Every acquisition path, as used by clients of either dialect. Returns the URL of the offered bundle.
async fn acquisition_is_open(page: &Page<'_>, key: &str) -> String {
    let mut offered = None;
    for (path, endpoint) in path::all() {
        let (answer, expected) = match (endpoint.job, endpoint.case) {
            (Job::Check, case) => {
                let (query, info, url) = match case {
                    Case::Snake => (format!("deployment_key={key}&app_version=1.0.0"), "update_info", "download_url"),
                    Case::Camel => (format!("deploymentKey={key}&appVersion=1.0.0"), "updateInfo", "downloadURL"),
                };
                let target = format!("{path}?{query}");
                // A request without custom headers is not preflighted.
                let simple = page.fetch(&target, json!({})).await;
                let head = page.fetch(&target, json!({ "method": "HEAD", "headers": client_headers() })).await;
                assert_eq!((&head["status"], &head["text"]), (&json!(200), &json!("")), "{path}: {head}");
                let answer = page.fetch(&target, json!({ "headers": client_headers() })).await;
                assert_eq!(answer["text"], simple["text"], "{path}");
                let update = body(&answer)[info].take();
                assert_eq!(update["label"], "v1", "{path}: {answer}");
                offered = update[url].as_str().map(str::to_owned);
                (answer, None)
            }
            (Job::DeployReport | Job::DownloadReport, case) => {
                let mut report = match case {
                    Case::Snake => json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": path, "label": "v1" }),
                    Case::Camel => json!({ "deploymentKey": key, "appVersion": "1.0.0", "clientUniqueId": path, "label": "v1" }),
                };
                if endpoint.job == Job::DeployReport {
                    report["status"] = json!("DeploymentSucceeded");
                }
                let sent = json!({ "method": "POST", "headers": with_type("application/json"), "body": report.to_string() });
                (page.fetch(&path, sent).await, Some(json!({ "status": "ok" })))
            }
        };
        assert_eq!((&answer["status"], &answer["headers"]["content-type"]), (&json!(200), &json!("application/json")), "{path}: {answer}");
        assert!(expected.is_none_or(|expected| body(&answer) == expected), "{path}: {answer}");
    }
    offered.unwrap()
}

async fn refusals_can_be_read(page: &Page<'_>, key: &str) {
    let check = "/v1/public/svc/update_check";
    let report = "/v1/public/svc/report_status/deploy";
    let post = |body: String| json!({ "method": "POST", "headers": with_type("application/json"), "body": body });
    let bad = page.fetch(&format!("{check}?deployment_key=short"), json!({})).await;
    assert!(assert_refusal(&bad, 400).contains("app_version"), "{bad}");
    assert_refusal(&page.fetch(&format!("{check}?deployment_key=never-made-0123456789&app_version=1.0.0"), json!({})).await, 404);
    assert_refusal(&page.fetch(&format!("{check}?deployment_key={key}&app_version=1.0.0"), json!({ "method": "POST" })).await, 405);
    assert_refusal(&page.fetch(report, json!({ "headers": client_headers() })).await, 405);
    assert_refusal(&page.fetch(report, post("{".to_owned())).await, 400);
    assert_refusal(&page.fetch(report, post(format!("{{\"padding\":\"{}\"}}", "x".repeat(10_240)))).await, 413);
    let text = json!({ "method": "POST", "headers": with_type("text/plain"), "body": "{}" });
    assert_refusal(&page.fetch(report, text).await, 415);
    assert_refusal(&page.fetch("/v1/public/svc/bundles/YWJj?expires=1&signature=x", json!({})).await, 403);
}

async fn bundles_can_be_read(page: &Page<'_>, path: &str, size: usize) {
    let whole = page.fetch(path, json!({})).await;
    assert_eq!((&whole["status"], &whole["headers"]["content-length"]), (&json!(200), &json!(size.to_string())), "{whole}");
    assert_eq!(whole["headers"]["content-type"], "application/octet-stream");
    // Not preflighted in this form; cached ranges must not be used as the whole.
    let part = page.fetch(path, json!({ "headers": { "Range": "bytes=0-3" }, "cache": "no-store" })).await;
    assert_eq!((&part["status"], &part["text"]), (&json!(206), &json!("PK\u{3}\u{4}")), "{part}");
    assert_eq!(part["headers"]["content-length"], "4");
    let beyond = json!({ "headers": { "Range": format!("bytes={}-", size * 2) }, "cache": "no-store" });
    assert_refusal(&page.fetch(path, beyond).await, 416);
    let head = page.fetch(path, json!({ "method": "HEAD", "headers": client_headers() })).await;
    assert_eq!((&head["status"], &head["headers"]["content-length"]), (&json!(200), &json!(size.to_string())), "{head}");
    assert_refusal(&page.fetch(path, json!({ "method": "POST" })).await, 405);
}

async fn everything_else_is_closed(page: &Page<'_>, token: &str) {
    for path in ["/v1/apps", "/v1/health", "/", "/v1/public/svc/nothing"] {
        page.refused(path, json!({})).await;
        page.refused(path, json!({ "headers": { "Authorization": format!("Bearer {token}") } })).await;
    }
    let named = json!({ "method": "POST", "headers": with_type("application/json"), "body": "{\"name\":\"by a page\"}" });
    page.refused("/v1/apps", named).await;
    // Other headers are blocked on the acquisition paths.
    page.refused("/v1/public/svc/update_check", json!({ "headers": { "Authorization": "Bearer x" } })).await;
    page.refused("/v1/public/svc/update_check", json!({ "credentials": "include" })).await;
    page.refused("/v1/public/svc/update_check", json!({ "method": "DELETE" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cors_allows_only_the_acquisition_and_bundle_paths() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
    let token = app.control.access_key("ada", 3_600_000).await;
    let owner = Client::new(&app.edge.base, Some(token.clone()));
    let (key, _) = owner.create_app("app").await;
    let bundle = Bundle::script("a page's bundle");
    owner.upload("app", "Production", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.until_offered(&key, "v1").await;

    let browser = Browser::start().await;
    browser.window.goto(&empty_page().await).await.unwrap();
    for base in [&app.edge.base, &app.control.base] {
        let page = Page { browser: &browser, base };
        let offered = acquisition_is_open(&page, &key).await;
        // Both servers return the edge's URL; the path is the same at both.
        let path = offered.strip_prefix(&app.edge.base).unwrap();
        bundles_can_be_read(&page, path, bundle.0.len()).await;
        refusals_can_be_read(&page, &key).await;
        everything_else_is_closed(&page, &token).await;
    }
    assert_eq!(owner.get("/v1/apps").await.assert(200)["apps"].as_array().unwrap().len(), 1);
    // A page of the same origin can read what others cannot.
    browser.window.goto(&format!("{}/v1/health", app.edge.base)).await.unwrap();
    let own = browser.run(FETCH, &[json!("/v1/apps"), json!({ "headers": { "Authorization": format!("Bearer {token}") } })]).await;
    assert_eq!((&own["status"], &body(&own)["apps"][0]["name"]), (&json!(200), &json!("app")), "{own}");
}
