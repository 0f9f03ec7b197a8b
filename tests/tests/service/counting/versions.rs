//! Binary versions: 200 of a deployment have a name of their own, the rest are `other`.

use serde_json::Value;
use tests::reports::{Counts, counts};
use tokio::task::JoinSet;

use crate::counting::{World, stamped};

const MOST: u32 = 200;

fn version(number: u32) -> String {
    format!("1.{number}.0")
}

fn with_names(names: u32, active: i64) -> Counts {
    (0..names).map(|number| (version(number), [active, 0, 0, 0])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_versions_have_names_and_the_others_are_counted_together() {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", 1).await;
    let run = |first: u32, clients: u32, time: i64, key: &str| -> Vec<Value> {
        (0..clients)
            .map(|number| stamped(first + number, time, key, Some(&format!("client {number}")), "binary", &version(number)))
            .collect()
    };
    world.app.deliver(&run(0, MOST, 10, &staging)).await;
    assert_eq!(world.ada.counts("demo", "Staging").await, with_names(MOST, 1));
    // 30 more clients, each with a version that is new.
    world.app.deliver(&run(0, MOST + 30, 10, &staging)).await;
    let mut expected = with_names(MOST, 1);
    expected.insert("other".to_owned(), [30, 0, 0, 0]);
    assert_eq!(world.ada.counts("demo", "Staging").await, expected);
    // Another deployment has its own 200. All move there, and leave what they were counted under.
    world.app.deliver(&run(1_000, MOST + 30, 20, &production)).await;
    assert_eq!(world.ada.counts("demo", "Production").await, expected);
    let mut left = with_names(MOST, 0);
    left.insert("other".to_owned(), [0, 0, 0, 0]);
    assert_eq!(world.ada.counts("demo", "Staging").await, left);
    // From `other` to a release, and from a name to `other`.
    world.installed(&staging, &format!("client {MOST}"), "v1").await;
    world.binary(&production, "client 0", "77.0").await;
    assert_eq!(world.ada.counts("demo", "Staging").await["v1"], [1, 0, 1, 0]);
    let production = world.ada.counts("demo", "Production").await;
    assert_eq!((production["other"], production[&version(0)]), ([30, 0, 0, 0], [0, 0, 0, 0]));
    assert_eq!(production.values().map(|counts| counts[0]).sum::<i64>(), i64::from(MOST) + 29);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_looks_like_a_label_is_counted_as_other_from_the_beginning() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 3).await;
    for (client, version) in [("a", "v1"), ("b", "v77"), ("c", "other"), ("d", "V1"), ("e", "v01"), ("f", "1.0"), ("g", "Other")] {
        world.binary(&staging, client, version).await;
    }
    let expected = [("1.0", [1, 0, 0, 0]), ("Other", [1, 0, 0, 0]), ("V1", [1, 0, 0, 0]), ("other", [3, 0, 0, 0]), ("v01", [1, 0, 0, 0])];
    assert_eq!(world.ada.counts("demo", "Staging").await, counts(expected), "the release v1 is installed by nobody");
    world.installed(&staging, "a", "v1").await;
    assert_eq!(world.ada.counts("demo", "Staging").await["v1"], [1, 0, 1, 0]);
    assert_eq!(world.ada.counts("demo", "Staging").await["other"], [2, 0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleared_history_gives_its_names_anew() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    let all: Vec<Value> =
        (0..MOST + 5).map(|number| stamped(number, 10, &staging, Some(&format!("client {number}")), "binary", &version(number))).collect();
    world.app.deliver(&all).await;
    world.ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([]));
    // What had no name before has one now.
    world.binary(&staging, &format!("client {}", MOST + 1), &version(MOST + 1)).await;
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([(version(MOST + 1).as_str(), [1, 0, 0, 0])]));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_new_versions_at_once_are_never_more_than_two_hundred() {
    const CLIENTS: u32 = 400;
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    let mut sending = JoinSet::new();
    for number in 0..CLIENTS {
        let body = serde_json::json!({ "deployment_key": staging, "app_version": version(number), "client_unique_id": format!("client {number}") });
        let client = world.app.anonymous();
        sending.spawn(async move { client.post(crate::counting::DEPLOY, body).await.assert(200) });
        if sending.len() >= 32 {
            sending.join_next().await.unwrap().unwrap();
        }
    }
    sending.join_all().await;
    let counted = world.ada.counts("demo", "Staging").await;
    assert_eq!(counted.len(), usize::try_from(MOST).unwrap() + 1);
    let (other, names): (Vec<_>, Vec<_>) = counted.iter().partition(|(place, _)| *place == "other");
    assert_eq!(other[0].1, &[i64::from(CLIENTS - MOST), 0, 0, 0]);
    assert!(names.iter().all(|(_, counts)| **counts == [1, 0, 0, 0]), "{names:?}");
}
