//! Pages for whoever should have set up a second factor and has not.

use super::Tour;
use crate::people::PASSWORD;
use crate::{TestApp, Visit};

/// A minute, in milliseconds.
const MINUTE: i64 = 60_000;

impl TestApp {
    /// Lets the time of `<name>@example.com` to set up a second factor begin, and pass but for a minute.
    async fn near_mfa_deadline(&self, name: &str) {
        let deadline = self.try_log_in(name, PASSWORD).await.assert(200)["mfaSetupDeadline"].as_i64().unwrap();
        self.clock.advance(deadline - MINUTE - self.clock.now().0);
    }
}

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    pub(super) async fn overdue(&mut self) {
        self.app.sign_up("dora").await;
        self.app.near_mfa_deadline("dora").await;
        self.sign_in("dora").await;
        self.open("/keys/new", "Make an access key").await;
        self.visit.fill("friendlyName", "late").await;
        self.app.clock.advance(2 * MINUTE);
        self.visit.press("Make the key").await;
        self.visit.sees("Set up a second factor").await;
        self.shown("overdue-refused", "This is not allowed").await;
        self.page("home-overdue", "", "Hello, dora@example.com").await;
        self.page("security-overdue", "/security", "Second factors off").await;
        self.page("key-new-overdue", "/keys/new", "Make an access key").await;
        self.page("api-key-new-overdue", "/keys/api/new", "Make an API key").await;
        let path = format!("/cli/key?hostname={}", self.words.hostname.replace(' ', "%20"));
        self.page("cli-key-overdue", &path, "A key for a command line").await;
        let request = self.ask(&self.app.anonymous()).await;
        self.open_request(&request).await;
        self.shown("cli-request-overdue", "Let this command line in?").await;
    }
}
