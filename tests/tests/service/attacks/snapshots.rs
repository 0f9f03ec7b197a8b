//! One account makes every check of its key expensive and slows down everyone else's: thousands of releases with the longest descriptions, each for
//! its own version range.

use control::testing::releases::measure;
use control::testing::snapshots::Form;
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use shared::keys::DeploymentKey;
use tests::app::Options;
use tests::wait::patience;
use tests::{Answer, Client, TestApp};
use tokio::time::timeout;

/// The default limit of a snapshot.
const MOST_BYTES: usize = 2 << 20;
/// Concurrent checks.
const AT_ONCE: usize = 32;

/// A server without request limits, and the attacker's app `demo`.
async fn prepared(options: Options) -> (TestApp, Client, String) {
    let app = TestApp::spawn_with(options.with("LIMIT_MANAGEMENT_API", "100000/1m")).await;
    let mallory = app.sign_up("mallory").await;
    let (production, _) = mallory.create_app("demo").await;
    (app, mallory, production)
}

fn below(deployment: &str, rest: &str) -> String {
    format!("/v1/apps/demo/deployments/{deployment}/{rest}")
}

/// The longest possible description.
fn longest() -> String {
    "€".repeat(10_000)
}

/// The first release of a deployment of the app `demo`.
async fn release(client: &Client, deployment: &str, description: &str) {
    let info = json!({ "appVersion": "1.0.1", "description": description });
    client.upload("demo", deployment, b"script", info).await.assert(201);
}

/// Promotes the newest release of Staging, for other versions.
async fn promote(client: &Client, destination: &str, app_version: &str) -> Answer {
    let body = json!({ "destination": destination, "packageInfo": { "appVersion": app_version } });
    client.post(&below("Staging", "promotions"), body).await
}

/// Promotes version after version until refused. Returns the number of promotions and the refusal.
async fn promote_until_refused(client: &Client, destination: &str) -> (usize, String) {
    for number in 0..200 {
        let answer = promote(client, destination, &format!("2.0.{number}")).await;
        if answer.status != 201 {
            return (number, answer.refused(409));
        }
    }
    panic!("nothing was refused");
}

async fn patch(client: &Client, deployment: &str, label: &str, info: Value) -> Answer {
    client.patch(&below(deployment, "release"), json!({ "label": label, "packageInfo": info })).await
}

/// The response to a device with this version.
async fn check(client: &Client, key: &str, app_version: &str) -> Value {
    let answer = client.get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version={app_version}")).await;
    answer.assert(200)["update_info"].clone()
}

/// The number of snapshots that many concurrent checks build.
async fn built_by_checks(app: &TestApp, key: &str) -> u64 {
    let (client, before) = (app.anonymous(), app.state().snapshots.builds());
    join_all((0..AT_ONCE).map(|_| check(&client, key, "1.0.1"))).await;
    app.state().snapshots.builds() - before
}

/// The length of the KV value.
async fn text_length(app: &TestApp, key: &str) -> usize {
    let key = DeploymentKey::try_from(key).unwrap();
    app.state().snapshots.text(&key).await.unwrap().unwrap().1.len()
}

/// Copies a deployment's first release until its history has this length, as it could be before the limits existed: each with its own range, or all
/// with the same.
async fn fill(app: &TestApp, deployment: &str, count: usize, has_own_ranges: bool) {
    let sql = "INSERT INTO releases (id, deployment_id, app_id, label, app_version, description, is_mandatory, is_disabled, rollout, package_hash, \
        blob_sha256, manifest_sha256, size, release_method, original_label, original_deployment, released_by, upload_time) \
        WITH RECURSIVE n (i) AS (SELECT CAST(2 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < CAST($2 AS BIGINT)) \
        SELECT r.id || '-' || CAST(n.i AS TEXT), r.deployment_id, r.app_id, n.i, '1.0.' || CASE WHEN $3 = 'own' THEN CAST(n.i AS TEXT) ELSE '1' END, \
        r.description, r.is_mandatory, r.is_disabled, r.rollout, r.package_hash, r.blob_sha256, r.manifest_sha256, r.size, r.release_method, \
        r.original_label, r.original_deployment, r.released_by, r.upload_time \
        FROM releases r JOIN deployments d ON d.id = r.deployment_id CROSS JOIN n WHERE d.name = $1 AND r.label = 1";
    let (text, ranges) = (count.to_string(), if has_own_ranges { "own" } else { "one" });
    assert_eq!(app.change(sql, &[deployment, &text, ranges]).await, count as u64 - 1);
    let known = "UPDATE deployments SET last_label = CAST($2 AS BIGINT), snapshot_bytes = NULL WHERE name = $1";
    assert_eq!(app.change(known, &[deployment, &text]).await, 1);
    let version = "UPDATE deployment_keys SET snapshot_version = snapshot_version + 1 \
        WHERE deployment_key = (SELECT deployment_key FROM deployments WHERE name = $1)";
    assert_eq!(app.change(version, &[deployment]).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn promotions_with_long_descriptions_are_refused_before_checks_get_expensive() {
    let (app, mallory, key) = prepared(Options::default()).await;
    release(&mallory, "Staging", &longest()).await;
    let (count, text) = promote_until_refused(&mallory, "Production").await;
    assert!((60..70).contains(&count), "{count} promotions were accepted");
    for word in ["2097152", "shorter description", "fewer version ranges", "clear the deployment's history"] {
        assert!(text.contains(word), "{text}");
    }
    let history = mallory.get(&below("Production", "releases?limit=1")).await.assert(200);
    assert_eq!(history["releases"][0]["label"], format!("v{count}"), "the refused promotion left nothing");
    let length = text_length(&app, &key).await;
    assert!(length <= MOST_BYTES && length > MOST_BYTES - 100_000, "{length} bytes");

    assert_eq!(built_by_checks(&app, &key).await, 0, "the text was already built and is parsed");
    patch(&mallory, "Production", "v1", json!({ "isMandatory": true })).await.assert(200);
    assert_eq!(built_by_checks(&app, &key).await, 1);
    assert_eq!(built_by_checks(&app, &key).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshot_builds_of_one_account_do_not_delay_others() {
    let (app, mallory, key) = prepared(Options::default()).await;
    release(&mallory, "Staging", &longest()).await;
    promote(&mallory, "Production", "1.0.1").await.assert(201);
    let ada = app.sign_up("ada").await;
    let (_, hers) = ada.create_app("hers").await;
    ada.upload("hers", "Staging", b"hers", json!({ "appVersion": "1.0.1" })).await.assert(201);

    let (state, client) = (app.state(), app.anonymous());
    let before = state.snapshots.builds();
    // The attacker's builds hold every slot.
    let (attacker, mut under_way) = (app.account_of("mallory").await.to_string(), Vec::new());
    while let Some(slot) = state.snapshots.build_slot(&attacker).now_or_never() {
        under_way.push(slot.unwrap());
    }
    assert!(!under_way.is_empty());
    // So this one has to wait. Requests for the same snapshot join it.
    let slow = DeploymentKey::try_from(key.as_str()).unwrap();
    let version = state.snapshots.version(&slow).await.unwrap().unwrap();
    let (answer, worker) = state.snapshots.join(&slow, version, Form::Parsed);
    tokio::spawn(worker.unwrap().run());
    let waiting: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (client, key) = (client.clone(), key.clone());
            tokio::spawn(async move { check(&client, &key, "1.0.1").await })
        })
        .collect();
    for _ in 0..AT_ONCE {
        let answered = timeout(patience(), check(&client, &hers, "1.0.1")).await;
        assert_eq!(answered.expect("another account's check waits for the attacker's builds")["label"], "v1");
    }
    assert_eq!(state.snapshots.builds(), before + 1, "only her snapshot was built");
    assert!(state.snapshots.join(&slow, version, Form::Parsed).1.is_none(), "there is one build task");
    drop(under_way);
    answer.await.unwrap().unwrap().unwrap();
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap()["label"], "v1");
    }
    assert_eq!(state.snapshots.builds(), before + 2, "one build for all waiting requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canceled_build_blocks_no_other() {
    let (app, mallory, key) = prepared(Options::default()).await;
    release(&mallory, "Production", "short").await;
    let (state, parsed) = (app.state(), DeploymentKey::try_from(key.as_str()).unwrap());
    let version = state.snapshots.version(&parsed).await.unwrap().unwrap();
    let (answer, worker) = state.snapshots.join(&parsed, version, Form::Parsed);
    let (other, none) = state.snapshots.join(&parsed, version, Form::Text);
    assert!(none.is_none());
    drop(worker);
    assert!(answer.await.is_err() && other.await.is_err());
    assert_eq!(check(&app.anonymous(), &key, "1.0.1").await["label"], "v1");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_size_limit_changes_that_shrink_the_snapshot_succeed() {
    let (app, mallory, key) = prepared(Options::default().with("LIMIT_SNAPSHOT_BYTES", "20000")).await;
    release(&mallory, "Staging", &"s".repeat(1_000)).await;
    let (count, _) = promote_until_refused(&mallory, "Production").await;
    assert!(count > 5);
    let more = mallory.upload("demo", "Production", b"more", json!({ "appVersion": "3.0.0", "description": "y".repeat(2_000) })).await;
    more.refused(409);
    // A replacement uses no more than the release it replaces.
    let first = mallory.upload("demo", "Production", b"other", json!({ "appVersion": "2.0.0", "description": "short" })).await;
    let label = first.assert(201)["package"]["label"].as_str().unwrap().to_owned();
    patch(&mallory, "Production", &label, json!({ "description": "z".repeat(2_000) })).await.refused(409);
    patch(&mallory, "Production", &label, json!({ "appVersion": "9.0.0" })).await.refused(409);
    patch(&mallory, "Production", &label, json!({ "isMandatory": true, "description": "brief" })).await.assert(200);
    // The release it hid is offered again, with its description.
    patch(&mallory, "Production", &label, json!({ "isDisabled": true })).await.assert(200);
    patch(&mallory, "Production", &label, json!({ "isDisabled": false })).await.assert(200);
    mallory.post(&below("Production", "rollbacks"), json!({ "targetRelease": "v1" })).await.assert(201);
    assert_eq!(check(&app.anonymous(), &key, "2.0.0").await["is_available"], true);
    mallory.delete(&below("Production", "history")).await.assert_status(204);
    promote(&mallory, "Production", "2.0.0").await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_revealed_by_disabling_stay_within_the_limit() {
    let (app, mallory, key) = prepared(Options::default().with("LIMIT_SNAPSHOT_BYTES", "20000")).await;
    let upload = async |content: &str, rollout: u8| {
        let info = json!({ "appVersion": "1.0.1", "description": "n".repeat(3_000), "rollout": rollout });
        mallory.upload("demo", "Production", content.as_bytes(), info).await.assert(201);
    };
    upload("first", 100).await;
    // Releases in unfinished rollouts, each hidden by a rollback on top; then those are disabled, which is never refused.
    for number in 0..12 {
        upload(&format!("hidden {number}"), 50).await;
        mallory.post(&below("Production", "rollbacks"), json!({ "targetRelease": "v1" })).await.assert(201);
    }
    for label in (1..=12).map(|number| format!("v{}", 2 * number + 1)) {
        patch(&mallory, "Production", &label, json!({ "isDisabled": true })).await.assert(200);
    }
    assert!(text_length(&app, &key).await <= 20_000);
    let newest = check(&app.anonymous(), &key, "1.0.1&client_unique_id=somebody").await;
    assert_eq!(newest["is_available"], true);
    assert_eq!(mallory.get(&below("Production", "history")).await.assert(200)["history"][1]["description"], "n".repeat(3_000));
}

/// Two disabled releases for versions without other releases. Returns the label of the first, which a rollback can target.
async fn disabled_pair(client: &Client, deployment: &str, description: &str) -> Value {
    let info = json!({ "appVersion": "7.0.0", "description": description, "isDisabled": true });
    let first = client.upload("demo", deployment, b"the first of two", info.clone()).await.assert(201);
    client.upload("demo", deployment, b"the second of two", info).await.assert(201);
    first["package"]["label"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn rollbacks_may_only_reduce_ranges_beyond_the_limit() {
    let (app, mallory, _) = prepared(Options::default()).await;
    for (deployment, ranges) in [("Production", 500), ("Staging", 510)] {
        release(&mallory, deployment, "short").await;
        // The second exceeds the limit, as a deployment from before the limits can.
        fill(&app, deployment, ranges, true).await;
        let roll_back = async |target: Value| mallory.post(&below(deployment, "rollbacks"), json!({ "targetRelease": target })).await;
        // Two disabled releases do not count until one of them is restored.
        let disabled = disabled_pair(&mallory, deployment, "short").await;
        let text = roll_back(disabled.clone()).await.refused(409);
        assert!(text.contains("500 version ranges"), "{text}");
        // Back to an offered release, from an offered one and from a disabled one.
        for content in ["worse", "even worse"] {
            let info = json!({ "appVersion": "1.0.7", "isDisabled": content == "worse" });
            mallory.upload("demo", deployment, content.as_bytes(), info).await.assert(201);
            roll_back(json!("v7")).await.assert(201);
        }
        // The range of a disabled release that another release also has is not a new one, either.
        patch(&mallory, deployment, "v7", json!({ "isDisabled": true })).await.assert(200);
        roll_back(json!("v7")).await.assert(201);
        // With enough room, a disabled one can be restored.
        for label in 20..40 {
            patch(&mallory, deployment, &format!("v{label}"), json!({ "isDisabled": true })).await.assert(200);
        }
        let info = json!({ "appVersion": "7.0.0", "isDisabled": true });
        mallory.upload("demo", deployment, b"the third", info).await.assert(201);
        roll_back(disabled).await.assert(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_snapshots_of_an_account_share_a_limit() {
    let (app, mallory, _) = prepared(Options::default()).await;
    release(&mallory, "Staging", &longest()).await;
    for number in 1..=9 {
        let name = format!("Full{number}");
        mallory.post("/v1/apps/demo/deployments", json!({ "name": name })).await.assert(201);
        release(&mallory, &name, &longest()).await;
        fill(&app, &name, if number == 9 { 32 } else { 65 }, true).await;
    }
    // As the cleanup does for deployments from before the limit.
    assert!(!measure(&app.state()).await.unwrap());
    let (count, text) = promote_until_refused(&mallory, "Full9").await;
    assert!((1..5).contains(&count), "{count} promotions were accepted");
    for word in ["owner", "16777216", "shorter descriptions", "clear the history"] {
        assert!(text.contains(word), "{text}");
    }
    promote(&mallory, "Full1", "9.0.0").await.refused(409);
    // A disabled release restored by a rollback counts like a new one.
    let disabled = disabled_pair(&mallory, "Full9", &longest()).await;
    let text = mallory.post(&below("Full9", "rollbacks"), json!({ "targetRelease": disabled })).await.refused(409);
    assert!(text.contains("16777216"), "{text}");
    // Small snapshots do not count, nor do those of other accounts.
    promote(&mallory, "Production", "1.0.1").await.assert(201);
    let ada = app.sign_up("ada").await;
    ada.create_app("hers").await;
    app.share("ada", "hers", "mallory", "Developer", 1).await;
    for number in 1..=4 {
        let info = json!({ "appVersion": format!("{number}.0.0"), "description": longest() });
        mallory.upload("ada@example.com:hers", "Production", b"script", info).await.assert(201);
    }
    patch(&mallory, "Full9", "v1", json!({ "isDisabled": true })).await.assert(200);
    mallory.delete(&below("Full1", "history")).await.assert_status(204);
    promote(&mallory, "Full9", "9.0.0").await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversized_older_deployment_is_served_without_its_oldest_descriptions() {
    let (app, mallory, key) = prepared(Options::default()).await;
    release(&mallory, "Staging", &longest()).await;
    release(&mallory, "Production", &longest()).await;
    fill(&app, "Production", 300, true).await;
    let client = app.anonymous();
    assert_eq!(built_by_checks(&app, &key).await, 1);
    assert!(text_length(&app, &key).await <= MOST_BYTES);
    let newest = check(&client, &key, "1.0.300").await;
    assert_eq!((&newest["label"], newest["description"].as_str()), (&json!("v300"), Some(longest().as_str())));
    let oldest = check(&client, &key, "1.0.1").await;
    assert_eq!((&oldest["label"], &oldest["is_available"]), (&json!("v1"), &json!(true)));
    assert_ne!(oldest["description"].as_str(), Some(longest().as_str()));

    promote(&mallory, "Production", "3.0.0").await.refused(409);
    patch(&mallory, "Production", "v2", json!({ "description": "short" })).await.assert(200);
    patch(&mallory, "Production", "v3", json!({ "isDisabled": true })).await.assert(200);
    patch(&mallory, "Production", "v300", json!({ "isMandatory": true })).await.assert(200);
    assert_eq!(mallory.post(&below("Production", "rollbacks"), json!({ "targetRelease": "v299" })).await.status, 409, "of another range");
    mallory.delete(&below("Production", "history")).await.assert_status(204);
    promote(&mallory, "Production", "3.0.0").await.assert(201);
    assert_eq!(check(&client, &key, "3.0.0").await["description"], longest());
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_and_ranges_are_limited() {
    let (app, mallory, key) = prepared(Options::default()).await;
    release(&mallory, "Staging", "short").await;
    release(&mallory, "Production", "short").await;
    fill(&app, "Production", 500, true).await;
    let text = promote(&mallory, "Production", "3.0.0").await.refused(409);
    assert!(text.contains("500 version ranges"), "{text}");
    let other = json!({ "appVersion": "1.0.7" });
    mallory.upload("demo", "Production", b"other", other).await.assert(201);
    patch(&mallory, "Production", "v7", json!({ "appVersion": "3.0.0" })).await.refused(409);
    patch(&mallory, "Production", "v9", json!({ "appVersion": "3.0.0" })).await.assert(200);
    patch(&mallory, "Production", "v8", json!({ "isDisabled": true })).await.assert(200);
    promote(&mallory, "Production", "3.0.1").await.assert(201);
    patch(&mallory, "Production", "v8", json!({ "isDisabled": false })).await.refused(409);

    mallory.post("/v1/apps/demo/deployments", json!({ "name": "Long" })).await.assert(201);
    release(&mallory, "Long", "short").await;
    fill(&app, "Long", 10_000, false).await;
    let text = promote(&mallory, "Long", "3.0.0").await.refused(409);
    assert!(text.contains("10000 releases") && text.contains("clear its history"), "{text}");
    mallory.upload("demo", "Long", b"other", json!({ "appVersion": "1.0.1" })).await.refused(409);
    mallory.post(&below("Long", "rollbacks"), json!({})).await.assert(201);
    patch(&mallory, "Long", "v10001", json!({ "isDisabled": true })).await.assert(200);
    let long = mallory.deployment_key("demo", "Long").await;
    assert_eq!(check(&app.anonymous(), &long, "1.0.1").await["label"], "v10000");
    assert_eq!(check(&app.anonymous(), &key, "1.0.7").await["label"], "v501");
    // Rollbacks are limited, too.
    app.change("UPDATE releases SET release_method = 'Rollback' WHERE label BETWEEN CAST($1 AS BIGINT) AND 1000", &["1"]).await;
    mallory.post(&below("Long", "rollbacks"), json!({ "targetRelease": "v1" })).await.refused(409);
}
