//! Pages of servers with other settings, and of one with a broken database.

use super::{Tour, Words};
use crate::turnstile::Turnstile;
use crate::{Options, TestApp, Visit};

/// Like [`super::all`], for states that each need a server of their own. The visit stays at the last of them.
pub async fn elsewhere(visit: &mut Visit, mut look: impl AsyncFnMut(&Visit, &str)) {
    let words = Words::plain();
    let closed = TestApp::spawn_with(Options::default().for_browsers().with("REGISTRATION", "closed")).await;
    at(&closed, visit, &words, &mut look).await.closed().await;
    let numbered = TestApp::spawn().await;
    at(&numbered, visit, &words, &mut look).await.without_passkeys().await;
    let turnstile = Turnstile::start().await;
    let guarded =
        TestApp::spawn_with(turnstile.options(Options::default().for_browsers()).with("TURNSTILE_SCRIPT", &turnstile.script)).await;
    at(&guarded, visit, &words, &mut look).await.challenged().await;
    let strict = TestApp::spawn_with(Options::default().for_browsers().with("LIMIT_MANAGEMENT_API", "1/1m")).await;
    at(&strict, visit, &words, &mut look).await.faults().await;
}

/// A tour of another server, signed out.
async fn at<'t, L: AsyncFnMut(&Visit, &str)>(app: &'t TestApp, visit: &'t mut Visit, words: &'t Words, look: L) -> Tour<'t, L> {
    visit.turn_to(app);
    let tour = Tour { app, visit, words, look, opened: Vec::new() };
    tour.visit.open("/dashboard/design").await;
    tour.forget().await;
    tour
}

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    /// With registration closed.
    async fn closed(&mut self) {
        self.page("sign-in-closed", "/sign-in", "Sign in").await;
        self.page("sign-up-closed", "/sign-up", "Sign up").await;
        self.open("/sign-up/sent", "Check your email").await;
        self.visit.fill("email", "ada@example.com").await;
        self.refused("sign-up-sent-closed", "Send it again", "Registration is closed", "Check your email").await;
    }

    /// At an IP address, where passkeys do not work.
    async fn without_passkeys(&mut self) {
        self.page("sign-in-without-passkeys", "/sign-in", "Sign in").await;
        self.app.sign_up("ada").await;
        self.sign_in("ada").await;
        self.page("security-without-passkeys", "/security", "Two-factor authentication off").await;
        self.page("passkey-new-without-passkeys", "/security/passkeys/new", "Add a passkey").await;
    }

    /// With the human-verification challenge.
    async fn challenged(&mut self) {
        const IS_THERE: &str = "document.querySelector('.cf-turnstile input')";
        self.open("/forgot-password", "Reset password").await;
        self.visit.until(IS_THERE).await;
        self.shown("forgot-password-challenge", "Reset password").await;
        self.open("/sign-in", "Sign in").await;
        // After three failures, the next attempt needs the challenge.
        for _ in 0..3 {
            self.app.try_log_in("carol", "wrong").await.refused(401);
        }
        self.visit.fill("email", "carol@example.com").await;
        self.visit.fill("password", "wrong").await;
        self.visit.press("Sign in").await;
        self.visit.until(IS_THERE).await;
        self.shown("sign-in-challenge", "Sign in").await;
        self.open("/sign-up", "Sign up").await;
        self.visit.until(IS_THERE).await;
        self.shown("sign-up-challenge", "Sign up").await;
        self.visit.fill("email", "carol@example.com").await;
        self.visit.fill("password", crate::people::PASSWORD).await;
        self.visit.press("Sign up").await;
        self.shown("sign-up-challenged", "Check your email").await;
    }

    /// Rate limits and internal errors.
    async fn faults(&mut self) {
        self.app.sign_up("ada").await;
        self.sign_in("ada").await;
        self.visit.open("/dashboard/keys").await;
        self.page("too-much", "/keys", "Too many requests").await;
        self.app.change("ALTER TABLE accounts RENAME TO accounts_away", &[]).await;
        self.app.clock.advance(2 * 60_000);
        self.page("fault", "/keys", "Something went wrong").await;
    }
}
