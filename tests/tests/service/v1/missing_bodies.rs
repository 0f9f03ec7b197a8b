//! A missing body is an empty object, for every operation that takes JSON: what is optional may be left out, and what is required is named.

use control::testing::server;
use reqwest::Method;
use serde_json::{Value, json};
use tests::{SessionOrigin, TestApp};

/// The values of the parameters in paths.
const VALUES: &[(&str, &str)] = &[("{app}", "demo"), ("{deployment}", "Staging"), ("{label}", "v1"), ("{email}", "bob@example.com")];

/// Devices send reports with a body, and none of its members can be left out.
fn is_of_devices(path: &str) -> bool {
    path.to_lowercase().replace('_', "").contains("/reportstatus/")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_body_is_an_empty_object() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    app.sign_up("bob").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let session = app.open_session("ada", SessionOrigin::Dashboard).await;

    let document = server::document(&app.base);
    // The deletion of the app takes what the others act on.
    let (mut refused, mut accepted) = (Vec::new(), Vec::new());
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if operation["requestBody"]["content"]["application/json"].is_null()
                || is_of_devices(path)
                || (path == "/v1/apps/{app}" && method == "delete")
            {
                continue;
            }
            let filled = VALUES.iter().fold(path.clone(), |path, (name, value)| path.replace(name, value));
            let method: Method = method.to_uppercase().parse().unwrap();
            let name = format!("{method} {path}");
            let send = async |body: Option<&'static str>| {
                let request = session.request(method.clone(), &filled);
                let answer = session
                    .send(match body {
                        Some(body) => request.header("content-type", "application/json").body(body),
                        None => request,
                    })
                    .await;
                let mut body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                // Differs for each request.
                body.as_object_mut().map(|body| body.remove("requestId"));
                (answer.status.as_u16(), body)
            };
            let (without, with) = (send(None).await, send(Some("{}")).await);
            // 501: this server has no passkeys.
            assert!((without.0 < 500 && without.0 != 415) || without.0 == 501, "{name}: {without:?}");
            if without.0 < 300 {
                accepted.push(name);
            } else {
                assert_eq!(without, with, "{name}");
                refused.push((name, without.0));
            }
        }
    }
    let named = refused.iter().filter(|(_, status)| *status == 400).count();
    assert!(named >= 20, "{refused:?}");
    assert!(accepted.iter().any(|name| name.starts_with("POST /v1/apps/{app}/collaborators/{email}")), "{accepted:?}");
}
