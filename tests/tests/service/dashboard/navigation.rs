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
    let visitor = app.reader().open("/dashboard/sign-in").await.html();
    assert!(!visitor.contains("class=\"menu"), "{visitor}");
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_are_switched_among_the_first_twenty() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let mut reader = app.signed_in_reader("ada").await;
    reader.open("/dashboard/switch-app").await.shows("You have no apps yet.");
    bob.create_app("app 1").await;
    bob.post("/v1/apps/app%201/collaborators/ada@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    for number in 1..=20 {
        ada.post("/v1/apps", json!({ "name": format!("app {number}") })).await.assert(201);
    }
    let page = reader.open("/dashboard/switch-app").await.shows("The first 20 of your apps.").shows("All apps").html();
    assert!(page.contains("href=\"/dashboard/apps/app%201\"") && page.contains("<bdi>bob@example.com:app 1</bdi>"), "{page}");
    assert_eq!(page.matches("<li><a href=\"/dashboard/apps/").count(), 20, "{page}");
}
