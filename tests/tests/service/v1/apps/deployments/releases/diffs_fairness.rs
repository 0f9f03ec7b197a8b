//! The job is fair: nobody who comes often, has much, or moves apps between accounts keeps others from their diffs.

use control::testing::jobs::Job;
use serde_json::json;
use tests::app::Options;
use tests::wait::until;
use tests::{Bundle, Client, TestApp};

use super::diffs::{MINUTE, check, noise, package, upload};
use super::diffs_stuck::{job, second_process, with_bucket, work};
use crate::v1::apps::{accept, transfer};

async fn describe(client: &Client, app: &str, text: &str) {
    let info = json!({ "packageInfo": { "label": "v1", "description": text } });
    client.patch(&format!("/v1/apps/{app}/deployments/Staging/release"), info).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_that_come_again_and_again_do_not_go_before_one_that_waits() {
    let app = with_bucket().await;
    let mut busy = Vec::new();
    for name in ["ada", "carol", "dave"] {
        let client = app.sign_up(name).await;
        client.create_app("demo").await;
        upload(&client, "Staging", &package("one")).await;
        busy.push(client);
    }
    let bob = app.sign_up("bob").await;
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    work(&app, &mut job).await;
    for name in ["first", "second"] {
        bob.create_app(name).await;
        for content in ["one", "two"] {
            bob.upload(name, "Staging", &package(content).0, json!({ "appVersion": "1.0.0" })).await.assert(201);
        }
    }
    for round in 0..16 {
        app.clock.advance(1_000);
        describe(&busy[round % 3], "demo", &format!("Round {round}")).await;
        job.round().await.unwrap();
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM release_diffs").await, 2, "both of bob's apps had their turns");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_at_many_deployments_takes_several_turns_and_misses_no_change() {
    const OPEN: &str = "SELECT COUNT(*) FROM outbox WHERE kind = 'diffs'";
    let app = with_bucket().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for name in ["A", "B", "C"] {
        ada.post("/v1/apps/demo/deployments", json!({ "name": name })).await.assert(201);
        upload(&ada, name, &package(name)).await;
    }
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    let mut turns = async || {
        let mut count = 0;
        while app.number(OPEN).await > 0 {
            app.clock.advance(MINUTE);
            app.clock.step(6_000);
            job.round().await.unwrap();
            app.clock.step(0);
            count += 1;
            if count == 2 && app.number("SELECT COUNT(*) FROM releases").await == 3 {
                // Two deployments were looked at. Whichever they are, all have a change now.
                for name in ["A", "B", "C", "Production", "Staging"] {
                    upload(&ada, name, &package("two")).await;
                }
            }
            assert!(count < 40, "it comes to an end");
        }
        count
    };
    // Each deployment takes longer than a turn.
    assert!(turns().await > 5);
    assert_eq!(app.number("SELECT COUNT(*) FROM release_diffs").await, 3);
    describe(&ada, "demo", "Nothing to do").await;
    assert_eq!(turns().await, 5, "each turn goes on where the one before ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_that_stopped_long_ago_begins_again() {
    let app = with_bucket().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    upload(&ada, "Staging", &package("one")).await;
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    let mut turn = async |pause: i64| {
        app.clock.advance(pause);
        app.clock.step(6_000);
        job.round().await.unwrap();
        app.clock.step(0);
        app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'diffs'").await
    };
    // Each of the two deployments takes longer than a turn.
    assert_eq!((turn(MINUTE).await, turn(MINUTE).await), (1, 0));
    describe(&ada, "demo", "Nothing to do").await;
    assert_eq!((turn(MINUTE).await, turn(11 * MINUTE).await, turn(MINUTE).await), (1, 1, 0), "by then, another process can have ended it");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_account_has_no_room_for_is_made_when_the_app_moves_to_one_that_has() {
    let app = TestApp::spawn_with(Options { has_bucket: true, ..Options::default().with("LIMIT_STORED_BYTES", "320000") }).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    ada.create_app("own-of-ada").await;
    let own = "INSERT INTO blobs (app_id, sha256, size, last_used_time, deleting, account_id, is_diff) \
        SELECT id, 'of-an-own-app', 320000, CAST($1 AS BIGINT), FALSE, owner_id, TRUE FROM apps";
    assert_eq!(app.change(own, &[&app.clock.now().0.to_string()]).await, 1);
    ada.create_app("demo").await;
    for content in ["one", "two"] {
        upload(&ada, "Staging", &package(content)).await;
    }
    work(&app, &mut job).await;
    assert_eq!(app.texts("SELECT problem FROM package_diffs", &[]).await, ["no_room"]);
    transfer(&ada, "demo", "bob").await.assert(201);
    accept(&bob, "ada@example.com:demo", json!({})).await.assert(200);
    work(&app, &mut job).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM release_diffs").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_moves_brings_no_diffs_that_its_new_owner_has_no_room_for() {
    const ATTACHED: &str = "SELECT COUNT(*) FROM release_diffs";
    let app = TestApp::spawn_with(Options { has_bucket: true, ..Options::default().with("LIMIT_STORED_BYTES", "320000") }).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    let bytes_of = async |name: &str| {
        const BYTES: &str = "SELECT CAST(COALESCE(SUM(b.size), 0) AS TEXT) FROM blobs b JOIN accounts a ON a.id = b.account_id WHERE b.is_diff AND a.email = $1";
        app.texts(BYTES, &[&format!("{name}@example.com")]).await.remove(0).parse::<i64>().unwrap()
    };
    // Each diff has 40,000 bytes, two thirds of the package. It deletes a file that only its base has, so no two are equal.
    let (_, key) = ada.create_app("demo").await;
    let mut hashes = Vec::new();
    for number in 2..=4 {
        let (main, own) = (noise(number), format!("CodePush/{number}.txt"));
        let files = [("CodePush/main.jsbundle", &main[..]), ("CodePush/video.mp4", &noise(1)[..20_000]), (own.as_str(), &b"own"[..])];
        hashes.push(upload(&ada, "Staging", &Bundle::of(&files)).await["packageHash"].as_str().unwrap().to_owned());
        work(&app, &mut job).await;
    }
    let (made, attached) = (bytes_of("ada").await, app.number(ATTACHED).await);
    assert!((120_000..130_000).contains(&made) && attached >= 2, "{made} {attached}");
    let size = async || check(&app, &key, Some(&hashes[0])).await["package_size"].as_u64().unwrap();
    assert!(size().await < 45_000, "the diff");

    // There is room: they move with the app.
    transfer(&ada, "demo", "bob").await.assert(201);
    accept(&bob, "ada@example.com:demo", json!({})).await.assert(200);
    assert_eq!((bytes_of("ada").await, bytes_of("bob").await, app.number(ATTACHED).await), (0, made, attached));

    // There is none: they stay the sender's until they are deleted, and devices get the whole package.
    let carol = app.sign_up("carol").await;
    let own = "INSERT INTO blobs (app_id, sha256, size, last_used_time, deleting, account_id, is_diff) \
        SELECT id, 'of-an-own-app', 220000, CAST($2 AS BIGINT), FALSE, owner_id, TRUE FROM apps WHERE name = $1";
    for (client, name) in [(&ada, "own-of-ada"), (&carol, "own-of-carol")] {
        client.create_app(name).await;
        assert_eq!(app.change(own, &[name, &app.clock.now().0.to_string()]).await, 1);
    }
    transfer(&bob, "demo", "ada").await.assert(201);
    accept(&ada, "bob@example.com:demo", json!({})).await.assert(200);
    assert_eq!((bytes_of("ada").await, bytes_of("bob").await, app.number(ATTACHED).await), (220_000, made, 0));
    assert!(size().await > 55_000, "the whole package");

    // Nor do they move when the app is passed on at once, and they are not kept longer.
    let times = "SELECT CAST(b.last_used_time AS TEXT) FROM blobs b JOIN accounts a ON a.id = b.account_id \
        WHERE b.is_diff AND a.email = 'bob@example.com' ORDER BY b.sha256";
    let left_behind = app.texts(times, &[]).await;
    app.clock.advance(MINUTE);
    transfer(&ada, "demo", "carol").await.assert(201);
    accept(&carol, "ada@example.com:demo", json!({})).await.assert(200);
    assert_eq!((bytes_of("carol").await, bytes_of("ada").await, bytes_of("bob").await), (220_000, 220_000, made));
    assert_eq!(app.texts(times, &[]).await, left_behind);

    // The server makes what there is room for again, and it counts for the new owner.
    work(&app, &mut job).await;
    assert_eq!(app.number(ATTACHED).await, 2);
    let of_carol = bytes_of("carol").await;
    assert!((290_000..=320_000).contains(&of_carol), "{of_carol}");
    assert!(size().await < 45_000, "the diff");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_moves_while_its_diffs_are_made_brings_none_that_its_new_owner_has_no_room_for() {
    let app = TestApp::spawn_with(Options { has_bucket: true, ..Options::default().with("LIMIT_STORED_BYTES", "320000") }).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let (state, _folder) = second_process(&app).await;
    let mut job = job(&state);
    ada.create_app("demo").await;
    for number in 2..=4 {
        let (main, own) = (noise(number), format!("CodePush/{number}.txt"));
        let files = [("CodePush/main.jsbundle", &main[..]), ("CodePush/video.mp4", &noise(1)[..20_000]), (own.as_str(), &b"own"[..])];
        upload(&ada, "Staging", &Bundle::of(&files)).await;
    }
    bob.create_app("own-of-bob").await;
    let own = "INSERT INTO blobs (app_id, sha256, size, last_used_time, deleting, account_id, is_diff) \
        SELECT id, 'of-an-own-app', 300000, CAST($1 AS BIGINT), FALSE, owner_id, TRUE FROM apps WHERE name = 'own-of-bob'";
    assert_eq!(app.change(own, &[&app.clock.now().0.to_string()]).await, 1);
    // The diff from v2 is made, and that from v1 waits for v1's files.
    let first = "SELECT r.app_id || '/' || r.manifest_sha256 FROM releases r WHERE r.label = 1";
    let object = app.texts(first, &[]).await.remove(0);
    app.bucket_ref().hold_reads(&object);
    let moves = async {
        until("v1's files are read", async || (app.bucket_ref().slow_reads() > 0).then_some(())).await;
        assert_eq!(app.number("SELECT COUNT(*) FROM package_diffs WHERE blob_sha256 IS NOT NULL").await, 1);
        transfer(&ada, "demo", "bob").await.assert(201);
        accept(&bob, "ada@example.com:demo", json!({})).await.assert(200);
        app.bucket_ref().mend_reads();
    };
    let (round, ()) = tokio::join!(job.round(), moves);
    round.unwrap();
    let of_bob = "SELECT CAST(COALESCE(SUM(b.size), 0) AS BIGINT) FROM blobs b JOIN accounts a ON a.id = b.account_id WHERE b.is_diff AND a.email = 'bob@example.com'";
    assert_eq!(app.number("SELECT COUNT(*) FROM release_diffs").await, 0, "nothing that was made before it moved");
    work(&app, &mut job).await;
    assert_eq!(app.number(of_bob).await, 300_000, "there is no room for any");
}
