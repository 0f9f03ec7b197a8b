//! The second step of a sign-in, by forms alone: codes, recovery codes, and how it ends.

use tests::people::PASSWORD;
use tests::reader::Page;
use tests::{Reader, TestApp};

use crate::dashboard::headers::is_sound;

async fn first_step(app: &TestApp) -> Reader {
    let mut reader = app.reader();
    reader.sign_in("ada@example.com", PASSWORD).await.is_at("/dashboard/sign-in/second-factor").shows("Two-factor authentication");
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
async fn an_authenticator_code_completes_a_sign_in() {
    let app = TestApp::spawn().await;
    let holder = with_totp(&app).await;
    let wrong = holder.wrong_code();
    let mut reader = first_step(&app).await;
    let token = reader.cookies["updraft-pending"].clone();
    assert!(token.starts_with("svc_pl_") && !reader.cookies.contains_key("updraft"));
    let code = holder.code();
    let (left, right) = code.split_at(3);
    let refused = reader.fill("/dashboard/sign-in/second-factor", &[("code", &wrong)]).await.has_status(401);
    is_told_at_the_field(&refused, "The code is incorrect or was already used. Wait for the next one.");
    let page = reader.send(&refused.form().with(&[("code", &format!("{left} {right}"))])).await.is_at("/dashboard").shows("Sign out");
    assert!(!page.html().contains("class=\"banner\""), "a user with a second factor needs no banner");
    assert!(!reader.cookies.contains_key("updraft-pending"));
    for asked in &reader.asked {
        assert!(!asked.contains(&token) && !asked.contains(&code), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_a_usable_factor_is_told_whom_to_contact() {
    let app = TestApp::spawn().await;
    with_totp(&app).await;
    let mut reader = first_step(&app).await;
    app.change("DELETE FROM recovery_codes", &[]).await;
    let page =
        reader.open("/dashboard/sign-in/second-factor").await.shows("Lost it, and no recovery codes left? Contact your administrator");
    assert_eq!(page.form().action, "/dashboard/sign-in/second-factor");
    is_sound(&page.answer);
    // As with passkeys at an address where they do not work.
    app.change("DELETE FROM authenticators", &[]).await;
    let page = reader.open("/dashboard/sign-in/second-factor").await.has_status(200);
    let page = page.shows("None of your second factors works here.").shows("Contact your administrator");
    assert_eq!(page.forms().len(), 0, "{}", page.html());
    is_sound(&page.answer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_code_completes_a_sign_in_once() {
    let app = TestApp::spawn().await;
    let holder = with_totp(&app).await;
    let mut reader = first_step(&app).await;
    let page = reader.open("/dashboard/sign-in/second-factor").await;
    let page = page.shows("Lost it? <a href=\"/dashboard/sign-in/recovery-code\">");
    assert!(!page.html().contains("Lost both"), "{}", page.html());
    let code = holder.codes[0].clone();
    let page = reader.fill("/dashboard/sign-in/recovery-code", &[("code", &code.to_uppercase())]).await.is_at("/dashboard");
    page.shows("You have 9 recovery codes left. To create new ones, you need your passkey or authenticator app.");
    let mail = app.last_mail_to("ada@example.com").await;
    assert!(mail.text.contains("9 recovery codes are left. To regenerate your codes, confirm with your passkey"), "{}", mail.text);
    let mut again = first_step(&app).await;
    let refused = again.fill("/dashboard/sign-in/recovery-code", &[("code", &code)]).await.has_status(401);
    is_told_at_the_field(&refused, "The recovery code is incorrect or was already used.");
}

/// The error of a wrong code is at its field, which has the focus, and the title says `Error`.
#[track_caller]
fn is_told_at_the_field(page: &Page, text: &str) {
    is_sound(&page.answer);
    let html = page.html();
    assert!(html.contains(&format!("<p class=\"error\" id=\"code-error\">{text}</p>")), "{html}");
    let input = html.split("<input id=\"code\"").nth(1).unwrap().split('>').next().unwrap();
    assert!(input.contains("aria-invalid=\"true\"") && input.contains("code-error\"") && input.ends_with(" autofocus"), "{input}");
    assert!(html.contains("<p>You are not signed in yet.</p>") && html.contains("role=\"alert\">"), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_after_both_steps_shows_no_error() {
    let app = TestApp::spawn().await;
    let holder = with_totp(&app).await;
    let mut reader = first_step(&app).await;
    reader.fill("/dashboard/sign-in/second-factor", &[("code", &holder.code())]).await.is_at("/dashboard");
    for page in ["/dashboard/sign-in/second-factor", "/dashboard/sign-in/recovery-code"] {
        let home = reader.open(page).await.is_at("/dashboard").shows("Sign out");
        assert!(!home.html().contains("This sign-in expired"), "{}", home.html());
        let design = reader.open(&format!("{page}?next=%2Fdashboard%2Fdesign")).await.is_at("/dashboard/design");
        assert!(!design.html().contains("This sign-in expired"), "{}", design.html());
        reader.open(&format!("{page}?next=%2F%2Fevil.example")).await.is_at("/dashboard");
    }
    // Signing in again still asks for the second step.
    let form = reader.open("/dashboard/sign-in?again").await.form().with(&[("password", PASSWORD)]);
    reader.send(&form).await.is_at("/dashboard/sign-in/second-factor").shows("Two-factor authentication");
    reader.open("/dashboard/sign-in/second-factor").await.is_at("/dashboard/sign-in/second-factor");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_failures_or_too_much_time_start_the_sign_in_again() {
    let app = TestApp::spawn().await;
    let wrong = with_totp(&app).await.wrong_code();
    let mut reader = first_step(&app).await;
    for _ in 0..4 {
        reader.fill("/dashboard/sign-in/second-factor", &[("code", &wrong)]).await.has_status(401);
    }
    let page = reader.fill("/dashboard/sign-in/second-factor", &[("code", &wrong)]).await;
    page.is_at("/dashboard/sign-in").shows("expired or had too many failed attempts");
    assert!(!reader.cookies.contains_key("updraft-pending"));
    let mut reader = first_step(&app).await;
    let form = reader.open("/dashboard/sign-in/second-factor").await.form();
    app.clock.advance(5 * 60_000 + 1);
    reader.send(&form.with(&[("code", &wrong)])).await.is_at("/dashboard/sign-in").shows("This sign-in expired");
    reader.open("/dashboard/sign-in/recovery-code").await.is_at("/dashboard/sign-in");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_page_is_kept_across_both_steps() {
    let app = TestApp::spawn().await;
    let holder = with_totp(&app).await;
    let mut reader = app.reader();
    let page = reader.open("/dashboard/sign-in?next=%2Fdashboard%2Fdesign").await;
    let page = reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await;
    let page = page.is_at("/dashboard/sign-in/second-factor").shows("recovery-code?next=%2Fdashboard%2Fdesign");
    reader.send(&page.form().with(&[("code", &holder.code())])).await.is_at("/dashboard/design");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_whose_codes_are_stopped_is_told_what_to_do() {
    let app = TestApp::spawn().await;
    let holder = with_totp(&app).await;
    let mut reader = first_step(&app).await;
    let page = reader.open("/dashboard/sign-in/second-factor").await;
    app.change("UPDATE accounts SET failed_factors = 100", &[]).await;
    let page = reader.send(&page.form().with(&[("code", &holder.code())])).await.has_status(403);
    let page = page.shows("There were 100 wrong codes in a row.").shows("<a href=\"/dashboard/forgot-password\">Reset your password</a>");
    assert_eq!(page.forms().len(), 0, "{}", page.html());
    let page = reader.open("/dashboard/sign-in/recovery-code").await.has_status(200).shows("There were 100 wrong codes in a row.");
    assert_eq!(page.forms().len(), 0, "{}", page.html());
    is_sound(&page.answer);
}
