//! A disk that is full: what does not fit is refused for now, and nothing else is lost.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde_json::json;
use tests::soak::server::Place;
use tests::wait::until;
use tests::{Bundle, Client};

/// The most that fits on the disk, and a package that does not.
const DISK: &str = "24m";
const LARGE: usize = 30 << 20;

/// How many files are in a folder, and in those below it.
fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

/// Fills the disk to its last byte. The file can be deleted.
fn fill(file: &Path) {
    let mut file = File::create(file).unwrap();
    for size in [1 << 20, 1 << 12, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_for_now_and_the_service_lives_on() {
    let (place, token) = Place::make(1_000).await;
    let serving = place.start_on_small_disk(DISK).await;
    let client = Client::new(&serving.base, Some(token));
    let (key, _) = client.create_app("demo").await;
    let data = serving.root().join(place.data().strip_prefix("/").unwrap());
    let upload = async |bytes: &[u8]| client.upload("demo", "Production", bytes, json!({ "appVersion": "1.0.0" })).await;
    let first = Bundle::script("first");
    upload(&first.0).await.assert(201);
    let blobs = files(&data.join("blobs"));

    let refused = upload(&vec![b'x'; LARGE]).await;
    refused.refused(503);
    assert!(!refused.header("retry-after").is_empty());
    until("nothing of it is left", async || (files(&data.join("blobs")) == blobs).then_some(())).await;
    let releases = client.get("/v1/apps/demo/deployments/Production/releases").await.assert(200);
    assert_eq!(releases["releases"].as_array().unwrap().len(), 1);
    client.get("/v1/health").await.assert(200);

    // Not a byte left, also for the database if it is here.
    let filler = data.join("filler");
    fill(&filler);
    upload(&Bundle::script("second").0).await.refused(503);
    let check = format!("/v0.1/public/codepush/update_check?deployment_key={key}&app_version=1.0.0&client_unique_id=a");
    assert_eq!(client.get(&check).await.assert(200)["update_info"]["is_available"], true, "devices are answered");
    let url = client.get(&check).await.assert(200)["update_info"]["download_url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(serving.base.as_str()).unwrap_or_else(|| &url[url.find("/v1/").unwrap()..]).to_owned();
    assert_eq!(client.get(&path).await.body, first.0, "and get what was released before");

    fs::remove_file(&filler).unwrap();
    upload(&Bundle::script("second").0).await.assert(201);
    client.get("/v1/health").await.assert(200);
    serving.stop().await;
}
