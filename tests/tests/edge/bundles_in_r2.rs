//! Bundles in a bucket of R2 that control writes by its S3 API and the Worker reads by its binding.

use reqwest::Method;
use serde_json::json;
use shared::hash::BlobKey;
use tests::Bundle;
use tests::edge::{BUCKET_KEY, EdgeApp, EdgeOptions};
use tests::wait::{eventually, until};

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

/// A service whose control plane writes to the Worker's bucket.
async fn with_r2() -> EdgeApp {
    let mut app = EdgeApp::spawn().await;
    app.control.stop().await;
    let bundles = app.edge.bundles();
    app.control.configure_bucket(&bundles, BUCKET_KEY);
    app.control.start().await;
    app
}

/// The path that a device downloads the release from, as a check at the edge offers it.
async fn until_offered(app: &EdgeApp, key: &str, label: &str) -> String {
    let offered = app.until_offered(key, label).await.json();
    offered["update_info"]["download_url"].as_str().unwrap().strip_prefix(&app.edge.base).unwrap().to_owned()
}

/// A blob that has been due for deletion for years: when it is gone, the job has looked at all that come before it.
const CANARY: &str = "INSERT INTO blobs (app_id, sha256, size, last_used_time, deleting, account_id) VALUES ('zz', $1, 1, 1, FALSE, '')";

/// Has all bundles last used two days earlier, and waits until the deletion job of the next start has looked at them. (The clock is the machine's, as the
/// Worker's is.)
async fn two_days_pass(app: &mut EdgeApp) {
    app.control.change("UPDATE blobs SET last_used_time = last_used_time - 49 * 60 * 60 * 1000", &[]).await;
    app.control.change(CANARY, &[&"f".repeat(64)]).await;
    app.control.stop().await;
    app.control.start().await;
    let canaries = async || app.control.number("SELECT COUNT(*) FROM blobs WHERE app_id = 'zz'").await;
    until("the job has been at work", async || (canaries().await == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_are_promoted_and_rolled_back_and_their_bundles_go_when_nothing_has_them() {
    let mut app = with_r2().await;
    let ada = app.sign_up("ada").await;
    let (key, _) = ada.create_app("app").await;
    let staging = ada.deployment_key("app", "Staging").await;
    let packages = [Bundle::script("console.log(1);"), Bundle::script("console.log(2);")];
    let promote = json!({ "destination": "Production", "packageInfo": {} });
    for (label, package) in ["v1", "v2"].into_iter().zip(&packages) {
        ada.upload("app", "Staging", &package.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
        until_offered(&app, &staging, label).await;
        ada.post("/v1/apps/app/deployments/Staging/promotions", promote.clone()).await.assert(201);
    }
    let device = app.anonymous();
    let second = until_offered(&app, &key, "v2").await;
    assert!(device.get(&second).await.body == packages[1].0, "v2");
    ada.post("/v1/apps/app/deployments/Production/rollbacks", json!({})).await.assert(201);
    let first = until_offered(&app, &key, "v3").await;
    let whole = device.get(&first).await;
    whole.assert_status(200);
    assert!(whole.body == packages[0].0, "v3 has what v1 had");
    let tag = whole.header("etag").clone();
    let part = device.send(device.request(Method::GET, &first).header("range", "bytes=5-").header("if-range", tag)).await;
    assert_eq!((part.status.as_u16(), &part.body[..]), (206, &packages[0].0[5..]));

    // What another deployment still has stays.
    ada.delete("/v1/apps/app/deployments/Production/history").await.assert(204);
    two_days_pass(&mut app).await;
    for (path, package) in [&first, &second].into_iter().zip(&packages) {
        assert!(device.get(path).await.body == package.0, "{path}");
    }
    ada.delete("/v1/apps/app/deployments/Staging/history").await.assert(204);
    two_days_pass(&mut app).await;
    for path in [&first, &second] {
        device.get(path).await.refused(404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_download_while_control_is_down() {
    let mut app = with_r2().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("app").await;
    let key = ada.deployment_key("app", "Production").await;
    let mut urls = Vec::new();
    for (label, package) in [("v1", Bundle::script("console.log(1);")), ("v2", large())] {
        ada.upload("app", "Production", &package.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
        urls.push((until_offered(&app, &key, label).await, package));
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
    // Two days after their last use, they are deleted there.
    app.control.start().await;
    ada.delete("/v1/apps/app/deployments/Production/history").await.assert(204);
    for (url, _) in &urls {
        device.get(url).await.assert_status(200);
    }
    two_days_pass(&mut app).await;
    for (url, _) in &urls {
        device.get(url).await.refused(404);
    }
    // The same bytes are stored again, and refused for the release that has them already.
    let package = &urls[1].1;
    let again = ada.upload("app", "Production", &package.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    ada.upload("app", "Production", &package.0, json!({ "appVersion": "1.0.0" })).await.refused(409);
    let url = until_offered(&app, &key, again["package"]["label"].as_str().unwrap()).await;
    let whole = device.get(&url).await;
    assert!(whole.body == package.0, "the package as it was uploaded");
    let known = device.send(device.request(Method::GET, &url).header("if-none-match", whole.header("etag"))).await;
    assert_eq!((known.status.as_u16(), known.body.len()), (304, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_client_gets_the_whole_of_an_altered_bundle() {
    let app = EdgeApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (key, _) = ada.create_app("app").await;
    let package = large();
    ada.upload("app", "Production", &package.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let offered = app.until_offered(&key, "v1").await.json();
    let url = offered["update_info"]["download_url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&app.edge.base).unwrap();
    let encoded = path.split(['/', '?']).find(|part| part.len() > 100).unwrap();
    let blob = BlobKey::from_encoded(encoded).unwrap();
    let device = app.anonymous();
    let length = package.0.len();
    let altered = |at: usize| {
        let mut bytes = package.0.clone();
        bytes[at] ^= 1;
        bytes
    };
    let cases = [
        ("the first byte", altered(0)),
        ("the last byte", altered(length - 1)),
        ("cut off", package.0[..length - 1].to_vec()),
        ("longer", [&package.0[..], b"x"].concat()),
        ("another package", Bundle::script("console.log('gotcha');").0),
        ("one chunk", vec![7; 65_536]),
    ];
    for (what, bytes) in &cases {
        app.edge.put_bundle(&blob, bytes).await;
        let answer = device.request(Method::GET, path).send().await.unwrap();
        if bytes.len() <= 65_536 {
            // All of it is withheld, and the runtime may not have sent the head yet.
            assert!(answer.status() == 500 || answer.bytes().await.is_err(), "{what}");
            continue;
        }
        assert_eq!(answer.status(), 200, "{what}");
        assert_eq!(answer.headers()["content-length"], bytes.len().to_string(), "{what}");
        assert!(!answer.headers().contains_key("transfer-encoding"), "{what}");
        let received = answer.bytes().await;
        assert!(received.is_err(), "{what}: the download ended like a whole one, after {} bytes", received.unwrap().len());
    }
    let events = app.edge.output.until("bundle.altered", |events| events.len() >= cases.len()).await;
    assert!(events.iter().all(|event| event["sha256"] == blob.sha256.as_str()), "{events:?}");
    // An empty object cannot end early, so control is asked.
    app.edge.put_bundle(&blob, b"").await;
    let whole = device.get(path).await;
    assert!(whole.body == package.0, "control has the genuine one");

    app.edge.put_bundle(&blob, &package.0).await;
    let whole = device.get(path).await;
    whole.assert_status(200);
    assert!(whole.body == package.0);
    assert_eq!(whole.header("content-length"), length.to_string());
    assert_eq!(whole.optional_header("transfer-encoding"), None);
    // A client that leaves in the middle does no harm.
    for _ in 0..3 {
        let mut leaving = device.request(Method::GET, path).send().await.unwrap();
        assert!(leaving.chunk().await.unwrap().is_some());
    }
    assert!(device.get(path).await.body == package.0);
    // The next look-up of a deployment tells control.
    eventually("health to say so", async || {
        app.anonymous().get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")).await.assert(200);
        let health = device.get("/v1/health").await.assert(200);
        if health["checks"]["edge"] == "degraded" { Ok(()) } else { Err(health.to_string()) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bundles_are_not_verified_where_that_is_turned_off() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().with("VERIFY_BUNDLES", "off")).await;
    let ada = app.sign_up("ada").await;
    let (key, _) = ada.create_app("app").await;
    ada.upload("app", "Production", &Bundle::script("first").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let offered = app.until_offered(&key, "v1").await.json();
    let url = offered["update_info"]["download_url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&app.edge.base).unwrap();
    let encoded = path.split(['/', '?']).find(|part| part.len() > 100).unwrap();
    app.edge.put_bundle(&BlobKey::from_encoded(encoded).unwrap(), b"anything").await;
    assert_eq!(app.anonymous().get(path).await.body, b"anything");
}
