//! Random sets of reports through the database, from several tasks at once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use control::testing::{Dialect, counting, jobs, on_write};
use shared::time::UnixMillis;

use crate::cases::{installed, report};
use crate::model::{self, Counts};
use crate::random::Random;
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn stored_counters_are_a_function_of_the_set_of_reports() {
    for seed in 0..4 {
        let mut random = Random(seed);
        let reports: Vec<_> = (0..700).map(|_| random.report(25)).collect();
        let expected = model::counters(&reports);
        let world = World::create().await;
        for batch in random.deliveries(&reports, 120) {
            world.store(&batch).await;
            assert_eq!(world.negatives().await, 0, "seed {seed}");
        }
        assert_eq!(world.counters().await, expected, "seed {seed}");
        world.store(&reports).await;
        assert_eq!(world.counters().await, expected, "seed {seed}, delivered again as one batch");
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_count_at_once_lose_nothing() {
    let mut random = Random(77);
    let reports: Vec<_> = (0..3_000).map(|_| random.report(400)).collect();
    let world = World::create().await;
    // Each batch is delivered twice and everything is repeated, so the same client, new to the database, is often in two transactions at once.
    let mut batches = random.deliveries(&reports, 100);
    batches.extend(random.deliveries(&reports, 100));
    random.shuffle(&mut batches);
    let batches = Arc::new(Mutex::new(VecDeque::from(batches)));
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let (db, batches) = (world.db.clone(), Arc::clone(&batches));
            tokio::spawn(async move {
                loop {
                    let Some(batch) = batches.lock().unwrap().pop_front() else { return };
                    counting::store(&db, 200, &batch, UnixMillis(5_000)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
        assert_eq!(world.negatives().await, 0);
    }
    assert_eq!(world.counters().await, model::counters(&reports));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_and_counters_agree_when_a_history_is_cleared_between_batches() {
    let mut random = Random(5);
    let mut reports: Vec<_> = (0..2_500).map(|_| random.report(20)).collect();
    reports.retain(|report| report.report.client_id.is_some());
    let world = World::create().await;
    let batches = Arc::new(Mutex::new(VecDeque::from(random.deliveries(&reports, 60))));
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let (db, batches) = (world.db.clone(), Arc::clone(&batches));
            tokio::spawn(async move {
                loop {
                    let Some(batch) = batches.lock().unwrap().pop_front() else { return };
                    counting::store(&db, 200, &batch, UnixMillis(5_000)).await.unwrap();
                }
            })
        })
        .collect();
    // The epochs change as fast as the database allows. The releases stay, so that labels are still counted.
    while !batches.lock().unwrap().is_empty() {
        world.run("UPDATE deployments SET counting_epoch = counting_epoch + 1 WHERE deployment_key = 'first-staging'").await;
        assert_eq!(world.negatives().await, 0);
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(world.negatives().await, 0);
    let mut counters = world.counters().await;
    counters.retain(|_, counts| *counts != Counts::default());
    assert_eq!(counters, world.recount().await);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_overtaken_by_a_clear_is_counted_after_it() {
    let world = World::create().await;
    // SQLite has one writer, so nothing can overtake.
    if world.db.dialect() == Dialect::Postgres {
        world.store(&[report("first-staging", Some("phone"), installed("v1"), 10)]).await;
        let mut holder = world.db.write().await.unwrap();
        on_write!(holder, |conn| sqlx::query("UPDATE report_clients SET epoch = epoch").execute(conn).await).unwrap();
        let db = world.db.clone();
        let late = report("first-staging", Some("phone"), installed("v2"), 20);
        let batch = tokio::spawn(async move { counting::store(&db, 200, &[late], UnixMillis(5_000)).await });
        while world.waiting_for_locks().await == 0 {
            assert!(!batch.is_finished(), "the batch waits for the client's row");
        }
        world.run("UPDATE deployments SET counting_epoch = counting_epoch + 1").await;
        holder.commit().await.unwrap();
        batch.await.unwrap().unwrap();
        assert_eq!(world.counters().await, world.recount().await);
        assert_eq!(world.counters().await.into_values().collect::<Vec<_>>(), [[1, 0, 1, 0]]);
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_does_not_recreate_a_counter_that_was_cleared_meanwhile() {
    let world = World::create().await;
    // SQLite has one writer, so nothing can be cleared while a batch is counted.
    if world.db.dialect() == Dialect::Postgres {
        world.store(&[report("first-staging", Some("tablet"), installed("v1"), 10)]).await;
        world.store(&[report("first-production", Some("phone"), installed("v1"), 10)]).await;
        // Another transaction locks the counter that the phone moves to. The batch locks it before the one that the phone leaves, after reading the epochs.
        let mut holder = world.db.write().await.unwrap();
        let lock = "UPDATE metric_counters SET active = active FROM deployments d WHERE d.id = deployment_id AND d.deployment_key = 'first-staging'";
        assert_eq!(on_write!(holder, |conn| sqlx::query(lock).execute(conn).await).unwrap(), 1);
        let db = world.db.clone();
        let late = report("first-staging", Some("phone"), installed("v1"), 20);
        let batch = tokio::spawn(async move { counting::store(&db, 200, &[late], UnixMillis(5_000)).await });
        while world.waiting_for_locks().await == 0 {
            assert!(!batch.is_finished(), "the batch waits for the counter's row");
        }
        world.run("UPDATE deployments SET counting_epoch = counting_epoch + 1 WHERE deployment_key = 'first-production'").await;
        jobs::DeletionRound::default().step(&world.db).await.unwrap();
        assert_eq!(world.counters().await.into_values().collect::<Vec<_>>(), [[1, 0, 1, 0]], "production's counter is gone");
        holder.commit().await.unwrap();
        batch.await.unwrap().unwrap();
        assert_eq!(world.negatives().await, 0);
        assert_eq!(world.counters().await, world.recount().await);
        assert_eq!(world.counters().await.into_values().collect::<Vec<_>>(), [[2, 0, 2, 0]]);
    }
    world.end().await;
}
