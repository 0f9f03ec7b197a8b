//! Binary versions: 200 per deployment are counted by name, the rest as `other`.

use control::testing::jobs;
use serde_json::Value;
use tests::Options;
use tests::reports::{Counts, counts};
use tests::wait::until;
use tokio::task::JoinSet;

use crate::devices::counting::{World, stamped};

const MOST: u32 = 200;

fn version(number: u32) -> String {
    format!("1.{number}.0")
}

fn with_names(names: u32, active: i64) -> Counts {
    (0..names).map(|number| (version(number), [active, 0, 0, 0])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_versions_are_counted_by_name_and_the_rest_together() {
    let world = World::new().await;
    let (production, staging) = world.app_with("demo", 1).await;
    let run = |first: u32, clients: u32, time: i64, key: &str| -> Vec<Value> {
        (0..clients)
            .map(|number| stamped(first + number, time, key, Some(&format!("client {number}")), "binary", &version(number)))
            .collect()
    };
    world.app.deliver(&run(0, MOST, 10, &staging)).await;
    assert_eq!(world.ada.counts("demo", "Staging").await, with_names(MOST, 1));
    // 30 more devices, each with a new version.
    world.app.deliver(&run(0, MOST + 30, 10, &staging)).await;
    let mut expected = with_names(MOST, 1);
    expected.insert("other".to_owned(), [30, 0, 0, 0]);
    assert_eq!(world.ada.counts("demo", "Staging").await, expected);
    // Another deployment has its own 200. All devices move there and leave their previous counters.
    world.app.deliver(&run(1_000, MOST + 30, 20, &production)).await;
    assert_eq!(world.ada.counts("demo", "Production").await, expected);
    let mut left = with_names(MOST, 0);
    left.insert("other".to_owned(), [0, 0, 0, 0]);
    assert_eq!(world.ada.counts("demo", "Staging").await, left);
    // From `other` to a release, and from a named version to `other`.
    world.installed(&staging, &format!("client {MOST}"), "v1").await;
    world.binary(&production, "client 0", "77.0").await;
    assert_eq!(world.ada.counts("demo", "Staging").await["v1"], [1, 0, 1, 0]);
    let production = world.ada.counts("demo", "Production").await;
    assert_eq!((production["other"], production[&version(0)]), ([30, 0, 0, 0], [0, 0, 0, 0]));
    assert_eq!(production.values().map(|counts| counts[0]).sum::<i64>(), i64::from(MOST) + 29);
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_that_look_like_labels_are_counted_as_other() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 3).await;
    for (client, version) in [("a", "v1"), ("b", "v77"), ("c", "other"), ("d", "V1"), ("e", "v01"), ("f", "1.0"), ("g", "Other")] {
        world.binary(&staging, client, version).await;
    }
    let expected = [("1.0", [1, 0, 0, 0]), ("Other", [1, 0, 0, 0]), ("V1", [1, 0, 0, 0]), ("other", [3, 0, 0, 0]), ("v01", [1, 0, 0, 0])];
    assert_eq!(world.ada.counts("demo", "Staging").await, counts(expected), "no device has installed the release v1");
    world.installed(&staging, "a", "v1").await;
    assert_eq!(world.ada.counts("demo", "Staging").await["v1"], [1, 0, 1, 0]);
    assert_eq!(world.ada.counts("demo", "Staging").await["other"], [2, 0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleared_history_frees_the_named_versions() {
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    let all: Vec<Value> =
        (0..MOST + 5).map(|number| stamped(number, 10, &staging, Some(&format!("client {number}")), "binary", &version(number))).collect();
    world.app.deliver(&all).await;
    world.ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([]));
    // A version without a name before has one now.
    world.binary(&staging, &format!("client {}", MOST + 1), &version(MOST + 1)).await;
    assert_eq!(world.ada.counts("demo", "Staging").await, counts([(version(MOST + 1).as_str(), [1, 0, 0, 0])]));
}

/// This many devices with a version; their client IDs begin with it.
fn devices(first: u32, count: u32, time: i64, key: &str, version: &str) -> Vec<Value> {
    (0..count).map(|number| stamped(first + number, time, key, Some(&format!("{version} {number}")), "binary", version)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_versions_with_the_most_devices_are_named() {
    let world = World::with(Options::default().with("LIMIT_BINARY_VERSIONS", "3")).await;
    let (production, staging) = world.app_with("demo", 1).await;
    // Invented versions are reported before the real ones, here and in another deployment.
    for (number, version) in ["junk a", "junk b", "junk c"].into_iter().enumerate() {
        world.app.deliver(&devices(10 * u32::try_from(number).unwrap(), 1, 10, &staging, version)).await;
    }
    let elsewhere = |number: u32| stamped(50 + number, 10, &production, Some(&format!("elsewhere {number}")), "binary", "junk a");
    world.app.deliver(&[elsewhere(0), elsewhere(1)]).await;
    // More than one transaction handles.
    let (new, old) = (1_203, 40);
    world.app.deliver(&devices(1_000, new, 20, &staging, "2.0")).await;
    world.app.deliver(&devices(3_000, old, 20, &staging, "1.0")).await;
    world.app.deliver(&devices(4_000, 2, 20, &staging, "v7")).await;
    let others = i64::from(new + old) + 2;
    let before = counts([("junk a", [1, 0, 0, 0]), ("junk b", [1, 0, 0, 0]), ("junk c", [1, 0, 0, 0]), ("other", [others, 0, 0, 0])]);
    assert_eq!(world.ada.counts("demo", "Staging").await, before);
    assert_eq!(jobs::versions_round(&world.app.state()).await, 0);
    let after =
        counts([("1.0", [i64::from(old), 0, 0, 0]), ("2.0", [i64::from(new), 0, 0, 0]), ("junk a", [1, 0, 0, 0]), ("other", [4, 0, 0, 0])]);
    assert_eq!(world.ada.counts("demo", "Staging").await, after);
    assert_eq!(world.ada.counts("demo", "Production").await, counts([("junk a", [2, 0, 0, 0])]), "other deployments are not checked");
    // A second round changes nothing, and each device leaves its own counter.
    assert_eq!(jobs::versions_round(&world.app.state()).await, 0);
    assert_eq!(world.ada.counts("demo", "Staging").await, after);
    world.installed(&staging, "2.0 7", "v1").await;
    world.installed(&staging, "junk b 0", "v1").await;
    world.binary(&staging, "junk c 0", "2.0").await;
    let counted = world.ada.counts("demo", "Staging").await;
    assert_eq!((counted["2.0"], counted["other"], counted["v1"]), ([i64::from(new), 0, 0, 0], [2, 0, 0, 0], [2, 0, 2, 0]));
    // A version that lost its name gets it back with more devices than another one. The first of them has reported again meanwhile.
    world.app.deliver(&devices(5_000, 3, 30_000, &staging, "junk b")).await;
    assert_eq!(jobs::versions_round(&world.app.state()).await, 0);
    let counted = world.ada.counts("demo", "Staging").await;
    assert_eq!((counted["junk b"], counted.get("junk a"), counted["other"]), ([2, 0, 0, 0], None, [3, 0, 0, 0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_updates_the_named_versions() {
    let mut world = World::with(Options::default().with("LIMIT_BINARY_VERSIONS", "1")).await;
    let (_, staging) = world.app_with("demo", 1).await;
    world.app.deliver(&devices(0, 1, 10, &staging, "junk")).await;
    world.app.deliver(&devices(10, 3, 10, &staging, "1.0")).await;
    world.app.stop().await;
    world.app.start().await;
    let expected = counts([("1.0", [3, 0, 0, 0]), ("other", [1, 0, 0, 0])]);
    until("the named versions to change", async || (world.ada.counts("demo", "Staging").await == expected).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_during_a_change_of_named_versions_are_not_lost() {
    const CLIENTS: u32 = 600;
    let world = World::with(Options::default().with("LIMIT_BINARY_VERSIONS", "4")).await;
    let (_, staging) = world.app_with("demo", 1).await;
    let all = |time: i64, shift: u32| -> Vec<Value> {
        (0..CLIENTS)
            .map(|number| {
                // Each version has more devices than the one before; each shift changes which.
                let of = version((number * number / CLIENTS / 60 + shift) % 10);
                stamped(CLIENTS * shift + number, time, &staging, Some(&format!("client {number}")), "binary", &of)
            })
            .collect()
    };
    let state = world.app.state();
    world.app.deliver(&all(10, 0)).await;
    for shift in 1..6 {
        let reports = all(10 + i64::from(shift), shift);
        let (failures, again, ()) = tokio::join!(jobs::versions_round(&state), jobs::versions_round(&state), world.app.deliver(&reports));
        assert_eq!((failures, again), (0, 0));
        let counted = world.ada.counts("demo", "Staging").await;
        assert_eq!(counted.values().map(|counts| counts[0]).sum::<i64>(), i64::from(CLIENTS), "{counted:?}");
        assert!(counted.values().all(|counts| counts[0] >= 0), "{counted:?}");
    }
    // In the end every device is counted under its version, or as `other` if it is not one of the four most used.
    for _ in 0..2 {
        assert_eq!(jobs::versions_round(&world.app.state()).await, 0);
    }
    let mut devices = std::collections::BTreeMap::new();
    for report in all(0, 5) {
        *devices.entry(report["appVersion"].as_str().unwrap().to_owned()).or_insert(0_i64) += 1;
    }
    let mut sizes: Vec<i64> = devices.values().copied().collect();
    sizes.sort_unstable_by(|left, right| right.cmp(left));
    let mut counted = world.ada.counts("demo", "Staging").await;
    let others = counted.remove("other").unwrap();
    assert_eq!(others, [sizes[4..].iter().sum(), 0, 0, 0]);
    for (version, counts) in &counted {
        assert_eq!(counts[0], devices[version], "{version}");
    }
    let mut shown: Vec<i64> = counted.values().map(|counts| counts[0]).collect();
    shown.sort_unstable_by(|left, right| right.cmp(left));
    assert_eq!(shown, sizes[..4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_new_versions_never_exceed_two_hundred_names() {
    const CLIENTS: u32 = 400;
    let world = World::new().await;
    let (_, staging) = world.app_with("demo", 1).await;
    let mut sending = JoinSet::new();
    for number in 0..CLIENTS {
        let body = serde_json::json!({ "deployment_key": staging, "app_version": version(number), "client_unique_id": format!("client {number}") });
        let client = world.app.anonymous();
        sending.spawn(async move { client.post(crate::devices::counting::DEPLOY, body).await.assert(200) });
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
