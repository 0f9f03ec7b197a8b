//! Passkeys of the browser's own authenticators.

use tests::people::PASSWORD;
use tests::totp::STEP;
use tests::{Hands, TestApp, Visit};

use crate::dashboard::{codes, scan, sign_out, sign_up};

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_signs_in_without_a_password_and_shows_itself_for_changes() {
    for hands in Hands::SCRIPTED {
        let app = TestApp::spawn_for_browsers().await;
        let visit = Visit::start(&app, hands).await;
        visit.plug_in_authenticator(true).await;
        sign_up(&app, &visit).await;
        visit.press("Second factors").await;
        visit.is_at("Second factors off").await;
        visit.press("Add a passkey").await;
        visit.is_at("Add a passkey").await;
        visit.fill("name", "Laptop").await;
        // So late that it takes the password; the name is still there then.
        app.clock.advance(16 * 60_000);
        visit.press("Make the passkey").await;
        visit.is_at("Confirm that it is you").await;
        visit.fill("password", PASSWORD).await;
        visit.press("Confirm").await;
        visit.is_at("Add a passkey").await;
        assert_eq!(visit.read("#name").await, "Laptop");
        visit.press("Make the passkey").await;
        codes(&visit).await;
        visit.press("I have kept them").await;
        visit.is_at("Second factors on").await;
        // With a passkey that is what is asked for.
        app.clock.advance(16 * 60_000);
        visit.open("/dashboard/keys/new").await;
        visit.fill("friendlyName", "Laptop").await;
        visit.press("Make the key").await;
        visit.is_at("Confirm that it is you").await;
        visit.press("Confirm").await;
        visit.is_at("Your new key").await;

        sign_out(&visit).await;
        visit.press("Sign in with a passkey").await;
        visit.is_at("Hello, Ada").await;

        // An app besides, with the passkey as the proof.
        visit.press("Second factors").await;
        visit.is_at("Second factors on").await;
        visit.press("Set up an authenticator app").await;
        let totp = scan(&visit).await;
        visit.fill("code", &totp.code(app.clock.now())).await;
        visit.press("Confirm").await;
        visit.sees("The authenticator app is set up.").await;

        // New codes, in a dialog.
        visit.press("Make new codes").await;
        visit.sees("New recovery codes").await;
        visit.press("Use a passkey").await;
        codes(&visit).await;
        visit.press("I have kept them").await;

        // The app is removed by a code of its own.
        visit.press("Remove it").await;
        visit.sees("Remove the authenticator app").await;
        app.clock.advance(STEP);
        visit.fill("stepUpCode", &totp.code(app.clock.now())).await;
        visit.press("Remove it").await;
        visit.sees("The authenticator app was removed.").await;

        visit.press("Rename Laptop").await;
        visit.is_at("Rename a passkey").await;
        visit.fill("name", "Work laptop").await;
        visit.press("Rename it").await;
        visit.sees("The passkey is called Work laptop now.").await;
        visit.press("Remove Work laptop").await;
        visit.sees("This is your last second factor.").await;
        visit.press("Remove it").await;
        visit.sees("The passkey Work laptop was removed.").await;
        visit.is_at("Second factors off").await;
        assert_eq!(visit.complaints().await, Vec::<String>::new(), "{hands:?}");
    }
}

/// What is answered to a script that asks what to ask for, from now on, until the next page.
async fn answered(visit: &Visit, status: u16) {
    let script = format!("window.fetch = async () => new Response('<!doctype html><title>no</title>', {{ status: {status} }});");
    visit.browser.run(&script, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_that_cannot_be_asked_for_says_why_and_the_cursor_stays() {
    let app = TestApp::spawn_for_browsers().await;
    let visit = Visit::start(&app, Hands::Mouse).await;
    visit.plug_in_authenticator(true).await;
    sign_up(&app, &visit).await;
    visit.open("/dashboard/security/passkeys/new").await;
    for (status, said) in [(403, "This page is out of date"), (429, "Too much at once"), (503, "not available for the moment")] {
        answered(&visit, status).await;
        visit.press("Make the passkey").await;
        visit.sees(said).await;
        visit.until("document.activeElement.innerText === 'Make the passkey'").await;
    }
    visit.open("/dashboard/security/passkeys/new").await;
    visit.press("Make the passkey").await;
    codes(&visit).await;
    // A form that is sent by its own button asks for a passkey then.
    visit.open("/dashboard/security/recovery-codes").await;
    answered(&visit, 503).await;
    visit.press("Make new codes").await;
    visit.sees("not available for the moment").await;
    visit.until("document.activeElement.innerText === 'Make new codes'").await;
    // A proof that was shown already is not asked for once more.
    visit.open("/dashboard/security/passkeys/new").await;
    visit.press("Use a passkey").await;
    visit.until("[...document.querySelectorAll('main button')].some((button) => button.innerText === 'Shown')").await;
    answered(&visit, 503).await;
    visit.press("Make the passkey").await;
    visit.sees("not available for the moment").await;
    visit.until("[...document.querySelectorAll('main button')].find((button) => button.innerText === 'Shown').disabled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authenticator_that_keeps_no_passkeys_is_refused_in_words_and_another_is_a_second_step() {
    for hands in Hands::SCRIPTED {
        let app = TestApp::spawn_for_browsers().await;
        let visit = Visit::start(&app, hands).await;
        let old = visit.plug_in_authenticator(false).await;
        sign_up(&app, &visit).await;
        visit.open("/dashboard/security/passkeys/new").await;
        visit.press("Make the passkey").await;
        visit.sees("No passkey was chosen, or it took too long. Try again.").await;
        visit.unplug(&old).await;
        visit.plug_in_authenticator(true).await;
        visit.press("Make the passkey").await;
        codes(&visit).await;
        sign_out(&visit).await;
        visit.type_password("ada").await;
        visit.is_at("Second step").await;
        visit.press("Use a passkey").await;
        visit.is_at("Hello, Ada").await;
        assert_eq!(visit.complaints().await, Vec::<String>::new(), "{hands:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_pages_say_what_passkeys_need_and_offer_the_rest() {
    let app = TestApp::spawn_for_browsers().await;
    app.register("ada").await;
    let visit = Visit::start(&app, Hands::NoScripts).await;
    visit.open("/dashboard/security/passkeys/new").await;
    assert!(!visit.text().await.contains("passkey"), "{}", visit.text().await);
    visit.type_password("ada").await;
    visit.sees("Passkeys need a browser that runs scripts and knows passkeys.").await;
    assert!(!visit.text().await.contains("Make the passkey"));
    visit.press("set up an authenticator app").await;
    visit.is_at("Authenticator app").await;
}
