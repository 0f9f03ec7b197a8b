//! Pages for visitors who are not signed in, and error pages.

use super::Tour;
use crate::people::{PASSWORD, login};
use crate::{Holder, Visit};

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    pub(super) async fn unauthenticated(&mut self) {
        self.page("sign-in", "/sign-in", "Sign in").await;
        self.visit.fill("email", "nobody@example.com").await;
        self.visit.fill("password", "wrong").await;
        self.refused("sign-in-refused", "Sign in", "Incorrect email address or password", "Sign in").await;
        self.app.anonymous().post("/v1/auth/register", login("carol@example.com", PASSWORD)).await.assert(202);
        self.visit.fill("email", "carol@example.com").await;
        self.visit.fill("password", PASSWORD).await;
        self.refused("sign-in-unconfirmed", "Sign in", "is not verified", "Sign in").await;
        self.passkey_refused().await;
        self.page("sign-up", "/sign-up", "Sign up").await;
        self.visit.fill("email", "dave@example.com").await;
        self.visit.fill("password", "short").await;
        self.refused("sign-up-refused", "Sign up", "Password must be", "Sign up").await;
        self.page("sign-up-sent", "/sign-up/sent", "Check your email").await;
        self.visit.fill("email", "nobody").await;
        self.refused("sign-up-sent-refused", "Send it again", "Email address must be", "Check your email").await;
        self.page("sign-up-sent-again", "/sign-up/sent?again", "Request a new email").await;
        self.page("verify-email", "/verify-email", "Confirm your email address").await;
        self.visit.fill("token", "x").await;
        self.refused("verify-email-refused", "Continue", "This link is invalid", "Confirm your email address").await;
        self.confirmation().await;
        self.page("verify-email-link", "/verify-email?x#token=from-a-mail", "Confirm your email address").await;
        self.page("forgot-password", "/forgot-password", "Reset password").await;
        self.visit.fill("email", "nobody").await;
        self.refused("forgot-password-refused", "Send reset link", "Email address must be", "Reset password").await;
        self.page("reset-password", "/reset-password", "Choose a new password").await;
        self.visit.fill("token", "x").await;
        self.visit.fill("password", "another long passphrase nobody knows").await;
        self.refused("reset-password-refused", "Set password", "This link is invalid", "Choose a new password").await;
        self.page("design", "/design", "Design system").await;
        self.open("/design", "Design system").await;
        self.visit.press("Open a dialog").await;
        self.visit.until("document.querySelector('dialog[open]')").await;
        self.shown("design-dialog", "Design system").await;
        self.open("/design", "Design system").await;
        self.visit.press("Show a toast").await;
        self.visit.until("document.querySelector('.toast')?.textContent").await;
        self.shown("design-toast", "Design system").await;
    }

    /// The second step of the confirmation.
    async fn confirmation(&mut self) {
        let token = self.app.last_mail_to("carol@example.com").await.token();
        self.open("/verify-email", "Confirm your email address").await;
        self.visit.fill("token", &token).await;
        self.visit.press("Continue").await;
        self.shown("verify-email-password", "Enter your password").await;
        self.visit.fill("password", "not what was registered").await;
        self.refused("verify-email-other", "Create account", "This is not the password", "Enter your password").await;
    }

    /// A sign-in with an authenticator that has no passkey.
    async fn passkey_refused(&mut self) {
        let authenticator = self.visit.plug_in_authenticator(true).await;
        self.open("/sign-in", "Sign in").await;
        self.visit.press("Sign in with a passkey").await;
        self.visit.sees("No passkey was selected").await;
        self.shown("sign-in-passkey-refused", "Sign in").await;
        self.visit.unplug(&authenticator).await;
    }

    pub(super) async fn second_step(&mut self, holder: &Holder) {
        self.first_step(&holder.name).await;
        self.opened.push("/dashboard/sign-in/second-factor".to_owned());
        self.shown("second-factor", "Two-factor authentication").await;
        self.visit.fill("code", &holder.wrong_code()).await;
        self.refused("second-factor-refused", "Sign in", "The code is incorrect", "Two-factor authentication").await;
        self.page("recovery-code", "/sign-in/recovery-code", "Recovery code").await;
        self.visit.fill("code", "abcd-2345-wxyz-67aa").await;
        self.refused("recovery-code-refused", "Sign in", "The recovery code is incorrect", "Recovery code").await;
        // Without the cookie of the pending login.
        self.forget().await;
        self.visit.open("/dashboard/sign-in/second-factor").await;
        self.visit.sees("This sign-in expired").await;
        self.shown("sign-in-ended", "Sign in").await;
        self.sign_in(&holder.name).await;
        self.page("sign-in-again", "/sign-in?again", "Sign in again").await;
    }

    /// Refusals outside a form.
    pub(super) async fn refusals(&mut self) {
        self.page("not-found", "/nowhere", "Page not found").await;
        self.page("wrong-method", "/sign-out", "Method not allowed").await;
        self.open("/account", "Account").await;
        self.visit.browser.run("document.querySelectorAll('[name=csrf]').forEach((field) => (field.value = 'x'));", &[]).await;
        self.visit.press("Save name").await;
        self.shown("out-of-date", "Access denied").await;
        self.forget().await;
        self.page("not-found-stranger", "/nowhere", "Page not found").await;
    }
}
