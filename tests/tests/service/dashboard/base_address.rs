//! The address of the pages, from the settings.

use reqwest::Method;
use tests::{Options, TestApp};

#[tokio::test(flavor = "multi_thread")]
async fn the_services_address_leads_to_the_dashboard() {
    let app = TestApp::spawn().await;
    let answer = app.anonymous().get("/").await;
    answer.assert_status(303);
    assert_eq!(answer.header("location"), format!("{}/dashboard", app.base));
    app.reader().open("/").await.is_at("/dashboard/sign-in").has_status(200);
    // A trailing slash makes no difference.
    app.reader().open("/dashboard/sign-in/").await.has_status(200).shows("<h1>Sign in</h1>");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_work_below_another_path() {
    let app = TestApp::spawn_with(Options::default().with("DASHBOARD_URL", "http://localhost:1/a/pages")).await;
    let mut reader = app.reader();
    let page = reader.open("/a/pages/sign-in").await.has_status(200);
    page.form_to("/a/pages/sign-in");
    assert!(page.html().contains("href=\"/a/pages/sign-up\"") && page.html().contains("src=\"/a/pages/assets/"), "{}", page.html());
    assert!(page.answer.header("content-security-policy").contains("script-src http://localhost:1/a/pages/assets/"));
    app.anonymous().get("/dashboard").await.refused(404);
    assert_eq!(app.anonymous().get("/").await.header("location"), "http://localhost:1/a/pages");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_work_at_the_root_of_their_own_host() {
    let app = TestApp::spawn_with(Options::default().with("DASHBOARD_URL", "http://localhost:1")).await;
    app.register("ada").await;
    let mut reader = app.reader();
    let page = reader.open("/").await.is_at("/sign-in").has_status(200);
    let form = page.form_to("/sign-in").with(&[("email", "ada@example.com"), ("password", tests::people::PASSWORD)]);
    reader.send(&form).await.is_at("/").shows("ada@example.com");
    let answer = reader.ask(Method::POST, "/sign-out", &[("sec-fetch-site", "same-origin")], None).await;
    answer.assert_status(403);
    // The API is next to them as always, and ignores the cookie here too.
    reader.ask(Method::GET, "/v1/account", &[], None).await.refused(401);
    reader.ask(Method::GET, "/nowhere", &[], None).await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dashboard_without_tls_on_another_machine_warns_its_users() {
    let app = TestApp::spawn_with(Options::default().with("DASHBOARD_URL", "http://updraft.example/dashboard")).await;
    app.reader().open("/dashboard/sign-in").await.shows("This dashboard is served without TLS");
    let app = TestApp::spawn().await;
    assert!(!app.reader().open("/dashboard/sign-in").await.html().contains("without TLS"));
}
