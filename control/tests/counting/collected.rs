//! Direct reports, through the group commit.

use control::testing::counting::{Collector, ReportStatus};
use control::testing::settings;
use control::testing::{Clock, Error, TestClock};
use shared::time::UnixMillis;

use crate::cases::{installed, report};
use crate::world::World;

fn start(world: &World) -> Collector {
    let limits = settings::limits(&settings::RawSettings::new()).unwrap();
    Collector::start(world.db.clone(), Clock::Test(TestClock::at(UnixMillis(5_000))), &limits)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answered_report_is_counted() {
    let world = World::create().await;
    let collector = start(&world);
    let tasks: Vec<_> = (0..1_500)
        .map(|client| {
            let collector = collector.clone();
            let key = if client % 10 == 0 { "no-such-deployment" } else { "first-staging" };
            let one = report(key, Some(&format!("phone {client}")), installed("v1"), 10);
            tokio::spawn(async move { collector.submit(one).await.unwrap() })
        })
        .collect();
    let mut unknown = 0;
    for task in tasks {
        unknown += usize::from(task.await.unwrap() == ReportStatus::UnknownDeployment);
    }
    assert_eq!(unknown, 150);
    let counters: Vec<_> = world.counters().await.into_values().collect();
    assert_eq!(counters, [[1_350, 0, 1_350, 0]]);
    world.end().await;
}

#[tokio::test]
async fn a_report_that_cannot_be_stored_is_refused_and_later_ones_are_stored() {
    let world = World::create().await;
    let collector = start(&world);
    let one = report("first-staging", Some("phone"), installed("v1"), 10);
    world.run("ALTER TABLE metric_counters RENAME TO hidden").await;
    for _ in 0..2 {
        assert!(matches!(collector.submit(one.clone()).await, Err(Error::Unavailable(_))));
    }
    world.run("ALTER TABLE hidden RENAME TO metric_counters").await;
    assert!(world.counters().await.is_empty(), "nothing of it was stored");
    assert_eq!(collector.submit(one).await.unwrap(), ReportStatus::Accepted);
    assert_eq!(world.counters().await.into_values().collect::<Vec<_>>(), [[1, 0, 1, 0]]);
    world.end().await;
}
