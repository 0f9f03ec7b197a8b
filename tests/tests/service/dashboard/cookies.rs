//! The cookies: names and flags, with and without TLS; new at each sign-in; removed with the session.

use reqwest::Method;
use tests::people::PASSWORD;
use tests::{Answer, TestApp};

use crate::dashboard::behind_tls;

/// The value of a cookie, with its flags in order.
fn set(answer: &Answer, name: &str) -> Option<(String, Vec<String>)> {
    let all = answer.headers.get_all("set-cookie").into_iter().map(|value| value.to_str().unwrap());
    let mine = all.filter_map(|text| text.split_once('=')).find(|(set, _)| *set == name)?.1;
    let mut parts = mine.split("; ").map(str::to_owned);
    Some((parts.next().unwrap(), parts.collect()))
}

async fn signing_in(app: &TestApp) -> (Answer, Answer) {
    let mut reader = app.reader();
    let page = reader.open("/dashboard/sign-in").await;
    let sent = page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)]);
    (page.answer, reader.post(&sent).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn on_this_machine_cookies_work_without_tls() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let (page, answer) = signing_in(&app).await;
    let flags = ["Path=/", "HttpOnly", "SameSite=Lax"];
    assert_eq!(set(&page, "updraft-form").unwrap().1, flags);
    answer.assert_status(303);
    let (token, session) = set(&answer, "updraft").unwrap();
    assert!(token.starts_with("svc_ss_"));
    assert_eq!(session, [&["Max-Age=1209600"][..], &flags].concat());
    let (ended, form) = set(&answer, "updraft-form").unwrap();
    assert_eq!((ended.as_str(), form), ("", [&["Max-Age=0"][..], &flags].concat().into_iter().map(str::to_owned).collect()));
}

#[tokio::test(flavor = "multi_thread")]
async fn everywhere_else_they_need_tls_and_belong_to_this_host() {
    let app = behind_tls().await;
    app.register("ada").await;
    let (page, answer) = signing_in(&app).await;
    let flags = ["Path=/", "HttpOnly", "SameSite=Lax", "Secure"];
    assert_eq!(set(&page, "__Host-updraft-form").unwrap().1, flags);
    assert_eq!(set(&answer, "__Host-updraft").unwrap().1, [&["Max-Age=1209600"][..], &flags].concat());
    assert_eq!(set(&answer, "__Host-updraft-device").unwrap().1, [&["Max-Age=7776000"][..], &flags].concat());
    for plain in ["updraft", "updraft-form", "updraft-pending", "updraft-flash", "updraft-device"] {
        assert_eq!((set(&page, plain), set(&answer, plain)), (None, None));
    }
    // The cookie name for plain HTTP has no meaning there.
    let token = set(&answer, "__Host-updraft").unwrap().0;
    let mut reader = app.reader();
    reader.cookies.insert("updraft".to_owned(), token.clone());
    reader.ask(Method::GET, "/dashboard", &[], None).await.assert_status(303);
    reader.cookies.insert("__Host-updraft".to_owned(), token);
    reader.ask(Method::GET, "/dashboard", &[], None).await.assert_status(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_sign_in_creates_a_session_and_revokes_the_previous_one() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let first = reader.cookies["updraft"].clone();
    let mut old = reader.clone();
    reader.fill("/dashboard/sign-in?again", &[("email", "ada@example.com"), ("password", PASSWORD)]).await.shows("Sign out");
    assert_ne!(first, reader.cookies["updraft"]);
    old.open("/dashboard").await.is_at("/dashboard/sign-in");
    assert!(!old.cookies.contains_key("updraft"), "the cookie of a revoked session is removed");
    // A planted value never becomes a session.
    let mut planted = app.reader();
    planted.cookies.insert("updraft".to_owned(), format!("svc_ss_{}", "A".repeat(43)));
    planted.sign_in("ada@example.com", PASSWORD).await.shows("Sign out");
    assert_ne!(planted.cookies["updraft"], format!("svc_ss_{}", "A".repeat(43)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_expires_and_the_sign_in_leads_back() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    app.clock.advance(3 * 86_400_000 + 5 * 60_000);
    let answer = reader.ask(Method::GET, "/dashboard", &[], None).await;
    answer.assert_status(303);
    // A late response must not remove a session that the browser got meanwhile. Only the sign-in page removes the old cookie.
    assert_eq!(set(&answer, "updraft"), None);
    for path in ["/dashboard/design", "/dashboard/nowhere", "/dashboard/sign-in/second-factor", "/dashboard/forgot-password"] {
        assert_eq!(set(&reader.ask(Method::GET, path, &[], None).await, "updraft"), None, "{path}");
    }
    assert_eq!(set(&reader.ask(Method::POST, "/dashboard/sign-in", &[], None).await, "updraft"), None);
    let answer = reader.ask(Method::GET, "/dashboard/sign-in?next=%2Fdashboard", &[], None).await;
    answer.assert_status(200);
    assert_eq!(set(&answer, "updraft").unwrap().0, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flash_message_is_shown_once_and_cannot_be_forged() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let home = reader.open("/dashboard").await;
    let signed_out = reader.send(&home.form_to("/dashboard/sign-out")).await.is_at("/dashboard/sign-in");
    signed_out.shows("You are signed out.");
    assert!(!reader.open("/dashboard/sign-in").await.html().contains("You are signed out."));
    reader.cookies.insert("updraft-flash".to_owned(), "LkJ1eSBnb2xk".to_owned());
    let page = reader.open("/dashboard/sign-in").await.has_status(200);
    assert!(!page.html().contains("role=\"status\""), "{}", page.html());
}
