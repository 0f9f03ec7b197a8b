//! The focus after a refusal, so that screen readers announce what went wrong.

use serde_json::{Value, json};
use tests::{InputMethod, TestApp, Visit};

/// A page with a refusal: its title, and the focused element.
const REFUSAL: &str = "
    const active = document.activeElement;
    const described = (active.getAttribute('aria-describedby') ?? '').split(/\\s+/).filter(Boolean);
    return {
        title: document.title,
        id: active.id,
        isNotice: active.matches('.notice.bad[role=alert]'),
        text: active.innerText.trim(),
        isInvalid: active.getAttribute('aria-invalid') === 'true',
        descriptions: described.map((id) => document.getElementById(id)?.innerText.trim() ?? null),
    };";

/// Submits the form, skipping the browser's validation, and reads the page with this refusal.
async fn refused(visit: &Visit, button: &str, text: &str) -> Value {
    visit.browser.run("document.querySelectorAll('form').forEach((form) => (form.noValidate = true));", &[]).await;
    visit.press(button).await;
    visit.sees(text).await;
    visit.until("document.readyState === 'complete'").await;
    visit.browser.run(REFUSAL, &[]).await
}

/// The focus is in this field, which is marked as invalid with this error.
#[track_caller]
fn blames(refusal: &Value, field: &str, why: &str) {
    assert!(refusal["title"].as_str().unwrap().starts_with("Error: "), "{refusal}");
    assert_eq!((&refusal["id"], &refusal["isInvalid"]), (&json!(field), &json!(true)), "{refusal}");
    let descriptions = refusal["descriptions"].as_array().unwrap();
    assert!(descriptions.iter().all(|description| description.as_str().is_some_and(|text| !text.is_empty())), "{refusal}");
    assert!(descriptions.iter().any(|description| description.as_str().unwrap().contains(why)), "{refusal}");
}

/// The focus is on the error summary, since no field has an error.
#[track_caller]
fn notes(refusal: &Value, why: &str) {
    assert!(refusal["title"].as_str().unwrap().starts_with("Error: "), "{refusal}");
    assert_eq!(refusal["isNotice"], true, "{refusal}");
    assert!(refusal["text"].as_str().unwrap().contains(why), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_a_visitor_focuses_the_error() {
    let app = TestApp::spawn_for_browsers().await;
    let visit = Visit::start(&app, InputMethod::Keyboard).await;
    visit.open("/dashboard/sign-in").await;
    assert!(!visit.browser.window.title().await.unwrap().contains("Error"));
    visit.fill("email", "nobody@example.com").await;
    visit.fill("password", "wrong").await;
    notes(&refused(&visit, "Sign in", "Incorrect email address or password").await, "Incorrect email address or password");
    visit.fill("email", "nobody").await;
    visit.fill("password", "wrong").await;
    blames(&refused(&visit, "Sign in", "Email address must be").await, "email", "Email address must be");

    visit.open("/dashboard/sign-up").await;
    visit.fill("email", "ada@example.com").await;
    visit.fill("password", "short").await;
    blames(&refused(&visit, "Sign up", "Password must be").await, "password", "Password must be");
    visit.fill("email", "ada").await;
    visit.fill("password", "short").await;
    blames(&refused(&visit, "Sign up", "Email address must be").await, "email", "Email address must be");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_at_the_second_step_focuses_the_code() {
    let app = TestApp::spawn_for_browsers().await;
    app.register("ada").await;
    let mut holder = app.holder("ada").await;
    holder.enrol_totp().await.assert(200);
    let visit = Visit::start(&app, InputMethod::Keyboard).await;
    visit.open("/dashboard/sign-in").await;
    visit.type_password("ada").await;
    visit.is_at("Two-factor authentication").await;
    visit.fill("code", &holder.wrong_code()).await;
    blames(&refused(&visit, "Sign in", "The code is incorrect").await, "code", "The code is incorrect");
    visit.press("Use a recovery code").await;
    visit.is_at("Recovery code").await;
    visit.fill("code", "abcd-2345-wxyz-67aa").await;
    blames(&refused(&visit, "Sign in", "The recovery code is incorrect").await, "code", "The recovery code is incorrect");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_a_key_focuses_the_field_or_the_notice() {
    let app = TestApp::spawn_for_browsers().await;
    app.register("ada").await;
    app.named_key("ada", "laptop").await;
    let visit = Visit::start(&app, InputMethod::Keyboard).await;
    visit.open("/dashboard/keys/new").await;
    visit.type_password("ada").await;
    visit.is_at("New access key").await;
    visit.fill("friendlyName", "another").await;
    visit.browser.run("document.getElementById('ttl').value = '2020-01-01';", &[]).await;
    blames(&refused(&visit, "Create key", "Choose a date in the future").await, "ttl", "Choose a date in the future");
    visit.open("/dashboard/keys/new").await;
    visit.fill("friendlyName", "laptop").await;
    notes(&refused(&visit, "Create key", "named laptop already exists").await, "named laptop already exists");
}
