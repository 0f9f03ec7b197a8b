//! GET …/releases and …/releases/{label}.

use serde_json::{Value, json};
use tests::{Client, TestApp};

use crate::v1::apps::deployments::{below, history, labels, patch_of, prepared, promote, refused, release, roll_back};

async fn page(client: &Client, query: &str) -> Value {
    client.get(&below("Staging", &format!("releases{query}"))).await.assert(200)
}

/// The labels of a page, and the cursor of the next page.
fn of(page: &Value) -> (Vec<&str>, Option<&str>) {
    (labels(page["releases"].as_array().unwrap()), page["nextCursor"].as_str())
}

async fn listed(client: &Client, query: &str) -> Vec<String> {
    let page = page(client, query).await;
    let (labels, cursor) = of(&page);
    assert_eq!(cursor, None, "{query}");
    labels.into_iter().map(str::to_owned).collect()
}

/// Every label of a query, from its first page to its last.
async fn walk(client: &Client, query: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = page(client, &format!("?{query}{cursor}")).await;
        let (labels, next) = of(&page);
        pages.push(labels.into_iter().map(str::to_owned).collect());
        match next {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return pages,
        }
    }
}

/// Copies v1 until the history has this length; the descriptions contain the labels.
async fn fill(app: &TestApp, count: u32) {
    for label in 2..=count {
        let sql = "INSERT INTO releases (id, deployment_id, app_id, label, app_version, description, is_mandatory, is_disabled, rollout, \
            package_hash, blob_sha256, manifest_sha256, size, release_method, original_label, original_deployment, released_by, upload_time) \
            SELECT id || '-' || $1, deployment_id, app_id, CAST($1 AS BIGINT), app_version, 'release ' || $1, is_mandatory, is_disabled, rollout, \
            package_hash, blob_sha256, manifest_sha256, size, release_method, original_label, original_deployment, released_by, upload_time \
            FROM releases WHERE label = 1";
        assert_eq!(app.change(sql, &[&label.to_string()]).await, 1);
    }
    app.change("UPDATE deployments SET last_label = CAST($1 AS BIGINT) WHERE name = 'Staging'", &[&count.to_string()]).await;
}

fn down(from: u32, to: u32) -> Vec<String> {
    (to..=from).rev().map(|label| format!("v{label}")).collect()
}

fn up(from: u32, to: u32) -> Vec<String> {
    (from..=to).map(|label| format!("v{label}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_sorted_newest_first_or_oldest_first() {
    let (app, ada) = prepared().await;
    assert_eq!(page(&ada, "").await, json!({ "releases": [], "nextCursor": null }));
    release(&ada, "Staging", "one", json!({})).await;
    fill(&app, 60).await;
    assert_eq!(walk(&ada, "").await, [down(60, 36), down(35, 11), down(10, 1)]);
    assert_eq!(walk(&ada, "order=desc&limit=30").await, [down(60, 31), down(30, 1)], "a full last page has no next page");
    assert_eq!(walk(&ada, "order=asc&limit=29").await, [up(1, 29), up(30, 58), up(59, 60)]);
    assert_eq!(walk(&ada, "limit=100").await, [down(60, 1)]);
    assert_eq!(walk(&ada, "limit=1").await.len(), 60);
    // The other deployment is empty.
    assert_eq!(ada.get(&below("Production", "releases")).await.assert(200)["releases"], json!([]));
    ada.get(&below("Absent", "releases")).await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_is_stable_while_releases_are_added_and_removed() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    fill(&app, 10).await;
    let (newest, oldest) = (page(&ada, "?limit=4").await, page(&ada, "?limit=4&order=asc").await);
    let (newest, oldest) = (newest["nextCursor"].as_str().unwrap(), oldest["nextCursor"].as_str().unwrap());
    for content in ["eleven", "twelve"] {
        release(&ada, "Staging", content, json!({})).await;
    }
    roll_back(&ada, "Staging", json!("v11")).await.assert(201);
    patch_of(&ada, "Staging", "v6", json!({ "isDisabled": true })).await.assert(200);
    assert_eq!(listed(&ada, &format!("?cursor={newest}")).await, down(6, 1), "no duplicates, no omissions");
    assert_eq!(listed(&ada, &format!("?cursor={oldest}&order=asc")).await, up(5, 13), "new releases come at the end");
    // After clearing and refilling, old cursors keep their positions.
    ada.delete(&below("Staging", "history")).await.assert_status(204);
    release(&ada, "Staging", "anew", json!({})).await;
    assert_eq!(listed(&ada, &format!("?cursor={newest}")).await, Vec::<String>::new());
    assert_eq!(listed(&ada, &format!("?cursor={oldest}&order=asc")).await, ["v14"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_entry_is_the_release_without_signed_urls() {
    let (_app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({ "description": "first", "rollout": 10, "isMandatory": true })).await;
    ada.post(&below("Staging", "promotions"), json!({ "destination": "Production" })).await.assert(201);
    ada.post(&below("Production", "promotions"), json!({ "destination": "Staging", "packageInfo": { "appVersion": "2.x" } }))
        .await
        .refused(409);
    patch_of(&ada, "Staging", "v1", json!({ "rollout": 100 })).await.assert(200);
    ada.post(&below("Production", "promotions"), json!({ "destination": "Staging", "packageInfo": { "appVersion": "2.x" } }))
        .await
        .assert(201);
    let mut whole = history(&ada, "Staging").await;
    for release in &mut whole {
        for signed in ["blobUrl", "manifestBlobUrl", "diffPackageMap"] {
            assert!(release.as_object_mut().unwrap().remove(signed).is_some());
        }
    }
    assert_eq!(page(&ada, "?order=asc").await["releases"].as_array().unwrap(), &whole);
    assert_eq!((&whole[0].get("originalLabel"), &whole[1]["originalDeployment"]), (&None, &json!("Production")));
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_work_alone_and_combined() {
    let (_app, ada) = prepared().await;
    let uploads = [
        json!({ "appVersion": "1.0.0", "isMandatory": true }),
        json!({ "appVersion": "^1.0.0", "isDisabled": true }),
        json!({ "appVersion": "1.0.0" }),
        json!({ "appVersion": "^1.0" }),
        json!({ "appVersion": "1.0.0", "isMandatory": true, "isDisabled": true }),
        json!({ "appVersion": "1.0.0" }),
    ];
    for (index, info) in uploads.into_iter().enumerate() {
        ada.upload("demo", "Staging", format!("{index}").as_bytes(), info).await.assert(201);
    }
    roll_back(&ada, "Staging", json!("v1")).await.assert(201);
    promote(&ada, json!({ "appVersion": "3.x" })).await.assert(201);
    ada.post(&below("Production", "promotions"), json!({ "destination": "Staging" })).await.assert(201);
    for (query, expected) in [
        ("", vec!["v8", "v7", "v6", "v5", "v4", "v3", "v2", "v1"]),
        ("appVersion=1.0.0", vec!["v7", "v6", "v5", "v3", "v1"]),
        // As entered: an equivalent range in another spelling does not match.
        ("appVersion=%5E1.0.0", vec!["v2"]),
        ("appVersion=9.9.9", vec![]),
        ("releaseMethod=Upload", vec!["v6", "v5", "v4", "v3", "v2", "v1"]),
        ("releaseMethod=Rollback", vec!["v7"]),
        ("releaseMethod=Promote", vec!["v8"]),
        ("isDisabled=true", vec!["v5", "v2"]),
        ("isDisabled=false", vec!["v8", "v7", "v6", "v4", "v3", "v1"]),
        ("isMandatory=true", vec!["v8", "v7", "v5", "v1"]),
        ("isMandatory=false&isDisabled=false&order=asc", vec!["v3", "v4", "v6"]),
        ("isMandatory=true&isDisabled=true&appVersion=1.0.0&releaseMethod=Upload&search=v5", vec!["v5"]),
        ("isMandatory=true&releaseMethod=Upload&search=v8", vec![]),
        // Empty is absent.
        ("isMandatory=&isDisabled=&appVersion=&releaseMethod=&search=&order=&limit=&cursor=&more=1&more=2", {
            vec!["v8", "v7", "v6", "v5", "v4", "v3", "v2", "v1"]
        }),
    ] {
        assert_eq!(listed(&ada, &format!("?{query}")).await, expected, "{query}");
        // Pages of one entry give the same result.
        if !query.is_empty() && !query.contains("limit") {
            let pages = walk(&ada, &format!("{query}&limit=1")).await;
            assert_eq!(pages.concat(), expected, "{query}");
            assert_eq!(pages.len(), expected.len().max(1), "{query}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_matches_labels_and_descriptions() {
    let (app, ada) = prepared().await;
    for text in ["A hotfix", "ÉTÉ 100% done", "under_score", "back\\slash"] {
        release(&ada, "Staging", text, json!({ "description": text })).await;
    }
    release(&ada, "Staging", "none", json!({})).await;
    for (search, expected) in [
        ("HOTFIX", vec!["v1"]),
        ("été", vec!["v2"]),
        ("%25", vec!["v2"]),
        ("_", vec!["v3"]),
        ("%5C", vec!["v4"]),
        ("a", vec!["v4", "v1"]),
        ("V5", vec!["v5"]),
        ("v", vec!["v5", "v4", "v3", "v2", "v1"]),
        ("%00", vec![]),
        ("nowhere", vec![]),
    ] {
        assert_eq!(listed(&ada, &format!("?search={search}")).await, expected, "{search}");
    }
    // Over more releases than one batch reads.
    app.change("DELETE FROM releases WHERE label > 1", &[]).await;
    fill(&app, 450).await;
    let pages = walk(&ada, "search=release%203&limit=60").await;
    assert_eq!(pages, [down(399, 340), [down(339, 300), down(39, 30), down(3, 3)].concat()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_parameter_is_named_at_once() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({})).await;
    fill(&app, 3).await;
    let ask = async |query: &str| ada.get(&below("Staging", &format!("releases?{query}"))).await;
    for query in [
        "limit=0",
        "limit=101",
        "limit=-1",
        "limit=1.5",
        "limit=x",
        "order=up",
        "order=ASC",
        "isDisabled=1",
        "isDisabled=True",
        "isMandatory=no",
        "releaseMethod=upload",
        "releaseMethod=x",
        "appVersion=%00",
        "cursor=x",
        "cursor=v1",
        "cursor=%00",
        "cursor=ZGVzYyA",
        "cursor=ZGVzYyB4",
    ] {
        let text = refused(&app, 400, ask(query)).await;
        assert!(text.starts_with(&format!("{}: ", query.split('=').next().unwrap())), "{query}: {text}");
    }
    // A repeated parameter, also if one of the values is empty.
    for name in ["limit", "order", "isDisabled", "isMandatory", "releaseMethod", "appVersion", "search", "cursor"] {
        let text = refused(&app, 400, ask(&format!("{name}=&{name}="))).await;
        assert_eq!(text, format!("{name}: must be given only once"));
    }
    let text = refused(&app, 400, ask("limit=0&order=x&isDisabled=x&isMandatory=x&releaseMethod=x&cursor=x")).await;
    for name in ["limit", "order", "isDisabled", "isMandatory", "releaseMethod", "cursor"] {
        assert!(text.contains(&format!("{name}: ")), "{text}");
    }
    // A cursor is valid only for its own order, regardless of the order of the parameters.
    let cursor = page(&ada, "?limit=1").await["nextCursor"].as_str().unwrap().to_owned();
    for query in [format!("order=asc&cursor={cursor}"), format!("cursor={cursor}&order=asc")] {
        refused(&app, 400, ask(&query)).await;
    }
    assert_eq!(listed(&ada, &format!("?cursor={cursor}&order=desc")).await, ["v2", "v1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_release_is_read_by_its_label() {
    let (_app, ada) = prepared().await;
    for content in ["one", "two"] {
        release(&ada, "Staging", content, json!({})).await;
    }
    let history = history(&ada, "Staging").await;
    for release in &history {
        let path = below("Staging", &format!("releases/{}", release["label"].as_str().unwrap()));
        assert_eq!(ada.get(&path).await.assert(200)["package"], *release);
    }
    for label in ["v3", "v0", "v01", "1", "V1", "latest", "v9999999999", "%00"] {
        ada.get(&below("Staging", &format!("releases/{label}"))).await.refused(404);
    }
    ada.get(&below("Production", "releases/v1")).await.refused(404);
    ada.get(&below("Absent", "releases/v1")).await.refused(404);
}
