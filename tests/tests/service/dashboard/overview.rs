//! The list of apps: what runs on their deployments, search and pages.

use control::testing::jobs;
use serde_json::json;
use shared::ids::ReportId;
use tests::reports::report;
use tests::{TestApp, encode_segment};

use super::escaping::{ATTEMPTS, stays_text};

#[tokio::test(flavor = "multi_thread")]
async fn the_list_shows_what_runs_on_each_deployment() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (production, _) = ada.create_app("demo").await;
    for (content, info) in
        [("one", json!({ "appVersion": "1.0.0" })), ("two", json!({ "appVersion": "^1.2.0", "isMandatory": true, "rollout": 25 }))]
    {
        ada.upload("demo", "Production", content.as_bytes(), info).await.assert(201);
    }
    let now = app.clock.now();
    let events =
        [("a", "installed", "v1"), ("b", "installed", "v2"), ("c", "installed", "v2"), ("d", "failed", "v2"), ("e", "binary", "1.0.0")];
    let reports = events.iter().zip(1_u8..).map(|((client, event, place), number)| {
        report(ReportId::v7(now, [number; 10]).as_ref(), now.0, &production, Some(client), event, place)
    });
    app.deliver(&reports.collect::<Vec<_>>()).await;
    // A trend needs two days.
    jobs::history_round(&app.state()).await;
    assert!(!app.signed_in_reader("ada").await.open("/dashboard").await.html().contains("<svg"));
    app.clock.advance(24 * 3_600_000);
    jobs::history_round(&app.state()).await;
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard").await.shows("releases/v2\">v2</a> for <bdi>^1.2.0</bdi>").shows("Mandatory").shows("25%");
    let page = page
        .shows("v2 failed on 33.3% (1 of 3)")
        .shows("by <bdi>ada@example.com</bdi>")
        .shows("4 active devices")
        .shows("No release yet")
        .shows("Owner");
    // The device that runs the binary is not of a release.
    let page = page.shows("aria-label=\"Active devices in the last 14 days: from 3 to 3\"").html();
    assert!(!page.contains("Disabled") && !page.contains("releases/v1\""), "{page}");
    assert_eq!(page.matches("<svg").count(), 1, "Staging has no history: {page}");
    ada.patch("/v1/apps/demo/deployments/Production/release", json!({ "packageInfo": { "isDisabled": true } })).await.assert(200);
    reader.open("/dashboard").await.shows("Disabled");
    // After the fifteenth day, the first one is not shown, and the other alone is no trend.
    app.clock.advance(12 * 24 * 3_600_000);
    let mut reader = app.signed_in_reader("ada").await;
    reader.open("/dashboard").await.shows("<svg");
    app.clock.advance(24 * 3_600_000);
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard").await.shows("4 active").html();
    assert!(!page.contains("<svg"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_sees_shared_apps_by_their_owners_and_a_stranger_none() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob", "eve"] {
        app.register(name).await;
    }
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let mut bob = app.signed_in_reader("bob").await;
    let page = bob.open("/dashboard").await.shows("<bdi>ada@example.com:demo</bdi>").shows("Viewer. Owner: <bdi>ada@example.com</bdi>");
    let page = page.shows("/deployments/Staging/releases/v1\"");
    assert!(!page.html().contains(&ada.deployment_key("demo", "Staging").await));
    bob.open("/dashboard?q=v1").await.shows("releases/v1\">v1 of <bdi>Staging</bdi> of <bdi>ada@example.com:demo</bdi></a>");
    let mut eve = app.signed_in_reader("eve").await;
    for page in ["/dashboard", "/dashboard?q=demo", "/dashboard?q=v1"] {
        let page = eve.open(page).await.shows("You have no apps yet").html();
        assert!(!page.contains("demo"), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_finds_apps_by_name_and_releases_by_label() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["First", "second", "v2 of first"] {
        ada.create_app(name).await;
    }
    for (deployment, content) in [("Production", "one"), ("Production", "two"), ("Staging", "one"), ("Staging", "two")] {
        ada.upload("second", deployment, content.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    let mut reader = app.signed_in_reader("ada").await;
    for (query, apps, releases) in [
        ("q=first", &["First", "v2 of first"][..], 0),
        ("q=%20FIRST%20", &["First", "v2 of first"], 0),
        ("q=v2", &["v2 of first"], 2),
        ("q=v3", &[], 0),
        ("q=", &["First", "second", "v2 of first"], 0),
        // Programs on the way may read another one.
        ("q=first&q=second", &["First", "v2 of first"], 0),
        ("page=0", &["First", "second", "v2 of first"], 0),
        ("page=two", &["First", "second", "v2 of first"], 0),
        ("page=70000", &["First", "second", "v2 of first"], 0),
        ("page=60000", &["First", "second", "v2 of first"], 0),
    ] {
        let page = reader.open(&format!("/dashboard?{query}")).await.has_status(200).html();
        let found: Vec<&str> =
            page.split("<h2><a").skip(1).map(|rest| rest.split("<bdi>").nth(1).unwrap().split('<').next().unwrap()).collect();
        assert_eq!(found, apps, "{query}");
        assert_eq!(page.matches("releases/v2\">v2 of").count(), releases, "{query}");
        assert_eq!(page.contains("No apps found."), apps.is_empty() && releases == 0, "{query}");
        assert_eq!(page.contains("No app has this name."), apps.is_empty() && releases > 0, "{query}");
    }
    for text in ATTEMPTS {
        stays_text(&reader.open(&format!("/dashboard?q={}", encode_segment(text))).await.html(), text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_has_pages_and_an_app_shows_six_deployments() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for number in 1..=51 {
        let name = format!("app {number:02}");
        ada.post("/v1/apps", json!({ "name": name, "manuallyProvisionDeployments": true })).await.assert(201);
    }
    for number in 1..=8 {
        ada.post("/v1/apps/app%2051/deployments", json!({ "name": format!("stage {number}") })).await.assert(201);
    }
    let mut reader = app.signed_in_reader("ada").await;
    let first = reader.open("/dashboard").await.shows("Page 1 of 2").shows("Next page").html();
    assert_eq!(first.matches("<h2><a").count(), 50);
    assert!(!first.contains("Previous page") && !first.contains("app 51") && first.contains("No deployments"), "{first}");
    let second = reader.open("/dashboard?q=&page=2").await.shows("Page 2 of 2").shows("Previous page").shows("app 51").html();
    assert!(!second.contains("Next page") && second.contains("stage 6") && !second.contains("stage 7"), "{second}");
    assert!(second.contains("2 more deployments"), "{second}");
    reader.open("/dashboard?q=app&page=9").await.shows("Page 2 of 2").shows("?q=app&#38;page=1");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_for_a_label_finds_few_releases_of_apps_that_are_not_accepted() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.clock.advance(1_000);
    bob.post("/v1/apps", json!({ "name": "many", "manuallyProvisionDeployments": true })).await.assert(201);
    for number in 1..=21 {
        let name = format!("d{number}");
        bob.post("/v1/apps/many/deployments", json!({ "name": name })).await.assert(201);
        bob.upload("many", &name, b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    bob.post("/v1/apps/many/collaborators/ada@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard?q=v1").await.shows("v1 of <bdi>Production</bdi> of <bdi>demo</bdi>").html();
    assert_eq!(page.matches("releases/v1\">v1 of").count(), 6, "{page}");
    ada.post("/v1/apps/bob@example.com:many/collaborators/me/accept", json!({})).await.assert(200);
    let page = reader.open("/dashboard?q=v1").await.html();
    assert_eq!(page.matches("releases/v1\">v1 of").count(), 20, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_reads_one_number_for_each_day() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (key, _) = ada.create_app("demo").await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let now = app.clock.now();
    app.deliver(&[report(ReportId::v7(now, [1; 10]).as_ref(), now.0, &key, Some("a"), "installed", "v1")]).await;
    jobs::history_round(&app.state()).await;
    app.clock.advance(24 * 3_600_000);
    // As an earlier release stored it: the job adds the number.
    assert_eq!(app.change("UPDATE metric_days SET active = NULL", &[]).await, 1);
    jobs::history_round(&app.state()).await;
    let numbers = "SELECT CAST(active AS TEXT) FROM metric_days ORDER BY day";
    assert_eq!(app.texts(numbers, &[]).await, ["1", "1"]);
    app.change("UPDATE metric_days SET active = NULL", &[]).await;
    jobs::history_round(&app.state()).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM metric_days WHERE active IS NULL").await, 1, "the closed day is never written again");
    // However long the labels of a day are, the list does not read them.
    app.change("UPDATE metric_days SET active = 7, labels = 'not read'", &[]).await;
    let mut reader = app.signed_in_reader("ada").await;
    reader.open("/dashboard").await.shows("aria-label=\"Active devices in the last 14 days: from 7 to 7\"");
}
