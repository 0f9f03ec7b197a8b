//! What other packages of an app mean for a diff: a device can still have their folders.

use serde_json::json;
use shared::hash::{BlobKey, Sha256Hex};
use tests::{Bundle, Client, TestApp};

use super::diffs::{Demo, HOUR, MINUTE, attached, check, demo, move_devices, package, package_with, text, upload, with_diffs};

const DAY: i64 = 24 * HOUR;

#[tokio::test(flavor = "multi_thread")]
async fn a_file_where_an_earlier_diff_may_have_left_an_empty_folder_has_no_diff() {
    let Demo { app, ada, staging, .. } = demo().await;
    let mut hashes = Vec::new();
    for bundle in [package_with("one", &["CodePush/x/f"]), package("two"), package_with("three", &["CodePush/x"])] {
        hashes.push(text(&upload(&ada, "Staging", &bundle).await, "packageHash").to_owned());
        app.diffs_settled().await;
    }
    // A device that went from v1 to v2 by a diff still has the folder.
    for (hash, is_diff) in [(&hashes[0], false), (&hashes[1], false)] {
        let offered = check(&app, &staging, Some(hash)).await;
        assert_eq!(offered["package_size"].as_u64().unwrap() < 20_000, is_diff, "{offered}");
    }
    assert_eq!(app.texts("SELECT problem FROM package_diffs WHERE problem IS NOT NULL", &[]).await, ["unsafe_names", "unsafe_names"]);
    // Devices of v3 have the file, so nothing is in its place.
    upload(&ada, "Staging", &package_with("four", &["CodePush/x"])).await;
    app.diffs_settled().await;
    let offered = check(&app, &staging, Some(&hashes[2])).await;
    assert!(offered["package_size"].as_u64().unwrap() < 20_000, "{offered}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_is_not_offered_again_if_a_package_after_it_has_a_folder_in_the_place_of_its_file() {
    let Demo { app, ada, staging, .. } = demo().await;
    let mut hashes = Vec::new();
    for bundle in [package("one"), package_with("two", &["CodePush/x"]), package_with("three", &["CodePush/x/f"])] {
        hashes.push(text(&upload(&ada, "Staging", &bundle).await, "packageHash").to_owned());
        app.diffs_settled().await;
        app.clock.advance(HOUR);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs WHERE blob_sha256 IS NOT NULL").await, 2, "from v1 to v2, and to v3");
    // A device of v3 that is offered v1 as a diff keeps the folder, and can then not have the file of v2.
    for label in ["v1", "v2"] {
        ada.post("/v1/apps/demo/deployments/Staging/rollbacks", json!({ "targetRelease": label })).await.assert(201);
        app.diffs_settled().await;
        app.clock.advance(HOUR);
    }
    let offered = check(&app, &staging, Some(&hashes[0])).await;
    assert_eq!((offered["label"].as_str(), offered["package_hash"].as_str()), (Some("v5"), Some(hashes[1].as_str())));
    assert!(offered["package_size"].as_u64().unwrap() > 20_000, "{offered}");
    let sources = ada.get("/v1/apps/demo/deployments/Staging/releases/v5/diffs").await.assert(200)["diffs"]["sources"].take();
    let found: Vec<_> =
        sources.as_array().unwrap().iter().map(|source| (source["labels"][0].as_str(), source["problem"].as_str())).collect();
    assert_eq!(found, [(Some("v4"), Some("unsafe_names")), (Some("v3"), Some("unsafe_names"))]);
}

async fn disable(client: &Client, label: &str) {
    let info = json!({ "packageInfo": { "label": label, "isDisabled": true } });
    client.patch("/v1/apps/demo/deployments/Staging/release", info).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_that_stayed_is_looked_at_again_when_its_release_is_offered_again() {
    let Demo { app, ada, staging, .. } = demo().await;
    let first = upload(&ada, "Staging", &package("one")).await;
    let size = async || check(&app, &staging, Some(text(&first, "packageHash"))).await["package_size"].as_u64().unwrap();
    let looks = async || {
        app.texts("SELECT CAST(made_time AS TEXT) || ' ' || CAST(times AS TEXT) FROM package_diffs p JOIN releases r ON r.blob_sha256 = p.target_sha256 WHERE r.label = 2", &[]).await
    };
    let now = async |app: &TestApp| [format!("{} 1", app.clock.now().as_millis())];
    app.clock.advance(HOUR);
    let second = upload(&ada, "Staging", &package_with("two", &["CodePush/x"])).await;
    app.diffs_settled().await;
    let made = now(&app).await;
    assert_eq!(looks().await, made);

    // Nothing is wrong with the next package, which is looked at once.
    app.clock.advance(HOUR);
    upload(&ada, "Staging", &package("three")).await;
    app.clock.advance(HOUR);
    app.diffs_settled().await;
    assert_eq!(looks().await, made, "no device is offered v2");
    disable(&ada, "v3").await;
    app.diffs_settled().await;
    assert_eq!(looks().await, now(&app).await);
    let looked = looks().await;
    app.clock.advance(HOUR);
    let info = json!({ "packageInfo": { "label": "v2", "description": "Offered again" } });
    ada.patch("/v1/apps/demo/deployments/Staging/release", info).await.assert(200);
    app.diffs_settled().await;
    assert_eq!(looks().await, looked);
    assert!(size().await < 20_000, "the diff");

    // A device of v4 that is offered v1 as a diff keeps the folder, and can then not have the file of v2.
    upload(&ada, "Staging", &package_with("four", &["CodePush/x/f"])).await;
    app.diffs_settled().await;
    app.clock.advance(HOUR);
    disable(&ada, "v4").await;
    app.diffs_settled().await;
    let offered = check(&app, &staging, Some(text(&first, "packageHash"))).await;
    assert_eq!((&offered["package_hash"], size().await > 40_000), (&second["packageHash"], true), "{offered}");
    let sources = ada.get("/v1/apps/demo/deployments/Staging/releases/v2/diffs").await.assert(200)["diffs"]["sources"].take();
    assert_eq!((&sources[0]["problem"], sources.as_array().unwrap().len()), (&json!("unsafe_names"), 1), "{sources}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_that_stays_for_a_few_devices_is_looked_at_again_too() {
    let Demo { app, ada, staging, .. } = demo().await;
    let first = upload(&ada, "Staging", &package("one")).await;
    let size = async || check(&app, &staging, Some(text(&first, "packageHash"))).await["package_size"].as_u64().unwrap();
    move_devices(&app, &staging, 1, 0, 10).await;
    for number in 2..=7 {
        upload(&ada, "Staging", &package(&number.to_string())).await;
    }
    upload(&ada, "Staging", &package_with("eight", &["CodePush/x"])).await;
    app.diffs_settled().await;
    assert!(size().await < 20_000, "the device's package is not among the newest five, but most devices have it");
    move_devices(&app, &staging, 7, 0, 10).await;
    app.clock.advance(HOUR);
    ada.upload("demo", "Production", &package_with("other", &["CodePush/x/f"]).0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.clock.advance(MINUTE);
    app.diffs_settled().await;
    assert!(size().await > 40_000, "a device of the other package can have a folder in the place of the file");
    let of_newest = "SELECT COUNT(*) FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE r.label = 8";
    assert_eq!(app.number(of_newest).await, 0);
}

/// The size of the update for a device with this package.
async fn size(app: &TestApp, key: &str, hash: &str) -> u64 {
    check(app, key, Some(hash)).await["package_size"].as_u64().unwrap()
}

async fn promote(client: &Client) {
    let promotion = json!({ "destination": "Production", "packageInfo": {} });
    client.post("/v1/apps/demo/deployments/Staging/promotions", promotion).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_that_a_package_prevents_goes_in_every_deployment_that_shares_it() {
    let Demo { app, ada, production, staging } = demo().await;
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Canary" })).await.assert(201);
    let first = upload(&ada, "Staging", &package("one")).await;
    promote(&ada).await;
    upload(&ada, "Staging", &package_with("two", &["CodePush/x"])).await;
    promote(&ada).await;
    attached(&app, 2).await;
    for key in [&production, &staging] {
        assert!(size(&app, key, text(&first, "packageHash")).await < 20_000, "the diff");
    }
    app.clock.advance(HOUR);
    upload(&ada, "Canary", &package_with("three", &["CodePush/x/f"])).await;
    app.clock.advance(MINUTE);
    app.diffs_settled().await;
    for key in [&production, &staging] {
        assert!(size(&app, key, text(&first, "packageHash")).await > 40_000, "the whole bundle");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM release_diffs").await, 0);
    for deployment in ["Production", "Staging"] {
        let path = format!("/v1/apps/demo/deployments/{deployment}/releases/v2/diffs");
        let sources = ada.get(&path).await.assert(200)["diffs"]["sources"].take();
        assert_eq!(sources[0]["problem"], "unsafe_names", "{deployment}: {sources}");
    }
}

/// The bundle's files in another order: another bundle of the same package.
fn reordered(content: &str) -> Bundle {
    Bundle::of(&[("CodePush/assets/video.mp4", &super::diffs::noise(1)), ("CodePush/main.jsbundle", content.as_bytes())])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_stays_although_another_bundle_of_its_package_is_damaged() {
    let Demo { app, ada, staging, .. } = demo().await;
    let first = upload(&ada, "Staging", &package("one")).await;
    upload(&ada, "Staging", &package("two")).await;
    attached(&app, 1).await;
    let same = reordered("one");
    let third = upload(&ada, "Staging", &same).await;
    assert_eq!(third["packageHash"], first["packageHash"]);
    app.diffs_settled().await;
    let id = app.texts("SELECT id FROM apps", &[]).await.remove(0);
    app.lose_object(&BlobKey { app: id.parse().unwrap(), sha256: Sha256Hex::of(&same.0) });
    move_devices(&app, &staging, 1, 0, 10).await;
    disable(&ada, "v3").await;
    app.diffs_settled().await;
    assert_eq!(app.texts("SELECT problem FROM package_diffs WHERE problem IS NOT NULL", &[]).await, ["base_damaged"]);
    assert!(size(&app, &staging, text(&first, "packageHash")).await < 20_000, "the diff from the bundle that is whole");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_package_is_looked_at_although_it_was_uploaded_long_ago() {
    const IMPORTED: &str = "/v1/apps/Weather/deployments/Staging/imports";
    let app = with_diffs().await;
    let ada = app.sign_up("ada").await;
    let deployment = |name: &str| json!({ "sourceName": name, "name": name, "key": format!("key-of-{name}-0123456789") });
    let weather = json!({ "sourceName": "Weather", "name": "Weather", "deployments": [deployment("Production"), deployment("Staging")] });
    ada.post("/v1/imports/apps", json!({ "source": "https://old.example", "app": weather })).await.assert(200);
    let info = || json!({ "appVersion": "1.0.0" });
    let first = ada.upload("Weather", "Production", &package("one").0, info()).await.assert(201)["package"].take();
    ada.upload("Weather", "Production", &package_with("two", &["CodePush/x"]).0, info()).await.assert(201);
    attached(&app, 1).await;
    app.diffs_settled().await;
    app.clock.advance(HOUR);

    let bundle = package_with("three", &["CodePush/x/f"]).0;
    let request =
        ada.request(reqwest::Method::POST, "/v1/apps/Weather/imports/packages").header("content-type", "application/octet-stream");
    ada.send(request.body(bundle.clone())).await.assert(200);
    let uploaded = app.clock.now().as_millis() - 100 * DAY;
    let release = json!({ "label": "v1", "appVersion": "1.0.0", "package": Sha256Hex::of(&bundle).to_string(), "uploadTime": uploaded });
    let done = ada.post(IMPORTED, json!({ "releases": [release] })).await.assert(200);
    assert_eq!((&done["result"], &done["added"]), (&json!("imported"), &json!(1)), "{done}");
    assert_eq!(app.number("SELECT MIN(upload_time) FROM releases").await, uploaded);
    app.clock.advance(MINUTE);
    app.diffs_settled().await;
    let size = size(&app, "key-of-Production-0123456789", text(&first, "packageHash")).await;
    assert!(size > 40_000, "a device of the imported package can have a folder in the place of the file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_is_looked_at_although_the_clock_was_set_back() {
    let Demo { app, ada, staging, .. } = demo().await;
    let first = upload(&ada, "Staging", &package("one")).await;
    app.diffs_settled().await;
    app.clock.advance(DAY);
    upload(&ada, "Staging", &package_with("two", &["CodePush/x"])).await;
    attached(&app, 1).await;
    app.clock.advance(-DAY);
    app.clock.advance(HOUR);
    ada.upload("demo", "Production", &package("harmless").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.clock.advance(MINUTE);
    app.diffs_settled().await;
    let known = app.number("SELECT MAX(made_time) FROM package_diffs WHERE blob_sha256 IS NOT NULL").await;
    assert_eq!(known, app.clock.now().as_millis(), "looked at now");
    assert!(size(&app, &staging, text(&first, "packageHash")).await < 20_000, "the diff");
    ada.upload("demo", "Production", &package_with("three", &["CodePush/x/f"]).0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.clock.advance(MINUTE);
    app.diffs_settled().await;
    assert!(size(&app, &staging, text(&first, "packageHash")).await > 40_000, "the whole bundle");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_that_was_refused_goes_although_the_server_died_before_it_did() {
    let Demo { app, ada, staging, .. } = demo().await;
    let first = upload(&ada, "Staging", &package("one")).await;
    upload(&ada, "Staging", &package("two")).await;
    attached(&app, 1).await;
    app.diffs_settled().await;
    app.change("UPDATE package_diffs SET blob_sha256 = NULL, size = 0, problem = 'unsafe_names'", &[]).await;
    let info = json!({ "packageInfo": { "label": "v2", "description": "Another one" } });
    ada.patch("/v1/apps/demo/deployments/Staging/release", info).await.assert(200);
    app.diffs_settled().await;
    assert!(size(&app, &staging, text(&first, "packageHash")).await > 40_000, "the whole bundle");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_on_trial_leaves_a_good_diff_as_it_was() {
    const UNFINISHED: &str = "UPDATE package_diffs SET blob_sha256 = NULL, size = 0, problem = 'unfinished', made_time = CAST($1 AS BIGINT) \
        WHERE base_sha256 = (SELECT blob_sha256 FROM releases WHERE label = 1) AND target_sha256 = (SELECT blob_sha256 FROM releases WHERE label = 3)";
    const GOOD: &str = "SELECT CAST(p.made_time AS TEXT) || ' ' || CAST(p.times AS TEXT) FROM package_diffs p JOIN releases b ON b.blob_sha256 = p.base_sha256 \
        JOIN releases t ON t.blob_sha256 = p.target_sha256 WHERE b.label = 2 AND t.label = 3 AND p.blob_sha256 IS NOT NULL";
    let Demo { app, ada, staging, .. } = demo().await;
    let mut hashes = Vec::new();
    for content in ["zero", "one", "two"] {
        hashes.push(text(&upload(&ada, "Staging", &package(content)).await, "packageHash").to_owned());
        app.diffs_settled().await;
    }
    // A process ended while it made the diff from v1, so all that is done for v3 is on trial.
    app.clock.advance(HOUR);
    assert_eq!(app.change(UNFINISHED, &[&app.clock.now().0.to_string()]).await, 1);
    ada.upload("demo", "Production", &package("harmless").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.clock.advance(MINUTE);
    app.diffs_settled().await;
    assert_eq!(app.texts(GOOD, &[]).await, [format!("{} 1", app.clock.now().as_millis())], "looked at, and not made again");
    assert!(size(&app, &staging, &hashes[1]).await < 20_000, "the diff from v2");
    assert!(size(&app, &staging, &hashes[0]).await > 40_000, "v1 has none");
}
