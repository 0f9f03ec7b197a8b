//! Accepted uploads: the response, what is stored, and what is served.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use tests::archive::{archive, deflated, stored};
use tests::multipart::Multipart;
use tests::{Answer, Bundle, Client, TestApp};

use crate::v1::members;

/// Downloads a URL of this service without a credential.
async fn download(app: &TestApp, url: &Value) -> Vec<u8> {
    let url = url.as_str().unwrap();
    let path = url.strip_prefix(&app.base).unwrap_or_else(|| panic!("{url} is not a URL of {}", app.base));
    let answer = app.anonymous().get(path).await;
    answer.assert_status(200);
    answer.body
}

/// Uploads a handwritten multipart body.
async fn send(client: &Client, body: Vec<u8>) -> Answer {
    let request = client.request(Method::POST, "/v1/apps/demo/deployments/Staging/releases");
    client.send(request.header("content-type", Multipart::content_type()).body(body)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_returns_the_complete_release() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let bundle = Bundle::of(&[("CodePush/main.jsbundle", b"console.log(\"v1\");\n"), ("CodePush/assets/a.png", b"PNGDATA")]);
    let info =
        json!({ "appVersion": "^1.2.0", "description": "the first – ü 😀", "isMandatory": true, "isDisabled": false, "rollout": 25 });
    let uploaded = ada.upload("demo", "Staging", &bundle.0, info).await;
    let body = uploaded.assert(201);
    assert_eq!(uploaded.header("location"), "/v1/apps/demo/deployments/Staging/releases/v1");
    assert_eq!(members(&body), ["package"]);
    let package = &body["package"];
    assert_eq!(
        members(package),
        [
            "appVersion",
            "blobUrl",
            "description",
            "diffPackageMap",
            "isDisabled",
            "isMandatory",
            "label",
            "manifestBlobUrl",
            "packageHash",
            "releaseMethod",
            "releasedBy",
            "rollout",
            "size",
            "uploadTime"
        ],
    );
    for (name, value) in [
        ("appVersion", json!("^1.2.0")),
        ("description", json!("the first – ü 😀")),
        ("diffPackageMap", json!({})),
        ("isDisabled", json!(false)),
        ("isMandatory", json!(true)),
        ("label", json!("v1")),
        ("packageHash", json!("e969abcffffbdb76a4136e96f7eec3d7051ee65f86d8d762bfb6caf044247cd5")),
        ("releaseMethod", json!("Upload")),
        ("releasedBy", json!("ada@example.com")),
        ("rollout", json!(25)),
        ("size", json!(bundle.0.len())),
        ("uploadTime", json!(app.clock.now().0)),
    ] {
        assert_eq!(package[name], value, "{name}");
    }
    assert_eq!(download(&app, &package["blobUrl"]).await, bundle.0);
    let manifest: BTreeMap<String, String> = serde_json::from_slice(&download(&app, &package["manifestBlobUrl"]).await).unwrap();
    let expected = BTreeMap::from([
        ("CodePush/assets/a.png".to_owned(), "2d4566582844690f8634a8b2534ea5221560038c6c0650c99140759bad603ae2".to_owned()),
        ("CodePush/main.jsbundle".to_owned(), "1927f08fb5980adc17fcd841ea4487912485760ffa0525e6822bd242f7ec73b7".to_owned()),
    ]);
    assert_eq!(manifest, expected);
    assert_eq!(ada.get("/v1/apps/demo/deployments/Staging/history").await.assert(200), json!({ "history": [package] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_and_null_members_have_defaults() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let sparse = json!({ "appVersion": "1.0.0" });
    let nulls = json!({ "appVersion": "1.0.0", "description": null, "isMandatory": null, "isDisabled": null, "rollout": null, "label": null,
        "buildNumber": null, "isInitial": true, "packageHash": "ignored" });
    for (content, info) in [(b"a", sparse), (b"b", nulls)] {
        let package = ada.upload("demo", "Staging", content, info).await.assert(201)["package"].clone();
        for (name, value) in [
            ("description", Value::Null),
            ("isMandatory", json!(false)),
            ("isDisabled", json!(false)),
            ("rollout", Value::Null),
            ("manifestBlobUrl", Value::Null),
        ] {
            assert_eq!(package[name], value, "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_of_100_is_stored_as_none() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let package =
        ada.upload("demo", "Staging", b"a", json!({ "appVersion": "1.0.0", "rollout": 100 })).await.assert(201)["package"].clone();
    assert_eq!(package["rollout"], Value::Null);
    assert_eq!(app.number("SELECT COUNT(*) FROM releases WHERE rollout IS NULL").await, 1);
    // So it is complete, and the next release can follow.
    ada.upload("demo", "Staging", b"b", json!({ "appVersion": "1.0.0", "rollout": 99 })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_valid_member_is_stored() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let long_range = ["1.0.0"; 28].join(" || ");
    let long_range = format!("{long_range:<255}");
    for (index, info) in [
        json!({ "appVersion": "*" }),
        json!({ "appVersion": "1" }),
        json!({ "appVersion": "1.2.x" }),
        json!({ "appVersion": ">=1.2.3 <1.2.7 || ~2.0" }),
        json!({ "appVersion": "1.2 - 1.4" }),
        json!({ "appVersion": long_range }),
        json!({ "appVersion": "1.0.0", "description": "" }),
        json!({ "appVersion": "1.0.0", "description": "x".repeat(10_000) }),
        json!({ "appVersion": "1.0.0", "description": "😀".repeat(5_000) }),
        json!({ "appVersion": "1.0.0", "description": "\t\"\\\n".repeat(2_500) }),
        json!({ "appVersion": "1.0.0", "rollout": 1 }),
        json!({ "appVersion": "1.0.0", "isDisabled": true, "isMandatory": true }),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("demo{index}");
        ada.create_app(&name).await;
        let package = ada.upload(&name, "Staging", b"script", info.clone()).await.assert(201)["package"].clone();
        for (member, value) in info.as_object().unwrap() {
            assert_eq!(package[member], *value, "{member} of {info}");
        }
        let history = ada.get(&format!("/v1/apps/{name}/deployments/Staging/history")).await.assert(200);
        assert_eq!(history["history"][0], package, "the response matches the stored release");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn package_hashes_match_those_that_clients_compute() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let v1: &[u8] = b"console.log(\"v1\");\n";
    let v2: &[u8] = b"console.log(\"v2\");\n";
    let (script, asset) = ("CodePush/main.jsbundle", ("CodePush/assets/a.png", &b"PNGDATA"[..]));
    let both = "c30e7b33d7e96775f8fa19604daac949e03e5134d5287f21571f6ba178931893";
    // The golden values of the wire reference, part 5.2.
    for (index, (files, hash)) in [
        (vec![(script, v1), asset], "e969abcffffbdb76a4136e96f7eec3d7051ee65f86d8d762bfb6caf044247cd5"),
        (vec![asset, (script, v1)], "e969abcffffbdb76a4136e96f7eec3d7051ee65f86d8d762bfb6caf044247cd5"),
        (vec![(script, v2), asset], both),
        (vec![(script, v2), asset, ("CodePush/.codepushrelease", b"signature")], both),
        (vec![(script, v2), asset, (".codepushrelease", b"signature")], both),
        (vec![(script, v2), asset, ("CodePush/.DS_Store", b"x"), (".DS_Store", b"y"), ("__MACOSX/CodePush/._main", b"z")], both),
        (
            vec![(script, v1), asset, ("CodePush/assets/gone.png", b"OLD")],
            "6f6a1a81e5d6dcfb0517bb67e75a05502db3af884eb114b23ee8fe2ecd9cd032",
        ),
        (
            vec![(script, v2), asset, ("CodePush/assets/new.png", b"NEW")],
            "9c9506dab906c8a4d79749e81cb479d29e7aab1723154ceb0f62408fddc18df2",
        ),
        (vec![(script, b"A\n")], "a3c3d6949602b2e600dd10ef44e3b042ff095bfd5b589b2cc221180abd215a6d"),
        (
            vec![("CodePush/assets/ü 图.png", b"X"), ("CodePush/a\"b", b"Y")],
            "9bc6462b9734ede878056c647ca3d41750e803ef5e3dcc6d92a80723916a16af",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let deflated: Vec<_> = files.iter().map(|(name, data)| deflated(name, data)).collect();
        let stored: Vec<_> = files.iter().map(|(name, data)| stored(name, data)).collect();
        for (kind, bytes) in [("zipped", Bundle::of(&files).0), ("deflated", archive(&deflated)), ("stored", archive(&stored))] {
            let name = format!("{kind}{index}");
            ada.create_app(&name).await;
            let package = ada.upload(&name, "Staging", &bytes, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
            assert_eq!(package["packageHash"], hash, "{name}");
            assert_eq!(download(&app, &package["blobUrl"]).await, bytes, "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn directory_entries_are_not_part_of_a_package() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let folder = stored("CodePush/", b"").with(|entry| entry.attributes = 0o040_755 << 16 | 0x10);
    let bytes = archive(&[folder, deflated("CodePush/main.jsbundle", b"A\n")]);
    let package = ada.upload("demo", "Staging", &bytes, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
    assert_eq!(package["packageHash"], "a3c3d6949602b2e600dd10ef44e3b042ff095bfd5b589b2cc221180abd215a6d");
    let manifest: Value = serde_json::from_slice(&download(&app, &package["manifestBlobUrl"]).await).unwrap();
    assert_eq!(members(&manifest), ["CodePush/main.jsbundle"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_is_in_the_manifest_but_not_in_the_hash() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let bundle =
        Bundle::of(&[("CodePush/main.jsbundle", b"A\n"), ("CodePush/.codepushrelease", b"signature"), ("CodePush/.DS_Store", b"junk")]);
    let package = ada.upload("demo", "Staging", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
    let manifest: Value = serde_json::from_slice(&download(&app, &package["manifestBlobUrl"]).await).unwrap();
    assert_eq!(members(&manifest), ["CodePush/.codepushrelease", "CodePush/main.jsbundle"]);
    assert_eq!(manifest["CodePush/.codepushrelease"], Sha256Hex::of(b"signature").as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_a_zip_is_a_single_file_package() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for (index, bytes) in
        [&b"v4\n"[..], b"P", b"PK", b"PK\x03", b"PKzip me not", b"\x00", b"\x1f\x8b\x08gzip", b"\r\n", b"--"].into_iter().enumerate()
    {
        let name = format!("demo{index}");
        ada.create_app(&name).await;
        let package = ada.upload(&name, "Staging", bytes, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
        assert_eq!(package["packageHash"], Sha256Hex::of(bytes).as_str());
        assert_eq!((&package["manifestBlobUrl"], &package["size"]), (&Value::Null, &json!(bytes.len())));
        assert_eq!(download(&app, &package["blobUrl"]).await, bytes);
    }
    let golden = ada.get("/v1/apps/demo0/deployments/Staging/history").await.assert(200);
    assert_eq!(golden["history"][0]["packageHash"], "e37ea1753db1b5df392e1cd344303873a97bc863d7371ad5f388e01ec5071e6a");
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_may_be_in_any_order_and_unknown_ones_are_ignored() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let info = r#"{"appVersion":"1.0.0"}"#;
    let bodies = [
        Multipart::default().file("package", b"a").text("packageInfo", info),
        Multipart::default().text("packageInfo", info).file("package", b"b"),
        Multipart::default()
            .text("other", "x")
            .text("packageInfo", info)
            .text("other", "y")
            .file("package", b"c")
            .file("file", &vec![7; 100_000]),
        // Without a file name, without a name, with an empty name.
        Multipart::default().part("", b"x").text("packageInfo", info).text("package", b"d").text("", "y"),
        // As CLIs write it.
        Multipart::default()
            .part("; name=\"package\"; filename=\"ü b.zip\"", b"e")
            .part("; name=\"packageInfo\"; filename=\"i.json\"", info.as_bytes()),
    ];
    for (index, (body, content)) in bodies.into_iter().zip([b"a", b"b", b"c", b"d", b"e"]).enumerate() {
        let package = send(&ada, body.end()).await.assert(201)["package"].clone();
        assert_eq!(package["label"], format!("v{}", index + 1));
        assert_eq!(download(&app, &package["blobUrl"]).await, content);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_resemble_a_boundary_are_data() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let almost = format!("\r\n--{}x\r\n\r\n-\r\n--\r\n", &tests::multipart::BOUNDARY[..20]).repeat(20_000);
    let body = Multipart::default().text("packageInfo", r#"{"appVersion":"1.0.0"}"#).file("package", almost.as_bytes());
    let package = send(&ada, body.end()).await.assert(201)["package"].clone();
    assert_eq!(package["packageHash"], Sha256Hex::of(almost.as_bytes()).as_str());
    assert_eq!(download(&app, &package["blobUrl"]).await, almost.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunked_upload_without_a_length_is_accepted() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let content: Vec<u8> = (0..300_000_u32).map(|index| u8::try_from(index % 251).unwrap()).collect();
    let body = Multipart::default().text("packageInfo", r#"{"appVersion":"1.0.0"}"#).file("package", &content).end();
    let chunks: Vec<_> = body.chunks(777).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
    let request = ada.request(Method::POST, "/v1/apps/demo/deployments/Staging/releases").header("content-type", Multipart::content_type());
    let request = request.body(reqwest::Body::wrap_stream(futures_util::stream::iter(chunks)));
    let package = ada.send(request).await.assert(201)["package"].clone();
    assert_eq!(download(&app, &package["blobUrl"]).await, content);
}

#[tokio::test(flavor = "multi_thread")]
async fn identical_bytes_are_stored_once_per_app_and_never_shared_between_apps() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    bob.create_app("demo").await;
    let bundle = Bundle::script("A\n");
    let mut urls = Vec::new();
    for (client, deployment) in [(&ada, "Staging"), (&ada, "Production"), (&bob, "Staging")] {
        let package = client.upload("demo", deployment, &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
        assert_eq!(download(&app, &package["blobUrl"]).await, bundle.0);
        urls.push(package["blobUrl"].clone());
    }
    assert_eq!(urls[0], urls[1]);
    assert_ne!(urls[0], urls[2]);
    // The bundle and its manifest, in two apps.
    assert_eq!(app.number("SELECT COUNT(*) FROM blobs").await, 4);
    let files = app.leftovers().await.files;
    assert_eq!(files.iter().filter(|(path, _)| path.starts_with("blobs/") && !path.ends_with('/')).count(), 4, "{files:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_object_is_stored_again_by_the_next_upload() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.lose_objects();
    let package = ada.upload("demo", "Production", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
    assert_eq!(download(&app, &package["blobUrl"]).await, b"script");
}
