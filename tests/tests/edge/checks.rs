//! Update checks: which are answered without the control plane, and in which format.

use reqwest::Method;
use serde_json::{Value, json};
use shared::wire::path::{self, Case, Job};
use tests::edge::{EdgeApp, EdgeOptions};
use tests::{Answer, Bundle};

fn check(key: &str) -> String {
    format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")
}

fn no_update() -> Value {
    json!({
        "download_url": "", "description": "", "is_available": false, "is_mandatory": false, "app_version": "", "package_hash": "",
        "label": "", "package_size": 0, "update_app_version": false, "should_run_binary_version": true, "target_binary_range": "",
    })
}

/// The CORS headers of a response.
fn assert_cors(answer: &Answer, methods: &str) {
    assert_eq!(answer.header("access-control-allow-origin"), "*", "{}", answer.asked);
    assert_eq!(answer.header("access-control-allow-methods"), methods, "{}", answer.asked);
    assert_eq!(
        answer.header("access-control-allow-headers"),
        "Content-Type, Accept, X-CodePush-Plugin-Name, X-CodePush-Plugin-Version, X-CodePush-SDK-Version",
        "{}",
        answer.asked
    );
    assert_eq!(answer.header("access-control-expose-headers"), "X-Request-Id", "{}", answer.asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_deployment_is_served_without_the_control_plane_and_unknown_keys_are_404() {
    let mut app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let (key, other) = owner.create_app("app").await;
    let own = owner.post("/v1/apps/app/deployments", json!({ "name": "Own", "key": "brought-along_0123456789" })).await.assert(201);
    assert_eq!(own["deployment"]["key"], "brought-along_0123456789");
    for key in [&key, &other, "brought-along_0123456789"] {
        app.until_pushed(key).await;
    }
    let anonymous = app.anonymous();
    anonymous.get(&check("never-made-0123456789")).await.refused(404);
    // Paths are matched verbatim: a trailing slash is accepted, other case is not.
    anonymous.get(&format!("/v1/public/svc/update_check//?deployment_key={key}&app_version=1.0.0")).await.assert(200);
    anonymous.get(&format!("/v1/public/svc/Update_Check?deployment_key={key}&app_version=1.0.0")).await.refused(404);

    app.control.stop().await;
    for key in [&key, &other, "brought-along_0123456789"] {
        assert_eq!(anonymous.get(&check(key)).await.assert(200), json!({ "update_info": no_update() }));
    }
    let remembered = anonymous.get(&check("never-made-0123456789")).await;
    remembered.refused(404);
    let unknown = anonymous.get(&check("never-asked-0123456789")).await;
    unknown.refused(503);
    unknown.header("retry-after").parse::<u32>().unwrap();
    assert_cors(&unknown, "GET, HEAD, OPTIONS");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_checks_are_refused_with_every_error() {
    let app = EdgeApp::spawn().await;
    let (key, _) = app.sign_up("ada").await.create_app("app").await;
    let anonymous = app.anonymous();
    for (query, named) in [
        (String::new(), vec!["deployment_key", "app_version"]),
        ("deployment_key=&app_version=".to_owned(), vec!["deployment_key", "app_version"]),
        (format!("deployment_key={key}"), vec!["app_version"]),
        ("app_version=1.0.0".to_owned(), vec!["deployment_key"]),
        ("deployment_key=short&app_version=1.0.0".to_owned(), vec!["deployment_key"]),
        (format!("deployment_key={}&app_version=1.0.0", "k".repeat(101)), vec!["deployment_key"]),
        ("deployment_key=not%20a%20key!&app_version=1.0.0".to_owned(), vec!["deployment_key"]),
        ("deployment_key=..%2F..%2Finternal&app_version=1.0.0".to_owned(), vec!["deployment_key"]),
        (format!("deployment_key={key}&app_version=1.2.3.4"), vec!["app_version"]),
        (format!("deployment_key={key}&app_version=01.2.3"), vec!["app_version"]),
        (format!("deployment_key={key}&app_version=one"), vec!["app_version"]),
        (format!("deployment_key={key}&app_version=%00"), vec!["app_version"]),
        (format!("deployment_key=short&app_version={}", "9".repeat(400)), vec!["deployment_key", "app_version"]),
    ] {
        for path in ["/v1/public/svc/update_check", "/updateCheck"] {
            let answer = anonymous.get(&format!("{path}?{query}")).await;
            let error = answer.refused(400);
            for name in &named {
                assert!(error.contains(name), "{query}: {error}");
            }
            assert!(!error.contains("&app_version="), "{error}");
            assert_cors(&answer, "GET, HEAD, OPTIONS");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_family_uses_its_own_field_names_and_headers() {
    // Most checks are served from cache, and recent changes are still seen.
    let app = EdgeApp::spawn_with(EdgeOptions::default().with("SNAPSHOT_FRESH_MS", "1000")).await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    let bundle = Bundle::script("first");
    owner.upload("app", "Production", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.until_offered(&key, "v1").await;
    let anonymous = app.anonymous();
    let paths = path::all();
    for path in
        ["/v1/public/svc/update_check", "/updateCheck", "/v0.1/public/codepush/update_check", "/v0.1/legacy/updateCheck", "/v1/updateCheck"]
    {
        assert!(paths.iter().any(|(known, _)| known == path), "{path}");
    }
    for (path, endpoint) in paths {
        let is_legacy = path.contains("/v0.1/public/svc/");
        let methods = if endpoint.job == Job::Check { "GET, HEAD, OPTIONS" } else { "POST, OPTIONS" };

        let preflight = anonymous.send(anonymous.request(Method::OPTIONS, &path).header("origin", "https://elsewhere.example")).await;
        preflight.assert(204);
        assert_cors(&preflight, methods);
        assert_eq!(preflight.header("allow"), methods, "{path}");

        let wrong = anonymous.send(anonymous.request(Method::DELETE, &path)).await;
        wrong.refused(405);
        assert_eq!(wrong.header("allow"), methods, "{path}");
        assert_cors(&wrong, methods);

        let answers = match endpoint.job {
            Job::Check => {
                let mut answers = Vec::new();
                for query in
                    [format!("deployment_key={key}&app_version=1.0.0"), format!("deploymentKey={key}&appVersion=1.0.0&packageHash=&label=")]
                {
                    let answer = anonymous.get(&format!("{path}?{query}")).await;
                    let body = answer.assert(200);
                    let info = match endpoint.case {
                        Case::Snake => &body["update_info"],
                        Case::Camel => &body["updateInfo"],
                    };
                    let (available, hash, url) = match endpoint.case {
                        Case::Snake => ("is_available", "package_hash", "download_url"),
                        Case::Camel => ("isAvailable", "packageHash", "downloadURL"),
                    };
                    assert_eq!(info[available], true, "{path}");
                    assert!(info[hash].is_string() && info[url].is_string(), "{path}: {info}");
                    assert_eq!((&info["label"], &info["target_binary_range"]), (&json!("v1"), &json!("1.0.0")), "{path}");
                    let head = anonymous.send(anonymous.request(Method::HEAD, &format!("{path}?{query}"))).await;
                    assert_eq!((head.status, head.body.len()), (answer.status, 0), "{path}");
                    assert_eq!(head.header("content-type"), answer.header("content-type"), "{path}");
                    answers.extend([answer, head]);
                }
                answers
            }
            Job::DeployReport | Job::DownloadReport => {
                let body = json!({ "deployment_key": key, "app_version": "1.0.0", "label": "v1", "client_unique_id": path });
                let answer = anonymous.post(&path, body).await;
                assert_eq!(answer.assert(200), json!({ "status": "ok" }));
                vec![answer]
            }
        };
        for answer in answers {
            assert_cors(&answer, methods);
            assert_eq!(answer.header("content-type"), "application/json");
            assert_eq!(answer.header("cache-control"), "no-store");
            let successor = is_legacy.then(|| {
                let rest = path.rsplit_once("/svc/").unwrap().1;
                format!("</v1/public/svc/{rest}>; rel=\"successor-version\"")
            });
            assert_eq!(answer.optional_header("link"), successor, "{path}");
            assert_eq!(answer.optional_header("deprecation"), is_legacy.then(|| "true".to_owned()), "{path}");
        }
    }
}
