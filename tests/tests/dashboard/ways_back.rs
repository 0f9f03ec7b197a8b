//! Where a sign-in leads: to the page that was asked for, and never out of the dashboard.

use reqwest::Method;
use tests::TestApp;
use tests::people::PASSWORD;

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asked_for_a_page_comes_there_after_the_sign_in() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.reader();
    let page = reader.open("/dashboard/?from=mail").await.is_at("/dashboard/sign-in");
    let form = page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)]);
    let answer = reader.post(&form).await;
    answer.assert_status(303);
    assert_eq!(answer.header("location"), "/dashboard/?from=mail");
    // A refusal keeps the way.
    let mut reader = app.reader();
    let page = reader.open("/dashboard/sign-in?next=%2Fdashboard%2Fdesign").await;
    let page = reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", "wrong")])).await.has_status(401);
    reader.send(&page.form().with(&[("password", PASSWORD)])).await.is_at("/dashboard/design").has_status(200);
    // Whoever is signed in goes there at once.
    reader.open("/dashboard/sign-in?next=%2Fdashboard%2Fdesign").await.is_at("/dashboard/design");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_way_leads_out_of_the_dashboard() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    for next in [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/dashboard/..//evil.example",
        "/dashboard/../v1/account",
        "/v1/account",
        "/dashboardevil",
        "javascript:alert(1)",
        "/dashboard\r\nset-cookie: x=y",
        "/dashboard/\u{0}",
        "dashboard",
        " /dashboard",
    ] {
        let query: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        let mut reader = app.reader();
        let page = reader.open(&format!("/dashboard/sign-in?next={query}")).await.has_status(200);
        let mut form = page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)]);
        assert!(!form.fields.contains_key("next"), "{next}");
        // Nor by a form that was tampered with.
        form.fields.insert("next".to_owned(), next.to_owned());
        let answer = reader.post(&form).await;
        answer.assert_status(303);
        assert_eq!(answer.header("location"), "/dashboard", "{next}");
        let answer = reader.ask(Method::GET, &format!("/dashboard/sign-in?next={query}"), &[], None).await;
        assert_eq!(answer.header("location"), "/dashboard", "{next}");
    }
}
