//! Late and repeated reports: a device's release depends on when its reports were received, never on the order in which they are counted.

use serde_json::Value;
use tests::random::Random;
use tests::reports::counts;

use crate::devices::counting::{World, stamped};

#[tokio::test(flavor = "multi_thread")]
async fn a_late_report_is_counted_but_moves_no_device_back() {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", 3).await;
    let deliver = async |number: u32, received: i64, key: &str, event: &str, place: &str| {
        world.app.deliver(&[stamped(number, received, key, Some("a"), event, place)]).await;
    };
    deliver(9, 900, &staging, "installed", "v3").await;
    // A binary report from before: the version becomes known, but no device runs it.
    deliver(1, 100, &staging, "binary", "1.0.0").await;
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("1.0.0", [0, 0, 0, 0]), ("v3", [1, 0, 1, 0])]));
    // Also for another deployment.
    deliver(2, 200, &production, "installed", "v1").await;
    deliver(3, 300, &production, "binary", "1.0.0").await;
    assert_eq!(world.ada.counts("demo", "Production").await, counts([("1.0.0", [0, 0, 0, 0]), ("v1", [0, 0, 1, 0])]));
    // A late download or failure counts like any other.
    deliver(4, 400, &staging, "downloaded", "v3").await;
    deliver(5, 500, &staging, "failed", "v2").await;
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("1.0.0", [0, 0, 0, 0]), ("v2", [0, 0, 0, 1]), ("v3", [1, 1, 1, 0])]));
    // A newer report of a release reported before moves the device, and counts nothing else.
    deliver(10, 1_000, &production, "installed", "v1").await;
    assert_eq!(world.ada.counts("demo", "Production").await, counts([("1.0.0", [0, 0, 0, 0]), ("v1", [1, 0, 1, 0])]));
    assert_eq!(world.ada.counts("demo", "Staging").await["v3"], [0, 1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_of_the_same_millisecond_are_ordered_by_id() {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", 3).await;
    let tied = |client: &str, first: u32| {
        vec![
            stamped(first, 500, &staging, Some(client), "installed", "v1"),
            stamped(first + 1, 500, &production, Some(client), "installed", "v2"),
            stamped(first + 2, 500, &staging, Some(client), "binary", "1.0.0"),
        ]
    };
    let orders: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for (client, order) in (0_u32..).zip(orders) {
        let reports = tied(&format!("client {client}"), client * 3);
        // One device with all its reports in one batch, another in three.
        let alone = tied(&format!("alone {client}"), 1_000 + client * 3);
        world.app.deliver(&order.map(|place| reports[place].clone())).await;
        for place in order {
            world.app.deliver(&alone[place..=place]).await;
        }
    }
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("1.0.0", [12, 0, 0, 0]), ("v1", [0, 0, 12, 0])]));
    assert_eq!(world.ada.counts("demo", "Production").await, counts([("v2", [0, 0, 12, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_with_an_implausible_time_is_counted_normally() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 2).await;
    let now = world.app.clock.now().as_millis();
    // Clocks of machines differ, and a queue may hold a report for weeks.
    for (number, received) in (0_u32..).zip([0, 1, now - 400 * 86_400_000, now, now + 86_400_000]) {
        let client = format!("client {number}");
        world.app.deliver(&[stamped(number, received, &staging, Some(&client), "installed", "v1")]).await;
    }
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [5, 0, 5, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_reports_in_any_order_count_once() {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", 2).await;
    let mut random = Random::new(77);
    let mut reports: Vec<Value> = Vec::new();
    for number in 0..60_u32 {
        let (client, time) = (format!("client {number}"), i64::from(number));
        let first = number * 10;
        // It retries like a client without a response: each time with another ID and a later time.
        for again in 0..4 {
            reports.push(stamped(first + again, 1_000 + time + i64::from(again), &staging, Some(&client), "downloaded", "v1"));
            reports.push(stamped(first + 4 + again, 2_000 + time + i64::from(again), &staging, Some(&client), "installed", "v1"));
        }
        // Every second device moves on.
        if number % 2 == 0 {
            reports.push(stamped(first + 8, 9_000 + time, &production, Some(&client), "installed", "v2"));
        }
        reports.push(stamped(first + 9, 9_500 + time, &production, Some(&client), "failed", "v1"));
    }
    let twice: Vec<Value> = reports.clone();
    reports.extend(twice);
    random.shuffle(&mut reports);
    world.app.deliver(&reports).await;
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([("v1", [30, 60, 60, 0])]));
    assert_eq!(world.ada.counts("demo", "Production").await, counts([("v1", [0, 0, 0, 60]), ("v2", [30, 0, 30, 0])]));
}
