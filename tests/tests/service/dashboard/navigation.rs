//! The header of every page: apps on one side, the account on the other.

use serde_json::json;
use tests::TestApp;
use tests::reader::Page;

/// The links that are marked as the current page or section.
fn current(page: &Page) -> Vec<String> {
    let html = page.html();
    let marked = html.split("<a ").skip(1).filter(|link| link.split('>').next().unwrap().contains("aria-current"));
    marked.map(|link| link.split_once('>').unwrap().1.split("</a>").next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_navigation_is_about_apps_and_the_account_has_a_menu() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    app.log_in("ada").await.create_app("a b").await;
    let mut reader = app.signed_in_reader("ada").await;
    for (page, marked) in [
        ("", vec!["Apps"]),
        ("/new-app", vec!["Apps"]),
        ("/switch-app", vec!["Apps"]),
        ("/apps/a%20b", vec!["Apps", "Deployments"]),
        ("/apps/a%20b/activity", vec!["Apps", "Activity"]),
        ("/account", vec!["Account"]),
        ("/account/password", vec!["Account"]),
        ("/keys/new", vec!["Keys"]),
    ] {
        let shown = reader.open(&format!("/dashboard{page}")).await.has_status(200);
        assert_eq!(current(&shown), marked, "{page}");
        let html = shown.html();
        let is_of_an_app = page.starts_with("/apps/");
        assert_eq!(html.contains("<bdi>a b</bdi></summary>"), is_of_an_app, "{page}: the menu that switches apps");
        assert!(html.contains("<nav aria-label=\"Account\">"), "{page}");
    }
    // An app that is not there, or not the visitor's, is not the current one. A missing part of an app is.
    for (page, has_menu) in [("/apps/nope", false), ("/apps/nope/deployments/Staging", false), ("/apps/a%20b/deployments/nope", true)] {
        let html = reader.open(&format!("/dashboard{page}")).await.has_status(404).html();
        assert_eq!((html.contains("switcher"), html.contains("<bdi>nope</bdi>")), (has_menu, false), "{page}");
    }
    let visitor = app.reader().open("/dashboard/sign-in").await.html();
    assert!(!visitor.contains("class=\"menu"), "{visitor}");
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_are_switched_among_the_first_twenty() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let mut reader = app.signed_in_reader("ada").await;
    reader.open("/dashboard/switch-app").await.shows("You have no apps yet.");
    // Bob's names come first by spelling, but Ada has not accepted them.
    for number in 1..=8 {
        bob.post("/v1/apps", json!({ "name": format!("aaa {number}"), "manuallyProvisionDeployments": true })).await.assert(201);
        bob.post(&format!("/v1/apps/aaa%20{number}/collaborators/ada@example.com"), json!({ "permission": "Viewer" })).await.assert(201);
    }
    let create = async |names: std::ops::RangeInclusive<u8>| {
        for number in names {
            ada.post("/v1/apps", json!({ "name": format!("app {number}"), "manuallyProvisionDeployments": true })).await.assert(201);
        }
    };
    let mut shown = async || {
        let page = reader.open("/dashboard/switch-app").await.shows("of your apps.").shows("All apps").html();
        let names = page.split("<li><a href=\"/dashboard/apps/").skip(1);
        let names: Vec<_> = names.map(|link| link.split("<bdi>").nth(1).unwrap().split('<').next().unwrap().to_owned()).collect();
        (names, page)
    };
    create(1..=2).await;
    let (names, page) = shown().await;
    assert_eq!(names[..3], ["app 1", "app 2", "bob@example.com:aaa 1"]);
    assert_eq!((names.len(), page.matches("Not accepted").count()), (7, 5), "{page}");
    // Accepted, it is one of hers.
    ada.post("/v1/apps/bob@example.com:aaa%208/collaborators/me/accept", json!({})).await.assert(200);
    assert_eq!(shown().await.0[..3], ["aaa 8", "app 1", "app 2"]);
    create(3..=21).await;
    let (names, page) = shown().await;
    assert_eq!((names.len(), names[0].as_str()), (20, "aaa 8"), "{page}");
    assert!(!page.contains("Not accepted") && page.contains("The first 20 of your apps."), "{page}");
    // So it is in the list.
    let first = reader.open("/dashboard").await.html();
    assert!(first.find("<bdi>app 9</bdi>").unwrap() < first.find("<bdi>bob@example.com:aaa 1</bdi>").unwrap(), "{first}");
}

/// The addresses of a page's links.
fn links(html: &str) -> Vec<String> {
    html.split("href=\"").skip(1).map(|rest| tests::reader::unescape(rest.split('"').next().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn links_into_pages_lead_to_a_place_that_is_there() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let mut reader = app.signed_in_reader("ada").await;
    let deployment = "/dashboard/apps/demo/deployments/Production";
    let mut followed = 0;
    for page in ["", "/metrics", "/releases/v1", "/releases/v1/promote", "/upload", "/settings", "/check"] {
        let here = format!("{deployment}{page}");
        let html = reader.open(&here).await.has_status(200).html();
        for (target, place) in links(&html).iter().filter_map(|link| link.split_once('#')).filter(|(_, place)| !place.is_empty()) {
            let there = if target.is_empty() { html.clone() } else { reader.open(target).await.has_status(200).html() };
            assert!(there.contains(&format!("id=\"{place}\"")), "{target}#{place} on {here}");
            followed += 1;
        }
    }
    assert!(followed > 5, "{followed}");
}
