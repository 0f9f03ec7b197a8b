//! The client address signed by the edge. Its interpretation is tested in the control plane's own crate, since no operation shows it yet.

use reqwest::Method;
use serde_json::json;
use shared::signature::{Secrets, sign_address};
use tests::TestApp;
use tests::app::EDGE_SECRET;

const ADDRESS: &str = "198.51.100.9";

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_served_only_with_the_edges_signature() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let sign = |secret: &str, method: &str, path: &str, later: i64| {
        sign_address(&Secrets::parse(secret).unwrap(), method, path, app.clock.now().plus_millis(later), ADDRESS)
    };
    let another = "another-edge-secret-of-32-characters-or-more";
    for path in ["/v1/apps", "/v1/apps/?x=1", "/v1/health?live", "/", "/nowhere"] {
        let ask = async |method: Method, address: Option<&str>, signature: Option<&str>| {
            let mut request = ada.request(method, path);
            for (name, value) in [("x-updraft-client-address", address), ("x-updraft-address-signature", signature)] {
                request = value.into_iter().fold(request, |request, value| request.header(name, value));
            }
            ada.send(request).await
        };
        let unsigned = ask(Method::GET, None, None).await.status;
        let good = sign(EDGE_SECRET, "GET", path, 0);
        assert_eq!(ask(Method::GET, Some(ADDRESS), Some(&good)).await.status, unsigned, "{path}");
        for (address, signature) in [
            (Some(ADDRESS), None),
            (None, Some(good.clone())),
            (Some("198.51.100.10"), Some(good.clone())),
            (Some(ADDRESS), Some(sign(another, "GET", path, 0))),
            (Some(ADDRESS), Some(sign(EDGE_SECRET, "HEAD", path, 0))),
            (Some(ADDRESS), Some(sign(EDGE_SECRET, "GET", "/v1/app", 0))),
            (Some(ADDRESS), Some(sign(EDGE_SECRET, "GET", path, 5 * 60_000 + 1))),
            (Some(ADDRESS), Some(sign(EDGE_SECRET, "GET", path, -5 * 60_000 - 1))),
        ] {
            let refusal = ask(Method::GET, address, signature.as_deref()).await.refused(400);
            assert!(refusal.contains("edge secret or clock"), "{path}: {refusal}");
        }
    }
    // An upload through the edge is refused before its body is read, and served if the signature is valid.
    let releases = "/v1/apps/demo/deployments/Staging/releases";
    for (secret, status) in [(another, 400), (EDGE_SECRET, 201)] {
        let body = tests::multipart::Multipart::default()
            .text("packageInfo", json!({ "appVersion": "1.0.0" }).to_string())
            .file("package", b"script");
        let request = ada.request(Method::POST, releases).header("content-type", tests::multipart::Multipart::content_type());
        let request =
            request.header("x-updraft-client-address", ADDRESS).header("x-updraft-address-signature", sign(secret, "POST", releases, 0));
        ada.send(request.body(body.end())).await.assert_status(status);
    }
}
