//! An app's activity with its filters.

use serde_json::json;
use tests::{Reader, TestApp, encode_segment};

use super::escaping::{ATTEMPTS, stays_text};

const PAGE: &str = "/dashboard/apps/demo/activity";
const DAY: i64 = 24 * 3_600_000;

/// The actions of the events that the page shows for this query, newest first.
async fn actions(reader: &mut Reader, query: &str) -> Vec<String> {
    let page = reader.open(&format!("{PAGE}?{query}")).await.has_status(200).html();
    page.split("<td role=\"cell\" data-label=\"Action\">").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_filtered_by_person_action_deployment_and_day() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    app.register("bob").await;
    ada.create_app("demo").await;
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Admin" })).await.assert(201);
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let first = app.clock.now().utc_day();
    app.clock.advance(DAY);
    let bob = app.log_in("bob").await;
    bob.upload("ada@example.com:demo", "Staging", b"two", json!({ "appVersion": "1.0.0" })).await.assert(201);
    bob.patch("/v1/apps/ada@example.com:demo/deployments/Staging", json!({ "name": "Beta" })).await.assert(200);
    bob.upload("ada@example.com:demo", "Beta", b"three", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let second = app.clock.now().utc_day();
    let mut reader = app.signed_in_reader("ada").await;
    let [upload, rename, add, create] = ["Release uploaded", "Deployment renamed", "Collaborator added", "App created"];
    for (query, expected) in [
        (String::new(), vec![upload, rename, upload, upload, add, create]),
        ("person=bob@example.com".to_owned(), vec![upload, rename, upload]),
        ("person=%20Bob@Example.com".to_owned(), vec![upload, rename, upload]),
        ("person=eve@example.com".to_owned(), vec![]),
        ("person=operator".to_owned(), vec![]),
        ("action=release.upload".to_owned(), vec![upload, upload, upload]),
        ("action=release.upload&person=ada@example.com".to_owned(), vec![upload]),
        ("deployment=Production".to_owned(), vec![upload]),
        // The rename concerns it, but earlier releases have its old name.
        ("deployment=Beta".to_owned(), vec![upload, rename]),
        ("deployment=Staging".to_owned(), vec![upload]),
        ("deployment=Prod".to_owned(), vec![]),
        (format!("from={second}"), vec![upload, rename, upload]),
        (format!("to={first}"), vec![upload, add, create]),
        (format!("from={first}&to={second}&action=app.create"), vec![create]),
        (format!("from={}", second.plus_days(1)), vec![]),
    ] {
        assert_eq!(actions(&mut reader, &query).await, expected, "{query}");
    }
    let page = reader.open(&format!("{PAGE}?person=bob@example.com&action=release.upload&deployment=Beta&from={first}")).await;
    let page = page.shows("value=\"bob@example.com\"").shows("<option value=\"release.upload\" selected>Release uploaded</option>");
    page.shows("<option value=\"Beta\" selected>Beta</option>").shows(&format!("value=\"{first}\"")).shows("All events");
    let page = reader.open(&format!("{PAGE}?person=eve@example.com")).await.shows("No events found.");
    // Browsers do not restore what was chosen for another list.
    page.shows("aria-label=\"Filter\" autocomplete=\"off\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_filter_is_shown() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    for (query, text) in [
        ("from=yesterday", "Write dates as YYYY-MM-DD."),
        ("to=2026-02-30", "Write dates as YYYY-MM-DD."),
        ("from=2026-03-02&to=2026-03-01", "The first day must not be after the last one."),
        ("action=account.create", "There is no such action."),
        ("action=%00", "There is no such action."),
        ("deployment=%00", "No name contains such characters."),
        ("person=a%00b", "No name contains such characters."),
    ] {
        reader.open(&format!("{PAGE}?{query}")).await.has_status(200).shows(text);
    }
    for query in ["from=0000-01-01", "to=9999-12-31", "before=x", "person=x&person=y"] {
        let page = reader.open(&format!("{PAGE}?{query}")).await.has_status(200).html();
        assert!(!page.contains("role=\"alert\""), "{query}");
    }
    reader.open(&format!("{PAGE}?before=0189abcd-0000-7000-8000-000000000000")).await.has_status(400);
    for text in ATTEMPTS {
        for name in ["person", "from", "to"] {
            stays_text(&reader.open(&format!("{PAGE}?{name}={}", encode_segment(text))).await.html(), text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_page_has_the_same_filter_and_a_viewer_gets_none() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    app.register("bob").await;
    ada.create_app("demo").await;
    let mut name = "Production".to_owned();
    for number in 0..51 {
        let new = format!("P{number}");
        ada.patch(&format!("/v1/apps/demo/deployments/{name}"), json!({ "name": new })).await.assert(200);
        name = new;
    }
    let mut reader = app.signed_in_reader("ada").await;
    let first = reader.open(&format!("{PAGE}?action=deployment.rename&deployment=P50")).await.shows("Older events").html();
    assert_eq!(first.matches("data-label=\"Action\"").count(), 50);
    let next = first.split("href=\"").find(|link| link.contains("before=")).unwrap().split('"').next().unwrap().to_owned();
    let next = tests::reader::unescape(&next);
    assert!(next.contains("action=deployment.rename&deployment=P50&before="), "{next}");
    let second = reader.open(&next).await.shows("Newest events").html();
    assert_eq!(second.matches("data-label=\"Action\"").count(), 1);
    assert!(!second.contains("Older events"));
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let mut viewer = app.signed_in_reader("bob").await;
    viewer.open("/dashboard/apps/ada@example.com:demo/activity?action=app.create").await.has_status(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_matches_little_searches_a_bounded_number_of_events() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    // 4,000 copies of one event, far ahead in the chain: the new ones stay before them.
    let copies = "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 4000) \
        INSERT INTO audit_events (seq, id, time, account_id, credential_id, credential_kind, client_address, action, object_kind, object_id, \
            app_id, details, hash) \
        SELECT 1000000 + number, SUBSTR(id, 1, 24) || SUBSTR(CAST(100000000000 + number AS TEXT), 1, 12), time, account_id, credential_id, \
            credential_kind, client_address, action, object_kind, object_id, app_id, details, hash FROM audit_events, numbers \
        WHERE action = 'release.upload'";
    assert_eq!(app.change(copies, &[]).await, 4_000);
    let mut reader = app.signed_in_reader("ada").await;
    let next = |page: &str| {
        let link = page.split("href=\"").find(|link| link.contains("Search older events")).unwrap();
        tests::reader::unescape(link.split('"').next().unwrap())
    };
    let mut address = format!("{PAGE}?action=app.create&person=ada@example.com");
    for _ in 0..2 {
        let page = reader.open(&address).await.shows("No events found so far.").shows("Searched 2,000 events.").html();
        assert!(!page.contains("data-label=\"Action\""), "{page}");
        address = next(&page);
        assert!(address.contains("person=ada%40example.com&action=app.create&before="), "{address}");
    }
    let page = reader.open(&address).await.shows("App created</td>").html();
    assert!(!page.contains("Search older") && !page.contains("Searched"), "{page}");
    // A full page has found enough.
    let page = reader.open(&format!("{PAGE}?action=release.upload")).await.shows("Older events").html();
    assert!(!page.contains("Search older") && page.matches("data-label=\"Action\"").count() == 50, "{page}");
    // Nothing older is of these days.
    let from = app.clock.now().utc_day().plus_days(2);
    let page = reader.open(&format!("{PAGE}?from={from}")).await.shows("No events found.").html();
    assert!(!page.contains("Search older"), "{page}");
    assert_eq!(actions(&mut reader, "").await.len(), 50);
}
