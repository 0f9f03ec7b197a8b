//! Unreadable rows, and what they mean for unrelated reports.

use futures_util::future::join_all;
use serde_json::json;
use tempfile::TempDir;
use tests::reports::{batch, counts};
use tests::{Dialect, program};

use crate::devices::counting::{DEPLOY, World, stamped};

/// Two devices run v1, and one of them has an unreadable row.
async fn damaged() -> (World, String) {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    world.installed(&staging, "broken", "v1").await;
    assert_eq!(world.app.change("UPDATE report_clients SET flags = 'x'", &[]).await, 1);
    world.installed(&staging, "sound", "v1").await;
    (world, staging)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_an_unreadable_device_row_is_refused_and_others_are_counted() {
    let (world, staging) = damaged().await;
    let mut reports: Vec<_> =
        (0..50).map(|number| stamped(number, 10, &staging, Some(&format!("client {number}")), "installed", "v1")).collect();
    reports.insert(20, stamped(50, 10, &staging, Some("broken"), "failed", "v1"));
    reports.push(stamped(51, 10, &staging, None, "downloaded", "v1"));
    for _ in 0..2 {
        let client = world.app.anonymous();
        client.send(batch(&client, world.app.clock.now(), &reports)).await.assert(503);
        assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [52, 1, 52, 0])]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_the_database_rejects_does_not_affect_others() {
    let world = World::new().await;
    if world.app.db().dialect() == Dialect::Sqlite {
        // SQLite accepts everything a report can contain.
        return;
    }
    let (_, staging) = world.app_with("demo", 1).await;
    let function = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION USING ERRCODE = ''22P05''; END'";
    world.app.change(function, &[]).await;
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON report_clients FOR EACH ROW \
        WHEN (NEW.client = substr(sha256(CAST('poison' AS bytea)), 1, 16)) EXECUTE FUNCTION refuse()";
    world.app.change(trigger, &[]).await;
    let of = |number: u32| if number == 20 { "poison".to_owned() } else { format!("client {number}") };
    let reports: Vec<_> = (0..50).map(|number| stamped(number, 10, &staging, Some(&of(number)), "installed", "v1")).collect();
    let client = world.app.anonymous();
    client.send(batch(&client, world.app.clock.now(), &reports)).await.assert(503);
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [49, 0, 49, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_device_with_an_unreadable_row_is_refused() {
    let (world, staging) = damaged().await;
    let answers = join_all((0..60).map(|number| {
        let client = if number % 20 == 10 { "broken".to_owned() } else { format!("client {number}") };
        let body = json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": client, "label": "v1", "status": "DeploymentSucceeded" });
        let anonymous = world.app.anonymous();
        async move { (number, anonymous.post(DEPLOY, body).await) }
    }))
    .await;
    for (number, answer) in answers {
        answer.assert(if number % 20 == 10 { 503 } else { 200 });
    }
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [59, 0, 59, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_continues_past_an_unreadable_device_row() {
    let (world, staging) = damaged().await;
    let folder = TempDir::new().unwrap();
    for number in 0..150 {
        let client = if number == 30 { "broken".to_owned() } else { format!("client {number}") };
        let letter = stamped(number, 10, &staging, Some(&client), "installed", "v1");
        std::fs::write(folder.path().join(format!("{number:04}.json")), letter.to_string()).unwrap();
    }
    let arguments = ["reports", "replay", "--from", folder.path().to_str().unwrap()];
    let done = program::run(&world.app.settings(), &arguments).await;
    assert_eq!((done.code, done.out.as_str()), (Some(1), "dead letters counted: 149, remaining: 1\n"), "{done:?}");
    assert!(done.err.contains("remaining: 0030.json: could not be counted: a database row cannot be read"), "{done:?}");
    assert!(!done.err.contains("broken"), "{done:?}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["0030.json"]);
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [151, 0, 151, 0])]));
}
