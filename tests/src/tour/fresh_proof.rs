//! The reauthentication page.

use super::Tour;
use crate::Visit;

/// Longer than a session stays fresh, by a second.
const LONG: i64 = 15 * 60_000 + 1_000;

const HEADING: &str = "Confirm it's you";

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    pub(super) async fn fresh_proof(&mut self) {
        self.app.sign_up("fay").await;
        self.send_late("fay").await;
        self.shown("reauthenticate", HEADING).await;
        self.visit.fill("password", "wrong").await;
        self.refused("reauthenticate-refused", "Confirm", "The password is incorrect.", HEADING).await;
        let holder = self.app.with_totp("gus").await;
        self.send_late("gus").await;
        self.shown("reauthenticate-authenticator", HEADING).await;
        self.visit.fill("stepUpCode", &holder.wrong_code()).await;
        self.refused("reauthenticate-authenticator-refused", "Confirm", "The code is incorrect", HEADING).await;
        // The only factor is a passkey, which this browser does not have.
        self.send_late("eve").await;
        self.shown("reauthenticate-passkey", HEADING).await;
    }

    /// Submits a form with a session that is not fresh.
    async fn send_late(&mut self, name: &str) {
        self.forget().await;
        self.visit.open("/dashboard/sign-in").await;
        self.sign_in(name).await;
        self.app.clock.advance(LONG);
        self.open("/keys/new", "New access key").await;
        let key = self.words.key.clone();
        self.visit.fill("friendlyName", &key).await;
        self.visit.press("Create key").await;
    }
}
