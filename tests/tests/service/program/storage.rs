//! `storage verify` and `storage migrate`.

use serde_json::json;
use tests::bucket::TestBucket;
use tests::program::run;
use tests::wait::until;
use tests::{Bundle, Client, Options, TestApp};

/// A service in its data folder, with two releases, and a bucket beside it whose credentials it has.
async fn beside_a_bucket() -> (TestApp, Client, TestBucket) {
    let bucket = TestBucket::start();
    let app = TestApp::spawn_with(Options { has_machine_clock: true, ..Options::default() }).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for content in ["one", "two"] {
        ada.upload("demo", "Staging", &Bundle::script(content).0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    (app, ada, bucket)
}

/// Runs a command with the service's settings and the bucket's credentials.
async fn command(app: &TestApp, bucket: &TestBucket, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut settings = app.settings();
    settings.extend(bucket.settings().into_iter().filter(|(name, _)| name != "UPDRAFT_STORAGE"));
    let ended = run(&settings, arguments).await;
    (ended.code, ended.out, ended.err)
}

fn objects(bucket: &TestBucket) -> Vec<String> {
    bucket.objects().into_iter().filter(|name| !name.starts_with('.')).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bundles_are_moved_to_a_bucket_while_the_service_runs_and_repaired_from_the_folder() {
    let (app, ada, bucket) = beside_a_bucket().await;
    let storage = bucket.storage();
    let migrate = ["storage", "migrate", "--from", "file", "--to", &storage];
    let (code, _, told) = command(&app, &bucket, &migrate).await;
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("Copied to the bucket bundles") && told.contains(": 4 objects,") && told.contains("Already there: 0."), "{told}");
    assert!(
        told.contains(&format!(
            "Next: stop the server, run this command once more, and start the server with UPDRAFT_STORAGE='{storage}'."
        )),
        "{told}"
    );
    assert_eq!(objects(&bucket).len(), 4);

    // Meanwhile there is a new one, and one is gone for good.
    ada.upload("demo", "Production", &Bundle::script("three").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    let gone = app
        .texts(
            "SELECT sha256 FROM blobs b WHERE NOT EXISTS (SELECT 1 FROM releases r WHERE b.sha256 IN (r.blob_sha256, r.manifest_sha256))",
            &[],
        )
        .await;
    app.change("DELETE FROM blobs WHERE sha256 = $1", &[&gone[0]]).await;
    let (code, _, told) = command(&app, &bucket, &migrate).await;
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains(": 2 objects,") && told.contains("Already there: 3.") && told.contains("any more: 1."), "{told}");
    assert_eq!(objects(&bucket).len(), 5, "what was cleared just now is still downloaded");
    let lost = app.texts("SELECT app_id || '/' || manifest_sha256 FROM releases", &[]).await.remove(0);
    bucket.lose(&lost);
    let (_, _, told) = command(&app, &bucket, &migrate).await;
    assert!(told.contains(": 1 objects,") && told.contains("Already there: 4."), "what is noted is looked for: {told}");

    // With the bucket as the service's storage.
    let mut settings = app.settings();
    settings.extend(bucket.settings());
    let verify = run(&settings, &["storage", "verify"]).await;
    assert_eq!(verify.code, Some(0), "{verify:?}");
    assert!(verify.err.contains("Intact: 2 objects,"), "{verify:?}");
    let needed = app.texts("SELECT app_id || '/' || blob_sha256 FROM releases", &[]).await.remove(0);
    let manifest = app.texts("SELECT app_id || '/' || manifest_sha256 FROM releases", &[]).await.remove(0);
    bucket.damage(&needed);
    bucket.lose(&manifest);
    let verify = run(&settings, &["storage", "verify"]).await;
    assert_eq!(verify.code, Some(1), "{verify:?}");
    assert!(verify.out.contains(&format!("{needed}: altered\n")) && verify.out.contains(&format!("{manifest}: missing\n")), "{verify:?}");
    assert!(verify.err.contains("2 objects are broken") && verify.err.contains("--repair --from"), "{verify:?}");
    let repair = run(&settings, &["storage", "verify", "--repair", "--from", "file"]).await;
    assert_eq!(repair.code, Some(0), "{repair:?}");
    assert!(repair.err.contains("Repaired: 2."), "{repair:?}");
    let verify = run(&settings, &["storage", "verify"]).await;
    assert!(verify.code == Some(0) && verify.err.contains("Intact: 2 objects,"), "{verify:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_that_the_old_storage_does_not_have_is_named() {
    let (app, _, bucket) = beside_a_bucket().await;
    let needed = app.texts("SELECT app_id || '/' || blob_sha256 FROM releases ORDER BY label", &[]).await;
    let file = |key: &str| {
        let (app_id, hash) = key.split_once('/').unwrap();
        app.folder().join("blobs").join(app_id).join(&hash[..2]).join(hash)
    };
    std::fs::remove_file(file(&needed[0])).unwrap();
    std::fs::write(file(&needed[1]), "other bytes").unwrap();
    let storage = bucket.storage();
    let (code, out, told) = command(&app, &bucket, &["storage", "migrate", "--from", "file", "--to", &storage]).await;
    assert_eq!(code, Some(1), "{told}");
    assert!(out.contains(&format!("{}: missing\n", needed[0])) && out.contains(&format!("{}: altered\n", needed[1])), "{out}");
    assert_eq!(objects(&bucket).len(), 2, "the rest was copied, and nothing that is wrong");
    let (code, _, told) = command(&app, &bucket, &["storage", "migrate", "--from", "file", "--to", "file"]).await;
    assert!(code == Some(1) && told.contains("are the same storage"), "{told}");
    let (code, _, told) = command(&app, &bucket, &["storage", "verify", "--repair", "--from", "file"]).await;
    assert!(code == Some(1) && told.contains("give another one"), "{told}");
    let (code, _, told) = command(&app, &bucket, &["storage", "verify", "--from", &storage]).await;
    assert!(code == Some(2) && told.contains("--repair"), "{told}");
    let (code, out, told) = command(&app, &bucket, &["storage", "verify", "--repair"]).await;
    assert!(code == Some(1) && told.contains("2 objects are broken") && told.contains("--from STORAGE"), "{told}");
    assert!(out.contains(&format!("{}: missing\n", needed[0])) && out.contains(&format!("{}: altered\n", needed[1])), "{out}");
    std::fs::write(file(&needed[0]), Bundle::script("one").0).unwrap();
    let (code, _, told) = command(&app, &bucket, &["storage", "verify"]).await;
    assert!(code == Some(1) && told.contains("1 object is broken"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_diff_is_named_and_dropped_and_made_again() {
    let app = TestApp::spawn_with(Options { has_machine_clock: true, ..Options::default() }.with("DIFFS", "on")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let noise: Vec<u8> = (0..20_000_u32).flat_map(|number| number.wrapping_mul(0x9e37_79b1).to_le_bytes()).collect();
    for content in ["one", "two"] {
        let bundle = Bundle::of(&[("CodePush/main.jsbundle", content.as_bytes()), ("CodePush/noise.bin", &noise)]);
        ada.upload("demo", "Staging", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    let diffs = async || app.texts("SELECT app_id || '/' || sha256 FROM blobs WHERE is_diff", &[]).await;
    let offered = async || app.number("SELECT COUNT(*) FROM release_diffs").await;
    until("the diff is made", async || (offered().await == 1).then_some(())).await;
    let diff = diffs().await.remove(0);
    let (id, sha256) = diff.split_once('/').unwrap();
    let key = shared::hash::BlobKey { app: id.parse().unwrap(), sha256: sha256.parse().unwrap() };
    let verify = async |arguments: &[&str]| {
        let ended = run(&app.settings(), &[&["storage", "verify"], arguments].concat()).await;
        (ended.code, ended.out, ended.err)
    };
    for fault in ["missing", "altered"] {
        if fault == "missing" {
            app.lose_object(&key);
        } else {
            app.alter_object(&key, b"other bytes");
        }
        let (code, out, told) = verify(&[]).await;
        assert_eq!((code, out), (Some(1), format!("{diff}: {fault} (a diff)\n")), "{told}");
        assert!(told.contains("1 diff is broken: drop with --repair"), "{told}");
        assert_eq!(offered().await, 1, "nothing is changed");
        let (code, out, told) = verify(&["--repair"]).await;
        assert_eq!((code, out), (Some(0), format!("{diff}: {fault} (a diff), dropped: the server makes it again\n")), "{told}");
        assert!(told.contains("Diffs dropped: 1."), "{told}");
        until("the server has made it again", async || (offered().await == 1).then_some(())).await;
        let (code, _, told) = verify(&[]).await;
        assert!(code == Some(0) && told.contains("Intact: 5 objects,"), "{told}");
    }
}
