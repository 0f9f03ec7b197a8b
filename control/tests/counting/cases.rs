//! Cases that random sets of reports do not reach.

use control::testing::counting::{self, ReportStatus};
use control::testing::on;
use shared::ids::ReportId;
use shared::report::{Event, NewReport, Report};
use shared::time::UnixMillis;

use crate::model::Counts;
use crate::world::World;

const STAGING: &str = "first-staging";
const PRODUCTION: &str = "first-production";

/// A report whose id is derived from its contents.
pub(crate) fn report(key: &str, client: Option<&str>, event: Event, received: i64) -> Report {
    let text = format!("{key} {client:?} {event:?}");
    let digest = shared::keys::ClientId::try_from(text.get(..text.len().min(120)).unwrap()).unwrap().digest();
    let id = ReportId::v7(UnixMillis(received), std::array::from_fn(|place| digest[place]));
    let client_id = client.map(|client| client.try_into().unwrap());
    Report { id, received: UnixMillis(received), report: NewReport { deployment_key: key.try_into().unwrap(), client_id, event } }
}

pub(crate) fn installed(label: &str) -> Event {
    Event::Installed { label: label.parse().unwrap() }
}

fn binary(version: &str) -> Event {
    Event::Binary { app_version: version.try_into().unwrap() }
}

impl World {
    async fn one(&self, key: &str, place: &str) -> Option<Counts> {
        self.counters().await.get(&(key.to_owned(), place.to_owned())).copied()
    }
}

#[tokio::test]
async fn a_known_sequence_of_reports_gives_the_known_counters() {
    let world = World::create().await;
    let events = [
        (STAGING, binary("1.0.0")),
        (STAGING, Event::Downloaded { label: "v1".parse().unwrap() }),
        (STAGING, installed("v1")),
        (STAGING, installed("v1")),
        (STAGING, installed("v2")),
        (STAGING, Event::Failed { label: "v3".parse().unwrap() }),
        (PRODUCTION, installed("v4")),
        (STAGING, binary("2.0.0")),
    ];
    for (time, (key, event)) in (10..).zip(events) {
        world.store(&[report(key, Some("phone"), event, time)]).await;
    }
    assert_eq!(world.one(STAGING, "1.0.0").await, Some([0, 0, 0, 0]));
    assert_eq!(world.one(STAGING, "v1").await, Some([0, 1, 1, 0]));
    assert_eq!(world.one(STAGING, "v2").await, Some([0, 0, 1, 0]));
    assert_eq!(world.one(STAGING, "v3").await, Some([0, 0, 0, 1]));
    assert_eq!(world.one(PRODUCTION, "v4").await, Some([0, 0, 1, 0]));
    assert_eq!(world.one(STAGING, "2.0.0").await, Some([1, 0, 0, 0]));
    world.end().await;
}

#[tokio::test]
async fn old_reports_do_not_restore_a_cleared_history() {
    let world = World::create().await;
    let (early, late) = (report(STAGING, Some("phone"), binary("1.0.0"), 10), report(PRODUCTION, Some("phone"), installed("v1"), 20));
    world.store(&[early.clone(), late.clone()]).await;
    world.clear(PRODUCTION).await;
    // Both reports again: production was cleared, and the device had left staging before.
    world.store(&[early, late]).await;
    assert_eq!(world.one(PRODUCTION, "v1").await, None);
    assert_eq!(world.one(STAGING, "1.0.0").await, Some([0, 0, 0, 0]));
    // Leaving the cleared deployment lowers no counter, and old flags do not affect new labels.
    world.release(PRODUCTION, 5).await;
    world.store(&[report(PRODUCTION, Some("phone"), installed("v5"), 30)]).await;
    assert_eq!(world.one(PRODUCTION, "v5").await, Some([1, 0, 1, 0]));
    assert_eq!(world.one(PRODUCTION, "v1").await, None);
    assert_eq!(world.negatives().await, 0);
    world.clear(PRODUCTION).await;
    world.store(&[report(STAGING, Some("phone"), installed("v2"), 40)]).await;
    assert_eq!(world.one(STAGING, "v2").await, Some([1, 0, 1, 0]));
    assert_eq!(world.negatives().await, 0);
    let mut tx = world.db.read().await.unwrap();
    let flags: String = on!(tx, |conn| sqlx::query_scalar("SELECT flags FROM report_clients").fetch_one(conn).await).unwrap();
    assert!(flags.ends_with(r#":{"e":0,"l":{"2":2}}}"#), "only counted events are stored: {flags}");
    drop(tx);
    world.end().await;
}

#[tokio::test]
async fn a_deleted_deployment_drops_reports_and_keeps_no_devices() {
    let world = World::create().await;
    world.store(&[report(PRODUCTION, Some("phone"), installed("v1"), 10)]).await;
    world.run("DELETE FROM metric_counters").await;
    world.run(&format!("DELETE FROM deployments WHERE deployment_key = '{PRODUCTION}'")).await;
    let judged =
        world.store(&[report(PRODUCTION, Some("phone"), installed("v2"), 20), report(STAGING, Some("phone"), installed("v2"), 30)]).await;
    assert_eq!(judged, [ReportStatus::UnknownDeployment, ReportStatus::Accepted]);
    assert_eq!(world.one(STAGING, "v2").await, Some([1, 0, 1, 0]));
    assert_eq!(world.negatives().await, 0);
    world.end().await;
}

#[tokio::test]
async fn a_report_for_an_unknown_label_is_accepted_and_ignored() {
    let world = World::create().await;
    world.store(&[report(STAGING, Some("phone"), installed("v1"), 10)]).await;
    let unknown = [
        report(STAGING, Some("phone"), installed("v8"), 20),
        report(STAGING, Some("tablet"), installed("v8"), 20),
        report(STAGING, None, installed("v8"), 20),
    ];
    assert_eq!(world.store(&unknown).await, vec![ReportStatus::Accepted; 3]);
    assert_eq!(world.counters().await.len(), 1);
    assert_eq!(world.one(STAGING, "v1").await, Some([1, 0, 1, 0]));
    let mut tx = world.db.read().await.unwrap();
    let rows: (i64, i64) =
        on!(tx, |conn| sqlx::query_as("SELECT (SELECT COUNT(*) FROM report_clients), (SELECT COUNT(*) FROM report_ids)")
            .fetch_one(conn)
            .await)
        .unwrap();
    assert_eq!(rows, (1, 0));
    drop(tx);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn binary_versions_beyond_the_limit_share_a_counter_until_devices_update() {
    let world = World::create().await;
    let mut tasks = Vec::new();
    for client in 0..12 {
        let db = world.db.clone();
        let name = format!("phone {client}");
        let first = report(STAGING, Some(&name), binary(&format!("1.{client}.0")), 10);
        tasks.push(tokio::spawn(async move { counting::store(&db, 3, &[first], UnixMillis(5_000)).await.unwrap() }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let counters = world.counters().await;
    assert_eq!(counters.len(), 4, "three named versions and other: {counters:?}");
    assert_eq!(counters[&(STAGING.to_owned(), "other".to_owned())], [9, 0, 0, 0]);
    for client in 0..12 {
        world.store(&[report(STAGING, Some(&format!("phone {client}")), installed("v1"), 20)]).await;
    }
    assert_eq!(world.one(STAGING, "other").await, Some([0, 0, 0, 0]));
    assert_eq!(world.one(STAGING, "v1").await, Some([12, 0, 12, 0]));
    assert_eq!(world.negatives().await, 0);
    world.end().await;
}

#[tokio::test]
async fn ids_of_reports_without_a_client_are_kept_for_fifteen_days() {
    let world = World::create().await;
    let anonymous = report(STAGING, None, installed("v1"), 10);
    world.store(&[anonymous.clone(), anonymous.clone()]).await;
    world.store(std::slice::from_ref(&anonymous)).await;
    assert_eq!(world.one(STAGING, "v1").await, Some([0, 0, 1, 0]), "counted once, without an active device");
    for (days, is_counted_again) in [(15, 0), (16, 1)] {
        assert!(!counting::purge(&world.db, UnixMillis(5_000 + days * 86_400_000)).await.unwrap(), "there are no more");
        world.store(std::slice::from_ref(&anonymous)).await;
        assert_eq!(world.one(STAGING, "v1").await, Some([0, 0, 1 + is_counted_again, 0]));
    }
    world.end().await;
}
