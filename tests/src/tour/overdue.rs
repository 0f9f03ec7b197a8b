//! Pages for an account that missed the deadline to set up a second factor.

use super::Tour;
use crate::people::PASSWORD;
use crate::{TestApp, Visit};

/// A minute, in milliseconds.
const MINUTE: i64 = 60_000;

impl TestApp {
    /// Starts the time of `<name>@example.com` to set up a second factor, and lets all but a minute of it pass.
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
        self.open("/keys/new", "New access key").await;
        self.visit.fill("friendlyName", "late").await;
        self.app.clock.advance(2 * MINUTE);
        self.visit.press("Create key").await;
        self.visit.sees("Set up two-factor authentication").await;
        self.shown("overdue-refused", "Access denied").await;
        self.page("home-overdue", "", "Apps").await;
        self.page("security-overdue", "/security", "Two-factor authentication off").await;
        self.page("key-new-overdue", "/keys/new", "New access key").await;
        self.page("api-key-new-overdue", "/keys/api/new", "New API key").await;
        let path = format!("/cli/key?hostname={}", self.words.hostname.replace(' ', "%20"));
        self.page("cli-key-overdue", &path, "Access key for older CLIs").await;
        let request = self.ask(&self.app.anonymous()).await;
        self.open_request(&request).await;
        self.shown("cli-request-overdue", "Authorize Updraft CLI?").await;
    }
}
