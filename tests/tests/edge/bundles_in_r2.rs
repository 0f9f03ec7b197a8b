//! Bundles in a bucket of R2 that control writes by its S3 API and the Worker reads by its binding.

use reqwest::Method;
use serde_json::json;
use tests::Bundle;
use tests::edge::{BUCKET_KEY, EdgeApp};

/// A package of several parts that does not compress.
fn large() -> Bundle {
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    });
    let noise: Vec<u8> = noise.take(20_000_000).collect();
    Bundle::of(&[("CodePush/main.jsbundle", b"console.log(2);"), ("CodePush/assets/noise.bin", &noise)])
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_download_while_control_is_down() {
    let mut app = EdgeApp::spawn().await;
    app.control.stop().await;
    let bundles = app.edge.bundles();
    app.control.configure_bucket(&bundles, BUCKET_KEY);
    app.control.start().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("app").await;
    let key = ada.deployment_key("app", "Production").await;
    let mut urls = Vec::new();
    for (label, package) in [("v1", Bundle::script("console.log(1);")), ("v2", large())] {
        ada.upload("app", "Production", &package.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
        let offered = app.until_offered(&key, label).await.json();
        let url = offered["update_info"]["download_url"].as_str().unwrap().strip_prefix(&app.edge.base).unwrap().to_owned();
        urls.push((url, package));
    }
    app.control.stop().await;
    let device = app.anonymous();
    for (url, package) in &urls {
        let whole = device.get(url).await;
        whole.assert_status(200);
        assert!(whole.body == package.0, "the package as it was uploaded");
        assert_eq!(whole.headers["content-length"], package.0.len().to_string());
        let part = device.send(device.request(Method::GET, url).header("range", "bytes=7-90")).await;
        assert_eq!((part.status.as_u16(), &part.body[..]), (206, &package.0[7..91]));
    }
}
