//! Name rules, and names in paths.

use serde_json::json;
use tests::TestApp;

use crate::v1::segment;

#[tokio::test(flavor = "multi_thread")]
async fn every_name_rule_applies_to_apps_and_deployments() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let long = "x".repeat(256);
    let bad = [
        "",
        ".",
        "..",
        " ",
        " a",
        "a ",
        "a/b",
        "a\\b",
        "a?b",
        "a:b",
        "a#b",
        "/",
        ":",
        "a\u{0}b",
        "a\nb",
        "\ta",
        "a\u{1f}",
        "a\u{7f}b",
        "a\u{85}b",
        "a\u{9f}",
        long.as_str(),
    ];
    for name in bad {
        let refusal = ada.post("/v1/apps", json!({ "name": name })).await.refused(400);
        assert!(refusal.starts_with("name: "), "{name:?}: {refusal}");
        let refusal = ada.post("/v1/apps/demo/deployments", json!({ "name": name })).await.refused(400);
        assert!(refusal.starts_with("name: "), "{name:?}: {refusal}");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM apps").await, 1);
    assert_eq!(app.number("SELECT COUNT(*) FROM deployments").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_other_name_is_accepted_and_its_location_works() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (ascii, umlauts, emoji) = ("x".repeat(255), "ü".repeat(255), "😀".repeat(255));
    let good = [
        "x",
        "...",
        ".hidden",
        "-",
        "--all",
        "a b",
        "a  b",
        "100%",
        "%41",
        "%2F",
        "a+b",
        "a&b=c",
        "@",
        "*",
        "\"",
        "'",
        "<b>",
        "{app}",
        "~",
        "ünïcödé",
        "図面",
        "é",
        "می\u{200c}خواهم",
        "👩\u{200d}💻",
        "null",
        "true",
        "deployments",
        ascii.as_str(),
        umlauts.as_str(),
        emoji.as_str(),
    ];
    for name in good {
        let made = ada.post("/v1/apps", json!({ "name": name })).await;
        made.assert(201);
        let location = made.header("location");
        assert_eq!(location, format!("/v1/apps/{}", segment(name)), "encoded once");
        assert_eq!(ada.get(&location).await.assert(200)["app"]["name"], *name, "{location}");
        let made = ada.post(&format!("{location}/deployments"), json!({ "name": name })).await;
        made.assert(201);
        let below = made.header("location");
        assert_eq!(below, format!("{location}/deployments/{}", segment(name)));
        assert_eq!(ada.get(&below).await.assert(200)["deployment"]["name"], *name, "{below}");
        // The paths to its releases work, too.
        let (app_segment, deployment) = (segment(name), segment(name));
        let uploaded = ada.upload(&app_segment, &deployment, b"script", json!({ "appVersion": "1.0.0" })).await;
        uploaded.assert(201);
        assert_eq!(uploaded.header("location"), format!("{below}/releases/v1"));
    }
    let listed = ada.get("/v1/apps").await.assert(200);
    assert_eq!(listed["apps"].as_array().unwrap().len(), good.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn path_segments_are_percent_decoded_once() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["%41", "ü"] {
        ada.post("/v1/apps", json!({ "name": name })).await.assert(201);
    }
    assert_eq!(ada.get("/v1/apps/%2541").await.assert(200)["app"]["name"], "%41");
    // Decoded once this is A; not decoded at all, it would be the app.
    ada.get("/v1/apps/%41").await.refused(404);
    ada.get("/v1/apps/%C3%BC").await.assert(200);
    ada.get("/v1/apps/%c3%bc").await.assert(200);
    ada.get("/v1/apps/%25C3%25BC").await.refused(404);
    // Not UTF-8, and a NUL, which PostgreSQL does not accept.
    for odd in ["%FF", "%C3", "%00", "a%00b", "%ED%A0%80"] {
        ada.get(&format!("/v1/apps/{odd}")).await.refused(404);
        ada.get(&format!("/v1/apps/%2541/deployments/{odd}")).await.refused(404);
        ada.get(&format!("/v1/apps/{odd}:demo")).await.refused(404);
        ada.get(&format!("/v1/apps/%2541/deployments/{odd}/metrics")).await.refused(404);
        ada.upload("%2541", odd, b"script", json!({ "appVersion": "1.0.0" })).await.refused(404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trailing_slashes_are_accepted_on_every_path() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.post("/v1/apps/", json!({ "name": "demo" })).await.assert(201);
    ada.post("/v1/apps/demo/deployments///", json!({ "name": "Extra" })).await.assert(201);
    ada.upload("demo", "Extra", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    for path in [
        "/v1/apps",
        "/v1/apps/demo",
        "/v1/apps/demo/deployments",
        "/v1/apps/demo/deployments/Extra",
        "/v1/apps/demo/deployments/Extra/history",
        "/v1/apps/demo/deployments/Extra/metrics",
        "/v1/health",
        "/health",
    ] {
        let plain = ada.get(path).await;
        plain.assert_status(200);
        for slashes in ["/", "//", "/?x=1", "//?x=/"] {
            let other = ada.get(&format!("{path}{slashes}")).await;
            other.assert_status(200);
            assert_eq!(other.body, plain.body, "{path}{slashes}");
        }
    }
    // A leading or inner extra slash is another path.
    ada.get("//v1/apps").await.refused(404);
    ada.get("/v1//apps").await.refused(404);
}
