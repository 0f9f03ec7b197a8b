//! Every page of the dashboard in a browser, in each state that looks different: for what is to be true of them all.
//!
//! [`all`] needs one server; the states that another one has are in [`elsewhere()`].

mod command_lines;
mod elsewhere;
mod fresh_proof;
mod overdue;
mod settings;
mod strangers;
mod words;

use control::testing::SessionOrigin;

use crate::people::PASSWORD;
use crate::{TestApp, Visit};

pub use elsewhere::elsewhere;
pub use words::Words;

/// Where a tour is, and who watches.
struct Tour<'t, L> {
    app: &'t TestApp,
    visit: &'t Visit,
    words: &'t Words,
    look: L,
    /// The paths that were opened.
    opened: Vec<String>,
}

/// Opens every page, and calls `look` with a name for each as it is there. People and what they have are called as `words` says. Gives the paths.
pub async fn all(app: &TestApp, visit: &Visit, words: &Words, look: impl AsyncFnMut(&Visit, &str)) -> Vec<String> {
    let mut tour = Tour { app, visit, words, look, opened: Vec::new() };
    tour.strangers().await;
    tour.newcomer().await;
    let holder = tour.populate().await;
    tour.second_step(&holder).await;
    tour.account(&holder).await;
    tour.shared_apps().await;
    tour.factors(&holder).await;
    tour.keys(&holder).await;
    tour.command_lines().await;
    tour.refusals().await;
    tour.passkey_alone().await;
    tour.fresh_proof().await;
    tour.overdue().await;
    tour.opened
}

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    /// Opens a page, which has this heading, and looks at it.
    async fn page(&mut self, name: &str, path: &str, heading: &str) {
        self.open(path, heading).await;
        self.shown(name, heading).await;
    }

    /// Opens a page for what is done there first.
    async fn open(&mut self, path: &str, heading: &str) {
        let path = format!("/dashboard{path}");
        self.visit.open(&path).await;
        self.visit.is_at(heading).await;
        self.opened.push(path);
    }

    /// Looks at the page that came of what was done.
    async fn shown(&mut self, name: &str, heading: &str) {
        self.visit.is_at(heading).await;
        // As it is once a button that waits may be pressed.
        self.visit.until("!document.querySelector('[data-considered]:disabled')").await;
        (self.look)(self.visit, name).await;
    }

    /// Looks at the page that this button leads to, which has the same heading and shows this text.
    async fn refused(&mut self, name: &str, button: &str, text: &str, heading: &str) {
        // What the browser would not send by itself.
        self.visit.browser.run("document.querySelectorAll('form').forEach((form) => (form.noValidate = true));", &[]).await;
        self.visit.press(button).await;
        self.visit.sees(text).await;
        self.shown(name, heading).await;
    }

    /// Gives the browser a session of this account's.
    async fn sign_in(&mut self, name: &str) {
        let session = self.app.open_session(name, SessionOrigin::Dashboard).await;
        self.visit.put_cookie("updraft", session.token()).await;
    }

    /// Takes every cookie away.
    async fn forget(&self) {
        self.visit.browser.window.delete_all_cookies().await.unwrap();
    }

    /// Shows the right password of an account with a second factor.
    async fn first_step(&mut self, name: &str) {
        self.forget().await;
        self.visit.open("/dashboard/sign-in").await;
        self.visit.fill("email", &format!("{name}@example.com")).await;
        self.visit.fill("password", PASSWORD).await;
        self.visit.press("Sign in").await;
        self.visit.is_at("Second step").await;
    }

    /// Changes what a field holds that is not typed into.
    async fn set(&self, id: &str, value: &str) {
        let script = "document.getElementById(arguments[0]).value = arguments[1];";
        self.visit.browser.run(script, &[id.into(), value.into()]).await;
    }
}
