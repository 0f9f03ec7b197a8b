//! What is known of diffs is bounded, and what nothing needs any more is forgotten, a batch at a time.

use std::sync::Arc;

use control::testing::jobs::{DiffClaim, DiffThrottle, DiffTurn, Job, Kind, Queue, take_diffs};
use control::testing::releases::Sweep;
use serde_json::json;
use shared::hash::{BlobKey, Sha256Hex};
use tests::wait::until;
use tests::{Bundle, TestApp, logged};

use super::diffs::{HOUR, noise, package, upload};
use super::diffs_stuck::{job, second_process, with_bucket, work};

/// Rows of a package that are kept.
const KEPT: i64 = 300;
/// Rows that a turn forgets at most.
const BATCH: i64 = 500;
/// The start of the hashes of bundles that a test invents. Four digits follow.
const INVENTED: &str = "000000000000000000000000000000000000000000000000000000000000";

/// Has the job look at every app.
async fn look_again(app: &TestApp) {
    let sql = "INSERT INTO outbox (kind, key, payload, created_time, next_attempt_time, attempts, lease_owner, lease_until, unsettled_until) \
        SELECT 'diffs', id, NULL, CAST($1 AS BIGINT), CAST($1 AS BIGINT), 0, NULL, 0, 0 FROM apps WHERE TRUE \
        ON CONFLICT (kind, key) DO UPDATE SET next_attempt_time = excluded.next_attempt_time";
    assert_eq!(app.change(sql, &[&app.clock.now().0.to_string()]).await, 1);
}

/// Invents diffs that failed, from so many bundles to this one. Each was tried a millisecond after the one before, from now on.
async fn invent_rows(app: &TestApp, target: &Bundle, count: i64) {
    let sql = "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < CAST($4 AS BIGINT)) \
        INSERT INTO package_diffs (app_id, target_sha256, target_hash, base_sha256, blob_sha256, size, problem, made_time, times) \
        SELECT t.app_id, t.blob_sha256, t.package_hash, $1 || CAST(1000 + number AS TEXT), NULL, 0, 'too_large', CAST($2 AS BIGINT) + number, 1 \
        FROM (SELECT DISTINCT app_id, blob_sha256, package_hash FROM releases WHERE blob_sha256 = $3) t CROSS JOIN numbers";
    let (now, sha256) = (app.clock.now().0.to_string(), Sha256Hex::of(&target.0));
    assert_eq!(i64::try_from(app.change(sql, &[INVENTED, &now, sha256.as_str(), &count.to_string()]).await), Ok(count));
}

/// Invents their bundles, which nothing deletes for a year.
async fn invent_bundles(app: &TestApp, count: i64) {
    let sql = "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < CAST($3 AS BIGINT)) \
        INSERT INTO blobs (app_id, sha256, size, last_used_time, deleting) \
        SELECT a.id, $1 || CAST(1000 + number AS TEXT), 1, CAST($2 AS BIGINT), FALSE FROM apps a CROSS JOIN numbers";
    let year = app.clock.now().plus_millis(365 * 24 * HOUR).0.to_string();
    assert_eq!(i64::try_from(app.change(sql, &[INVENTED, &year, &count.to_string()]).await), Ok(count));
}

/// What is known of the diffs to a bundle that were really made or tried, and when and how often.
async fn known(app: &TestApp, target: &Bundle) -> Vec<String> {
    let sql = "SELECT base_sha256 || ' ' || CAST(made_time AS TEXT) || ' ' || CAST(times AS TEXT) || ' ' || COALESCE(problem, '') FROM package_diffs \
        WHERE target_sha256 = $1 AND base_sha256 NOT LIKE $2 ORDER BY base_sha256";
    app.texts(sql, &[Sha256Hex::of(&target.0).as_str(), &format!("{INVENTED}%")]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_has_a_bounded_number_of_rows_and_none_goes_that_a_deployment_looks_at() {
    const INVENTIONS: i64 = 320;
    let mut app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let target = package("the target");
    // Six deployments, each with five packages of its own before the target. One of them has another video, so its diff is too large.
    let names: Vec<String> = (1..=6).map(|number| format!("Place {number}")).collect();
    for (name, seed) in names.iter().zip(2..) {
        ada.post("/v1/apps/demo/deployments", json!({ "name": name })).await.assert(201);
        for number in 1..=4 {
            upload(&ada, name, &package(&format!("{name} {number}"))).await;
        }
        upload(&ada, name, &Bundle::of(&[("CodePush/main.jsbundle", name.as_bytes()), ("CodePush/assets/video.mp4", &noise(seed))])).await;
        upload(&ada, name, &target).await;
    }
    // And a diff with bytes of its own, from a package that stays, to a release that goes.
    let video = noise(1);
    let files =
        [("CodePush/main.jsbundle", &b"other"[..]), ("CodePush/assets/video.mp4", video.as_slice()), ("CodePush/own.txt", &b"own"[..])];
    let other = Bundle::of(&files);
    for (deployment, bundle) in [("Staging", &other), ("Staging", &target), ("Production", &other)] {
        upload(&ada, deployment, bundle).await;
    }
    app.stop().await;
    app.configure("DIFFS", "on");
    app.start().await;
    app.diffs_settled().await;
    let base = Sha256Hex::of(&other.0);
    let blob = app.texts("SELECT blob_sha256 FROM package_diffs WHERE base_sha256 = $1", &[base.as_str()]).await.remove(0);
    ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    app.diffs_settled().await;
    let of_other = |row: &String| row.starts_with(base.as_str());
    let needed: Vec<String> = known(&app, &target).await.into_iter().filter(|row| !of_other(row)).collect();
    assert_eq!((needed.len(), needed.iter().filter(|row| row.ends_with("too_large")).count()), (30, 6), "{needed:#?}");

    // All of these are newer than what is needed.
    app.clock.advance(1);
    invent_bundles(&app, INVENTIONS).await;
    invent_rows(&app, &target, INVENTIONS).await;
    for _ in 0..2 {
        app.clock.advance(1);
        look_again(&app).await;
        app.diffs_settled().await;
        assert_eq!(known(&app, &target).await, needed, "what is needed is neither forgotten nor made again, and the unneeded diff is gone");
        assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs").await, KEPT);
        let oldest = "SELECT MIN(base_sha256) FROM package_diffs WHERE base_sha256 LIKE $1";
        let oldest = app.texts(oldest, &[&format!("{INVENTED}%")]).await;
        assert_eq!(oldest, [format!("{INVENTED}{}", 1000 + 30 + INVENTIONS - KEPT + 1)], "the oldest went first");
    }
    for name in &names {
        let sources = ada.get(&format!("/v1/apps/demo/deployments/{name}/releases/v6/diffs")).await.assert(200)["diffs"]["sources"].take();
        let ready = sources.as_array().unwrap().iter().filter(|source| source["status"] == "ready").count();
        assert_eq!((sources.as_array().unwrap().len(), ready), (5, 4), "{sources}");
    }

    // The forgotten diff's bytes go with all that is unused.
    let key = BlobKey { app: app.texts("SELECT id FROM apps", &[]).await.remove(0).parse().unwrap(), sha256: blob.parse().unwrap() };
    assert!(app.state().storage.exists(&key).await.unwrap());
    app.clock.advance(49 * HOUR);
    let mut sweep = Sweep::default();
    while sweep.step(&app.state()).await.unwrap() {}
    until("the bytes are gone", async || (!app.state().storage.exists(&key).await.unwrap()).then_some(())).await;
    until("so is the row", async || app.texts("SELECT sha256 FROM blobs WHERE sha256 = $1", &[&blob]).await.is_empty().then_some(())).await;
}

/// A service with one diff, and nothing to do.
async fn with_one_diff(app: &TestApp) -> Bundle {
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let target = package("two");
    for bundle in [&package("one"), &target] {
        upload(&ada, "Staging", bundle).await;
    }
    target
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_deleted_packages_go_a_batch_at_a_time() {
    let app = with_bucket().await;
    let target = with_one_diff(&app).await;
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    work(&app, &mut job).await;
    let made = known(&app, &target).await;
    assert_eq!(made.len(), 1);
    invent_rows(&app, &target, 2 * BATCH + 20).await;
    look_again(&app).await;
    for (left, waiting) in [(BATCH + 20, 1), (20, 1), (0, 0)] {
        job.round().await.unwrap();
        assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs").await, left + 1);
        assert_eq!(app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'diffs'").await, waiting, "with {left} left");
    }
    assert_eq!(known(&app, &target).await, made);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_deleted_packages_are_read_before_anything_is_locked() {
    let log = logged::listen("sqlx::query=debug");
    let app = with_bucket().await;
    let target = with_one_diff(&app).await;
    let (state, _folder) = second_process(&app).await;
    work(&app, &mut job(&state)).await;
    invent_rows(&app, &target, 3).await;
    look_again(&app).await;
    let of = app.texts("SELECT id FROM apps", &[]).await.remove(0);
    let lease = Queue::new(&state.context, Kind::Diffs).unwrap().claim_key(of, 30_000).await.unwrap().unwrap();
    let claim = DiffClaim { lease, began: app.clock.now() };
    let reads = || log.lines().iter().filter(|line| line.contains("package_diffs.target_sha256")).count();
    let before = reads();
    // SQLite has one writer, so the turn waits for this one before it changes anything.
    let writer = state.db.write().await.unwrap();
    let context = Arc::clone(&state.context);
    let turn = tokio::spawn(async move { take_diffs(&context, &claim, &mut None, &mut DiffThrottle::default()).await });
    until("the rows are read", async || (reads() > before).then_some(())).await;
    drop(writer);
    assert_eq!(turn.await.unwrap().unwrap(), DiffTurn::Done);
    assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs").await, 1);
}
