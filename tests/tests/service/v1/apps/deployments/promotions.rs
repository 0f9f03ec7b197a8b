//! POST …/promotions.

use serde_json::{Value, json};
use tests::{Bundle, Client, Dialect, on_write};

use crate::v1::apps::deployments::{
    below, history, labels, noted, patch, patch_of, prepared, promote, refused, release, unsigned, until_somebody_waits,
};

async fn promote_label(client: &Client, label: &str) -> tests::Answer {
    client.post(&below("Staging", "promotions"), json!({ "destination": "Production", "label": label })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_copies_the_contents_and_names_the_promoter() {
    let (app, ada) = prepared().await;
    let bob = app.sign_up("bob").await;
    app.share("ada", "demo", "bob", "Developer", app.clock.now().0 + 1).await;
    release(&ada, "Production", "older", json!({})).await;
    let bundle = Bundle::script("one");
    let info = json!({ "appVersion": "^1.0.0", "description": "first", "isMandatory": true, "rollout": 30 });
    let source = ada.upload("demo", "Staging", &bundle.0, info).await.assert(201)["package"].take();
    let blobs = app.leftovers().await.rows[1];

    app.clock.advance(1_000);
    let body = json!({ "destination": "Production" });
    let answer = bob.post("/v1/apps/demo/deployments/Staging/promotions", body).await;
    let package = answer.assert(201)["package"].take();
    assert_eq!(answer.header("location"), "/v1/apps/demo/deployments/Production/releases/v2");
    assert_eq!(bob.get(&answer.header("location")).await.assert(200)["package"], package);
    let mut expected = source.clone();
    for (member, value) in [
        ("label", json!("v2")),
        // A rollout is not inherited.
        ("rollout", Value::Null),
        ("releaseMethod", json!("Promote")),
        ("originalLabel", json!("v1")),
        ("originalDeployment", json!("Staging")),
        ("releasedBy", json!("bob@example.com")),
        ("uploadTime", json!(app.clock.now().0)),
    ] {
        expected[member] = value;
    }
    assert_eq!(unsigned(package.clone()), unsigned(expected));
    assert_eq!(app.leftovers().await.rows[1], blobs, "the bytes are shared");
    let download = app.anonymous().get(package["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap()).await;
    assert_eq!(download.body, bundle.0);
    assert_eq!(history(&ada, "Staging").await.len(), 1);
    assert_eq!(ada.get("/v1/apps/demo/deployments/Production").await.assert(200)["deployment"]["package"], package);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_is_audited_and_only_the_destination_is_published() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({ "description": "whispered" })).await;
    let (action, details, _) = noted(&app, 201, promote(&ada, json!({}))).await;
    assert_eq!(action, "release.promote");
    let expected = json!({ "deployment": "Production", "label": "v1", "originalDeployment": "Staging", "originalLabel": "v1" });
    assert_eq!(details, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn given_values_override_and_unset_or_empty_ones_are_inherited() {
    let (_app, ada) = prepared().await;
    let own = json!({ "appVersion": "^1.0.0", "description": "first", "isMandatory": true });
    let shown =
        |package: &Value| ["appVersion", "description", "isMandatory", "isDisabled", "rollout"].map(|member| package[member].clone());
    let inherited = [json!("^1.0.0"), json!("first"), json!(true), json!(false), Value::Null];
    let cases = [
        (json!({}), inherited.clone()),
        (Value::Null, inherited.clone()),
        (
            json!({ "appVersion": null, "description": null, "isMandatory": null, "isDisabled": null, "rollout": null, "packageHash": null }),
            inherited.clone(),
        ),
        (json!({ "appVersion": "", "description": "", "packageHash": "" }), inherited.clone()),
        (json!({ "rollout": 100 }), inherited.clone()),
        (
            json!({ "appVersion": "~1.2.0", "description": "another", "isMandatory": false, "isDisabled": true, "rollout": 7 }),
            [json!("~1.2.0"), json!("another"), json!(false), json!(true), json!(7)],
        ),
    ];
    for (index, (info, expected)) in cases.into_iter().enumerate() {
        ada.upload("demo", "Staging", format!("content {index}").as_bytes(), own.clone()).await.assert(201);
        assert_eq!(shown(&promote(&ada, info.clone()).await.assert(201)["package"]), expected, "{info}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_enabled_release_or_the_given_label_is_promoted() {
    let (app, ada) = prepared().await;
    let text = refused(&app, 409, promote(&ada, json!({}))).await;
    assert!(text.contains("no enabled release"), "{text}");
    for content in ["one", "two", "three"] {
        release(&ada, "Staging", content, json!({})).await;
    }
    patch_of(&ada, "Staging", "v3", json!({ "isDisabled": true })).await.assert(200);
    assert_eq!(promote(&ada, json!({})).await.assert(201)["package"]["originalLabel"], "v2");
    assert_eq!(promote_label(&ada, "v1").await.assert(201)["package"]["originalLabel"], "v1");
    let text = refused(&app, 409, promote_label(&ada, "v3")).await;
    assert!(text.contains("disabled"), "{text}");
    refused(&app, 404, promote_label(&ada, "v4")).await;
    for label in ["v1", "v2"] {
        patch_of(&ada, "Staging", label, json!({ "isDisabled": true })).await.assert(200);
    }
    let text = refused(&app, 409, promote(&ada, json!({}))).await;
    assert!(text.contains("no enabled release"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn source_and_destination_must_exist_and_differ() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    let to = async |from: &str, destination: &str| ada.post(&below(from, "promotions"), json!({ "destination": destination })).await;
    let text = refused(&app, 409, to("Staging", "Staging")).await;
    assert!(text.contains("own deployment"), "{text}");
    let text = refused(&app, 404, to("Staging", "Absent")).await;
    assert!(text.contains("destination"), "{text}");
    let text = refused(&app, 404, to("Absent", "Production")).await;
    assert!(text.starts_with("deployment "), "{text}");
    // Names are case-sensitive.
    refused(&app, 404, to("Staging", "production")).await;
    // A deployment of another app is not found.
    ada.create_app("other").await;
    ada.post("/v1/apps/other/deployments", json!({ "name": "Theirs" })).await.assert(201);
    refused(&app, 404, to("Staging", "Theirs")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_rollout_at_the_destination_blocks_unless_disabled() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({ "rollout": 50 })).await;
    release(&ada, "Production", "older", json!({ "rollout": 10 })).await;
    let text = refused(&app, 409, promote(&ada, json!({}))).await;
    assert!(text.contains("is unfinished"), "{text}");
    patch(&ada, "Production", json!({ "isDisabled": true })).await.assert(200);
    // The source's own rollout does not: a release can be promoted during its rollout.
    promote(&ada, json!({ "rollout": 20 })).await.assert(201);
    refused(&app, 409, ada.upload("demo", "Production", b"never", json!({ "appVersion": "1.0.0" }))).await;
    patch(&ada, "Production", json!({ "rollout": 100 })).await.assert(200);
    release(&ada, "Production", "next", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn identical_contents_for_the_same_versions_are_refused() {
    let (app, ada) = prepared().await;
    ada.upload("demo", "Staging", b"same", json!({ "appVersion": "^1.2.0" })).await.assert(201);
    promote(&ada, json!({})).await.assert(201);
    for info in
        [json!({}), json!({ "appVersion": "^1.2" }), json!({ "appVersion": "1.2.5" }), json!({ "description": "other", "rollout": 5 })]
    {
        let text = refused(&app, 409, promote(&ada, info)).await;
        assert!(text.contains("identical"), "{text}");
    }
    // For other versions they are new, and so is the first range after that.
    for range in ["^2.0.0", "^1.2.0"] {
        promote(&ada, json!({ "appVersion": range })).await.assert(201);
    }
    assert_eq!(labels(&history(&ada, "Production").await), ["v1", "v2", "v3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn later_changes_of_the_source_do_not_affect_a_promoted_release() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({ "description": "first" })).await;
    let promoted = promote(&ada, json!({})).await.assert(201)["package"].take();
    patch(&ada, "Staging", json!({ "description": "second", "isDisabled": true, "isMandatory": true, "appVersion": "2.x" }))
        .await
        .assert(200);
    assert_eq!(history(&ada, "Production").await, std::slice::from_ref(&promoted));
    ada.delete(&below("Staging", "history")).await.assert_status(204);
    assert_eq!(history(&ada, "Production").await, std::slice::from_ref(&promoted));
    let download = app.anonymous().get(promoted["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap()).await;
    assert_eq!(download.body, b"one");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_member_is_named_at_once() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    let send = async |body: Value| ada.post(&below("Staging", "promotions"), body).await;
    for destination in [Value::Null, json!(""), json!(1), json!("a/b"), json!(" x"), json!("x".repeat(256)), json!("nul \u{0}")] {
        let text = refused(&app, 400, send(json!({ "destination": destination }))).await;
        assert!(text.starts_with("destination: "), "{text}");
    }
    let info = json!({ "appVersion": "?", "description": 1, "isMandatory": 1, "isDisabled": 1, "rollout": 0, "packageHash": "x" });
    let text = refused(&app, 400, send(json!({ "label": "newest", "packageInfo": info }))).await;
    for member in ["destination", "label", "appVersion", "description", "isMandatory", "isDisabled", "rollout", "packageHash"] {
        assert!(text.contains(&format!("{member}: ")), "{member}: {text}");
    }
    let text = refused(&app, 400, send(json!({ "destination": "Production", "packageInfo": [] }))).await;
    assert!(text.starts_with("packageInfo: "), "{text}");
    let request = ada.request(reqwest::Method::POST, &below("Staging", "promotions"));
    refused(&app, 400, ada.send(request)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_is_read_after_the_destination_lock_is_acquired() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({ "description": "first" })).await;
    release(&ada, "Staging", "two", json!({})).await;
    // The destination is locked; while the promotion waits, the source's newest release is disabled.
    let mut holder = app.db().write().await.unwrap();
    let lock = "UPDATE deployments SET last_label = last_label WHERE name = 'Production'";
    on_write!(holder, |conn| sqlx::query(lock).execute(conn).await).unwrap();
    let promoting = tokio::spawn({
        let ada = ada.clone();
        async move { promote(&ada, json!({})).await }
    });
    until_somebody_waits(&app).await;
    let disable = "UPDATE releases SET is_disabled = TRUE WHERE label = 2";
    on_write!(holder, |conn| sqlx::query(disable).execute(conn).await).unwrap();
    holder.commit().await.unwrap();
    let package = promoting.await.unwrap().assert(201)["package"].take();
    assert_eq!((&package["originalLabel"], &package["description"]), (&json!("v1"), &json!("first")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_does_not_wait_for_changes_of_its_source() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    if app.db().dialect() == Dialect::Postgres {
        let mut holder = app.db().write().await.unwrap();
        let lock = "UPDATE deployments SET last_label = last_label WHERE name = 'Staging'";
        on_write!(holder, |conn| sqlx::query(lock).execute(conn).await).unwrap();
        promote(&ada, json!({})).await.assert(201);
        holder.commit().await.unwrap();
    } else {
        // With a single writer there is nothing to wait for.
        promote(&ada, json!({})).await.assert(201);
    }
}
