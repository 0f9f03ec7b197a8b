//! The dashboard's pages in a real browser: with a mouse, with the keyboard alone, without JavaScript, and with authenticators.

mod journeys;
mod keys;
mod looks;
mod menus;
mod metrics;
mod passkeys;
mod policy;
mod print;
mod refusals;
mod releases;
mod scripts;
mod terminal;

use tests::{TestApp, Totp, Visit};

/// Signs `ada@example.com` up through the email, and in.
async fn sign_up(app: &TestApp, visit: &Visit) {
    visit.open("/dashboard/sign-up").await;
    visit.fill("name", "Ada").await;
    visit.fill("email", "ada@example.com").await;
    visit.fill("password", tests::people::PASSWORD).await;
    visit.press("Sign up").await;
    visit.is_at("Check your email").await;
    let mail = app.last_mail_to("ada@example.com").await;
    visit.open(&mail.link()).await;
    visit.is_at("Confirm your email address").await;
    if visit.input_method == tests::InputMethod::NoScripts {
        visit.fill("token", &mail.token()).await;
    } else {
        // The token was removed from the URL.
        assert_eq!(visit.path().await, "/dashboard/verify-email");
    }
    visit.press("Continue").await;
    visit.is_at("Enter your password").await;
    visit.fill("password", tests::people::PASSWORD).await;
    visit.press("Create account").await;
    visit.sees("Your email address is confirmed").await;
    visit.type_password("ada").await;
    visit.is_at("Apps").await;
    for asked in visit.asked().await {
        assert!(!asked.contains(&mail.token()), "{asked}");
    }
}

async fn sign_out(visit: &Visit) {
    visit.press_in_menu("Sign out").await;
    visit.sees("You are signed out.").await;
}

/// Reads the key on the setup page of an authenticator app.
async fn scan(visit: &Visit) -> Totp {
    visit.is_at("Set up authenticator app").await;
    Totp::new(&visit.read("input[name=secret]").await)
}

/// The recovery codes on the page.
async fn codes(visit: &Visit) -> Vec<String> {
    visit.is_at("Your recovery codes").await;
    let codes = visit.read_all("#codes li").await;
    assert_eq!(codes.len(), 10);
    codes
}
