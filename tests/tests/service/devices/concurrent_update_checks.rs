//! Concurrent checks share database reads; none may get data that was replaced before the check began.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use shared::keys::DeploymentKey;
use tests::wait::until;
use tests::{Bundle, Client, Db, Dialect, TestApp, on_write};
use tokio::task::{JoinHandle, yield_now};

/// Concurrent checks.
const AT_ONCE: usize = 24;
/// Successive changes.
const CHANGES: usize = 20;

async fn is_offered(client: &Client, key: &str) -> Value {
    let answer = client.get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")).await;
    answer.assert(200)["update_info"]["is_available"].clone()
}

/// Sends checks continuously until `is_over`, so that reads are always in progress.
fn keep_asking(client: &Client, key: &str, is_over: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
    let other = |_| {
        let (client, key, is_over) = (client.clone(), key.to_owned(), Arc::clone(is_over));
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                is_offered(&client, &key).await;
            }
        })
    };
    (0..4).map(other).collect()
}

/// Sends many concurrent checks, alternating between both keys.
async fn all_are_told(client: &Client, keys: [&str; 2], expected: [bool; 2]) {
    let asked = (0..AT_ONCE).map(|number| is_offered(client, keys[number % 2]));
    for (number, offered) in join_all(asked).await.into_iter().enumerate() {
        assert_eq!(offered, expected[number % 2], "check {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_check_after_a_change_sees_it() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", &Bundle::script("A\n").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let client = app.anonymous();
    let is_over = Arc::default();
    let others = keep_asking(&client, &staging, &is_over);
    for change in 0..CHANGES {
        let is_disabled = change % 2 == 0;
        let change = json!({ "packageInfo": { "isDisabled": is_disabled } });
        ada.patch("/v1/apps/demo/deployments/Staging/release", change).await.assert(200);
        all_are_told(&client, [&production, &staging], [false, !is_disabled]).await;
    }
    is_over.store(true, Ordering::Relaxed);
    for other in others {
        other.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_another_process_are_seen_immediately() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", &Bundle::script("A\n").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let client = app.anonymous();
    let file = format!("sqlite://{}", app.folder().join("updraft.db").display());
    let other = Db::open(app.settings().get("UPDRAFT_DATABASE_URL").unwrap_or(&file)).await.unwrap();
    for change in 0..CHANGES {
        let is_disabled = change % 2 == 0;
        let mut tx = other.write().await.unwrap();
        let releases = "UPDATE releases SET is_disabled = $1";
        on_write!(tx, |conn| sqlx::query(releases).bind(is_disabled).execute(conn).await).unwrap();
        let keys = "UPDATE deployment_keys SET snapshot_version = snapshot_version + 1 WHERE deployment_key = $1";
        on_write!(tx, |conn| sqlx::query(keys).bind(&staging).execute(conn).await).unwrap();
        tx.commit().await.unwrap();
        all_are_told(&client, [&production, &staging], [false, !is_disabled]).await;
    }
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_checks_of_different_keys_are_not_mixed_up() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (production, staging) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", &Bundle::script("A\n").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Gone" })).await.assert(201);
    let gone = ada.deployment_key("demo", "Gone").await;
    ada.delete("/v1/apps/demo/deployments/Gone").await.assert_status(204);
    let client = app.anonymous();
    let asked = (0..600).map(|number| {
        let (client, key) = (
            &client,
            match number % 4 {
                0 => production.clone(),
                1 => staging.clone(),
                2 => gone.clone(),
                // More than fit in one statement.
                _ => format!("nobody-has-this-key-{number}"),
            },
        );
        async move { client.get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")).await }
    });
    for (number, answer) in join_all(asked).await.into_iter().enumerate() {
        match number % 4 {
            0 => assert_eq!(answer.assert(200)["update_info"]["is_available"], false),
            1 => assert_eq!(answer.assert(200)["update_info"]["is_available"], true),
            _ => answer.assert_status(404),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_are_refused_while_the_database_is_unreachable() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let client = app.anonymous();
    assert_eq!(is_offered(&client, &staging).await, false);
    app.db().close().await;
    // A cached snapshot may be outdated, and this cannot be verified.
    let path = format!("/v1/public/svc/update_check?deployment_key={staging}&app_version=1.0.0");
    for answer in join_all((0..AT_ONCE).map(|_| client.get(&path))).await {
        answer.refused(503);
        assert_eq!(answer.header("retry-after"), "5");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_postgresql_connection_fails_no_check() {
    let app = TestApp::spawn().await;
    if app.db().dialect() == Dialect::Sqlite {
        // There are no connections to lose.
        return;
    }
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let client = app.anonymous();
    assert_eq!(is_offered(&client, &staging).await, false);
    let is_over = Arc::default();
    let others = keep_asking(&client, &staging, &is_over);
    for _ in 0..CHANGES {
        // The connection of the reads, identified by its last statement.
        let ended = "SELECT COUNT(pg_terminate_backend(pid, 10000)) FROM (SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
            AND query LIKE 'SELECT snapshot_version FROM deployment_keys%' ORDER BY query_start DESC LIMIT 1) AS looker";
        // For a moment its last statement may be the health check of the pool.
        until("the connection to be terminated", async || (app.number(ended).await == 1).then_some(())).await;
        // Answered by a read that began afterwards, so at most one is lost.
        assert_eq!(is_offered(&client, &staging).await, false);
    }
    is_over.store(true, Ordering::Relaxed);
    for other in others {
        other.await.unwrap();
    }
}

/// On one thread, so that tasks with a response have continued before the test does.
#[tokio::test]
async fn a_change_during_queued_checks_is_built_once() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let key = DeploymentKey::try_from(staging).unwrap();
    let state = app.state();
    // Each for another account, since a single account never gets all slots.
    let mut slots = Vec::new();
    while let Some(slot) = state.snapshots.build_slot(&format!("account {}", slots.len())).now_or_never() {
        slots.push(slot.unwrap());
    }
    let checks: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (state, key) = (state.clone(), key.clone());
            tokio::spawn(async move { state.snapshots.current(&key).await.unwrap().unwrap() })
        })
        .collect();
    // They run first, so they have read their version when this task continues.
    yield_now().await;
    let old = state.snapshots.version(&key).await.unwrap().unwrap();
    ada.upload("demo", "Staging", &Bundle::script("A\n").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    // One slot for all of them; each build returns a different snapshot.
    drop(slots.pop());
    let snapshots: Vec<_> = join_all(checks).await.into_iter().map(Result::unwrap).collect();
    assert!(snapshots[0].version() > old, "the change came too late");
    let builds = 1 + snapshots.windows(2).filter(|pair| !Arc::ptr_eq(&pair[0], &pair[1])).count();
    assert_eq!(builds, 1);
}
