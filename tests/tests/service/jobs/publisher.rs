//! The publisher of snapshots and its reconciliation, against a KV API stand-in that is as strict as the real one and fails like it.

use std::collections::BTreeMap;

use control::testing::jobs::{self, Pusher};
use control::testing::settings::KvConfig;
use serde_json::json;
use tests::kv::{Faults, KvStandIn, NAMESPACE, TOKEN};
use tests::program::run;
use tests::wait::eventually;
use tests::{Bundle, Client, Clock, Options, TestApp};

/// A server on the machine's clock that pushes to the stand-in, and a signed-in client with an app `demo`.
async fn pushing() -> (TestApp, KvStandIn, Client) {
    let kv = KvStandIn::start(Clock::System).await;
    let app = TestApp::spawn_with(options(&kv, TOKEN, NAMESPACE)).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    (app, kv, ada)
}

pub(crate) fn options(kv: &KvStandIn, token: &str, namespace: &str) -> Options {
    let options = Options { has_machine_clock: true, ..Options::default() };
    options.with("KV_API", &kv.api).with("KV_TOKEN", token).with("KV_NAMESPACE", namespace)
}

pub(crate) async fn key_of(client: &Client, deployment: &str) -> String {
    format!("deployment/{}", client.deployment_key("demo", deployment).await)
}

async fn upload(client: &Client, deployment: &str, content: &str) {
    client.upload("demo", deployment, &Bundle::script(content).0, json!({ "appVersion": "1.0.0" })).await.assert(201);
}

/// Waits until KV matches the database for every deployment, and no push is pending.
pub(crate) async fn until_equal(app: &TestApp, kv: &KvStandIn) {
    eventually("KV has every snapshot in its newest version", async || {
        let open = app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'snapshot'").await;
        let rows = app.texts("SELECT deployment_key || ' ' || CAST(snapshot_version AS TEXT) FROM deployment_keys", &[]).await;
        for row in rows {
            let (key, version) = row.split_once(' ').unwrap();
            let seen = kv.version(&format!("deployment/{key}"));
            if seen != version.parse().ok() {
                return Err(format!("KV has {seen:?}, the database {version}; {open} rows are open"));
            }
        }
        if open == 0 { Ok(()) } else { Err(format!("{open} rows are open")) }
    })
    .await;
}

fn newest_label(kv: &KvStandIn, key: &str) -> Option<i64> {
    kv.value(key)?["r"][0]["l"].as_i64()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_reaches_kv_and_each_key_is_written_at_most_once_a_second() {
    let (app, kv, ada) = pushing().await;
    for number in 1..=8 {
        upload(&ada, "Staging", &format!("change {number}")).await;
    }
    until_equal(&app, &kv).await;
    let key = key_of(&ada, "Staging").await;
    assert_eq!(newest_label(&kv, &key), Some(8));
    assert_eq!(kv.value(&key).unwrap()["v"].as_i64(), kv.version(&key));
    assert_eq!(newest_label(&kv, &key_of(&ada, "Production").await), None, "an empty snapshot exists from the start");
    assert_eq!(kv.seen().too_soon, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_or_namespace_loses_no_write() {
    let kv = KvStandIn::start(Clock::System).await;
    for (token, namespace) in [("another-token", NAMESPACE), (TOKEN, "another-namespace")] {
        let before = kv.seen().refused;
        let mut app = TestApp::spawn_with(options(&kv, token, namespace)).await;
        let ada = app.sign_up("ada").await;
        ada.create_app("demo").await;
        eventually("the API refuses", async || if kv.seen().refused > before { Ok(()) } else { Err("nothing was sent".to_owned()) }).await;
        assert_eq!(app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'snapshot'").await, 2);
        app.stop().await;
        app.configure("KV_TOKEN", TOKEN);
        app.configure("KV_NAMESPACE", NAMESPACE);
        app.start().await;
        until_equal(&app, &kv).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_fail_within_a_200_are_retried_and_do_not_block_others() {
    let (app, kv, ada) = pushing().await;
    until_equal(&app, &kv).await;
    let (staging, production) = (key_of(&ada, "Staging").await, key_of(&ada, "Production").await);
    kv.fail(Faults { failing: BTreeMap::from([(staging.clone(), 2)]), ..Faults::default() });
    upload(&ada, "Staging", "one").await;
    upload(&ada, "Production", "two").await;
    until_equal(&app, &kv).await;
    assert_eq!((newest_label(&kv, &staging), newest_label(&kv, &production)), (Some(1), Some(1)));
    assert_eq!(kv.seen().too_soon, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_response_is_lost_is_retried() {
    let clock = tests::TestClock::starting_now();
    let kv = KvStandIn::start(Clock::Test(clock.clone())).await;
    let app = TestApp::spawn_with(Options { has_machine_clock: false, ..options(&kv, TOKEN, NAMESPACE) }).await;
    let ada = app.sign_up("ada").await;
    kv.fail(Faults { lost_answers: 2, ..Faults::default() });
    ada.create_app("demo").await;
    // The clocks stand still until both are advanced: each round is one write, and a lost one is settled only half a minute later.
    eventually("KV has every snapshot, and the outbox is empty", async || {
        for clock in [&clock, &app.clock] {
            clock.advance(5_000);
        }
        let open = app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'snapshot'").await;
        if open == 0 { Ok(()) } else { Err(format!("{open} rows are open")) }
    })
    .await;
    assert!(kv.seen().writes >= 3, "{:?}", kv.seen());
    until_equal(&app, &kv).await;
    assert_eq!(kv.seen().too_soon, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_publishers_never_leave_an_older_snapshot() {
    let (app, kv, ada) = pushing().await;
    for number in 0..6 {
        ada.post("/v1/apps/demo/deployments", json!({ "name": format!("D{number}") })).await.assert(201);
    }
    // Two more publishers besides the server's own, as on other replicas.
    let config = KvConfig { api: kv.api.clone(), namespace: NAMESPACE.to_owned(), token: TOKEN.to_owned() };
    let (done, over) = tokio::sync::watch::channel(false);
    let others: Vec<_> = (0..2)
        .map(|_| {
            let (pusher, over) = (Pusher::new(app.state().context, app.state().snapshots, &config).unwrap(), over.clone());
            tokio::spawn(async move {
                while !*over.borrow() {
                    pusher.push_due().await.unwrap();
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for round in 0..4 {
        for number in 0..6 {
            upload(&ada, &format!("D{number}"), &format!("{round} {number}")).await;
        }
    }
    until_equal(&app, &kv).await;
    done.send_replace(true);
    for other in others {
        other.await.unwrap();
    }
    for number in 0..6 {
        assert_eq!(newest_label(&kv, &key_of(&ada, &format!("D{number}")).await), Some(4));
    }
    assert_eq!(kv.seen().too_soon, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn reconciliation_repairs_manual_changes() {
    let clock = tests::TestClock::starting_now();
    let kv = KvStandIn::start(Clock::Test(clock.clone())).await;
    let app = TestApp::spawn_with(Options { has_machine_clock: false, ..options(&kv, TOKEN, NAMESPACE) }).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for number in 0..12 {
        ada.post("/v1/apps/demo/deployments", json!({ "name": format!("D{number}") })).await.assert(201);
    }
    until_equal(&app, &kv).await;
    let advance = |millis| {
        clock.advance(millis);
        app.clock.advance(millis);
    };
    advance(5 * 60_000);
    let keys: Vec<String> = {
        let mut keys = Vec::new();
        for number in 0..12 {
            keys.push(key_of(&ada, &format!("D{number}")).await);
        }
        keys
    };
    let before = kv.version(&keys[2]).unwrap();
    kv.remove(&keys[0]);
    kv.alter(&keys[1], "nonsense", json!(null));
    kv.alter(&keys[2], "{}", json!({ "version": before - 1 }));
    kv.alter(&keys[3], "{}", json!({ "version": before + 10_000_000 }));
    kv.alter("deployment/of-somebody-else", "{}", json!({ "version": 1 }));
    advance(6 * 60_000);
    until_equal(&app, &kv).await;
    for key in &keys[..4] {
        assert_eq!(kv.value(key).unwrap()["f"], 2, "{key} is a valid snapshot again");
    }
    assert!(kv.version(&keys[3]).unwrap() < before + 10_000_000, "anyone can write metadata: only what was signed here is believed");
    // Nothing is left to repair, and foreign keys were not touched.
    advance(2 * 60_000);
    let config = KvConfig { api: kv.api.clone(), namespace: NAMESPACE.to_owned(), token: TOKEN.to_owned() };
    let pusher = Pusher::new(app.state().context, app.state().snapshots, &config).unwrap();
    assert_eq!(jobs::reconcile(&pusher).await.unwrap(), jobs::Repairs::default());
    assert_eq!(kv.version("deployment/of-somebody-else"), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_publisher_waits_for_the_accounts_rate_limit() {
    let clock = tests::TestClock::starting_now();
    let kv = KvStandIn::start(Clock::Test(clock.clone())).await;
    let stranger = Client::new(&kv.api, Some(TOKEN.to_owned()));
    for _ in 0..1_200 {
        stranger.get(&format!("/storage/kv/namespaces/{NAMESPACE}/keys")).await.assert(200);
    }
    let app = TestApp::spawn_with(Options { has_machine_clock: false, ..options(&kv, TOKEN, NAMESPACE) }).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    eventually("the limit is met", async || if kv.seen().over_rate > 0 { Ok(()) } else { Err("nothing was sent".to_owned()) }).await;
    // Nothing is sent while KV is rate limiting: requests in flight complete, and then the number stays the same.
    let met = kv.seen().over_rate;
    upload(&ada, "Staging", "meanwhile").await;
    app.clock.advance(60_000);
    clock.advance(60_000);
    assert!(kv.seen().over_rate <= met + 1, "{:?}", kv.seen());
    app.clock.advance(10 * 60_000);
    clock.advance(10 * 60_000);
    until_equal(&app, &kv).await;
    assert_eq!(newest_label(&kv, &key_of(&ada, "Staging").await), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_becomes_visible_late_is_not_treated_as_lost() {
    let clock = tests::TestClock::starting_now();
    let kv = KvStandIn::start(Clock::Test(clock.clone())).await;
    let app = TestApp::spawn_with(Options { has_machine_clock: false, ..options(&kv, TOKEN, NAMESPACE) }).await;
    let ada = app.sign_up("ada").await;
    kv.fail(Faults { delay: 20_000, ..Faults::default() });
    ada.create_app("demo").await;
    eventually("the writes are done", async || {
        let open = app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'snapshot'").await;
        if open == 0 { Ok(()) } else { Err(format!("{open} rows are open")) }
    })
    .await;
    let (key, writes) = (key_of(&ada, "Staging").await, kv.seen().writes);
    assert_eq!(kv.version(&key), None);
    let config = KvConfig { api: kv.api.clone(), namespace: NAMESPACE.to_owned(), token: TOKEN.to_owned() };
    let pusher = Pusher::new(app.state().context, app.state().snapshots, &config).unwrap();
    assert_eq!(jobs::reconcile(&pusher).await.unwrap(), jobs::Repairs::default());
    clock.advance(20_000);
    app.clock.advance(20_000);
    until_equal(&app, &kv).await;
    assert_eq!(kv.seen().writes, writes);
}

/// A pusher of its own for the comparison, and both clocks.
struct Compared {
    app: TestApp,
    kv: KvStandIn,
    ada: Client,
    clock: tests::TestClock,
    pusher: Pusher,
}

impl Compared {
    /// A service whose own jobs push to nowhere, with this many deployments; their snapshots are in the stand-in.
    async fn spawn(deployments: usize) -> Self {
        let clock = tests::TestClock::starting_now();
        let kv = KvStandIn::start(Clock::Test(clock.clone())).await;
        let app =
            TestApp::spawn_with(Options { has_machine_clock: false, ..options(&kv, TOKEN, NAMESPACE).with("LIMIT_DEPLOYMENTS", "300") })
                .await;
        let ada = app.sign_up("ada").await;
        ada.create_app("demo").await;
        for number in 2..deployments {
            ada.post("/v1/apps/demo/deployments", json!({ "name": format!("D{number}") })).await.assert(201);
        }
        let config = KvConfig { api: kv.api.clone(), namespace: NAMESPACE.to_owned(), token: TOKEN.to_owned() };
        let pusher = Pusher::new(app.state().context, app.state().snapshots, &config).unwrap();
        let compared = Self { app, kv, ada, clock, pusher };
        until_equal(&compared.app, &compared.kv).await;
        // What was written must be old enough to be compared. The server's own comparison is ten minutes away.
        compared.advance(61_000);
        compared
    }

    fn advance(&self, millis: i64) {
        self.clock.advance(millis);
        self.app.clock.advance(millis);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_lie_behind_true_metadata_are_found_and_restored() {
    let all = Compared::spawn(8).await;
    let (kv, version) = (&all.kv, |key: &str| all.kv.version(key).unwrap());
    let mut keys = Vec::new();
    for name in ["Staging", "Production", "D2", "D3", "D4", "D5", "D6"] {
        keys.push(key_of(&all.ada, name).await);
    }
    let earlier = kv.text(&keys[6]).unwrap();
    upload(&all.ada, "D6", "newer").await;
    all.advance(2_000);
    until_equal(&all.app, kv).await;
    assert_ne!(kv.text(&keys[6]).unwrap(), earlier);
    all.advance(3 * 60_000);
    let genuine: Vec<String> = keys.iter().map(|key| kv.text(key).unwrap()).collect();
    let metadata = |key: &str| json!({ "version": version(key), "signer": tests::signed::keys_of(tests::app::EDGE_SECRET).signer() });
    let altered = genuine[0].replace("\"v\":", "\"v\": ");
    let unsigned = genuine[1].split_once('\n').unwrap().1.to_owned();
    let values = [&altered, &unsigned, &genuine[3], &genuine[2], "nothing", &genuine[5], &earlier];
    for (key, value) in keys.iter().zip(values) {
        kv.alter(key, value, metadata(key));
    }
    let found = jobs::reconcile(&all.pusher).await.unwrap();
    assert_eq!((found.distrusted, found.behind, found.ahead, found.signed_again), (6, 0, 0, 0), "all but the genuine one");
    until_equal(&all.app, kv).await;
    eventually("every value is the deployment's own again", async || {
        all.advance(1_000);
        let restored = keys.iter().zip(&genuine).filter(|(key, value)| kv.text(key).as_ref() == Some(value)).count();
        if restored == keys.len() { Ok(()) } else { Err(restored.to_string()) }
    })
    .await;
    let health = all.app.anonymous().get("/v1/health").await.assert(200);
    assert_eq!(health["checks"]["edge"], "degraded");
    all.advance(2 * 60_000);
    assert_eq!(jobs::reconcile(&all.pusher).await.unwrap(), jobs::Repairs::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_higher_version_that_control_has_signed_is_raised_above_though_its_metadata_lies() {
    let all = Compared::spawn(2).await;
    let key = key_of(&all.ada, "Staging").await;
    let before = all.kv.version(&key).unwrap();
    let mut ahead = all.kv.value(&key).unwrap();
    ahead["v"] = json!(before + 1_000_000_000);
    let name = key.strip_prefix("deployment/").unwrap();
    let metadata = json!({ "version": before, "signer": tests::signed::keys_of(tests::app::EDGE_SECRET).signer() });
    all.kv.alter(&key, &tests::signed::sign(tests::app::EDGE_SECRET, name, &ahead.to_string()), metadata);
    assert_eq!(jobs::reconcile(&all.pusher).await.unwrap().ahead, 1, "the database was restored from a backup");
    eventually("it is above", async || {
        all.advance(1_000);
        let version = all.kv.version(&key).unwrap();
        if version > before + 1_000_000_000 { Ok(()) } else { Err(version.to_string()) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_that_claims_a_higher_version_of_the_right_value_is_written_again() {
    let all = Compared::spawn(2).await;
    let key = key_of(&all.ada, "Staging").await;
    let (before, genuine) = (all.kv.version(&key).unwrap(), all.kv.text(&key).unwrap());
    let lie = |all: &Compared| all.kv.alter(&key, &genuine, json!({ "version": before + 5_000 }));
    lie(&all);
    let found = jobs::reconcile(&all.pusher).await.unwrap();
    assert_eq!((found.ahead, found.distrusted), (0, 1), "the value says its true version");
    eventually("the metadata is true again", async || {
        all.advance(1_000);
        if all.kv.version(&key) == Some(before) { Ok(()) } else { Err(format!("{:?}", all.kv.version(&key))) }
    })
    .await;
    // Written just now: a reader may still see what was there before, so it is left to the next comparison.
    lie(&all);
    assert_eq!(jobs::reconcile(&all.pusher).await.unwrap(), jobs::Repairs::default());
    all.advance(2 * 60_000);
    assert_eq!(jobs::reconcile(&all.pusher).await.unwrap().distrusted, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_values_are_verified_in_turn() {
    let all = Compared::spawn(150).await;
    let names = all.app.texts("SELECT deployment_key FROM deployment_keys ORDER BY deployment_key", &[]).await;
    let key = format!("deployment/{}", names[120]);
    let metadata = json!({ "version": all.kv.version(&key).unwrap(), "signer": tests::signed::keys_of(tests::app::EDGE_SECRET).signer() });
    let genuine = all.kv.text(&key).unwrap();
    let mut found = Vec::new();
    for _ in 0..5 {
        all.kv.alter(&key, "forged", metadata.clone());
        found.push(jobs::reconcile(&all.pusher).await.unwrap().distrusted);
        eventually("nothing is open", async || {
            all.advance(1_000);
            match all.app.number("SELECT COUNT(*) FROM outbox WHERE kind = 'snapshot'").await {
                0 => Ok(()),
                open => Err(open.to_string()),
            }
        })
        .await;
        all.kv.alter(&key, &genuine, metadata.clone());
        all.advance(61_000);
    }
    assert_eq!(found, [0, 1, 1, 0, 1], "150 values, a hundred at a time");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_snapshot_is_signed_again_in_time_and_a_tombstone_is_not() {
    let all = Compared::spawn(3).await;
    let (kept, deleted) = (key_of(&all.ada, "Staging").await, key_of(&all.ada, "D2").await);
    all.ada.delete("/v1/apps/demo/deployments/D2").await.assert_status(204);
    until_equal(&all.app, &all.kv).await;
    let signed = |key: &str| all.kv.value(key).unwrap()["signedTime"].as_i64().unwrap();
    let (version, first, tombstone) = (all.kv.version(&kept).unwrap(), signed(&kept), signed(&deleted));
    all.advance(9 * 3_600_000);
    assert_eq!(jobs::reconcile(&all.pusher).await.unwrap().signed_again, 0);
    all.advance(2 * 3_600_000);
    jobs::reconcile(&all.pusher).await.unwrap();
    eventually("it is signed again", async || {
        all.advance(1_000);
        if signed(&kept) > first { Ok(()) } else { Err(signed(&kept).to_string()) }
    })
    .await;
    until_equal(&all.app, &all.kv).await;
    assert!(signed(&kept) - first <= 12 * 3_600_000, "{}", signed(&kept) - first);
    assert_eq!((all.kv.version(&kept), signed(&deleted)), (Some(version), tombstone));
    assert_eq!(all.kv.seen().too_soon, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_secret_has_changed_all_snapshots_are_signed_with_the_new_one() {
    let new = "the-next-edge-secret-0123456789abcdef";
    let Compared { mut app, kv, ada, clock, .. } = Compared::spawn(3).await;
    ada.delete("/v1/apps/demo/deployments/D2").await.assert_status(204);
    until_equal(&app, &kv).await;
    for clock in [&clock, &app.clock] {
        clock.advance(2 * 60_000);
    }
    app.stop().await;
    app.configure("EDGE_SECRET", &format!("{new},{}", tests::app::EDGE_SECRET));
    app.start().await;
    let names = app.texts("SELECT deployment_key FROM deployment_keys", &[]).await;
    let keys = tests::signed::keys_of(new);
    eventually("all are signed with the new secret", async || {
        for clock in [&clock, &app.clock] {
            clock.advance(1_000);
        }
        let of = |name: &String| shared::keys::DeploymentKey::try_from(name.as_str()).unwrap();
        let text = |name: &String| kv.text(&format!("deployment/{name}")).unwrap();
        let left = names.iter().filter(|name| keys.verify(&of(name), text(name).as_bytes()).is_err()).count();
        if left == 0 { Ok(()) } else { Err(left.to_string()) }
    })
    .await;
    assert_eq!(names.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_snapshots_are_published_on_request() {
    let (app, kv, ada) = pushing().await;
    until_equal(&app, &kv).await;
    let keys = [key_of(&ada, "Staging").await, key_of(&ada, "Production").await];
    for key in &keys {
        kv.remove(key);
    }
    let publish = ["snapshots", "publish", "--all"];
    let ended = run(&app.settings(), &publish).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("Snapshots to write: 2") && ended.err.contains("All 2 snapshots are in KV."), "{}", ended.err);
    assert!(keys.iter().all(|key| kv.value(key).is_some()));
    assert_eq!(kv.seen().too_soon, 0);
    assert_eq!(run(&app.settings(), &publish[..2]).await.code, Some(2), "a typing error must not rewrite everything");

    let ended = run(&TestApp::spawn().await.settings(), &publish).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("UPDRAFT_KV_API is not set"), "{}", ended.err);
}
