//! What the pages' scripts add to the forms.

use serde_json::{Value, json};
use tests::people::{PASSWORD, login};
use tests::{InputMethod, SessionOrigin, TestApp, Visit};

use crate::dashboard::codes;

/// A browser in which `ada@example.com` is signed in.
async fn ada() -> (TestApp, Visit) {
    let app = TestApp::spawn_for_browsers().await;
    app.register("ada").await;
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    visit.plug_in_authenticator(true).await;
    visit.open("/dashboard").await;
    visit.type_password("ada").await;
    visit.is_at("Apps").await;
    (app, visit)
}

/// Runs a script, and returns its value.
async fn run(visit: &Visit, script: &str) -> Value {
    visit.browser.run(script, &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_submitted_once_and_a_secret_is_gone_after_going_back() {
    let (_app, visit) = ada().await;
    visit.open("/dashboard/keys/new").await;
    visit.fill("friendlyName", "laptop").await;
    // Simulated submits; returns which of them would be sent.
    let presses = "const form = document.querySelector('main form');
        const press = () => form.dispatchEvent(new SubmitEvent('submit', { bubbles: true, cancelable: true }));
        const pressed = [press(), press()];
        form.elements.friendlyName.dispatchEvent(new InputEvent('input', { bubbles: true }));
        return [...pressed, press(), press()];";
    assert_eq!(run(&visit, presses).await, json!([true, false, true, false]), "submitted again only with other values");
    visit.until("document.querySelector('.toast')?.textContent.startsWith('Already submitted')").await;
    run(&visit, "document.querySelector('main form').elements.friendlyName.dispatchEvent(new InputEvent('input', { bubbles: true }));")
        .await;
    let twice = "const form = document.querySelector('main form');
        form.requestSubmit();
        return !form.dispatchEvent(new SubmitEvent('submit', { bubbles: true, cancelable: true }));";
    assert_eq!(run(&visit, twice).await, true, "the second press is ignored");
    visit.is_at("Your new key").await;
    visit.press("Copy key").await;
    visit.until("document.querySelector('[role=status][aria-live=polite]')?.textContent === 'Copied'").await;
    // As when the browser restores the page from its cache.
    run(&visit, "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));").await;
    visit.is_at("New access key").await;
    assert_eq!(visit.path().await, "/dashboard/keys/new");
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_after_a_corrected_mistake_leads_to_the_form() {
    let (_app, visit) = ada().await;
    visit.open("/dashboard/new-app").await;
    visit.fill("name", "a/b").await;
    visit.press("Create app").await;
    visit.sees("Name must not contain").await;
    visit.fill("name", "shop").await;
    visit.press("Create app").await;
    visit.is_at("shop").await;
    // Chromium would ask to submit the form again, on a page of its own.
    run(&visit, "history.back();").await;
    visit.is_at("Create app").await;
    assert_eq!(run(&visit, "return document.querySelector('main .notice');").await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_is_approved_by_a_button_that_works_only_after_a_delay() {
    let (app, visit) = ada().await;
    let request = app.anonymous().post("/v1/auth/cli/device", json!({})).await.assert(201);
    visit.open(request["verificationUriComplete"].as_str().unwrap()).await;
    visit.press("Continue").await;
    visit.is_at("Authorize Updraft CLI?").await;
    visit.until("document.querySelector('[data-considered]').ariaDisabled === 'false'").await;
    run(&visit, "document.querySelector('[data-considered]').focus();").await;
    // After looking at the terminal, the user comes back to the button.
    let pressed = "const button = document.querySelector('[data-considered]');
        const isSent = button.form.dispatchEvent(new SubmitEvent('submit', { bubbles: true, cancelable: true, submitter: button }));
        return [button.ariaDisabled, isSent, document.activeElement === button, document.querySelector('.considering').textContent];";
    for event in ["dispatchEvent(new Event('blur'))", "dispatchEvent(new Event('focus'))", "dispatchEvent(new Event('pageshow'))"] {
        let found = run(&visit, &format!("{event}; {pressed}")).await;
        assert_eq!(found, json!(["true", false, true, "One moment: check the details first."]), "{event}");
        visit.until("document.querySelector('[data-considered]').ariaDisabled === 'false'").await;
    }
    // Behind another window.
    let found = run(&visit, &format!("document.hasFocus = () => false; dispatchEvent(new Event('blur')); {pressed}")).await;
    assert_eq!(found, json!(["true", false, true, "Click anywhere on this page first."]));
    let back = format!("delete document.hasFocus; dispatchEvent(new Event('focus')); {pressed}");
    assert_eq!(run(&visit, &back).await, json!(["true", false, true, "One moment: check the details first."]));
    // Denying needs no delay.
    let deny = "return document.querySelector('.decide button.danger').form.dispatchEvent(new SubmitEvent('submit', { bubbles: true, cancelable: true }));";
    assert_eq!(run(&visit, deny).await, true);
    visit.until("document.querySelector('.considering').textContent === ''").await;
    visit.press("Approve").await;
    visit.sees("Return to your terminal").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_mail_survives_an_outdated_form() {
    let (app, visit) = ada().await;
    app.anonymous().post("/v1/auth/forgot-password", json!({ "email": "ada@example.com" })).await.assert(202);
    let mail = app.last_mail_to("ada@example.com").await;
    visit.open(&mail.link()).await;
    visit.is_at("Choose a new password").await;
    assert_eq!(visit.path().await, "/dashboard/reset-password");
    run(&visit, "document.querySelector('main form').elements.csrf.value = 'x';").await;
    visit.fill("password", PASSWORD).await;
    visit.press("Set password").await;
    visit.press("Open the page again").await;
    visit.is_at("Choose a new password").await;
    assert_eq!(visit.read("#token").await, mail.token());
    visit.fill("password", "another long passphrase nobody knows").await;
    visit.press("Set password").await;
    visit.is_at("Password changed").await;
    // The token was used: another one may be typed.
    visit.open("/dashboard/reset-password").await;
    visit.fill("password", "another long passphrase nobody knows").await;
    visit.press("Set password").await;
    visit.sees("This link is invalid").await;
    visit.fill("token", "x").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_mails_link_in_the_same_tab_replaces_the_first() {
    let app = TestApp::spawn_for_browsers().await;
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    let stranger = app.anonymous();
    stranger.post("/v1/auth/register", login("ada@example.com", PASSWORD)).await.assert(202);
    let first = app.last_mail_to("ada@example.com").await;
    stranger.post("/v1/auth/resend-verification", json!({ "email": "ada@example.com" })).await.assert(202);
    let second = app.last_mail_to("ada@example.com").await;
    visit.open(&first.link()).await;
    visit.is_at("Confirm your email address").await;
    visit.press("Continue").await;
    visit.sees("This link is invalid").await;
    // The page is not loaded again: only the URL's fragment changes.
    run(&visit, &format!("document.title = 'the same page'; location.hash = 'token={}';", second.token())).await;
    visit.until("location.hash === ''").await;
    assert_eq!(visit.read("#token").await, second.token());
    let found = run(&visit, "return [document.title, document.getElementById('token').checkVisibility()];").await;
    assert_eq!(found, json!(["the same page", false]));
    visit.press("Continue").await;
    visit.is_at("Enter your password").await;
    // A third link in this tab: the page asks about that one instead.
    stranger.post("/v1/auth/register", login("bob@example.com", PASSWORD)).await.assert(202);
    let third = app.last_mail_to("bob@example.com").await;
    run(&visit, &format!("location.hash = 'token={}';", third.token())).await;
    visit.is_at("Confirm your email address").await;
    assert_eq!(visit.read("#token").await, third.token());
    visit.press("Continue").await;
    visit.sees("bob@example.com").await;
    visit.fill("password", PASSWORD).await;
    visit.press("Create account").await;
    visit.sees("Your email address is confirmed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_enter_key_in_a_passkeys_name_creates_the_passkey() {
    let (_app, visit) = ada().await;
    visit.open("/dashboard/security/passkeys/new").await;
    visit.fill("name", "Laptop").await;
    visit.keys(&['\u{e007}']).await;
    codes(&visit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clicks_open_one_confirmation() {
    let (app, visit) = ada().await;
    app.named_key("ada", "laptop").await;
    app.open_session("ada", SessionOrigin::Dashboard).await;
    visit.open("/dashboard/keys").await;
    visit.asked().await;
    run(&visit, "const link = document.querySelector('a[data-hx-get]'); link.click(); link.click();").await;
    visit.sees("Delete the key laptop?").await;
    let asked = visit.asked().await;
    assert_eq!(asked.iter().filter(|asked| asked.contains("/delete ")).count(), 1, "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_down_key_does_not_answer_a_confirmation() {
    let (app, visit) = ada().await;
    app.named_key("ada", "laptop").await;
    visit.open("/dashboard/keys").await;
    run(&visit, "document.querySelector('a[data-hx-get]').focus();").await;
    // Chromium presses the focused element again for each key repeat.
    let enter = |kind: &str, repeats: bool| json!({ "type": kind, "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13, "autoRepeat": repeats });
    visit.browser.chromium("Input.dispatchKeyEvent", enter("keyDown", false)).await;
    visit.until("document.querySelector('dialog[open] h1') === document.activeElement").await;
    for _ in 0..5 {
        visit.browser.chromium("Input.dispatchKeyEvent", enter("keyDown", true)).await;
    }
    visit.browser.chromium("Input.dispatchKeyEvent", enter("keyUp", false)).await;
    visit.sees("Delete the key laptop?").await;
    assert_eq!(visit.read_all("dialog[open] .danger").await, ["Delete key"]);
    // By single key presses it can still be answered and closed.
    visit.keys(&['\u{e00c}']).await;
    visit.until("!document.querySelector('dialog[open]') && document.activeElement.matches('a[data-hx-get]')").await;
    assert_eq!(visit.read("tbody th").await, "laptop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_that_cannot_open_as_a_dialog_opens_as_a_page() {
    let (app, visit) = ada().await;
    app.named_key("ada", "phone").await;
    app.named_key("ada", "laptop").await;
    visit.open("/dashboard/keys").await;
    // Its key was deleted meanwhile.
    app.change("DELETE FROM access_keys WHERE friendly_name = 'laptop'", &[]).await;
    run(&visit, "[...document.querySelectorAll('a[data-hx-get]')].find((link) => link.textContent.includes('laptop')).click();").await;
    visit.is_at("Page not found").await;
    assert!(visit.path().await.ends_with("/delete"));
    visit.open("/dashboard/keys").await;
    app.log_in("ada").await.delete("/v1/sessions/127.0.0.1").await;
    // The session was revoked: the response redirects to the sign-in page.
    run(&visit, "document.querySelector('a[data-hx-get]').click();").await;
    visit.is_at("Sign in").await;
}
