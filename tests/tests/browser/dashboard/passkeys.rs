//! Passkeys with the browser's own virtual authenticators.

use tests::people::PASSWORD;
use tests::totp::STEP;
use tests::{InputMethod, TestApp, Visit};

use crate::dashboard::{codes, scan, sign_out, sign_up};

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_signs_in_without_a_password_and_confirms_changes() {
    for input_method in InputMethod::SCRIPTED {
        let app = TestApp::spawn_for_browsers().await;
        let visit = Visit::start(&app, input_method).await;
        visit.plug_in_authenticator(true).await;
        sign_up(&app, &visit).await;
        visit.press_in_menu("Two-factor authentication").await;
        visit.is_at("Two-factor authentication off").await;
        visit.press("Add a passkey").await;
        visit.is_at("Add a passkey").await;
        visit.fill("name", "Laptop").await;
        // After so long, the page asks for the password; the name is kept.
        app.clock.advance(16 * 60_000);
        visit.press("Create passkey").await;
        visit.is_at("Confirm it's you").await;
        visit.fill("password", PASSWORD).await;
        visit.press("Confirm").await;
        visit.is_at("Add a passkey").await;
        assert_eq!(visit.read("#name").await, "Laptop");
        visit.press("Create passkey").await;
        codes(&visit).await;
        visit.press("I have saved them").await;
        visit.is_at("Two-factor authentication on").await;
        // With a passkey, the page asks for that instead.
        app.clock.advance(16 * 60_000);
        visit.open("/dashboard/keys/new").await;
        visit.fill("friendlyName", "Laptop").await;
        visit.press("Create key").await;
        visit.is_at("Confirm it's you").await;
        visit.press("Confirm").await;
        visit.is_at("Your new key").await;

        sign_out(&visit).await;
        visit.press("Sign in with a passkey").await;
        visit.is_at("Apps").await;

        // Adds an authenticator app, with the passkey as proof.
        visit.press_in_menu("Two-factor authentication").await;
        visit.is_at("Two-factor authentication on").await;
        visit.press("Set up authenticator app").await;
        let totp = scan(&visit).await;
        visit.fill("code", &totp.code(app.clock.now())).await;
        visit.press("Confirm").await;
        visit.sees("The authenticator app is set up.").await;

        // New codes, in a dialog.
        visit.press("Create new codes").await;
        visit.sees("New recovery codes").await;
        visit.press("Use a passkey").await;
        codes(&visit).await;
        visit.press("I have saved them").await;

        // Removes the app with one of its codes.
        visit.press("Remove app").await;
        visit.sees("Remove authenticator app").await;
        app.clock.advance(STEP);
        visit.fill("stepUpCode", &totp.code(app.clock.now())).await;
        visit.press("Remove app").await;
        visit.sees("The authenticator app was removed.").await;

        visit.press("Rename Laptop").await;
        visit.is_at("Rename passkey").await;
        visit.fill("name", "Work laptop").await;
        visit.press("Rename passkey").await;
        visit.sees("The passkey was renamed to Work laptop.").await;
        visit.press("Remove Work laptop").await;
        visit.sees("This turns off two-factor authentication.").await;
        visit.press("Remove passkey").await;
        visit.sees("The passkey Work laptop was removed.").await;
        visit.is_at("Two-factor authentication off").await;
        assert_eq!(visit.complaints().await, Vec::<String>::new(), "{input_method:?}");
    }
}

/// Until the next page, scripts get this status when they ask for options.
async fn answered(visit: &Visit, status: u16) {
    let script = format!("window.fetch = async () => new Response('<!doctype html><title>no</title>', {{ status: {status} }});");
    visit.browser.run(&script, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_request_that_fails_says_why_and_keeps_the_focus() {
    let app = TestApp::spawn_for_browsers().await;
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    visit.plug_in_authenticator(true).await;
    sign_up(&app, &visit).await;
    visit.open("/dashboard/security/passkeys/new").await;
    for (status, said) in [(403, "This page is out of date"), (429, "Too many requests"), (503, "Temporarily unavailable")] {
        answered(&visit, status).await;
        visit.press("Create passkey").await;
        visit.sees(said).await;
        visit.until("document.activeElement.innerText === 'Create passkey'").await;
    }
    visit.open("/dashboard/security/passkeys/new").await;
    visit.press("Create passkey").await;
    codes(&visit).await;
    // A form with a button of its own asks for a passkey when it is submitted.
    visit.open("/dashboard/security/recovery-codes").await;
    answered(&visit, 503).await;
    visit.press("Create new codes").await;
    visit.sees("Temporarily unavailable").await;
    visit.until("document.activeElement.innerText === 'Create new codes'").await;
    // A passkey that was already used is not asked for again.
    visit.open("/dashboard/security/passkeys/new").await;
    visit.press("Use a passkey").await;
    visit.until("[...document.querySelectorAll('main button')].some((button) => button.innerText === 'Confirmed')").await;
    answered(&visit, 503).await;
    visit.press("Create passkey").await;
    visit.sees("Temporarily unavailable").await;
    visit.until("[...document.querySelectorAll('main button')].find((button) => button.innerText === 'Confirmed').disabled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authenticator_without_resident_keys_is_refused_and_another_one_signs_in() {
    for input_method in InputMethod::SCRIPTED {
        let app = TestApp::spawn_for_browsers().await;
        let visit = Visit::start(&app, input_method).await;
        let old = visit.plug_in_authenticator(false).await;
        sign_up(&app, &visit).await;
        visit.open("/dashboard/security/passkeys/new").await;
        visit.press("Create passkey").await;
        visit.sees("No passkey was selected, or the request timed out. Try again.").await;
        visit.unplug(&old).await;
        visit.plug_in_authenticator(true).await;
        visit.press("Create passkey").await;
        codes(&visit).await;
        sign_out(&visit).await;
        visit.type_password("ada").await;
        visit.is_at("Two-factor authentication").await;
        visit.press("Use a passkey").await;
        visit.is_at("Apps").await;
        assert_eq!(visit.complaints().await, Vec::<String>::new(), "{input_method:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_javascript_pages_say_what_passkeys_need_and_offer_an_app() {
    let app = TestApp::spawn_for_browsers().await;
    app.register("ada").await;
    let visit = Visit::start(&app, InputMethod::NoScripts).await;
    visit.open("/dashboard/security/passkeys/new").await;
    assert!(!visit.text().await.contains("passkey"), "{}", visit.text().await);
    visit.type_password("ada").await;
    visit.sees("Passkeys need a browser with JavaScript and passkey support.").await;
    assert!(!visit.text().await.contains("Create passkey"));
    visit.press("set up an authenticator app").await;
    visit.is_at("Authenticator app").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_shows_nothing_is_waited_for_and_a_cancellation_is_said() {
    let app = TestApp::spawn_for_browsers().await;
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    visit.open("/dashboard/sign-in").await;
    let script = "navigator.credentials.get = () => new Promise((_, reject) => { window.cancel = () => reject(new DOMException('', 'NotAllowedError')); });";
    visit.browser.run(script, &[]).await;
    visit.press("Sign in with a passkey").await;
    visit.sees("Waiting for a passkey. Follow your browser's instructions.").await;
    visit.browser.run("window.cancel();", &[]).await;
    visit.sees("No passkey was selected, or the request timed out. Try again.").await;
    assert!(!visit.text().await.contains("Waiting for a passkey"));
    visit.until("document.activeElement.innerText === 'Sign in with a passkey'").await;
}
