//! KV is not trusted: a value that control has not signed for its key is never used while control can be asked.

use serde_json::{Value, json};
use shared::snapshot::Snapshot;
use shared::time::UnixMillis;
use tests::app::EDGE_SECRET;
use tests::edge::{Edge, EdgeApp, EdgeOptions};
use tests::signed::{self, header_signed};
use tests::stand_in::StandIn;
use tests::wait::eventually;
use tests::{Bundle, Client, Clock};

const HOUR: i64 = 3_600_000;

fn check(key: &str) -> String {
    format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")
}

/// A service with an app of two deployments: `key` offers v1, `other` nothing.
async fn with_release(options: EdgeOptions) -> (EdgeApp, String, String) {
    let app = EdgeApp::spawn_with(options.without_memory()).await;
    let owner = app.sign_up("ada").await;
    let (key, other) = owner.create_app("app").await;
    owner.upload("app", "Production", &Bundle::script("first").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.until_offered(&key, "v1").await;
    app.until_pushed(&other).await;
    eventually("the release in KV", async || {
        let value = app.edge.kv_value(&key).await.unwrap_or_default();
        if value["r"][0]["l"] == json!(1) { Ok(()) } else { Err(value.to_string()) }
    })
    .await;
    (app, key, other)
}

async fn offers(client: &Client, key: &str, expected: &str) {
    let body = client.get(&check(key)).await.assert(200);
    assert_eq!(body["update_info"]["label"], expected, "{body}");
}

/// The value's JSON with a release that nobody made, and with a higher version.
fn forged(genuine: &Value) -> Value {
    let mut forged = genuine.clone();
    forged["v"] = json!(genuine["v"].as_i64().unwrap() + 1_000);
    forged["r"][0]["l"] = json!(66);
    forged
}

/// The JSON in the format before this one, which was not signed.
fn unsigned(genuine: &Value) -> String {
    let mut old = forged(genuine);
    old["f"] = json!(1);
    old.as_object_mut().unwrap().remove("signedTime");
    old.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_control_has_not_signed_for_its_key_is_never_used() {
    let (app, key, other) = with_release(EdgeOptions::default()).await;
    let (text, genuine) = (app.edge.kv_text(&key).await.unwrap(), app.edge.kv_value(&key).await.unwrap());
    let (line, _) = text.split_once('\n').unwrap();
    let forged = forged(&genuine);
    let another = "another-secret-than-controls-0123456789";
    let values = [
        ("forged, without a signature", forged.to_string()),
        ("forged, with the signature of the genuine one", format!("{line}\n{forged}")),
        ("forged, signed with another secret", signed::sign(another, &key, &forged.to_string())),
        ("another deployment's", app.edge.kv_text(&other).await.unwrap()),
        ("signed for another key", signed::sign(EDGE_SECRET, &other, &forged.to_string())),
        ("in the previous format", unsigned(&genuine)),
        ("one byte altered", text.replacen("1.0.0", "2.0.0", 1)),
        ("one byte appended", format!("{text} ")),
        ("the last byte missing", text[..text.len() - 1].to_owned()),
        ("a signature that is no base64", format!("updraft-snapshot-2 {}\n{forged}", "!".repeat(43))),
        ("a first line that is too short", format!("updraft-snapshot-2 abc\n{forged}")),
    ];
    let device = app.anonymous();
    for (what, value) in &values {
        assert_ne!(*value, text, "{what}");
        app.edge.put_kv(&key, value).await;
        offers(&device, &key, "v1").await;
    }
    // Of all these, only the first line of the cached snapshot is not looked at any closer, and then the cached one is used.
    let distrusted = app.edge.output.until("snapshot.distrusted", |events| events.len() >= values.len() - 4).await;
    assert!(distrusted.iter().all(|event| event["from"] == "kv"), "{distrusted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_forged_is_used_by_an_isolate_that_knows_nothing_or_while_control_is_down() {
    let (mut app, key, other) = with_release(EdgeOptions::default()).await;
    let genuine = app.edge.kv_value(&key).await.unwrap();
    let (forged, device) = (forged(&genuine).to_string(), app.anonymous());
    app.control.stop().await;
    for key in [key.as_str(), "never-seen-by-this-isolate-0123"] {
        for value in [forged.clone(), signed::sign(EDGE_SECRET, &other, &forged), unsigned(&genuine)] {
            app.edge.put_kv(key, &value).await;
            if key.starts_with("never") {
                device.get(&check(key)).await.refused(503);
            } else {
                offers(&device, key, "v1").await;
            }
        }
    }
    // What control itself signs is used, also while control is down.
    app.edge.put_snapshot(&key, &forged).await;
    offers(&device, &key, "v66").await;

    // Large values are verified by the runtime instead of the Worker's own code.
    let mut large: Value = serde_json::from_str(&forged).unwrap();
    large["v"] = json!(large["v"].as_i64().unwrap() + 1_000);
    let release = |label: i64| {
        let mut release = large["r"][0].clone();
        release["l"] = json!(label);
        release["n"] = json!("x".repeat(10_000));
        release
    };
    large["r"] = (70..80).rev().map(release).collect();
    let genuine = signed::sign(EDGE_SECRET, &key, &large.to_string());
    let altered = [genuine.replacen("xx", "xy", 1), genuine.replacen('{', "{ ", 1), signed::sign(EDGE_SECRET, &other, &large.to_string())];
    for value in altered {
        app.edge.put_kv(&key, &value).await;
        offers(&device, &key, "v66").await;
    }
    app.edge.put_kv(&key, &genuine).await;
    offers(&device, &key, "v79").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_value_is_used_only_if_control_cannot_be_asked() {
    let (mut app, key, _) = with_release(EdgeOptions::default()).await;
    let device = app.anonymous();
    let mut old = app.edge.kv_value(&key).await.unwrap();
    let now = Clock::System.now();
    let at = |old: &mut Value, hours: i64| {
        old["signedTime"] = json!(now.plus_millis(-hours * HOUR).as_millis());
        old.to_string()
    };
    old["r"] = json!([]);
    old["g"] = json!([]);
    let frozen = "kept-back-by-somebody-0123456789";
    // The deployment of this key is unknown to control, so that the answer says who was asked.
    app.edge.put_snapshot(frozen, &at(&mut old, 37)).await;
    device.get(&check(frozen)).await.refused(404);
    app.edge.put_snapshot(frozen, &at(&mut old, 35)).await;
    // An unknown key is remembered for 30 seconds, so ask with another one.
    let young = "signed-not-so-long-ago-0123456789";
    app.edge.put_snapshot(young, &at(&mut old, 35)).await;
    device.get(&check(young)).await.assert(200);

    app.control.stop().await;
    let outage = "kept-back-during-an-outage-012345";
    app.edge.put_snapshot(outage, &at(&mut old, 37)).await;
    device.get(&check(outage)).await.assert(200);
    app.edge.put_snapshot(outage, &at(&mut old, 24 * 365)).await;
    device.get(&check(outage)).await.assert(200);
    assert!(!app.edge.output.until("snapshot.old", |events| !events.is_empty()).await.is_empty());

    // A tombstone does not get old.
    let deleted = "deleted-a-year-ago-0123456789abc";
    let header = header_signed(1, UnixMillis(now.as_millis() - 24 * 365 * HOUR));
    app.edge.put_snapshot(deleted, &Snapshot::publish_tombstone(&header)).await;
    device.get(&check(deleted)).await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_value_never_replaces_a_later_one_and_of_one_version_the_later_signature_wins() {
    let (app, key, _) = with_release(EdgeOptions::default()).await;
    let (genuine, device) = (app.edge.kv_value(&key).await.unwrap(), app.anonymous());
    let signed = |version: i64, minutes: i64, label: u32| {
        let mut value = genuine.clone();
        value["v"] = json!(genuine["v"].as_i64().unwrap() + version);
        value["signedTime"] = json!(genuine["signedTime"].as_i64().unwrap() + minutes * 60_000);
        value["r"][0]["l"] = json!(label);
        value.to_string()
    };
    for (version, minutes, label, expected) in
        [(10, 0, 10, "v10"), (9, 50, 9, "v10"), (10, 5, 11, "v11"), (10, 4, 12, "v11"), (11, -50, 13, "v13"), (10, 60, 14, "v13")]
    {
        app.edge.put_snapshot(&key, &signed(version, minutes, label)).await;
        offers(&device, &key, expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_the_previous_version_are_read_while_it_is_upgraded() {
    let (app, key, other) = with_release(EdgeOptions::default().with("SNAPSHOT_UNSIGNED", "allow")).await;
    let (genuine, device) = (app.edge.kv_value(&key).await.unwrap(), app.anonymous());
    app.edge.put_kv(&key, &unsigned(&genuine)).await;
    offers(&device, &key, "v66").await;
    // Nothing else is: not this format without its signature, and no wrong signature.
    let mut newer = forged(&genuine);
    newer["v"] = json!(newer["v"].as_i64().unwrap() + 1_000);
    newer["r"][0]["l"] = json!(67);
    for value in [newer.to_string(), signed::sign(EDGE_SECRET, &other, &newer.to_string())] {
        app.edge.put_kv(&key, &value).await;
        offers(&device, &key, "v66").await;
    }
    app.edge.put_snapshot(&key, &newer.to_string()).await;
    offers(&device, &key, "v67").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_every_active_secret_are_read() {
    let (old, new) = (EDGE_SECRET, "the-next-edge-secret-0123456789abcdef");
    let options = EdgeOptions { edge_secret: Some(format!("{old},{new}")), ..EdgeOptions::default() };
    let (mut app, key, _) = with_release(options).await;
    let (genuine, device) = (app.edge.kv_value(&key).await.unwrap(), app.anonymous());
    app.control.stop().await;
    for (secret, label) in [(old, 20), (new, 21)] {
        let mut value = genuine.clone();
        value["v"] = json!(genuine["v"].as_i64().unwrap() + label);
        value["r"][0]["l"] = json!(label);
        app.edge.put_kv(&key, &signed::sign(secret, &key, &value.to_string())).await;
        offers(&device, &key, &format!("v{label}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_from_another_server_than_control_is_not_used() {
    let key = "never-pushed-0123456789";
    let (genuine, another) = (signed::empty(EDGE_SECRET, key), signed::empty("another-secret-than-controls-0123456789", key));
    let (_, json) = genuine.split_once('\n').unwrap();
    for (body, status) in
        [(json.to_owned(), 503), (another, 503), (signed::empty(EDGE_SECRET, "of-another-key-0123456789"), 503), (genuine.clone(), 200)]
    {
        let stand_in = StandIn::start(move |_| {
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
        })
        .await;
        let options = EdgeOptions { stand_in: Some(stand_in.base.clone()), ..EdgeOptions::default() };
        let edge = Edge::before(&options.without_memory()).await;
        Client::new(&edge.base, None).get(&check(key)).await.assert_status(status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_value_is_found_behind_the_first_answer_and_control_hears_of_it() {
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    let upload = async |content: &str| {
        owner.upload("app", "Production", &Bundle::script(content).0, json!({ "appVersion": "1.0.0" })).await.assert(201)
    };
    let pushed = async |label: u32| {
        eventually("the release in KV", async || {
            let value = app.edge.kv_value(&key).await.unwrap_or_default();
            if value["r"][0]["l"] == json!(label) { Ok(()) } else { Err(value.to_string()) }
        })
        .await;
    };
    upload("first").await;
    pushed(1).await;
    let first = app.edge.kv_text(&key).await.unwrap();
    upload("second").await;
    pushed(2).await;
    // The isolate knows nothing of this deployment, and the signature of the earlier value is genuine.
    app.edge.put_kv(&key, &first).await;
    let device = app.anonymous();
    offers(&device, &key, "v1").await;
    app.until_offered(&key, "v2").await;
    assert_eq!(app.edge.kv_text(&key).await.unwrap(), first, "KV was not repaired meanwhile");
    assert_eq!(app.edge.output.until("snapshot.replayed", |events| !events.is_empty()).await.len(), 1);
    eventually("health to say so", async || {
        let health = device.get("/v1/health").await.assert(200);
        if health["checks"]["edge"] == "degraded" { Ok(()) } else { Err(health.to_string()) }
    })
    .await;
    assert_eq!(app.control.number("SELECT CAST(SUM(replayed) AS BIGINT) FROM edge_counters").await, 1);
}
