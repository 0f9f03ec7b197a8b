//! Devices download only what a release changes.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use control::testing::jobs::{Diffs, Job, Kind, Queue};
use control::testing::releases::Sweep;
use serde_json::{Value, json};
use shared::hash::{BlobKey, Sha256Hex};
use tests::app::Options;
use tests::random::Random;
use tests::reports::report;
use tests::wait::until;
use tests::{Bundle, Client, TestApp};

pub(super) const MINUTE: i64 = 60 * 1_000;
pub(super) const HOUR: i64 = 60 * MINUTE;

pub(super) async fn with_diffs() -> TestApp {
    TestApp::spawn_with(Options::default().with("DIFFS", "on")).await
}

/// Ada's app `demo`, on a server that makes diffs.
pub(super) struct Demo {
    pub(super) app: TestApp,
    pub(super) ada: Client,
    /// The keys of its deployments.
    pub(super) production: String,
    pub(super) staging: String,
}

pub(super) async fn demo() -> Demo {
    let app = with_diffs().await;
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    Demo { app, ada, production, staging }
}

/// A package of a large file that stays, and a small one with this content.
pub(super) fn package(content: &str) -> Bundle {
    Bundle::of(&[("CodePush/main.jsbundle", content.as_bytes()), ("CodePush/assets/video.mp4", &noise(1))])
}

/// As [`package`], with further files of one byte.
pub(super) fn package_with(content: &str, names: &[&str]) -> Bundle {
    let video = noise(1);
    let mut files = vec![("CodePush/main.jsbundle", content.as_bytes()), ("CodePush/assets/video.mp4", video.as_slice())];
    files.extend(names.iter().map(|name| (*name, &b"x"[..])));
    Bundle::of(&files)
}

/// Bytes that cannot be compressed.
pub(super) fn noise(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..40_000).map(|_| u8::try_from(random.below(256)).unwrap()).collect()
}

pub(super) async fn upload(client: &Client, deployment: &str, bundle: &Bundle) -> Value {
    client.upload("demo", deployment, &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].take()
}

pub(super) fn text<'v>(release: &'v Value, name: &str) -> &'v str {
    release[name].as_str().unwrap()
}

/// What a device with this package is offered: the update's part of the answer.
pub(super) async fn check(app: &TestApp, key: &str, hash: Option<&str>) -> Value {
    let hash = hash.map(|hash| format!("&package_hash={hash}")).unwrap_or_default();
    let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0{hash}");
    app.anonymous().get(&path).await.assert(200)["update_info"].take()
}

pub(super) async fn download(app: &TestApp, url: &Value) -> Vec<u8> {
    let answer = app.anonymous().get(url.as_str().unwrap().strip_prefix(&app.base).unwrap()).await;
    answer.assert_status(200);
    answer.body
}

/// The files of an archive.
pub(super) fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    let mut read = |name: &String| {
        let mut bytes = Vec::new();
        archive.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    names.iter().filter(|name| !name.ends_with('/')).map(|name| (name.clone(), read(name))).collect()
}

/// What a device has after a diff (wire facts, part 5.3).
pub(super) fn applied(base: &[u8], diff: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let (mut device, mut diff) = (files(base), files(diff));
    let marker: Value = serde_json::from_slice(&diff.remove("hotcodepush.json").unwrap()).unwrap();
    for deleted in marker["deletedFiles"].as_array().unwrap() {
        device.remove(deleted.as_str().unwrap());
    }
    device.extend(diff);
    device
}

/// Waits until releases have so many diffs in all.
pub(super) async fn attached(app: &TestApp, count: i64) {
    until("the diffs are ready", async || (app.number("SELECT COUNT(*) FROM release_diffs").await == count).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_gets_the_diff_from_the_package_that_it_has() {
    let Demo { app, ada, staging: key, .. } = demo().await;
    let (one, two) = (package("one"), package("two"));
    let first = upload(&ada, "Staging", &one).await;
    let second = upload(&ada, "Staging", &two).await;
    attached(&app, 1).await;

    let full = check(&app, &key, None).await;
    assert_eq!((full["label"].as_str(), full["package_size"].as_u64()), (Some("v2"), Some(two.0.len() as u64)));
    assert_eq!(download(&app, &full["download_url"]).await, two.0);
    let other = check(&app, &key, Some(&"0".repeat(64))).await;
    assert_eq!(other["package_size"], full["package_size"], "a device with a package of its own");

    let offered = check(&app, &key, Some(text(&first, "packageHash"))).await;
    let diff = download(&app, &offered["download_url"]).await;
    assert_eq!(offered["package_size"].as_u64(), Some(diff.len() as u64));
    assert!(diff.len() < two.0.len() / 10, "{} of {}", diff.len(), two.0.len());
    assert_eq!(offered["package_hash"], second["packageHash"]);
    assert_eq!(applied(&one.0, &diff), files(&two.0));

    let release = ada.get("/v1/apps/demo/deployments/Staging").await.assert(200)["deployment"]["package"].take();
    let map = &release["diffPackageMap"];
    assert_eq!(map.as_object().unwrap().len(), 1);
    assert_eq!(map[text(&first, "packageHash")]["size"].as_u64(), Some(diff.len() as u64));
    // Diffs do not count against stored bytes.
    let stored = app.number("SELECT CAST(SUM(size) AS BIGINT) FROM blobs WHERE NOT is_diff").await;
    assert_eq!(app.number("SELECT CAST(SUM(size) AS BIGINT) FROM blobs").await - stored, i64::try_from(diff.len()).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn promotions_and_rollbacks_share_diffs_and_a_rollback_has_one_from_what_it_replaces() {
    let Demo { app, ada, production, staging } = demo().await;
    let bundles: Vec<Bundle> = (1..=8).map(|number| package(&number.to_string())).collect();
    let mut hashes = Vec::new();
    for bundle in &bundles {
        let release = upload(&ada, "Staging", bundle).await;
        hashes.push(text(&release, "packageHash").to_owned());
        ada.post("/v1/apps/demo/deployments/Staging/promotions", json!({ "destination": "Production", "packageInfo": {} }))
            .await
            .assert(201);
    }
    app.diffs_settled().await;
    assert_eq!(app.number("SELECT MAX(times) FROM package_diffs").await, 1, "the same diff is never made twice");
    for key in [&production, &staging] {
        for (place, hash) in hashes.iter().enumerate().take(7) {
            let offered = check(&app, key, Some(hash)).await;
            let is_small = offered["package_size"].as_u64().unwrap() < 20_000;
            assert_eq!(is_small, place >= 2, "the five newest before v8 have a diff: v{}", place + 1);
        }
    }
    // v9 has the files of v1, and replaces v8.
    ada.post("/v1/apps/demo/deployments/Staging/rollbacks", json!({ "targetRelease": "v1" })).await.assert(201);
    app.diffs_settled().await;
    let offered = check(&app, &staging, Some(&hashes[7])).await;
    assert_eq!(offered["label"], "v9");
    assert_eq!(applied(&bundles[7].0, &download(&app, &offered["download_url"]).await), files(&bundles[0].0));
    assert_eq!(app.number("SELECT MAX(times) FROM package_diffs").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_carries_the_signature_of_its_release_or_deletes_the_one_before() {
    let Demo { app, ada, production, staging } = demo().await;
    let signed = |content: &str, signature: Option<&str>| {
        let files = [("CodePush/main.jsbundle", content.as_bytes()), ("CodePush/assets/video.mp4", &noise(1))];
        let signature = signature.map(|signature| ("CodePush/.codepushrelease", signature.as_bytes()));
        Bundle::of(&files.into_iter().chain(signature).collect::<Vec<_>>())
    };
    // The same content with two signatures and with none, in two deployments.
    let (one, one_again, two) = (signed("one", Some("by a")), signed("one", Some("by b")), signed("two", None));
    let (two_signed, three) = (signed("two", Some("by c")), signed("three", Some("by c")));
    let first = upload(&ada, "Staging", &one).await;
    assert_eq!(upload(&ada, "Production", &one_again).await["packageHash"], first["packageHash"]);
    for (deployment, bundle) in [("Staging", &two), ("Production", &two_signed)] {
        upload(&ada, deployment, bundle).await;
    }
    attached(&app, 2).await;
    let hash = text(&first, "packageHash");
    for (key, base, target) in [(&staging, &one, &two), (&production, &one_again, &two_signed)] {
        let offered = check(&app, key, Some(hash)).await;
        let diff = download(&app, &offered["download_url"]).await;
        assert_eq!(applied(&base.0, &diff), files(&target.0));
        // Whichever signature the device has.
        assert_eq!(applied(&signed("one", None).0, &diff), files(&target.0));
        assert_eq!(applied(&signed("one", Some("by x")).0, &diff), files(&target.0));
    }
    // A signature that did not change is carried, too.
    upload(&ada, "Production", &three).await;
    app.diffs_settled().await;
    let hash =
        text(&ada.get("/v1/apps/demo/deployments/Production/releases/v2").await.assert(200)["package"].take(), "packageHash").to_owned();
    let offered = check(&app, &production, Some(&hash)).await;
    let diff = download(&app, &offered["download_url"]).await;
    assert_eq!(files(&diff)["CodePush/.codepushrelease"], b"by c");
    assert_eq!(applied(&two.0, &diff), files(&three.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_package_fails_alone_and_is_tried_again() {
    let Demo { app, ada, production, staging } = demo().await;
    let poisoned = package("poisoned");
    let base = upload(&ada, "Staging", &package("one")).await;
    upload(&ada, "Production", &package("one")).await;
    app.diffs_settled().await;
    // The object changes behind the service's back before a diff is made.
    let id = app.texts("SELECT id FROM apps", &[]).await.remove(0);
    let key = BlobKey { app: id.parse().unwrap(), sha256: Sha256Hex::of(&poisoned.0) };
    ada.patch("/v1/apps/demo/deployments/Staging/release", json!({ "packageInfo": { "label": "v1", "isDisabled": true } }))
        .await
        .assert(200);
    ada.upload("demo", "Staging", &poisoned.0, json!({ "appVersion": "1.0.0", "isDisabled": true })).await.assert(201);
    app.diffs_settled().await;
    let mut damaged = poisoned.0.clone();
    damaged[20_000] ^= 1;
    app.alter_object(&key, &damaged);
    ada.patch("/v1/apps/demo/deployments/Staging/release", json!({ "packageInfo": { "label": "v2", "isDisabled": false } }))
        .await
        .assert(200);
    upload(&ada, "Production", &package("healthy")).await;
    app.diffs_settled().await;
    assert_eq!(app.texts("SELECT problem FROM package_diffs WHERE problem IS NOT NULL", &[]).await, ["target_damaged"]);
    let hash = text(&base, "packageHash");
    let offered = check(&app, &production, Some(hash)).await;
    assert!(offered["package_size"].as_u64().unwrap() < 20_000, "the other release has its diff: {offered}");
    let offered = check(&app, &staging, Some(hash)).await;
    assert_eq!(offered["package_size"].as_u64(), Some(poisoned.0.len() as u64), "{offered}");

    // Repaired, and looked at again although nothing was released or reported.
    app.alter_object(&key, &poisoned.0);
    app.clock.advance(7 * HOUR);
    until("the diff is made", async || {
        let offered = check(&app, &staging, Some(hash)).await;
        (offered["package_size"].as_u64().unwrap() < 20_000).then_some(())
    })
    .await;
}

/// Reports that devices now run this label: as many as given, numbered from `first` on.
pub(super) async fn move_devices(app: &TestApp, key: &str, label: usize, first: usize, count: usize) {
    let now = app.clock.now().as_millis();
    move_devices_at(app, key, label, (first, count), now).await;
}

/// As [`move_devices`], with reports that the edge received at `now`.
pub(super) async fn move_devices_at(app: &TestApp, key: &str, label: usize, (first, count): (usize, usize), now: i64) {
    let reports: Vec<Value> = (first..first + count)
        .map(|device| {
            let id = format!("00000000-0000-7000-8000-{:012x}", now.unsigned_abs() * 1_000 % (1 << 40) + device as u64);
            report(&id, now, key, Some(&format!("device {device}")), "installed", &format!("v{label}"))
        })
        .collect();
    for reports in reports.chunks(100) {
        app.deliver(reports).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn diffs_follow_the_devices_within_an_hour() {
    let Demo { app, ada, staging: key, .. } = demo().await;
    let mut hashes = Vec::new();
    for number in 1..=60 {
        let release = upload(&ada, "Staging", &package(&number.to_string())).await;
        hashes.push(text(&release, "packageHash").to_owned());
    }
    // 400 devices, and where they are: each line is a moment an hour after the one before.
    let moments: [&[(usize, usize)]; 4] = [
        &[(1, 300), (2, 60), (3, 40)],
        &[(20, 100), (21, 100), (22, 100), (23, 60), (24, 40)],
        &[(5, 40), (6, 40), (7, 40), (8, 40), (9, 40), (10, 40), (11, 40), (12, 40), (13, 40), (14, 40)],
        &[(59, 399), (40, 1)],
    ];
    for moment in moments {
        let mut first = 0;
        for (label, count) in moment {
            move_devices(&app, &key, *label, first, *count).await;
            first += count;
        }
        app.clock.advance(HOUR);
        until("nine of ten devices are offered a diff", async || {
            let mut with_diff = 0;
            for (label, count) in moment {
                let offered = check(&app, &key, Some(&hashes[label - 1])).await;
                with_diff += if offered["package_size"].as_u64().unwrap() < 20_000 { *count } else { 0 };
            }
            (with_diff * 10 >= 400 * 9).then_some(())
        })
        .await;
        app.diffs_settled().await;
        let release = ada.get("/v1/apps/demo/deployments/Staging").await.assert(200)["deployment"]["package"].take();
        let count = release["diffPackageMap"].as_object().unwrap().len();
        assert!((5..=15).contains(&count), "{count} diffs");
    }
    assert_eq!(app.number("SELECT MAX(times) FROM package_diffs").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_that_is_released_again_counts_where_it_was_released_before() {
    let mut app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let mut hashes = Vec::new();
    for content in ["one", "two", "three", "one"] {
        hashes.push(text(&upload(&ada, "Staging", &package(content)).await, "packageHash").to_owned());
    }
    let info = json!({ "packageInfo": { "label": "v4", "isDisabled": true } });
    ada.patch("/v1/apps/demo/deployments/Staging/release", info).await.assert(200);
    app.stop().await;
    app.configure("DIFFS", "on");
    app.start().await;
    attached(&app, 2).await;
    app.diffs_settled().await;
    let offered = check(&app, &staging, Some(&hashes[0])).await;
    assert_eq!((offered["label"].as_str(), offered["package_hash"].as_str()), (Some("v3"), Some(hashes[2].as_str())));
    assert!(offered["package_size"].as_u64().unwrap() < 20_000, "{offered}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_is_deleted_or_corrected_meanwhile_keeps_nothing() {
    let mut app = with_diffs().await;
    let ada = app.sign_up("ada").await;
    let (_, key) = ada.create_app("demo").await;
    let first = upload(&ada, "Staging", &package("one")).await;
    upload(&ada, "Staging", &package("two")).await;
    attached(&app, 1).await;
    let offered = check(&app, &key, Some(text(&first, "packageHash"))).await;
    ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    app.diffs_settled().await;
    assert_eq!(app.number("SELECT COUNT(*) FROM release_diffs").await, 0);
    // A URL that was given out works on, and after the grace time nothing is left.
    assert!(!download(&app, &offered["download_url"]).await.is_empty());
    app.stop().await;
    app.clock.advance(49 * HOUR);
    app.start().await;
    until("nothing is left", async || (app.number("SELECT COUNT(*) FROM blobs").await == 0).then_some(())).await;
    // Nor is anything known of it once the app is looked at again.
    upload(&ada, "Staging", &package("three")).await;
    app.diffs_settled().await;
    assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_make_each_diff_once() {
    let app = with_diffs().await;
    let ada = app.sign_up("ada").await;
    let apps = ["one", "two", "three", "four"];
    for name in apps {
        ada.create_app(name).await;
    }
    // Beside the service's own job: one with leases of its own, as in another process.
    let context = app.state().context;
    let queue = Queue::new(&context, Kind::Diffs).unwrap();
    let mut other = Diffs::new(context, queue);
    let working = async {
        loop {
            other.round().await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let releasing = async {
        for number in 0..8 {
            for name in apps {
                let bundle = package(&format!("{name} {number}"));
                ada.upload(name, "Staging", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
                // The same pairs of bundles in both deployments.
                let promotion = json!({ "destination": "Production", "packageInfo": {} });
                ada.post(&format!("/v1/apps/{name}/deployments/Staging/promotions"), promotion).await.assert(201);
            }
        }
        app.diffs_settled().await;
    };
    tokio::select! {
        () = working => {}
        () = releasing => {}
    }
    assert_eq!(app.number("SELECT MAX(times) FROM package_diffs").await, 1);
    // Of the newest releases, five each in four apps and two deployments; earlier ones keep theirs.
    assert!(app.number("SELECT COUNT(*) FROM release_diffs").await >= 40);
    assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs WHERE problem IS NOT NULL").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_diffs_of_an_account_have_a_budget_and_uploads_are_not_refused_for_it() {
    const LIMIT: i64 = 320_000;
    let app = TestApp::spawn_with(Options::default().with("DIFFS", "on").with("LIMIT_STORED_BYTES", LIMIT.to_string())).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    // Each diff has 40,000 bytes, two thirds of the package. It deletes a file that only its base has, so no two are equal.
    let shared = noise(1)[..20_000].to_vec();
    for number in 2..=6 {
        let own = format!("CodePush/{number}.txt");
        let main = noise(number);
        let files = [("CodePush/main.jsbundle", main.as_slice()), ("CodePush/video.mp4", shared.as_slice()), (own.as_str(), &b"own"[..])];
        let bundle = Bundle::of(&files);
        upload(&ada, "Staging", &bundle).await;
        app.diffs_settled().await;
    }
    let bytes = "SELECT CAST(SUM(size) AS BIGINT) FROM blobs WHERE is_diff";
    let used = app.number(bytes).await;
    assert!((LIMIT - 41_000..=LIMIT).contains(&used), "{used}");
    let path = "/v1/apps/demo/deployments/Staging/releases/v5/diffs";
    let sources = ada.get(path).await.assert(200)["diffs"]["sources"].take();
    let sources = sources.as_array().unwrap();
    let without: Vec<&Value> = sources.iter().filter(|source| source["status"] == "none").collect();
    assert_eq!((sources.len(), without.len()), (4, 3), "{sources:?}");
    assert!(without.iter().all(|source| source["problem"] == "no_room" && source["isFault"] == false && source["retryTime"].is_i64()));
    // Those of the releases before went first, but their bytes are kept for two days.
    attached(&app, 1).await;
    app.signed_in_reader("ada").await.open("/dashboard/usage").await.shows("Diffs").shows("No more diffs are made");
    app.clock.advance(49 * HOUR);
    // The service does this once a minute.
    let mut sweep = Sweep::default();
    while sweep.step(&app.state()).await.unwrap() {}
    until("there is room again", async || (app.number(bytes).await < 100_000).then_some(())).await;
    app.clock.advance(7 * HOUR);
    attached(&app, 4).await;
}
