//! Update checks served natively, on every path and in both dialects.

use reqwest::Method;
use serde_json::{Value, json};
use shared::keys::Label;
use shared::rollout::is_selected;
use shared::wire::path::{self, Case, Endpoint, Job};
use tests::{Answer, Bundle, Client, TestApp};

use crate::v1::{members, segment};

/// Every path of a kind.
fn paths(wanted: impl Fn(Job) -> bool) -> Vec<(String, Endpoint)> {
    let paths: Vec<_> = path::all().into_iter().filter(|(_, endpoint)| wanted(endpoint.job)).collect();
    assert!(paths.len() >= 12, "{paths:?}");
    paths
}

fn checks() -> Vec<(String, Endpoint)> {
    paths(|job| job == Job::Check)
}

/// The members of a response in snake case. Camel case names are translated by hand, so that a wrong one is detected.
#[track_caller]
fn info(endpoint: &Endpoint, answer: &Answer) -> Value {
    let body = answer.assert(200);
    let (outer, names) = match endpoint.case {
        Case::Snake => (
            "update_info",
            [
                "app_version",
                "description",
                "download_url",
                "is_available",
                "is_mandatory",
                "label",
                "package_hash",
                "package_size",
                "should_run_binary_version",
                "target_binary_range",
                "update_app_version",
            ],
        ),
        Case::Camel => (
            "updateInfo",
            [
                "appVersion",
                "description",
                "downloadURL",
                "isAvailable",
                "isMandatory",
                "label",
                "packageHash",
                "packageSize",
                "shouldRunBinaryVersion",
                "target_binary_range",
                "updateAppVersion",
            ],
        ),
    };
    assert_eq!(members(&body), [outer], "{}", answer.asked);
    let mut sorted = names;
    sorted.sort_unstable();
    let mut sent = members(&body[outer]);
    if !sent.contains(&"description") {
        sent.push("description");
        sent.sort_unstable();
    }
    assert_eq!(sent, sorted, "{}", answer.asked);
    let snake = [
        "app_version",
        "description",
        "download_url",
        "is_available",
        "is_mandatory",
        "label",
        "package_hash",
        "package_size",
        "should_run_binary_version",
        "target_binary_range",
        "update_app_version",
    ];
    names.iter().zip(snake).map(|(name, snake)| (snake.to_owned(), body[outer][name].clone())).collect::<serde_json::Map<_, _>>().into()
}

/// Sends a check to the canonical path.
async fn check(client: &Client, query: &str) -> Value {
    client.get(&format!("/v1/public/svc/update_check?{query}")).await.assert(200)["update_info"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_accepts_both_naming_styles_and_answers_in_its_own() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    let bundle = Bundle::script("A\n");
    let info_sent = json!({ "appVersion": "^1.0.0", "description": "notes", "isMandatory": true });
    let package = ada.upload("demo", "Staging", &bundle.0, info_sent).await.assert(201)["package"].clone();
    let hash = package["packageHash"].as_str().unwrap();
    let client = app.anonymous();
    let expected = json!({
        "download_url": package["blobUrl"], "description": "notes", "is_available": true, "is_mandatory": true, "app_version": "1.0",
        "package_hash": hash, "label": "v1", "package_size": bundle.0.len(), "update_app_version": false, "should_run_binary_version": false,
        "target_binary_range": "1.0",
    });
    let up_to_date = json!({
        "download_url": "", "description": "", "is_available": false, "is_mandatory": false, "app_version": "", "package_hash": "", "label": "",
        "package_size": 0, "update_app_version": false, "should_run_binary_version": false, "target_binary_range": "",
    });
    for (path, endpoint) in checks() {
        for query in [
            format!("deployment_key={key}&app_version=1.0"),
            format!("deploymentKey={key}&appVersion=1.0"),
            format!("deployment_key={key}&appVersion=1.0&clientUniqueId=x&client_unique_id=x"),
            // Empty is absent: old SDKs send this.
            format!("deploymentKey={key}&appVersion=1.0&packageHash=&isCompanion=&label=&clientUniqueId="),
            format!("deployment_key={key}&deploymentKey=&app_version=1.0&appVersion="),
            format!("deployment_key=&deploymentKey={key}&app_version=&appVersion=1.0"),
            // Whitespace around the key, and unknown parameters.
            format!("deployment_key=%20{key}%09&app_version=1.0&is_companion=false&more=1&more=2"),
        ] {
            for slash in ["", "/"] {
                let answer = client.get(&format!("{path}{slash}?{query}")).await;
                let mut found = info(&endpoint, &answer);
                // At the start of an hour the URL is signed again.
                let url = |value: &Value| value["download_url"].as_str().unwrap().split_once('?').unwrap().0.to_owned();
                assert_eq!(url(&found), url(&expected));
                found["download_url"] = expected["download_url"].clone();
                assert_eq!(found, expected, "{path}?{query}");
            }
        }
        for query in [
            format!("deployment_key={key}&app_version=1.0&package_hash={hash}"),
            format!("deploymentKey={key}&appVersion=1.0&packageHash={hash}&label=v1&clientUniqueId=x&isCompanion=true"),
        ] {
            let answer = client.get(&format!("{path}?{query}")).await;
            let mut found = info(&endpoint, &answer);
            assert_eq!(found["target_binary_range"], found["app_version"]);
            for name in ["app_version", "target_binary_range"] {
                // A device that has the newest release of the range gets nothing new here; the reference returns "".
                found[name] = json!("");
            }
            assert_eq!(found, up_to_date, "{path}?{query}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_is_echoed_as_sent() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"script", json!({ "appVersion": "*" })).await.assert(201);
    for version in ["1", "1.0", "1.0.0", "v1.0.0", "1.0+build.7", "1.0.0+abc", "0", "999999.0.0", " 1.2.3 "] {
        let info = check(&app.anonymous(), &format!("deployment_key={key}&app_version={}", segment(version))).await;
        assert_eq!(info["is_available"], true, "{version}");
        assert_eq!((&info["app_version"], &info["target_binary_range"]), (&json!(version), &json!(version)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_release_echoes_the_version_as_sent_too() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    let first = ada.upload("demo", "Staging", b"one", json!({ "appVersion": "^1" })).await.assert(201)["package"].clone();
    ada.upload("demo", "Staging", b"two", json!({ "appVersion": "^1", "rollout": 25 })).await.assert(201);
    let label = Label::new(2).unwrap();
    let devices: Vec<String> = (0..40).map(|index| format!("device-{index}")).collect();
    let selected = devices.iter().filter(|device| is_selected(device, &label, 25)).count();
    assert!((1..40).contains(&selected), "the devices include both kinds");
    for device in &devices {
        let expected = if is_selected(device, &label, 25) { "v2" } else { "v1" };
        let info = check(&app.anonymous(), &format!("deployment_key={key}&app_version=1.0&client_unique_id={device}")).await;
        assert_eq!((&info["label"], &info["app_version"]), (&json!(expected), &json!("1.0")), "{device}");
        // A device on v1 stays there unless it is selected.
        let hash = first["packageHash"].as_str().unwrap();
        let info = check(
            &app.anonymous(),
            &format!("deployment_key={key}&app_version=1.0&client_unique_id={device}&label=v1&package_hash={hash}"),
        )
        .await;
        assert_eq!(info["is_available"], expected == "v2", "{device}");
    }
    // Without a client ID, a device is not part of an unfinished rollout.
    for query in ["", "&client_unique_id="] {
        assert_eq!(check(&app.anonymous(), &format!("deployment_key={key}&app_version=1.0{query}")).await["label"], "v1");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_follow_the_history_immediately() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    let client = app.anonymous();
    let empty = check(&client, &format!("deployment_key={staging}&app_version=1.0.0")).await;
    assert_eq!((&empty["is_available"], &empty["should_run_binary_version"]), (&json!(false), &json!(true)));
    for (index, content) in ["one", "two", "three"].into_iter().enumerate() {
        let package =
            ada.upload("demo", "Staging", content.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
        let info = check(&client, &format!("deployment_key={staging}&app_version=1.0.0")).await;
        assert_eq!((&info["label"], &info["package_hash"]), (&json!(format!("v{}", index + 1)), &package["packageHash"]));
        let url = info["download_url"].as_str().unwrap().strip_prefix(&app.base).unwrap();
        assert_eq!(client.get(url).await.body, content.as_bytes());
    }
    let other = check(&client, &format!("deployment_key={production}&app_version=1.0.0")).await;
    assert_eq!(other["is_available"], false, "the other deployment has its own history");
    let newer = check(&client, &format!("deployment_key={staging}&app_version=2.0.0")).await;
    assert_eq!((&newer["is_available"], &newer["app_version"]), (&json!(false), &json!("1.0.0")));
    let older = check(&client, &format!("deployment_key={staging}&app_version=0.9.0")).await;
    assert_eq!((&older["update_app_version"], &older["app_version"]), (&json!(true), &json!("1.0.0")));
    let companion = check(&client, &format!("deployment_key={staging}&app_version=2.0.0&is_companion=true")).await;
    assert_eq!((&companion["label"], &companion["app_version"]), (&json!("v3"), &json!("2.0.0")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_release_is_not_offered_and_a_mandatory_one_is_remembered() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    let mut hashes = Vec::new();
    for (content, info) in [
        ("one", json!({ "appVersion": "1.0.0" })),
        ("two", json!({ "appVersion": "1.0.0", "isMandatory": true })),
        ("three", json!({ "appVersion": "1.0.0" })),
        ("four", json!({ "appVersion": "1.0.0", "isDisabled": true, "isMandatory": true })),
    ] {
        let package = ada.upload("demo", "Staging", content.as_bytes(), info).await.assert(201)["package"].clone();
        hashes.push(package["packageHash"].as_str().unwrap().to_owned());
    }
    let client = app.anonymous();
    for (having, mandatory) in [(None, true), (Some(0), true), (Some(1), false)] {
        let have = having.map_or_else(String::new, |index: usize| format!("&package_hash={}", hashes[index]));
        let info = check(&client, &format!("deployment_key={key}&app_version=1.0.0{have}")).await;
        assert_eq!((&info["label"], &info["is_mandatory"]), (&json!("v3"), &json!(mandatory)), "{having:?}");
    }
    // A device on the disabled release goes back.
    assert_eq!(check(&client, &format!("deployment_key={key}&app_version=1.0.0&label=v4&package_hash={}", hashes[3])).await["label"], "v3");
    assert_eq!(check(&client, &format!("deployment_key={key}&app_version=1.0.0&package_hash={}", hashes[2])).await["is_available"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_checks_are_400_naming_each_member_and_unknown_keys_404() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    let client = app.anonymous();
    let long = "k".repeat(101);
    for (path, endpoint) in checks() {
        for (query, named) in [
            (String::new(), &["deployment_key", "app_version"][..]),
            ("deployment_key=&app_version=".to_owned(), &["deployment_key", "app_version"]),
            (format!("deployment_key={key}"), &["app_version"]),
            ("app_version=1.0.0".to_owned(), &["deployment_key"]),
            ("deploymentKey=short&appVersion=1.2.3.4".to_owned(), &["deployment_key", "app_version"]),
            (format!("deployment_key={long}&app_version=1.0.0"), &["deployment_key"]),
            ("deployment_key=has%20space%20within&app_version=1.0.0".to_owned(), &["deployment_key"]),
            ("deployment_key=%00%00%00%00%00%00%00%00%00%00&app_version=1.0.0".to_owned(), &["deployment_key"]),
            (format!("deployment_key={key}&app_version=01.2.3"), &["app_version"]),
            (format!("deployment_key={key}&app_version=^1.0.0"), &["app_version"]),
            (format!("deployment_key={key}&app_version=latest"), &["app_version"]),
            (format!("deployment_key={key}&app_version=1.0.0-"), &["app_version"]),
            (format!("deployment_key={key}&app_version=%FF"), &["app_version"]),
            (format!("deployment_key={key}&app_version={}", "9".repeat(400)), &["app_version"]),
        ] {
            let answer = client.get(&format!("{path}?{query}")).await;
            let refusal = answer.refused(400);
            for name in named {
                assert!(refusal.contains(&format!("{name}: ")), "{query}: {refusal}");
            }
            dressed(&endpoint, &answer, "GET, HEAD, OPTIONS");
        }
        for unknown in ["0123456789", key.to_uppercase().as_str(), &format!("{key}x")] {
            let answer = client.get(&format!("{path}?deployment_key={unknown}&app_version=1.0.0")).await;
            answer.refused(404);
            dressed(&endpoint, &answer, "GET, HEAD, OPTIONS");
        }
    }
    // Invalid optional values are not refused: old clients send anything.
    for odd in ["label=latest", "label=v0", "package_hash=xyz", "is_companion=maybe"] {
        check(&client, &format!("deployment_key={key}&app_version=1.0.0&{odd}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_a_deleted_deployment_is_404() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    let query = format!("/updateCheck?deploymentKey={key}&appVersion=1.0.0");
    app.anonymous().get(&query).await.assert(200);
    app.change(
        "UPDATE deployment_keys SET deployment_id = NULL, snapshot_version = snapshot_version + 1 WHERE deployment_key = $1",
        &[&key],
    )
    .await;
    app.anonymous().get(&query).await.refused(404);
}

/// The headers of every response on an acquisition path, including errors.
#[track_caller]
fn dressed(endpoint: &Endpoint, answer: &Answer, methods: &str) {
    for (name, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", methods),
        ("access-control-allow-headers", "Content-Type, Accept, X-CodePush-Plugin-Name, X-CodePush-Plugin-Version, X-CodePush-SDK-Version"),
        ("access-control-expose-headers", "X-Request-Id"),
        ("access-control-max-age", "86400"),
    ] {
        assert_eq!(answer.header(name), value, "{name} of {}", answer.asked);
    }
    assert!(!answer.header("x-request-id").is_empty());
    if answer.status.as_u16() == 204 {
        return;
    }
    let (deprecation, link) = match endpoint.job {
        _ if !answer.asked.contains("/v0.1/public/svc/") => (None, None),
        Job::Check => (Some("true"), Some("</v1/public/svc/update_check>; rel=\"successor-version\"")),
        Job::DeployReport => (Some("true"), Some("</v1/public/svc/report_status/deploy>; rel=\"successor-version\"")),
        Job::DownloadReport => (Some("true"), Some("</v1/public/svc/report_status/download>; rel=\"successor-version\"")),
    };
    assert_eq!(answer.optional_header("deprecation").as_deref(), deprecation, "{}", answer.asked);
    assert_eq!(answer.optional_header("link").as_deref(), link, "{}", answer.asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_allows_other_origins_and_only_the_legacy_family_is_deprecated() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    let client = app.anonymous();
    let all = path::all();
    assert_eq!(all.len(), 36, "six families, three paths each, with and without a /v1 prefix");
    for (path, endpoint) in all {
        let (methods, wrong) =
            if endpoint.job == Job::Check { ("GET, HEAD, OPTIONS", Method::POST) } else { ("POST, OPTIONS", Method::GET) };
        let request = client.request(Method::OPTIONS, &path).header("origin", "https://example.com");
        let preflight = client.send(request.header("access-control-request-method", "POST")).await;
        preflight.assert_status(204);
        assert!(preflight.body.is_empty());
        dressed(&endpoint, &preflight, methods);

        for wrong in [wrong, Method::PUT, Method::DELETE, Method::PATCH] {
            let refused = client.send(client.request(wrong, &path)).await;
            refused.refused(405);
            assert_eq!(refused.header("allow"), methods, "{path}");
            dressed(&endpoint, &refused, methods);
        }

        let good = if endpoint.job == Job::Check {
            client.get(&format!("{path}?deployment_key={key}&app_version=1.0.0")).await
        } else {
            client.post(&path, json!({ "deployment_key": key, "app_version": "1.0.0", "label": "v1" })).await
        };
        good.assert(200);
        assert_eq!(good.header("content-type"), "application/json");
        dressed(&endpoint, &good, methods);
        if endpoint.job == Job::Check {
            let head = client.send(client.request(Method::HEAD, &format!("{path}?deployment_key={key}&app_version=1.0.0"))).await;
            head.assert_status(200);
            assert!(head.body.is_empty());
            dressed(&endpoint, &head, methods);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hsts_is_sent_when_the_base_url_is_https() {
    let app = TestApp::spawn_with(tests::Options::default().with("BASE_URL", "https://updates.example.com/")).await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    for path in [format!("/updateCheck?deploymentKey={key}&appVersion=1.0.0"), "/v1/apps".to_owned(), "/nowhere".to_owned()] {
        assert_eq!(ada.get(&path).await.header("strict-transport-security"), "max-age=31536000; includeSubDomains");
    }
    let info = check(&ada, &format!("deployment_key={key}&app_version=1.0.0")).await;
    let url = info["download_url"].as_str().unwrap();
    assert!(url.starts_with("https://updates.example.com/v1/public/svc/bundles/"), "never from the Host header: {url}");
    let plain = TestApp::spawn().await;
    assert_eq!(plain.anonymous().get("/health").await.optional_header("strict-transport-security"), None);
}
