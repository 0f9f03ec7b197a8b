//! All other requests pass through to the control plane and back unchanged.

use reqwest::Method;
use serde_json::json;
use shared::signature::{Secrets, sign_call};
use tests::app::EDGE_SECRET;
use tests::codepush_cli::CodePushCli;
use tests::edge::{EdgeApp, EdgeOptions};
use tests::{Bundle, Client, Options};

#[tokio::test(flavor = "multi_thread")]
async fn the_management_api_works_through_the_edge() {
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let direct = owner.at(&app.control.base);

    let made = owner.post("/v1/apps", json!({ "name": "my app ü" })).await;
    assert_eq!(made.assert(201)["app"]["name"], "my app ü");
    let location = made.header("location");
    assert_eq!(location, "/v1/apps/my%20app%20%C3%BC");
    assert_eq!(owner.get(&location).await.assert(200), made.json());
    assert_eq!(owner.get("/v1/apps/my%20app%20%C3%BC/").await.assert(200), made.json());

    let bundle = Bundle::script(&"some content ".repeat(10_000));
    let uploaded = owner.upload("my%20app%20%C3%BC", "Production", &bundle.0, json!({ "appVersion": "1.0.0", "description": "ü" })).await;
    let package = uploaded.assert(201)["package"].take();
    assert_eq!((package["label"].as_str(), package["size"].as_u64()), (Some("v1"), Some(bundle.0.len() as u64)));
    let history = "/v1/apps/my%20app%20%C3%BC/deployments/Production/history";
    assert_eq!(owner.get(history).await.assert(200), json!({ "history": [package] }));
    assert_eq!(owner.get(history).await.body, direct.get(history).await.body);

    // The URL in the response is the edge's, and serves the bytes.
    let url = package["blobUrl"].as_str().unwrap();
    let path = url.strip_prefix(&app.edge.base).unwrap();
    assert!(app.anonymous().get(path).await.body == bundle.0);

    // Refusals pass through, too.
    let refused = app.anonymous().get("/v1/apps").await;
    refused.refused(401);
    assert_eq!(refused.header("www-authenticate"), "Bearer");
    owner.post("/v1/apps", json!({ "name": "my app ü" })).await.refused(409);
    let wrong = owner.send(owner.request(Method::PUT, "/v1/apps")).await;
    wrong.refused(405);
    assert_eq!(wrong.header("allow"), direct.send(direct.request(Method::PUT, "/v1/apps")).await.header("allow"));
    owner.upload("my%20app%20%C3%BC", "Production", b"PK\x03\x04 no zip", json!({ "appVersion": "1.0.0" })).await.refused(400);
    let form = reqwest::multipart::Form::new().text("package", "x".repeat(300_000));
    owner.send(owner.request(Method::POST, "/v1/apps").multipart(form)).await.refused(413);
    for path in ["/", "/health", "/v1/health", "/v1/health?live", "/v1/health/"] {
        let (passed, own) = (app.anonymous().get(path).await, direct.get(path).await);
        assert_eq!((passed.status, passed.body), (own.status, own.body), "{path}");
        let head = app.anonymous().send(app.anonymous().request(Method::HEAD, path)).await;
        assert_eq!((head.status, head.body.len()), (own.status, 0), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_by_the_unmodified_codepush_cli_reaches_devices() {
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let (_, key) = owner.create_app("my app").await;
    for (path, label) in [("", "v1"), ("/v1", "v2")] {
        let cli = CodePushCli::signed_in(&format!("{}{path}", app.edge.base), owner.token()).await;
        cli.write("CodePush/main.jsbundle", format!("released at {path}"));
        let released = cli.run(&["release", "my app", "CodePush", "1.0.0", "-d", "Staging"]).await;
        released.assert(0);
        assert!(released.out.contains("Successfully released an update"), "{}", released.out);
        app.until_offered(&key, label).await;
        let refused = cli.run(&["release", "my app", "CodePush", "1.0.0", "-d", "Staging"]).await;
        refused.assert(1);
        assert!(refused.err.contains("identical to the contents of the specified deployment's current release."), "{}", refused.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_of_several_megabytes_passes_through_unchanged_in_both_directions() {
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    owner.create_app("app").await;
    let info = json!({ "appVersion": "1.0.0" });
    let noise: Vec<u8> = (0_u32..7 << 18).flat_map(|number| number.wrapping_mul(0x9e37_79b1).rotate_left(13).to_le_bytes()).collect();
    let bundle = Bundle::of(&[("CodePush/main.jsbundle", &noise)]);
    assert!(bundle.0.len() > 5 << 20, "{}", bundle.0.len());
    let package = owner.upload("app", "Production", &bundle.0, info).await.assert(201)["package"].take();
    let path = package["blobUrl"].as_str().unwrap().strip_prefix(&app.edge.base).unwrap().to_owned();
    let got = app.anonymous().get(&path).await;
    assert!(got.body == bundle.0);
    assert_eq!(got.header("content-length"), bundle.0.len().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn internal_paths_are_404_even_with_the_secret() {
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    let secrets = Secrets::parse(EDGE_SECRET).unwrap();
    let path = format!("/internal/v1/snapshots/{key}");
    let signed = |base: &str, path: &str| {
        let client = Client::new(base, None);
        let signature = sign_call(&secrets, "GET", path, tests::TestClock::starting_now().now(), b"");
        let request = client.request(Method::GET, path).header("x-updraft-signature", signature);
        async move { client.send(request).await }
    };
    app.until_pushed(&key).await;
    let (answered, mut pushed) = (signed(&app.control.base, &path).await, app.edge.kv_value(&key).await.unwrap());
    answered.assert_status(200);
    let mut answered = tests::signed::json(&key, &answered.body);
    // The times of creation and signing.
    for time in ["t", "signedTime"] {
        answered[time].take();
        pushed[time].take();
    }
    assert_eq!(answered, pushed);
    signed(&app.edge.base, &path).await.refused(404);
    signed(&app.edge.base, "/internal/v1/reports").await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_client_address_is_dropped_by_the_edge_and_refused_by_the_control_plane() {
    let app = EdgeApp::spawn().await;
    let forged = |client: &Client| {
        client
            .request(Method::GET, "/v1/health")
            .header("x-updraft-client-address", "198.51.100.7")
            .header("x-updraft-address-signature", "t=1,v1=00")
    };
    let outside = app.anonymous();
    outside.send(forged(&outside)).await.assert(200);
    let inside = outside.at(&app.control.base);
    let refused = inside.send(forged(&inside)).await.refused(400);
    assert!(refused.contains("edge secret or clock"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_refused_before_its_body_is_read_gets_the_error() {
    let options = EdgeOptions { control: Options::default().with("LIMIT_MAX_UPLOAD_BYTES", "1MiB"), ..EdgeOptions::default() };
    let app = EdgeApp::spawn_with(options).await;
    let owner = app.sign_up("ada").await;
    owner.create_app("app").await;
    let (large, info) = (vec![7_u8; 24 << 20], json!({ "appVersion": "1.0.0" }));
    for _ in 0..6 {
        owner.with_token(Some("wrong".to_owned())).upload("app", "Production", &large, info.clone()).await.refused(401);
        owner.upload("app", "Nowhere", &large, info.clone()).await.refused(404);
        owner.upload("app", "Production", &large, info.clone()).await.refused(413);
    }
    // The connections that were used for it still work.
    owner.upload("app", "Production", b"small", info).await.assert(201);
}
