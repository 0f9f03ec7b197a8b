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
async fn without_verification_downloads_are_sent_to_the_bucket() {
    let options = Options { has_bucket: true, ..Options::default() }.with("VERIFY_BUNDLES", "off");
    let mut app = TestApp::spawn_with(options).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let package = Bundle::script("console.log(1);");
    let released = ada.upload("demo", "Staging", &package.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let (url, device) = (path(&app, &released), app.anonymous());
    let answer = device.get(&url).await;
    answer.assert_status(302);
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(answer.body.is_empty());
    let signed = answer.header("location");
    // Whatever the bucket was told of the object: nobody's browser renders it.
    let followed = reqwest::get(&signed).await.unwrap();
    assert_eq!(followed.status(), 200);
    assert_eq!(followed.headers()["content-type"], "application/octet-stream");
    assert_eq!(followed.headers()["content-disposition"], "attachment");
    assert_eq!(followed.bytes().await.unwrap(), package.0);
    // Without the signature, for another object, or changed.
    let other = app.bucket().objects().into_iter().find(|name| !signed.contains(name) && !name.starts_with('.')).unwrap();
    let own = app.bucket().objects().into_iter().find(|name| signed.contains(name.as_str())).unwrap();
    let bare = signed.split_once('?').unwrap().0.to_owned();
    for forged in [
        bare,
        signed.replace(&own, &other),
        signed.replace("response-content-type=application%2Foctet-stream", "response-content-type=text%2Fhtml"),
    ] {
        assert_ne!(forged, signed);
        assert_eq!(reqwest::get(&forged).await.unwrap().status(), 403, "{forged}");
    }
    // The rest is answered here.
    let head = device.send(device.request(Method::HEAD, &url)).await;
    head.assert_status(200);
    assert_eq!(head.header("content-length"), package.0.len().to_string());
    let tag = head.header("etag");
    device.send(device.request(Method::GET, &url).header("if-none-match", tag)).await.assert_status(304);
    device.send(device.request(Method::GET, &url).header("range", "bytes=999999-")).await.assert_status(416);
    device.get(&url.replace("signature=", "signature=A")).await.assert_status(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_redirected_from_https_to_http() {
    let options =
        Options { has_bucket: true, ..Options::default() }.with("VERIFY_BUNDLES", "off").with("BASE_URL", "https://updates.example");
    let app = TestApp::spawn_with(options).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let package = Bundle::script("console.log(1);");
    let released = ada.upload("demo", "Staging", &package.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let url = released["package"]["blobUrl"].as_str().unwrap().strip_prefix("https://updates.example").unwrap().to_owned();
    let answer = app.anonymous().get(&url).await;
    answer.assert_status(200);
    assert_eq!(answer.body, package.0);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_gives_no_answer_ends_an_upload_and_stops_nothing_else() {
    let mut app = TestApp::spawn_with(Options { has_bucket: true, ..Options::default() }).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let key = ada.deployment_key("demo", "Staging").await;
    ada.upload("demo", "Staging", b"small", json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.bucket().stall_after_parts(1);
    let package = large();
    let upload = async { ada.upload("demo", "Staging", &package.0, json!({ "appVersion": "1.0.0" })).await };
    let check = format!("/v0.1/public/codepush/update_check?deployment_key={key}&app_version=1.0.0");
    let device = app.anonymous();
    let others = async {
        until("the bucket gives no answer", async || app.bucket().is_stalled().then_some(())).await;
        assert_eq!(device.get(&check).await.assert(200)["update_info"]["is_available"], true);
    };
    // The service's own time limit ends the upload.
    let (refused, ()) = tokio::join!(upload, others);
    refused.refused(503);
    assert!(!refused.header("retry-after").is_empty());
    assert_eq!(ada.get("/v1/apps/demo/deployments/Staging/releases").await.assert(200)["releases"].as_array().map(Vec::len), Some(1));
}
