//! Bundles in a bucket: uploads, downloads, and a bucket that goes away.

use reqwest::Method;
use serde_json::{Value, json};
use tests::wait::until;
use tests::{Bundle, Options, TestApp};

const HOUR: i64 = 3_600_000;

/// A package of several parts that does not compress.
fn large() -> Bundle {
    let mut state = 1_u64;
    let bytes: Vec<u8> = (0..20_000_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        })
        .collect();
    Bundle::of(&[("CodePush/main.jsbundle", b"console.log(1);"), ("CodePush/assets/noise.bin", &bytes)])
}

/// The sweep runs when the server starts.
async fn restart(app: &mut TestApp) {
    app.stop().await;
    app.start().await;
}

fn path(app: &TestApp, released: &Value) -> String {
    released["package"]["blobUrl"].as_str().unwrap().strip_prefix(app.base.as_str()).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn small_and_large_packages_go_through_a_bucket() {
    let mut app = TestApp::spawn_with(Options { has_bucket: true, ..Options::default() }).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for (version, package) in [("1.0.0", Bundle::script("console.log(1);")), ("2.0.0", large())] {
        let released = ada.upload("demo", "Staging", &package.0, json!({ "appVersion": version })).await.assert(201);
        let url = path(&app, &released);
        let device = app.anonymous();
        let whole = device.get(&url).await;
        whole.assert_status(200);
        assert!(whole.body == package.0, "the package as it was uploaded");
        assert_eq!(whole.headers["content-length"], package.0.len().to_string());
        let part = device.send(device.request(Method::GET, &url).header("range", "bytes=5-9")).await;
        assert_eq!((part.status.as_u16(), &part.body[..]), (206, &package.0[5..10]));
    }
    // Two packages with their lists of files, and what the check of the start wrote. Nothing is left of the upload in parts.
    assert_eq!(app.bucket().objects().len(), 5, "{:?}", app.bucket().objects());
    assert_eq!((app.bucket().open_uploads(), app.bucket().parts()), (0, 0));
    assert_eq!(app.anonymous().get("/v1/health").await.assert(200)["checks"]["storage"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_dies_in_the_middle_of_an_upload_leaves_nothing() {
    let mut app = TestApp::spawn_with(Options { has_bucket: true, ..Options::default() }).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let package = large();
    app.bucket().fail_after_parts(1);
    let refused = ada.upload("demo", "Staging", &package.0, json!({ "appVersion": "1.0.0" })).await;
    refused.assert_status(503);
    assert!(refused.headers.contains_key("retry-after"), "{refused:?}");
    assert_eq!((app.bucket().open_uploads(), app.bucket().parts()), (1, 1), "nobody can delete them now");
    app.bucket().stop();
    ada.upload("demo", "Staging", &package.0, json!({ "appVersion": "1.0.0" })).await.assert_status(503);
    assert_eq!(app.anonymous().get("/v1/health").await.assert(503)["checks"]["storage"], "failed");
    assert_eq!(ada.get("/v1/apps/demo/deployments/Staging/releases").await.assert(200)["releases"], json!([]));

    app.bucket().start_again();
    // Not while an upload could still go on.
    app.clock.advance(23 * HOUR);
    ada.upload("demo", "Staging", &package.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    restart(&mut app).await;
    assert_eq!((app.bucket().open_uploads(), app.bucket().parts()), (1, 1));
    app.clock.advance(2 * HOUR);
    restart(&mut app).await;
    until("the sweep deletes the parts", async || (app.bucket().open_uploads() == 0).then_some(())).await;
    assert_eq!(app.bucket().parts(), 0);
}
