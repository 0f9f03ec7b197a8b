//! Redirects after a sign-in: to the requested page, and never out of the dashboard.

use reqwest::Method;
use tests::people::PASSWORD;
use tests::{Options, TestApp, Totp};

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_leads_to_the_requested_page() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.reader();
    let page = reader.open("/dashboard/?from=mail").await.is_at("/dashboard/sign-in");
    let form = page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)]);
    let answer = reader.post(&form).await;
    answer.assert_status(303);
    assert_eq!(answer.header("location"), "/dashboard/?from=mail");
    // A refusal keeps the `next` address.
    let mut reader = app.reader();
    let page = reader.open("/dashboard/sign-in?next=%2Fdashboard%2Fdesign").await;
    let page = reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", "wrong")])).await.has_status(401);
    reader.send(&page.form().with(&[("password", PASSWORD)])).await.is_at("/dashboard/design").has_status(200);
    // A signed-in user goes there immediately.
    reader.open("/dashboard/sign-in?next=%2Fdashboard%2Fdesign").await.is_at("/dashboard/design");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_page_is_kept_across_a_password_reset_and_a_sign_up() {
    const NEXT: &str = "?next=%2Fdashboard%2Fdesign";
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.reader();
    let page = reader.open(&format!("/dashboard/sign-in{NEXT}")).await;
    let page = page.shows(&format!("\"/dashboard/forgot-password{NEXT}\"")).shows(&format!("\"/dashboard/sign-up{NEXT}\""));
    // A refusal keeps it.
    reader.send(&page.form()).await.has_status(400).shows(&format!("\"/dashboard/sign-up{NEXT}\""));
    let back = format!("\"/dashboard/sign-in{NEXT}\"");
    let page = reader.open(&format!("/dashboard/forgot-password{NEXT}")).await.shows(&back);
    let page = reader.send(&page.form()).await.has_status(400).shows(&back);
    let page = reader.send(&page.form().with(&[("email", "ada@example.com")])).await.is_at("/dashboard/sign-in");
    reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await.is_at("/dashboard/design");

    let mut reader = app.reader();
    let page = reader.open(&format!("/dashboard/sign-up{NEXT}")).await.shows(&back);
    let page = reader.send(&page.form()).await.has_status(400).shows(&back);
    let page = reader.send(&page.form().with(&[("email", "bob@example.com"), ("password", PASSWORD)])).await;
    assert_eq!(page.path, format!("/dashboard/sign-up/sent{NEXT}"));
    let page = reader.send(&page.form().with(&[("email", "")])).await.has_status(400).shows(&back);
    let page = reader.send(&page.form().with(&[("email", "bob@example.com")])).await.shows(&back);
    assert_eq!(page.path, format!("/dashboard/sign-up/sent{NEXT}"));
    let page = reader.open(&format!("/dashboard/sign-in{NEXT}")).await;
    let page = reader.send(&page.form().with(&[("email", "bob@example.com"), ("password", PASSWORD)])).await.has_status(403);
    page.shows(&format!("\"/dashboard/sign-up/sent?again&#38;{}\">Send it again", &NEXT[1..]));
    for page in ["/dashboard/forgot-password", "/dashboard/sign-up", "/dashboard/sign-up/sent"] {
        let page = reader.open(&format!("{page}?next=//evil.example")).await.has_status(200);
        assert!(!page.html().contains("evil.example"), "{}", page.html());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_up_a_second_factor_leads_back_to_what_needed_one() {
    let options = Options::default().with("LIMIT_SESSION", "90d").with("LIMIT_SESSION_IDLE", "90d");
    let app = TestApp::spawn_with(options).await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let late = reader.open("/dashboard/keys/new").await.form().with(&[("friendlyName", "x")]);
    app.miss_mfa_deadline("ada").await;
    let set_up = "/dashboard/security/authenticator?next=%2Fdashboard%2Fkeys%2Fnew";
    let link = format!("<a class=\"button\" href=\"{set_up}\">Set up two-factor authentication</a>");
    reader.open("/dashboard/keys/new").await.shows("then you return to this page.").shows(&link);
    reader.send(&late).await.has_status(403).shows(&link);
    let page = reader.open(set_up).await;
    // The session is no longer fresh; the `next` address is kept.
    let page = reader.send(&page.form()).await.shows("Confirm it's you");
    let page = reader.send(&page.form().with(&[("password", PASSWORD)])).await.shows("Scan this QR code");
    let totp = Totp::new(&page.form().fields["secret"]);
    let page = reader.send(&page.form().with(&[("code", "12")])).await.has_status(401);
    let page = reader.send(&page.form().with(&[("code", &totp.code(app.clock.now()))])).await.has_status(200);
    page.shows("<a class=\"button\" href=\"/dashboard/keys/new\">I have saved them</a>");
    reader.open("/dashboard/keys/new").await.form();
    let page = reader.open("/dashboard/security/authenticator?next=//evil.example").await.has_status(200);
    assert!(!page.form_to("/dashboard/security/authenticator").fields.contains_key("next"), "{}", page.html());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_next_page_is_outside_the_dashboard() {
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
        // Nor does a forged form.
        form.fields.insert("next".to_owned(), next.to_owned());
        let answer = reader.post(&form).await;
        answer.assert_status(303);
        assert_eq!(answer.header("location"), "/dashboard", "{next}");
        let answer = reader.ask(Method::GET, &format!("/dashboard/sign-in?next={query}"), &[], None).await;
        assert_eq!(answer.header("location"), "/dashboard", "{next}");
    }
}
