//! Diffs that cannot be made, or not now: what is fine is made beside them, and what waits goes on when it is due.

use std::sync::Arc;
use std::time::Duration;

use control::testing::jobs::{Diffs, Job, Kind, Queue};
use control::testing::{AppState, Clock, Config, Entropy, server};
use serde_json::{Value, json};
use shared::hash::{BlobKey, Sha256Hex};
use tempfile::TempDir;
use tests::app::Options;
use tests::logged;
use tests::wait::until;
use tests::{Bundle, Client, TestApp};

use super::diffs::{HOUR, MINUTE, attached, check, move_devices_at, package, package_with, text, upload};

const DAY: i64 = 24 * HOUR;

async fn problems(app: &TestApp) -> Vec<String> {
    app.texts("SELECT problem FROM package_diffs WHERE problem IS NOT NULL ORDER BY problem", &[]).await
}

/// What became of the diffs to this release of Staging: labels of the source, status and problem.
async fn diffs(ada: &Client, label: &str) -> Vec<(String, String, Value)> {
    let path = format!("/v1/apps/demo/deployments/Staging/releases/{label}/diffs");
    let sources = ada.get(&path).await.assert(200)["diffs"]["sources"].take();
    let told = |source: &Value| line(source["labels"][0].as_str().unwrap(), text(source, "status"), source["problem"].clone());
    sources.as_array().unwrap().iter().map(told).collect()
}

fn line(label: &str, status: &str, problem: Value) -> (String, String, Value) {
    (label.to_owned(), status.to_owned(), problem)
}

/// The key of this bundle.
async fn key(app: &TestApp, bundle: &Bundle) -> BlobKey {
    let id = app.texts("SELECT id FROM apps", &[]).await.remove(0);
    BlobKey { app: id.parse().unwrap(), sha256: Sha256Hex::of(&bundle.0) }
}

/// A service with a bucket, which makes no diffs.
pub(super) async fn with_bucket() -> TestApp {
    TestApp::spawn_with(Options { has_bucket: true, ..Options::default() }).await
}

/// A second process, which makes diffs when the test says so. Its folder goes with it.
pub(super) async fn second_process(app: &TestApp) -> (AppState, TempDir) {
    let folder = TempDir::new().unwrap();
    let mut settings = app.settings();
    settings.entry("UPDRAFT_DATABASE_URL".to_owned()).or_insert_with(|| format!("sqlite://{}", app.folder().join("updraft.db").display()));
    settings.insert("UPDRAFT_DATA_DIR".to_owned(), folder.path().display().to_string());
    settings.insert("UPDRAFT_DIFFS".to_owned(), "on".to_owned());
    let config = Config::read(&settings).unwrap();
    (server::build(config, Clock::Test(app.clock.clone()), Entropy::System).await.unwrap().state, folder)
}

pub(super) fn job(state: &AppState) -> Diffs {
    Diffs::new(Arc::clone(&state.context), Queue::new(&state.context, Kind::Diffs).unwrap())
}

/// A process that never comes to an end at a slow object, and is then dead for so long that its lease has expired.
async fn die(app: &TestApp, state: &AppState) {
    let reads = app.bucket_ref().slow_reads();
    let mut job = job(state);
    tokio::select! {
        round = job.round() => panic!("it ended: {round:?}"),
        () = until("the package is read", async || (app.bucket_ref().slow_reads() > reads).then_some(())) => {}
    }
    app.clock.advance(31_000);
}

/// Works until nothing is to be done now.
pub(super) async fn work(app: &TestApp, job: &mut Diffs) {
    while tests::diffs::open(app.db(), app.clock.now().as_millis()).await > 0 {
        job.round().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn diffs_of_a_replaced_release_go_after_a_week_although_nothing_happens() {
    let app = TestApp::spawn_with(Options::default().with("DIFFS", "on")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for content in ["one", "two", "three"] {
        upload(&ada, "Staging", &package(content)).await;
        app.diffs_settled().await;
    }
    attached(&app, 3).await;
    app.diffs_settled().await;
    let of_second = "SELECT COUNT(*) FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE r.label = 2";
    assert_eq!(app.number(of_second).await, 1);
    app.clock.advance(7 * DAY + 1);
    until("the diff of v2 is gone", async || (app.number(of_second).await == 0).then_some(())).await;
    app.diffs_settled().await;
    assert_eq!(app.number("SELECT COUNT(*) FROM release_diffs").await, 2, "v3 keeps its diffs");
    assert_eq!(app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'diffs'").await, 0, "nothing waits any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrected_package_hash_has_the_diffs_made() {
    let mut app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let first = upload(&ada, "Staging", &package("one")).await;
    let second = upload(&ada, "Staging", &package("two")).await;
    // As from another server, which computed it in another way.
    app.change("UPDATE releases SET package_hash = $1 WHERE label = 2", &[&"ab".repeat(32)]).await;
    app.stop().await;
    app.configure("DIFFS", "on");
    app.start().await;
    until("the problem is known", async || (problems(&app).await == ["other_hash"]).then_some(())).await;
    assert_eq!(diffs(&ada, "v2").await, [line("v1", "none", json!("other_hash"))]);

    let info = json!({ "packageInfo": { "label": "v2", "packageHash": second["packageHash"] } });
    ada.patch("/v1/apps/demo/deployments/Staging/release", info).await.assert(200);
    attached(&app, 1).await;
    assert_eq!(diffs(&ada, "v2").await, [line("v1", "ready", Value::Null)]);
    let offered = check(&app, &staging, Some(text(&first, "packageHash"))).await;
    assert_eq!(offered["package_hash"], second["packageHash"]);
    assert!(offered["package_size"].as_u64().unwrap() < 20_000, "{offered}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_that_stays_unreadable_counts_as_damaged_and_the_others_diffs_are_made() {
    let app = with_bucket().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let broken = package("two");
    for bundle in [&package("one"), &broken, &package("three")] {
        upload(&ada, "Staging", bundle).await;
    }
    let object = key(&app, &broken).await.to_string();
    app.bucket_ref().break_reads(&object);
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    for failures in 1..=4 {
        job.round().await.unwrap();
        assert_eq!(app.number("SELECT attempts FROM outbox WHERE kind = 'diffs'").await, failures);
        assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs").await, 0, "it may pass");
        app.clock.advance(HOUR);
    }
    work(&app, &mut job).await;
    assert_eq!(diffs(&ada, "v3").await, [line("v2", "none", json!("base_damaged")), line("v1", "ready", Value::Null)]);
    // It is tried again when it is due.
    app.bucket_ref().mend_reads();
    app.clock.advance(6 * HOUR);
    work(&app, &mut job).await;
    assert_eq!(diffs(&ada, "v3").await, [line("v2", "ready", Value::Null), line("v1", "ready", Value::Null)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_is_no_damage_of_a_package() {
    let app = with_bucket().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for content in ["one", "two"] {
        upload(&ada, "Staging", &package(content)).await;
    }
    let (state, _folder) = second_process(&app).await;
    // As on a full disk, nothing can be written here, while the bucket can be read.
    let temporary = state.context.storage.temp_dir().to_owned();
    std::fs::remove_dir_all(&temporary).unwrap();
    let mut job = job(&state);
    for failures in 1..=6 {
        job.round().await.unwrap();
        assert_eq!(app.number("SELECT attempts FROM outbox WHERE kind = 'diffs'").await, failures);
        assert_eq!(problems(&app).await, [""; 0]);
        app.clock.advance(HOUR);
    }
    std::fs::create_dir(&temporary).unwrap();
    work(&app, &mut job).await;
    assert_eq!(diffs(&ada, "v2").await, [line("v1", "ready", Value::Null)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_do_not_hide_the_folders_of_earlier_packages() {
    let app = with_bucket().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let broken = package("broken");
    upload(&ada, "Production", &broken).await;
    for bundle in [package_with("one", &["CodePush/x/f"]), package("two"), package_with("three", &["CodePush/x"])] {
        upload(&ada, "Staging", &bundle).await;
    }
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    // What cannot be written says nothing about packages; one that cannot be read is left out, and the others are looked at.
    let temporary = state.context.storage.temp_dir().to_owned();
    std::fs::remove_dir_all(&temporary).unwrap();
    for failures in 1..=3 {
        job.round().await.unwrap();
        assert_eq!(app.number("SELECT attempts FROM outbox WHERE kind = 'diffs'").await, failures);
        app.clock.advance(HOUR);
    }
    std::fs::create_dir(&temporary).unwrap();
    app.bucket_ref().break_reads(&key(&app, &broken).await.to_string());
    job.round().await.unwrap();
    assert_eq!(app.number("SELECT attempts FROM outbox WHERE kind = 'diffs'").await, 4, "it may pass");
    assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs").await, 0);
    app.clock.advance(HOUR);
    work(&app, &mut job).await;
    let is_unsafe = |label| line(label, "none", json!("unsafe_names"));
    assert_eq!(diffs(&ada, "v3").await, [is_unsafe("v2"), is_unsafe("v1")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ends_at_a_package_of_another_deployment_leaves_unfinished_diffs() {
    let app = with_bucket().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let poisoned = package("poisoned");
    upload(&ada, "Production", &poisoned).await;
    for content in ["one", "two"] {
        upload(&ada, "Staging", &package(content)).await;
    }
    app.bucket_ref().slow_down(&key(&app, &poisoned).await.to_string());
    let (state, _folder) = second_process(&app).await;
    for _ in 0..5 {
        assert_eq!(problems(&app).await, [""; 0]);
        die(&app, &state).await;
    }
    let mut next = job(&state);
    work(&app, &mut next).await;
    assert_eq!(diffs(&ada, "v2").await, [line("v1", "none", json!("unfinished"))]);
    // A week later, it can be read.
    app.bucket_ref().mend_reads();
    app.clock.advance(7 * DAY);
    work(&app, &mut next).await;
    assert_eq!(diffs(&ada, "v2").await, [line("v1", "ready", Value::Null)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_of_packages_that_have_a_diff_reads_nothing() {
    let app = with_bucket().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    upload(&ada, "Staging", &package("zero")).await;
    app.clock.advance(HOUR);
    for deployment in ["Staging", "Production"] {
        upload(&ada, deployment, &package("one")).await;
    }
    upload(&ada, "Staging", &package("two")).await;
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    work(&app, &mut job).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM release_diffs").await, 2);
    app.clock.advance(HOUR);
    // The packages that came in the same moment are looked at.
    work(&app, &mut job).await;
    for object in app.bucket_ref().objects() {
        app.bucket_ref().break_reads(&object);
    }
    ada.post("/v1/apps/demo/deployments/Staging/promotions", json!({ "destination": "Production", "packageInfo": {} })).await.assert(201);
    work(&app, &mut job).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM release_diffs").await, 3);
    assert_eq!(app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'diffs'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_turn_makes_one_diff_and_then_the_account_rests() {
    let app = with_bucket().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    for content in ["one", "two", "three"] {
        upload(&ada, "Staging", &package(content)).await;
    }
    let object = key(&app, &package("three")).await.to_string();
    for (client, name) in [(&ada, "second"), (&bob, "demo"), (&bob, "second")] {
        app.clock.advance(1_000);
        client.create_app(name).await;
        for content in ["one", "two"] {
            client.upload(name, "Staging", &package(content).0, json!({ "appVersion": "1.0.0" })).await.assert(201);
        }
    }
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    app.bucket_ref().hold_reads(&object);
    let time_passes = async {
        until("the package is read", async || (app.bucket_ref().slow_reads() > 0).then_some(())).await;
        app.clock.advance(20_000);
        app.bucket_ref().mend_reads();
    };
    let (round, ()) = tokio::join!(job.round(), time_passes);
    round.unwrap();
    assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs").await, 1, "the other diff is for another turn");
    // Bob's apps have two turns each: the second finds nothing to do. Ada has waited for longer, but rests for as long as her turn took.
    for _ in 0..4 {
        job.round().await.unwrap();
    }
    let of_bob = "SELECT COUNT(*) FROM outbox o JOIN apps a ON a.id = o.key JOIN accounts c ON c.id = a.owner_id WHERE o.kind = 'diffs' AND c.email = 'bob@example.com'";
    assert_eq!(app.number(of_bob).await, 0, "bob's diffs are made");
    assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs").await, 3);
    app.clock.advance(20_000);
    work(&app, &mut job).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs").await, 5);
    assert_eq!(app.number("SELECT MAX(times) FROM package_diffs").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_that_ends_the_process_again_and_again_is_given_up_and_the_others_diffs_are_made() {
    let app = with_bucket().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let (healthy, poisoned) = (package("one"), package("two"));
    let first = upload(&ada, "Staging", &healthy).await;
    for bundle in [&poisoned, &package("three")] {
        upload(&ada, "Staging", bundle).await;
    }
    // A process that reads it never comes to an end.
    let object = key(&app, &poisoned).await.to_string();
    app.bucket_ref().slow_down(&object);
    let (state, _folder) = second_process(&app).await;
    for _ in 0..5 {
        assert_eq!(problems(&app).await, [""; 0]);
        die(&app, &state).await;
    }
    let mut next = job(&state);
    work(&app, &mut next).await;
    assert_eq!(diffs(&ada, "v3").await, [line("v2", "none", json!("unfinished")), line("v1", "ready", Value::Null)]);
    let offered = check(&app, &staging, Some(text(&first, "packageHash"))).await;
    assert!(offered["package_size"].as_u64().unwrap() < 20_000, "{offered}");

    // A week later, one process finds out that it is still so; after another week, that it is not.
    app.clock.advance(7 * DAY);
    die(&app, &state).await;
    work(&app, &mut next).await;
    assert_eq!(problems(&app).await, ["unfinished"]);
    app.bucket_ref().mend_reads();
    app.clock.advance(7 * DAY);
    work(&app, &mut next).await;
    assert_eq!(diffs(&ada, "v3").await, [line("v2", "ready", Value::Null), line("v1", "ready", Value::Null)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_stopped_leaves_its_work_without_a_failure() {
    let mut app = TestApp::spawn_with(Options { has_bucket: true, ..Options::default() }.with("DIFFS", "on")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    upload(&ada, "Staging", &package("one")).await;
    app.diffs_settled().await;
    let second = package("two");
    let object = key(&app, &second).await.to_string();
    app.bucket_ref().slow_down(&object);
    upload(&ada, "Staging", &second).await;
    for stops in 1..=6 {
        until("the package is read", async || (app.bucket_ref().slow_reads() >= stops).then_some(())).await;
        app.stop().await;
        app.start().await;
    }
    assert_eq!(app.number("SELECT attempts FROM outbox WHERE kind = 'diffs'").await, 0);
    app.bucket_ref().mend_reads();
    app.stop().await;
    app.start().await;
    attached(&app, 1).await;
}

// On one thread, where the time of timeouts can be advanced.
#[tokio::test]
async fn a_bucket_that_sends_a_byte_now_and_then_does_not_stop_the_job() {
    let log = logged::listen("control=info");
    let app = with_bucket().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let slow = package("two");
    for bundle in [&package("one"), &slow] {
        upload(&ada, "Staging", bundle).await;
    }
    let object = key(&app, &slow).await.to_string();
    app.bucket_ref().slow_down(&object);
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    let round = tokio::spawn(async move { job.round().await.map(drop) });
    until("the package is read", async || (app.bucket_ref().slow_reads() > 0).then_some(())).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(10)).await;
    tokio::time::resume();
    round.await.unwrap().unwrap();
    assert_eq!(app.number("SELECT attempts FROM outbox WHERE kind = 'diffs'").await, 1);
    assert!(log.lines().iter().any(|line| line.contains("work on a package for a diff took too long")), "{:?}", log.lines());
}

/// Ada's releases v1 and v2, and a second process. The bundle of v2 is read very slowly, and the next work is on trial.
async fn slow_on_trial(app: &TestApp) -> (Client, AppState, TempDir) {
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for content in ["one", "two"] {
        upload(&ada, "Staging", &package(content)).await;
    }
    let (state, folder) = second_process(app).await;
    app.change("UPDATE outbox SET attempts = 4 WHERE kind = 'diffs'", &[]).await;
    app.bucket_ref().slow_down(&key(app, &package("two")).await.to_string());
    (ada, state, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_stops_while_a_package_is_on_trial_does_not_blame_it() {
    let app = with_bucket().await;
    let (ada, state, _folder) = slow_on_trial(&app).await;
    let mut stopped = job(&state);
    tokio::select! {
        round = stopped.round() => panic!("it ended: {round:?}"),
        () = until("the package is read", async || (app.bucket_ref().slow_reads() > 0).then_some(())) => {}
    }
    assert_eq!(problems(&app).await, ["unfinished"]);
    stopped.finish().await;
    assert_eq!(problems(&app).await, [""; 0]);
    assert_eq!(app.number("SELECT attempts FROM outbox WHERE kind = 'diffs'").await, 4);
    app.bucket_ref().mend_reads();
    work(&app, &mut job(&state)).await;
    assert_eq!(diffs(&ada, "v2").await, [line("v1", "ready", Value::Null)]);
}

// On one thread, where the time of timeouts can be advanced.
#[tokio::test]
async fn a_database_that_fails_while_a_package_is_on_trial_does_not_blame_it() {
    let app = with_bucket().await;
    let (ada, state, _folder) = slow_on_trial(&app).await;
    let mut job = job(&state);
    let working = tokio::spawn(async move {
        let round = job.round().await.map(drop);
        (job, round)
    });
    until("the package is read", async || (app.bucket_ref().slow_reads() > 0).then_some(())).await;
    app.change("ALTER TABLE outbox RENAME TO elsewhere", &[]).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(5)).await;
    tokio::time::resume();
    let (mut job, round) = working.await.unwrap();
    round.unwrap_err();
    assert_eq!(problems(&app).await, ["unfinished"]);
    app.change("ALTER TABLE elsewhere RENAME TO outbox", &[]).await;
    app.bucket_ref().mend_reads();
    job.round().await.unwrap();
    assert_eq!(problems(&app).await, [""; 0]);
    assert_eq!(app.number("SELECT attempts FROM outbox WHERE kind = 'diffs'").await, 5);
    app.clock.advance(HOUR);
    work(&app, &mut job).await;
    assert_eq!(diffs(&ada, "v2").await, [line("v1", "ready", Value::Null)]);
}

// On one thread, where the time of timeouts can be advanced.
#[tokio::test]
async fn a_package_on_trial_that_cannot_be_read_once_is_not_damaged() {
    let app = with_bucket().await;
    let (ada, state, _folder) = slow_on_trial(&app).await;
    let mut job = job(&state);
    let round = tokio::spawn(async move { job.round().await.map(drop) });
    until("the package is read", async || (app.bucket_ref().slow_reads() > 0).then_some(())).await;
    app.bucket_ref().mend_reads();
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(10)).await;
    tokio::time::resume();
    round.await.unwrap().unwrap();
    assert_eq!(diffs(&ada, "v2").await, [line("v1", "ready", Value::Null)]);
    assert_eq!(app.number("SELECT attempts FROM outbox WHERE kind = 'diffs'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_whose_reports_waited_at_the_edge_are_followed() {
    let app = with_bucket().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let first = upload(&ada, "Staging", &package("1")).await;
    for number in 2..=7 {
        upload(&ada, "Staging", &package(&number.to_string())).await;
    }
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    work(&app, &mut job).await;
    app.clock.advance(HOUR);
    work(&app, &mut job).await;
    job.round().await.unwrap();
    assert_eq!(app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'diffs'").await, 0);
    // Received before that look, and stored after it.
    move_devices_at(&app, &staging, 1, (0, 10), app.clock.now().as_millis() - 5 * MINUTE).await;
    app.clock.advance(31 * MINUTE);
    job.round().await.unwrap();
    work(&app, &mut job).await;
    let offered = check(&app, &staging, Some(text(&first, "packageHash"))).await;
    assert!(offered["package_size"].as_u64().unwrap() < 20_000, "{offered}");
}

/// A package of so many files in deep folders, and a large one that stays.
fn deep(content: &str, count: usize) -> Bundle {
    let folders = "folder-of-15-by/".repeat(60);
    let names: Vec<String> = (0..count).map(|number| format!("CodePush/{folders}{number}")).collect();
    let noise = super::diffs::noise(1);
    let mut files = vec![("CodePush/main.jsbundle", content.as_bytes()), ("CodePush/assets/video.mp4", noise.as_slice())];
    files.extend(names.iter().map(|name| (name.as_str(), &b"same"[..])));
    Bundle::of(&files)
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_with_very_many_deep_folders_have_no_diffs_and_those_with_many_have() {
    let app = TestApp::spawn_with(Options::default().with("DIFFS", "on")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    // The paths of a file and its folders have 30,000 bytes, and 24 MiB are allowed.
    for (label, count, found) in [("v2", 700, line("v1", "ready", Value::Null)), ("v4", 900, line("v3", "none", json!("unsafe_names")))] {
        for content in ["one", "two"] {
            upload(&ada, "Staging", &deep(&format!("{content} {count}"), count)).await;
        }
        app.diffs_settled().await;
        assert_eq!(diffs(&ada, label).await.first(), Some(&found), "{label}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_take_turns() {
    let app = with_bucket().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    for (client, names) in [(&ada, &["one", "two", "three"][..]), (&bob, &["other"][..])] {
        for name in names {
            client.create_app(name).await;
            for content in ["one", "two"] {
                client.upload(name, "Staging", &package(content).0, json!({ "appVersion": "1.0.0" })).await.assert(201);
            }
            app.clock.advance(1);
        }
    }
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    let of_bob =
        "SELECT COUNT(*) FROM release_diffs d JOIN releases r ON r.id = d.release_id JOIN apps a ON a.id = r.app_id WHERE a.name = 'other'";
    job.round().await.unwrap();
    assert_eq!((app.number("SELECT COUNT(*) FROM release_diffs").await, app.number(of_bob).await), (1, 0));
    job.round().await.unwrap();
    assert_eq!((app.number("SELECT COUNT(*) FROM release_diffs").await, app.number(of_bob).await), (2, 1), "not all of Ada's apps first");
    work(&app, &mut job).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM release_diffs").await, 4);
}
