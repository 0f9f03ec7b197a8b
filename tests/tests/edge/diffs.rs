//! Devices get diffs from the edge, wherever bundles are.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use serde_json::{Value, json};
use tests::bucket::TestBucket;
use tests::edge::{BUCKET_KEY, EdgeApp};
use tests::random::Random;
use tests::wait::until;
use tests::{Bundle, Client};

/// A package of a file that stays and does not compress, and a small one with this content.
fn package(content: &str) -> Bundle {
    let mut random = Random::new(1);
    let noise: Vec<u8> = (0..25_000).flat_map(|_| random.bits().to_le_bytes()).collect();
    Bundle::of(&[("CodePush/main.jsbundle", content.as_bytes()), ("CodePush/assets/noise.bin", &noise)])
}

/// The files of an archive.
fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
    let count = archive.len();
    let read = |number| {
        let mut entry = archive.by_index(number).unwrap();
        let (name, mut bytes) = (entry.name().unwrap().into_owned(), Vec::new());
        entry.read_to_end(&mut bytes).unwrap();
        (name, bytes)
    };
    (0..count).map(read).collect()
}

/// What a device with this package is offered.
async fn check(client: &Client, key: &str, hash: &str) -> Value {
    let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0&package_hash={hash}");
    client.get(&path).await.assert(200)["update_info"].take()
}

/// Where bundles are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Control's data folder.
    Folder,
    /// A bucket that only control reads.
    Bucket,
    /// A bucket that the Worker reads, too.
    R2,
}

async fn a_device_gets_its_diff(place: Place) {
    let mut app = EdgeApp::spawn().await;
    app.control.stop().await;
    app.control.configure("DIFFS", "on");
    let bucket = (place == Place::Bucket).then(TestBucket::start);
    if let Some(bucket) = &bucket {
        let [(_, storage), (_, id), (_, secret)] = bucket.settings();
        app.control.configure_bucket(&storage, (&id, &secret));
    }
    if place == Place::R2 {
        let bundles = app.edge.bundles();
        app.control.configure_bucket(&bundles, BUCKET_KEY);
    }
    app.control.start().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("app").await;
    let key = ada.deployment_key("app", "Production").await;
    let (one, two) = (package("one"), package("two"));
    let mut hashes = Vec::new();
    for bundle in [&one, &two] {
        let released = ada.upload("app", "Production", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
        hashes.push(released["package"]["packageHash"].as_str().unwrap().to_owned());
    }
    app.until_offered(&key, "v2").await;
    let device = app.anonymous();
    let offered = until("the edge offers the diff", async || {
        let offered = check(&device, &key, &hashes[0]).await;
        (offered["package_size"].as_u64().unwrap() < 10_000).then_some(offered)
    })
    .await;
    assert_eq!((offered["label"].as_str(), offered["package_hash"].as_str()), (Some("v2"), Some(hashes[1].as_str())));
    // Control answers the same, and any other device gets the whole bundle.
    let of_control = check(&app.control.anonymous(), &key, &hashes[0]).await;
    assert_eq!(of_control["package_size"], offered["package_size"]);
    let whole = check(&device, &key, &"0".repeat(64)).await;
    assert_eq!(whole["package_size"].as_u64(), Some(two.0.len() as u64));
    if let Some(bucket) = &bucket {
        assert!(bucket.objects().len() > 2, "the bundles and the diff are there");
    }
    if place == Place::R2 {
        app.control.stop().await;
    }
    let path = |offer: &Value| offer["download_url"].as_str().unwrap().strip_prefix(&app.edge.base).unwrap().to_owned();
    let diff = device.get(&path(&offered)).await;
    diff.assert_status(200);
    assert_eq!(offered["package_size"].as_u64(), Some(diff.body.len() as u64));
    let (mut on_device, mut changed) = (files(&one.0), files(&diff.body));
    let marker: Value = serde_json::from_slice(&changed.remove("hotcodepush.json").unwrap()).unwrap();
    for name in marker["deletedFiles"].as_array().unwrap() {
        on_device.remove(name.as_str().unwrap());
    }
    on_device.extend(changed);
    assert_eq!(on_device, files(&two.0));
    assert_eq!(device.get(&path(&whole)).await.body, two.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_gets_the_diff_from_where_control_stores_bundles() {
    a_device_gets_its_diff(Place::Folder).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_gets_the_diff_from_a_bucket_that_only_control_reads() {
    a_device_gets_its_diff(Place::Bucket).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_gets_the_diff_from_r2_while_control_is_down() {
    a_device_gets_its_diff(Place::R2).await;
}
