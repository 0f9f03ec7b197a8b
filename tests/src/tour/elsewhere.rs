//! What servers with other settings show, and one whose database is out of order.

use super::{Tour, Words};
use crate::turnstile::Turnstile;
use crate::{Options, TestApp, Visit};

/// As [`super::all`], for states that a server of its own has each. The visit ends at the last of them.
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

/// A tour of another server, where nobody is signed in.
async fn at<'t, L: AsyncFnMut(&Visit, &str)>(app: &'t TestApp, visit: &'t mut Visit, words: &'t Words, look: L) -> Tour<'t, L> {
    visit.turn_to(app);
    let tour = Tour { app, visit, words, look, opened: Vec::new() };
    tour.visit.open("/dashboard/design").await;
    tour.forget().await;
    tour
}

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    /// Where nobody may sign up.
    async fn closed(&mut self) {
        self.page("sign-in-closed", "/sign-in", "Sign in").await;
        self.page("sign-up-closed", "/sign-up", "Sign up").await;
        self.open("/sign-up/sent", "Check your e-mail").await;
        self.visit.fill("email", "ada@example.com").await;
        self.refused("sign-up-sent-closed", "Send it again", "Registration is closed", "Check your e-mail").await;
    }

    /// At an address that is no name, for which there are no passkeys.
    async fn without_passkeys(&mut self) {
        self.page("sign-in-without-passkeys", "/sign-in", "Sign in").await;
        self.app.sign_up("ada").await;
        self.sign_in("ada").await;
        self.page("security-without-passkeys", "/security", "Second factors off").await;
        self.page("passkey-new-without-passkeys", "/security/passkeys/new", "Add a passkey").await;
    }

    /// Where strangers show that they are human.
    async fn challenged(&mut self) {
        const IS_THERE: &str = "document.querySelector('.cf-turnstile input')";
        self.open("/forgot-password", "Forgotten password").await;
        self.visit.until(IS_THERE).await;
        self.shown("forgot-password-challenge", "Forgotten password").await;
        self.open("/sign-in", "Sign in").await;
        // After as many failures the next one is asked for more.
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
        self.shown("sign-up-challenged", "Check your e-mail").await;
    }

    /// More than a session may ask for, and what is not the visitor's fault.
    async fn faults(&mut self) {
        self.app.sign_up("ada").await;
        self.sign_in("ada").await;
        self.visit.open("/dashboard/keys").await;
        self.page("too-much", "/keys", "Too much at once").await;
        self.app.change("ALTER TABLE accounts RENAME TO accounts_away", &[]).await;
        self.app.clock.advance(2 * 60_000);
        self.page("fault", "/keys", "Something went wrong here").await;
    }
}
