//! The second step of a sign-in by forms alone: codes, recovery codes, and what ends it.

use tests::people::PASSWORD;
use tests::{Reader, TestApp};

async fn first_step(app: &TestApp) -> Reader {
    let mut reader = app.reader();
    reader.sign_in("ada@example.com", PASSWORD).await.is_at("/dashboard/sign-in/second-factor").shows("Second step");
    reader
}

/// `ada@example.com` with [`PASSWORD`] and an authenticator app.
async fn with_totp(app: &TestApp) -> tests::Holder {
    app.register("ada").await;
    let mut holder = app.holder("ada").await;
    holder.enrol_totp().await.assert(200);
    holder
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_of_the_authenticator_app_completes_a_sign_in() {
    let app = TestApp::spawn().await;
    let holder = with_totp(&app).await;
    let wrong = holder.wrong_code();
    let mut reader = first_step(&app).await;
    let token = reader.cookies["updraft-pending"].clone();
    assert!(token.starts_with("svc_pl_") && !reader.cookies.contains_key("updraft"));
    let code = holder.code();
    let (left, right) = code.split_at(3);
    let refused = reader.fill("/dashboard/sign-in/second-factor", &[("code", &wrong)]).await.has_status(401).shows("The code is wrong");
    let page = reader.send(&refused.form().with(&[("code", &format!("{left} {right}"))])).await.is_at("/dashboard").shows("Hello");
    assert!(!page.html().contains("class=\"banner\""), "who has a second factor needs no banner");
    assert!(!reader.cookies.contains_key("updraft-pending"));
    for asked in &reader.asked {
        assert!(!asked.contains(&token) && !asked.contains(&code), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_code_completes_a_sign_in_once() {
    let app = TestApp::spawn().await;
    let holder = with_totp(&app).await;
    let mut reader = first_step(&app).await;
    let page = reader.open("/dashboard/sign-in/second-factor").await;
    assert!(page.html().contains("/dashboard/sign-in/recovery-code"));
    let code = holder.codes[0].clone();
    let page = reader.fill("/dashboard/sign-in/recovery-code", &[("code", &code.to_uppercase())]).await.is_at("/dashboard");
    page.shows("9 recovery codes are left");
    let mut again = first_step(&app).await;
    again.fill("/dashboard/sign-in/recovery-code", &[("code", &code)]).await.has_status(401).shows("no recovery code of yours");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_fails_too_often_or_waits_too_long_begins_again() {
    let app = TestApp::spawn().await;
    let wrong = with_totp(&app).await.wrong_code();
    let mut reader = first_step(&app).await;
    for _ in 0..4 {
        reader.fill("/dashboard/sign-in/second-factor", &[("code", &wrong)]).await.has_status(401);
    }
    let page = reader.fill("/dashboard/sign-in/second-factor", &[("code", &wrong)]).await;
    page.is_at("/dashboard/sign-in").shows("took too long, or was tried too often");
    assert!(!reader.cookies.contains_key("updraft-pending"));
    let mut reader = first_step(&app).await;
    let form = reader.open("/dashboard/sign-in/second-factor").await.form();
    app.clock.advance(5 * 60_000 + 1);
    reader.send(&form.with(&[("code", &wrong)])).await.is_at("/dashboard/sign-in").shows("took too long");
    reader.open("/dashboard/sign-in/recovery-code").await.is_at("/dashboard/sign-in");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_back_is_kept_over_both_steps() {
    let app = TestApp::spawn().await;
    let holder = with_totp(&app).await;
    let mut reader = app.reader();
    let page = reader.open("/dashboard/sign-in?next=%2Fdashboard%2Fdesign").await;
    let page = reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await;
    let page = page.is_at("/dashboard/sign-in/second-factor").shows("recovery-code?next=%2Fdashboard%2Fdesign");
    reader.send(&page.form().with(&[("code", &holder.code())])).await.is_at("/dashboard/design");
}
