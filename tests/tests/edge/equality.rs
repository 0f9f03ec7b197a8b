//! Edge and control plane give identical responses to the same requests: status, headers and body.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};
use shared::hash::BlobKey;
use shared::signature::{DownloadUrls, Secrets, download_url, verify_download};
use shared::snapshot::Snapshot;
use shared::time::UnixMillis;
use shared::wire::path::{self, Job};
use tests::app::DOWNLOAD_SECRET;
use tests::edge::{EdgeApp, EdgeOptions};
use tests::{Answer, Bundle, Client, Clock, TestClock};

/// Headers that may differ: the request ID, and those of the connection.
const OWN_HEADERS: [&str; 5] = ["connection", "date", "keep-alive", "transfer-encoding", "x-request-id"];

/// A response without values unique to the request. A download URL in it has been verified.
fn comparable(answer: &Answer) -> (u16, BTreeMap<String, String>, String) {
    let mut headers: BTreeMap<String, String> =
        answer.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
    headers.retain(|name, _| !OWN_HEADERS.contains(&name.as_str()));
    let mut text = answer.text();
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if let Some(id) = body["requestId"].as_str() {
        assert_eq!(id, answer.header("x-request-id"));
        text = text.replace(id, "");
    }
    let info = if body["update_info"].is_object() { &body["update_info"]["download_url"] } else { &body["updateInfo"]["downloadURL"] };
    if let Some(url) = info.as_str().filter(|url| !url.is_empty()) {
        let (path, query) = url.split_once('?').unwrap();
        let blob = path.rsplit_once('/').unwrap().1;
        let (expires, signature) = query.strip_prefix("expires=").and_then(|rest| rest.split_once("&signature=")).unwrap();
        let secrets = Secrets::parse(DOWNLOAD_SECRET).unwrap();
        verify_download(&secrets, blob, expires, signature, TestClock::starting_now().now()).unwrap();
        text = text.replace(query, "");
    }
    (answer.status.as_u16(), headers, text)
}

/// Clients of the edge and the control plane.
pub(super) fn both(app: &EdgeApp) -> [Client; 2] {
    [&app.edge.base, &app.control.base].map(|base| Client::new(base, None))
}

/// Sends the request to both and compares; returns the edge's response.
async fn same(app: &EdgeApp, method: &Method, path: &str, shape: impl Fn(reqwest::RequestBuilder) -> reqwest::RequestBuilder) -> Answer {
    same_of(&both(app), method, path, shape).await
}

/// Like [`same`], with reusable clients.
pub(super) async fn same_of(
    clients: &[Client; 2],
    method: &Method,
    path: &str,
    shape: impl Fn(reqwest::RequestBuilder) -> reqwest::RequestBuilder,
) -> Answer {
    let mut answers = Vec::new();
    for client in clients {
        answers.push(client.send(shape(client.request(method.clone(), path))).await);
    }
    assert_eq!(comparable(&answers[0]), comparable(&answers[1]), "{} and {}", answers[0].asked, answers[1].asked);
    answers.swap_remove(0)
}

#[track_caller]
fn assert_bytes(answer: &Answer, status: u16, bytes: &[u8]) {
    answer.assert_status(status);
    assert!(answer.body == bytes, "{}: {} bytes that are not the {} expected ones", answer.asked, answer.body.len(), bytes.len());
    assert_eq!(answer.header("content-length"), bytes.len().to_string(), "{}", answer.asked);
    assert_eq!(answer.optional_header("content-encoding"), None, "{}", answer.asked);
}

/// A bundle request, and the expected status.
type BundleRequest = (Method, Vec<(&'static str, String)>, u16);

/// Requests of clients and caches for a bundle URL, with the expected statuses.
fn bundle_requests(tag: &str, size: usize) -> Vec<BundleRequest> {
    let questions = [
        (vec![], 200),
        (vec![("range", "bytes=2-5".to_owned())], 206),
        (vec![("range", "bytes=-7".to_owned())], 206),
        (vec![("range", "bytes=10-".to_owned())], 206),
        (vec![("range", format!("bytes=5-{}", size * 2))], 206),
        (vec![("range", format!("bytes={size}-"))], 416),
        (vec![("range", "bytes=-0".to_owned())], 416),
        (vec![("range", "bytes=5-2".to_owned())], 200),
        (vec![("range", "lines=1-2".to_owned())], 200),
        (vec![("if-none-match", tag.to_owned())], 304),
        (vec![("if-none-match", format!("\"a\", W/{tag}"))], 304),
        (vec![("if-none-match", "\"other\"".to_owned())], 200),
        (vec![("if-none-match", "*".to_owned())], 304),
        (vec![("if-none-match", tag.to_owned()), ("range", "bytes=2-5".to_owned())], 304),
        (vec![("range", "bytes=0-0".to_owned()), ("if-range", tag.to_owned())], 206),
        (vec![("range", "bytes=0-0".to_owned()), ("if-range", "\"other\"".to_owned())], 200),
        (vec![("accept-encoding", "gzip, br".to_owned())], 200),
    ];
    let mut all = Vec::new();
    for (headers, status) in questions {
        // Ranges apply only to GET.
        let of_head = if status == 304 { 304 } else { 200 };
        all.extend([(Method::GET, headers.clone(), status), (Method::HEAD, headers, of_head)]);
    }
    all
}

fn with_headers(request: reqwest::RequestBuilder, headers: &[(&str, String)]) -> reqwest::RequestBuilder {
    headers.iter().fold(request, |request, (name, value)| request.header(*name, value))
}

/// Deployments with different histories and the hashes of their releases, all pushed to KV.
async fn histories(app: &EdgeApp) -> Vec<(String, Vec<String>)> {
    let owner = app.sign_up("ada").await;
    owner.create_app("app").await;
    let mut deployments = Vec::new();
    let histories = [
        ("Empty", vec![]),
        (
            "Mixed",
            vec![
                json!({ "appVersion": "1.0.0", "isMandatory": true, "description": "first" }),
                json!({ "appVersion": ">=1.0.0 <2.0.0", "description": "ü \"quoted\" </script> \u{2028}" }),
                json!({ "appVersion": "^1.2.0", "isDisabled": true }),
                json!({ "appVersion": "1.2 - 1.4 || 3.x", "isMandatory": true }),
                json!({ "appVersion": "*", "rollout": 40, "description": "" }),
            ],
        ),
        ("Staged", vec![json!({ "appVersion": "1.0", "rollout": 25, "isMandatory": true })]),
        ("Disabled", vec![json!({ "appVersion": "1.0.0", "isDisabled": true })]),
        ("Above", vec![json!({ "appVersion": "1.x" }), json!({ "appVersion": "2.0.0" })]),
    ];
    for (name, releases) in histories {
        let made = owner.post("/v1/apps/app/deployments", json!({ "name": name })).await.assert(201);
        let key = made["deployment"]["key"].as_str().unwrap().to_owned();
        let mut hashes = Vec::new();
        for (number, info) in releases.into_iter().enumerate() {
            let bundle = Bundle::script(&format!("{name} {number}"));
            let package = owner.upload("app", name, &bundle.0, info).await.assert(201)["package"].take();
            hashes.push(package["packageHash"].as_str().unwrap().to_owned());
        }
        tests::wait::eventually("the whole history in KV", async || {
            let text = app.edge.kv_value(&key).await.ok_or("nothing")?.to_string();
            let snapshot = Snapshot::parse(text.as_bytes()).unwrap();
            if snapshot.releases().len() == hashes.len() { Ok(()) } else { Err(text) }
        })
        .await;
        deployments.push((key, hashes));
    }
    deployments.push(("never-made-0123456789".to_owned(), vec![]));
    deployments
}

/// Checks by clients of every kind for one deployment, as query pairs in snake case.
fn questions(key: &str, hashes: &[String]) -> Vec<Vec<(&'static str, String)>> {
    let versions = ["1.0.0", "1", "1.2", "1.2.7", "2.0.0", "0.9.0", "1.0.0-beta", "v1.0.0", "1.0.0+abc", "3.1.4", "9.9.9", "1.2.3.4", ""];
    let clients = ["", "device-1", "device-2", "8a5b3d2e-0f1c-4a7b-9c3d-1e2f3a4b5c6d", "日本-クライアント", "😀client", "a", "e", "f"];
    let mut installed: Vec<(String, String)> =
        vec![(String::new(), String::new()), ("0".repeat(64), String::new()), (String::new(), "v9".to_owned())];
    for (number, hash) in hashes.iter().enumerate() {
        let label = format!("v{}", number + 1);
        installed.extend([(hash.clone(), String::new()), (String::new(), label.clone()), (hash.clone(), label)]);
    }
    let mut all = Vec::new();
    for version in versions {
        for client in clients {
            for (hash, label) in &installed {
                all.push(vec![
                    ("deployment_key", key.to_owned()),
                    ("app_version", version.to_owned()),
                    ("package_hash", hash.clone()),
                    ("label", label.clone()),
                    ("client_unique_id", client.to_owned()),
                    ("is_companion", if all.len() % 11 == 0 { "true" } else { "" }.to_owned()),
                ]);
            }
        }
    }
    all
}

fn camel(name: &str) -> &'static str {
    match name {
        "deployment_key" => "deploymentKey",
        "app_version" => "appVersion",
        "package_hash" => "packageHash",
        "client_unique_id" => "clientUniqueId",
        "is_companion" => "isCompanion",
        _ => "label",
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edge_and_control_plane_answer_checks_identically() {
    // Wait until everything is in KV, so that most checks are answered from cache.
    let app = EdgeApp::spawn().await;
    let deployments = histories(&app).await;
    let paths: Vec<String> = path::all().into_iter().filter(|(_, endpoint)| endpoint.job == Job::Check).map(|(path, _)| path).collect();
    let (mut asked, mut offered, mut refused) = (0, 0, 0);
    for (key, hashes) in &deployments {
        // Every 11th request: this covers every value of every parameter, in varying combinations.
        for (number, question) in questions(key, hashes).into_iter().enumerate().filter(|(number, _)| number % 11 == 5) {
            let in_camel = number % 2 == 0;
            let pairs: Vec<(&str, String)> =
                question.into_iter().map(|(name, value)| (if in_camel { camel(name) } else { name }, value)).collect();
            let method = if number % 7 == 0 { Method::HEAD } else { Method::GET };
            let answer = same(&app, &method, &paths[number % paths.len()], |request| request.query(&pairs)).await;
            asked += 1;
            offered += u32::from(answer.text().contains("/bundles/"));
            refused += u32::from(answer.status != 200);
        }
    }
    assert!(asked > 100 && offered > 30 && refused > 10, "{asked} asked, {offered} offered, {refused} refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn edge_and_control_plane_refuse_reports_and_methods_identically() {
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    for (path, endpoint) in path::all() {
        for method in [Method::OPTIONS, Method::PUT, Method::PATCH, Method::DELETE] {
            same(&app, &method, &path, |request| request).await;
        }
        if endpoint.job == Job::Check {
            same(&app, &Method::POST, &path, |request| request.json(&json!({}))).await;
            same(&app, &Method::GET, &path, |request| request).await;
            continue;
        }
        same(&app, &Method::GET, &path, |request| request).await;
        let sound = json!({ "deploymentKey": key, "appVersion": "1.0.0", "label": "v1", "client_unique_id": "one" });
        let unknown = json!({ "deploymentKey": "never-made-0123456789", "appVersion": "1.0.0", "label": "v1" });
        let failed = json!({ "deploymentKey": key, "appVersion": "1.0.0", "status": "DeploymentFailed" });
        for body in [&sound, &unknown, &failed, &json!({}), &json!([]), &json!({ "label": 7, "status": "?", "client_unique_id": "" })] {
            same(&app, &Method::POST, &path, |request| request.json(body)).await;
        }
        same(&app, &Method::POST, &path, |request| request).await;
        same(&app, &Method::POST, &path, |request| request.header("content-type", "application/json").body("{")).await;
        same(&app, &Method::POST, &path, |request| request.header("content-type", "application/json").body(" ".repeat(10_241))).await;
        for kind in ["text/plain", "application/vnd.api+json", "application/json;charset=utf-8"] {
            same(&app, &Method::POST, &path, |request| request.header("content-type", kind).body(sound.to_string())).await;
        }
        // 413 and 415 at once: the precedence must be the same at both.
        same(&app, &Method::POST, &path, |request| request.header("content-type", "text/plain").body(" ".repeat(10_241))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edge_and_control_plane_serve_and_refuse_bundles_identically() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    let bundle = Bundle::script("a bundle with some content");
    owner.upload("app", "Production", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let offer = app.until_offered(&key, "v1").await.json();
    let url = offer["update_info"]["download_url"].as_str().unwrap();
    let path = url.strip_prefix(&app.edge.base).unwrap().to_owned();

    let whole = same(&app, &Method::GET, &path, |request| request).await;
    assert_bytes(&whole, 200, &bundle.0);
    let tag = whole.header("etag");
    for (method, headers, status) in bundle_requests(&tag, bundle.0.len()) {
        let answer = same(&app, &method, &path, |request| with_headers(request, &headers)).await;
        assert_eq!(answer.status, status, "{method} {headers:?}: {}", answer.text());
    }
    let held = same(&app, &Method::GET, &path, |request| request.header("range", "bytes=0-0").header("if-range", &tag)).await;
    assert_bytes(&held, 206, &bundle.0[..1]);
    let changed = same(&app, &Method::GET, &path, |request| request.header("range", "bytes=0-0").header("if-range", "\"other\"")).await;
    assert_bytes(&changed, 200, &bundle.0);
    for method in [Method::OPTIONS, Method::POST, Method::DELETE] {
        same(&app, &method, &path, |request| request).await;
    }

    let (address, query) = path.split_once('?').unwrap();
    let (folder, blob) = address.rsplit_once('/').unwrap();
    for wrong in [
        address.to_owned(),
        format!("{address}?"),
        format!("{address}?{query}x"),
        format!("{address}?{}", query.replace("expires=", "expires=1")),
        format!("{address}?{}", query.replace("expires=", "expires=-")),
        format!("{folder}/{}?{query}", blob.replacen(&blob[..1], "_", 1)),
        format!("{folder}/e30?{query}"),
        format!("{folder}/{blob}%2e?{query}"),
        format!("{folder}/{blob}%2f?{query}"),
    ] {
        same(&app, &Method::GET, &wrong, |request| request).await.refused(403);
    }
    same(&app, &Method::GET, &format!("{path}&signature=x"), |request| request).await.refused(400);
    let slash = same(&app, &Method::GET, &format!("{address}/?{query}"), |request| request).await;
    assert_bytes(&slash, 200, &bundle.0);

    // No cache keeps it longer than its URL is valid: here between ten and seventy minutes.
    let blob = BlobKey::from_encoded(blob).unwrap();
    let now = || Clock::System.now().as_millis();
    let secrets = Secrets::parse(DOWNLOAD_SECRET).unwrap();
    let day_before = UnixMillis(now() + 10 * 60_000 - 24 * 3_600_000);
    let soon = download_url(&DownloadUrls { base_url: "", secret: secrets.first(), now: day_before }, &blob);
    let expires: i64 = soon.split_once("expires=").unwrap().1.split_once('&').unwrap().0.parse().unwrap();
    for client in both(&app) {
        let most = (expires - now()) / 1_000;
        let answer = client.get(&soon).await;
        assert_bytes(&answer, 200, &bundle.0);
        let least = (expires - now()) / 1_000;
        let kept = answer.header("cache-control");
        let age: i64 = kept.strip_prefix("public, max-age=").unwrap().split_once(',').unwrap().0.parse().unwrap();
        assert!((least..=most).contains(&age) && most < 86_400, "{kept}: {least} to {most}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_from_r2_has_the_same_response_as_from_the_control_plane() {
    let mut app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    owner.create_app("app").await;
    // More than one chunk of a stream, so that a range spans several chunks.
    let noise: Vec<u8> = (0_u32..1 << 16).flat_map(|number| number.wrapping_mul(0x9e37_79b1).rotate_left(13).to_le_bytes()).collect();
    let bundle = Bundle::of(&[("CodePush/main.jsbundle", &noise)]);
    let package = owner.upload("app", "Production", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].take();
    let path = package["blobUrl"].as_str().unwrap().strip_prefix(&app.edge.base).unwrap().to_owned();
    let blob = BlobKey::from_encoded(path.split_once('?').unwrap().0.rsplit_once('/').unwrap().1).unwrap();

    let anonymous = app.anonymous();
    let direct = anonymous.at(&app.control.base);
    let tag = direct.get(&path).await.header("etag");
    let middle = (Method::GET, vec![("range", "bytes=100000-200000".to_owned())], 206);
    let questions: Vec<_> = bundle_requests(&tag, bundle.0.len()).into_iter().chain([middle]).collect();
    let mut expected = Vec::new();
    for (method, headers, _) in &questions {
        expected.push(direct.send(with_headers(direct.request(method.clone(), &path), headers)).await);
    }

    // From here on only R2 has the bytes.
    app.control.stop().await;
    anonymous.get(&path).await.refused(503);
    app.edge.put_bundle(&blob, &bundle.0).await;
    for ((method, headers, status), expected) in questions.iter().zip(&expected) {
        let answer = anonymous.send(with_headers(anonymous.request(method.clone(), &path), headers)).await;
        assert_eq!(answer.status, *status, "{method} {headers:?}: {}", answer.text());
        let (mut ours, mut theirs) = (comparable(&answer), comparable(expected));
        if *status == 304 {
            // The servers' HTTP layers treat the length of an absent body differently.
            ours.1.remove("content-length");
            theirs.1.remove("content-length");
        }
        assert_eq!(ours.1, theirs.1, "{method} {headers:?}");
        // `text` omits the request ID; binary bodies must be compared as bytes.
        assert!(ours.2 == theirs.2 && (*status == 416 || answer.body == expected.body), "{method} {headers:?}: different bytes");
    }
    assert_bytes(&anonymous.get(&path).await, 200, &bundle.0);
    // The signature is checked before R2 is read.
    anonymous.get(&format!("{path}x")).await.refused(403);
    assert!(app.edge.output.events("bundle.bucket_failed").is_empty());
}
