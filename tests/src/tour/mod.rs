//! Opens every page of the dashboard in a browser, in each state that looks different, for checks that apply to all of them.
//!
//! [`all`] needs one server; states that need another one are in [`elsewhere()`].

mod apps;
mod cli;
mod elsewhere;
mod fresh_proof;
mod overdue;
mod settings;
mod unauthenticated;
mod words;

use control::testing::SessionOrigin;

use crate::people::PASSWORD;
use crate::{TestApp, Visit};

pub use elsewhere::elsewhere;
pub use words::Words;

/// The state of a tour.
struct Tour<'t, L> {
    app: &'t TestApp,
    visit: &'t Visit,
    words: &'t Words,
    look: L,
    /// The paths opened so far.
    opened: Vec<String>,
}

/// Opens every page, and calls `look` with a name for each state. Names of people and things come from `words`. Returns the paths.
pub async fn all(app: &TestApp, visit: &Visit, words: &Words, look: impl AsyncFnMut(&Visit, &str)) -> Vec<String> {
    let mut tour = Tour { app, visit, words, look, opened: Vec::new() };
    tour.unauthenticated().await;
    tour.newcomer().await;
    let holder = tour.populate().await;
    tour.second_step(&holder).await;
    tour.account(&holder).await;
    tour.apps(&holder).await;
    tour.shared_apps().await;
    tour.factors(&holder).await;
    tour.keys(&holder).await;
    tour.cli().await;
    tour.refusals().await;
    tour.passkey_alone().await;
    tour.fresh_proof().await;
    tour.overdue().await;
    tour.opened
}

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    /// Opens a page with this heading, and looks at it.
    async fn page(&mut self, name: &str, path: &str, heading: &str) {
        self.open(path, heading).await;
        self.shown(name, heading).await;
    }

    /// Opens a page to do something there first.
    async fn open(&mut self, path: &str, heading: &str) {
        let path = format!("/dashboard{path}");
        // What the pages before it loaded is not this one's weight.
        let _before = self.visit.weight().await;
        self.visit.open(&path).await;
        self.visit.is_at(heading).await;
        self.opened.push(path);
    }

    /// Looks at the current page, which has this heading.
    async fn shown(&mut self, name: &str, heading: &str) {
        self.visit.is_at(heading).await;
        // Waits until a button with a delay is enabled.
        self.visit.until("!document.querySelector('[data-considered]:disabled')").await;
        (self.look)(self.visit, name).await;
    }

    /// Presses a button, and looks at the page that shows this text and has this heading.
    async fn refused(&mut self, name: &str, button: &str, text: &str, heading: &str) {
        // Skips the browser's own validation.
        self.visit.browser.run("document.querySelectorAll('form').forEach((form) => (form.noValidate = true));", &[]).await;
        self.visit.press(button).await;
        self.visit.sees(text).await;
        self.shown(name, heading).await;
    }

    /// Gives the browser a session of this account.
    async fn sign_in(&mut self, name: &str) {
        let session = self.app.open_session(name, SessionOrigin::Dashboard).await;
        self.visit.put_cookie("updraft", session.token()).await;
    }

    /// Removes every cookie.
    async fn forget(&self) {
        self.visit.browser.window.delete_all_cookies().await.unwrap();
    }

    /// Enters the right password of an account with a second factor.
    async fn first_step(&mut self, name: &str) {
        self.forget().await;
        self.visit.open("/dashboard/sign-in").await;
        self.visit.fill("email", &format!("{name}@example.com")).await;
        self.visit.fill("password", PASSWORD).await;
        self.visit.press("Sign in").await;
        self.visit.is_at("Two-factor authentication").await;
    }

    /// Sets the value of a field that cannot be typed into.
    async fn set(&self, id: &str, value: &str) {
        let script = "document.getElementById(arguments[0]).value = arguments[1];";
        self.visit.browser.run(script, &[id.into(), value.into()]).await;
    }
}
