//! PATCH …/release: what can change, what has no effect, and what is refused.

use reqwest::Method;
use serde_json::{Value, json};

use crate::v1::apps::deployments::{
    below, history, labels, noted, patch, patch_of, prepared, promote, refused, release, roll_back, state, unsigned,
};

#[tokio::test(flavor = "multi_thread")]
async fn each_member_can_be_updated_alone_and_is_audited() {
    let (app, ada) = prepared().await;
    let mut expected = unsigned(release(&ada, "Staging", "one", json!({ "rollout": 20 })).await);
    let changes = [
        ("appVersion", json!("^1.2.0")),
        ("description", json!("what is new")),
        ("isMandatory", json!(true)),
        ("isDisabled", json!(true)),
        ("rollout", json!(40)),
        ("clear", json!(["description"])),
        ("isDisabled", json!(false)),
    ];
    for (member, value) in changes {
        let (action, details, package) = noted(&app, 200, patch(&ada, "Staging", json!({ member: value }))).await;
        let (member, value) = if member == "clear" { ("description", Value::Null) } else { (member, value) };
        let before = if member == "description" { Value::Null } else { expected[member].clone() };
        expected[member] = value.clone();
        assert_eq!(unsigned(package), expected, "{member}");
        assert_eq!(action, "release.update");
        let told = if member == "description" { Value::Null } else { value };
        assert_eq!(details, json!({ "deployment": "Staging", "label": "v1", "changes": { member: told }, "before": { member: before } }));
        let read: Vec<_> = history(&ada, "Staging").await.into_iter().map(unsigned).collect();
        assert_eq!(read, [expected.clone()]);
    }
    // 100 is stored as null.
    let (_, details, package) = noted(&app, 200, patch(&ada, "Staging", json!({ "rollout": 100, "isMandatory": false }))).await;
    assert_eq!((&package["rollout"], &package["isMandatory"]), (&Value::Null, &json!(false)));
    assert_eq!(details["changes"], json!({ "rollout": null, "isMandatory": false }));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_label_selects_the_release_and_defaults_to_the_newest() {
    let (app, ada) = prepared().await;
    let text = refused(&app, 404, patch(&ada, "Staging", json!({ "isMandatory": true }))).await;
    assert!(text.contains("release"), "{text}");
    for content in ["one", "two", "three"] {
        release(&ada, "Staging", content, json!({})).await;
    }
    patch_of(&ada, "Staging", "v2", json!({ "description": "the second" })).await.assert(200);
    assert_eq!(patch(&ada, "Staging", json!({ "description": "the third" })).await.assert(200)["package"]["label"], "v3");
    let texts: Vec<_> = history(&ada, "Staging").await.iter().map(|release| release["description"].clone()).collect();
    assert_eq!(texts, [Value::Null, json!("the second"), json!("the third")]);
    for label in ["v4", "v999999999"] {
        let text = refused(&app, 404, patch_of(&ada, "Staging", label, json!({ "isMandatory": true }))).await;
        assert!(text.contains("release"), "{text}");
    }
    refused(&app, 404, patch(&ada, "Absent", json!({ "isMandatory": true }))).await;
    // Even an empty update of an unknown release is 404.
    refused(&app, 404, patch_of(&ada, "Staging", "v4", json!({}))).await;
    refused(&app, 404, patch(&ada, "Production", json!({}))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_effect_is_204_before_any_refusal() {
    let (app, ada) = prepared().await;
    let first = release(&ada, "Staging", "one", json!({ "rollout": 25, "description": "first", "isDisabled": true })).await;
    release(&ada, "Staging", "two", json!({})).await;
    promote(&ada, json!({ "description": "carried" })).await.assert(201);
    let before = state(&app).await;
    let nothing = [
        ("Staging", json!({})),
        ("Staging", json!({ "packageInfo": null, "label": null })),
        ("Staging", json!({ "packageInfo": {}, "label": "v1" })),
        ("Staging", json!({ "packageInfo": { "somethingElse": 1 } })),
        // Null is absent, also for a rollout.
        (
            "Staging",
            json!({ "label": "v1", "packageInfo": {
                "appVersion": null, "description": null, "isMandatory": null, "isDisabled": null, "rollout": null, "packageHash": null,
            } }),
        ),
        // An unchanged rollout that is complete, or that of an older release.
        ("Staging", json!({ "packageInfo": { "rollout": 100 } })),
        ("Staging", json!({ "label": "v1", "packageInfo": { "rollout": 25, "isDisabled": true } })),
        ("Staging", json!({ "label": "v1", "packageInfo": { "description": "first", "packageHash": first["packageHash"] } })),
        ("Staging", json!({ "packageInfo": { "appVersion": "1.0.0", "description": "", "isMandatory": false, "isDisabled": false } })),
        // The description of a promoted release.
        ("Production", json!({ "packageInfo": { "description": "carried" } })),
    ];
    for (deployment, body) in nothing {
        let answer = ada.patch(&below(deployment, "release"), body.clone()).await;
        answer.assert_status(204);
        assert!(answer.body.is_empty(), "{body}");
        assert_eq!(state(&app).await, before, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_can_only_grow_until_complete() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({ "rollout": 40 })).await;
    for lower in [1, 39] {
        let text = refused(&app, 409, patch(&ada, "Staging", json!({ "rollout": lower }))).await;
        assert!(text.contains("40"), "{text}");
    }
    for (rollout, stored) in [(41, json!(41)), (99, json!(99)), (100, Value::Null)] {
        assert_eq!(patch(&ada, "Staging", json!({ "rollout": rollout })).await.assert(200)["package"]["rollout"], stored);
    }
    for rollout in [1, 99] {
        refused(&app, 409, patch(&ada, "Staging", json!({ "rollout": rollout }))).await;
    }
    // A refusal discards the whole update.
    refused(&app, 409, patch(&ada, "Staging", json!({ "rollout": 50, "isMandatory": true }))).await;
    // Some clients write whole numbers like this. A plus sign is not JSON.
    let latest = release(&ada, "Staging", "two", json!({ "rollout": 50.0 })).await;
    assert_eq!(latest["rollout"], 50);
    assert_eq!(patch(&ada, "Staging", json!({ "rollout": 60.0 })).await.assert(200)["package"]["rollout"], 60);
    refused(&app, 400, patch(&ada, "Staging", json!({ "rollout": 60.5 }))).await;
    let request = ada.request(Method::PATCH, &below("Staging", "release")).header("content-type", "application/json");
    refused(&app, 400, ada.send(request.body(r#"{"label":+7}"#))).await;
    // A release that was fully rolled out from the start.
    release(&ada, "Production", "one", json!({})).await;
    refused(&app, 409, patch(&ada, "Production", json!({ "rollout": 50 }))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rollout_of_a_release_that_is_not_the_newest_is_frozen() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({ "rollout": 25 })).await;
    // A disabled rollout can still grow while it is the newest.
    patch(&ada, "Staging", json!({ "isDisabled": true })).await.assert(200);
    patch(&ada, "Staging", json!({ "rollout": 30 })).await.assert(200);
    release(&ada, "Staging", "two", json!({})).await;
    assert_eq!(history(&ada, "Staging").await[0]["rollout"], 30, "a newer release does not change an older one");
    for rollout in [20, 31, 99, 100] {
        refused(&app, 409, patch_of(&ada, "Staging", "v1", json!({ "rollout": rollout }))).await;
    }
    // It cannot be enabled again, with or without a new rollout.
    refused(&app, 409, patch_of(&ada, "Staging", "v1", json!({ "isDisabled": false }))).await;
    refused(&app, 409, patch_of(&ada, "Staging", "v1", json!({ "isDisabled": false, "rollout": 100 }))).await;
    refused(&app, 409, patch_of(&ada, "Staging", "v1", json!({ "isDisabled": false, "isMandatory": true }))).await;
    // Everything else can change.
    patch_of(&ada, "Staging", "v1", json!({ "isMandatory": true, "description": "old", "appVersion": "1.x" })).await.assert(200);
    assert_eq!(labels(&history(&ada, "Staging").await), ["v1", "v2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_fully_rolled_out_release_can_be_disabled_and_enabled() {
    let (_app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    release(&ada, "Staging", "two", json!({ "rollout": 10 })).await;
    for is_disabled in [true, false] {
        assert_eq!(
            patch_of(&ada, "Staging", "v1", json!({ "isDisabled": is_disabled })).await.assert(200)["package"]["isDisabled"],
            is_disabled
        );
    }
    // The newest release can be enabled again during its rollout.
    for is_disabled in [true, false] {
        patch(&ada, "Staging", json!({ "isDisabled": is_disabled })).await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn finishing_or_disabling_a_rollout_allows_the_next_release() {
    let (app, ada) = prepared().await;
    for (content, way) in [("one", json!({ "rollout": 100 })), ("two", json!({ "isDisabled": true }))] {
        release(&ada, "Staging", content, json!({ "rollout": 10 })).await;
        let text = refused(&app, 409, ada.upload("demo", "Staging", b"next", json!({ "appVersion": "1.0.0" }))).await;
        assert!(text.contains("rollout"), "{text}");
        patch(&ada, "Staging", way).await.assert(200);
    }
    release(&ada, "Staging", "next", json!({})).await;
    assert_eq!(labels(&history(&ada, "Staging").await), ["v1", "v2", "v3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_of_a_promoted_release_is_kept() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({ "description": "first" })).await;
    promote(&ada, json!({})).await.assert(201);
    refused(&app, 409, patch(&ada, "Production", json!({ "description": "other" }))).await;
    refused(&app, 409, patch(&ada, "Production", json!({ "clear": ["description"] }))).await;
    refused(&app, 409, patch(&ada, "Production", json!({ "description": "other", "isMandatory": true }))).await;
    patch(&ada, "Production", json!({ "description": "first", "isMandatory": true })).await.assert(200);
    // That of a rollback can change.
    release(&ada, "Staging", "two", json!({})).await;
    roll_back(&ada, "Staging", Value::Null).await.assert(201);
    patch(&ada, "Staging", json!({ "description": "back again" })).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_texts_change_nothing_and_are_inherited_by_a_promotion() {
    let (app, ada) = prepared().await;
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "~2.0.0", "description": "first" })).await.assert(201);
    for empty in ["", " ", "\t\n"] {
        let info = json!({ "appVersion": empty, "description": empty });
        patch(&ada, "Staging", info.clone()).await.assert_status(204);
        let (_, _, patched) =
            noted(&app, 200, patch(&ada, "Staging", json!({ "appVersion": empty, "description": empty, "isMandatory": true }))).await;
        assert_eq!((&patched["appVersion"], &patched["description"]), (&json!("~2.0.0"), &json!("first")));
        patch(&ada, "Staging", json!({ "isMandatory": false })).await.assert(200);
        let promoted = promote(&ada, info).await.assert(201)["package"].clone();
        assert_eq!((&promoted["appVersion"], &promoted["description"]), (&json!("~2.0.0"), &json!("first")));
        ada.delete(&below("Production", "history")).await.assert(204);
    }
    assert_eq!(promote(&ada, json!({ "clear": ["description"] })).await.assert(201)["package"]["description"], Value::Null);
    for (info, text) in [
        (json!({ "clear": ["appVersion"] }), "clear: can only contain description"),
        (json!({ "clear": "description" }), "clear: must be a list of strings"),
        (json!({ "clear": ["description"], "description": "x" }), "clear: must not contain description if description is set"),
    ] {
        assert_eq!(refused(&app, 400, patch(&ada, "Staging", info)).await, text);
    }
    let (_, details, patched) = noted(&app, 200, patch(&ada, "Staging", json!({ "clear": ["description"], "description": "" }))).await;
    assert_eq!((&patched["description"], &details["changes"]), (&Value::Null, &json!({ "description": null })));
    // The document requires no more than the service does; an upload requires its range.
    let document = app.anonymous().get("/v1/openapi.json").await.assert(200);
    for (schema, least) in [("NewRelease", Some(1)), ("ReleaseChanges", None)] {
        let range = &document["components"]["schemas"][schema]["properties"]["appVersion"];
        assert_eq!((&range["maxLength"], range.get("minLength").and_then(Value::as_u64)), (&json!(255), least), "{schema}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_member_is_named_at_once() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    let long = "é".repeat(256);
    let bad = [
        ("label", json!(["", "1", "v0", "v01", "V1", "latest", 1, {}])),
        ("packageInfo", json!([1, "text", [], true])),
        ("appVersion", json!(["not a range", long, 1, {}])),
        ("description", json!([1, "nul \u{0}", []])),
        ("isMandatory", json!(["true", 1, 0])),
        ("isDisabled", json!(["false", 1, 0])),
        ("rollout", json!([0, 101, -1, 1.5, "50", 1e10])),
        ("packageHash", json!(["", "abc", "G".repeat(64), "A".repeat(64), 1])),
    ];
    for (member, values) in bad {
        for value in values.as_array().unwrap() {
            let body = match member {
                "label" | "packageInfo" => json!({ member: value }),
                _ => json!({ "packageInfo": { member: value } }),
            };
            let text = refused(&app, 400, ada.patch(&below("Staging", "release"), body.clone())).await;
            assert!(text.starts_with(&format!("{member}: ")), "{body}: {text}");
        }
    }
    let body = json!({ "label": "no", "packageInfo": { "appVersion": "?", "rollout": 0, "isMandatory": 1, "packageHash": "x" } });
    let text = refused(&app, 400, ada.patch(&below("Staging", "release"), body)).await;
    for member in ["label", "appVersion", "rollout", "isMandatory", "packageHash"] {
        assert!(text.contains(&format!("{member}: ")), "{text}");
    }
    for body in [json!([]), json!("text"), json!(1)] {
        refused(&app, 400, ada.patch(&below("Staging", "release"), body)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptions_beyond_ten_kilobytes_work_only_in_uploads() {
    let (app, ada) = prepared().await;
    let long = "x".repeat(10_000);
    release(&ada, "Staging", "one", json!({ "description": long })).await;
    patch(&ada, "Staging", json!({ "description": "y".repeat(10_000) })).await.assert(200);
    // 10,000 two-byte characters: the maximum in UTF-16 code units, but too many bytes for a JSON body.
    for path in ["release", "promotions"] {
        let body = json!({ "destination": "Production", "packageInfo": { "description": "é".repeat(10_000) } });
        let method = if path == "release" { Method::PATCH } else { Method::POST };
        refused(&app, 413, ada.send(ada.request(method, &below("Staging", path)).json(&body))).await;
    }
    // One unit too many, within the bytes.
    refused(&app, 400, patch(&ada, "Staging", json!({ "description": "x".repeat(10_001) }))).await;
    // Inherited descriptions may have any length.
    let notes = "é".repeat(10_000);
    release(&ada, "Staging", "two", json!({ "description": notes })).await;
    assert_eq!(promote(&ada, json!({})).await.assert(201)["package"]["description"], notes);
}
