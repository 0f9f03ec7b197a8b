//! Pages for signed-in users: account, two-factor authentication, sessions, keys.

use control::testing::{Device, SessionOrigin};
use serde_json::json;

use super::Tour;
use crate::people::PASSWORD;
use crate::{Authenticator, Holder, Totp, Visit};

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    /// A user who has just signed up.
    pub(super) async fn newcomer(&mut self) {
        let name = self.words.newcomer.as_str();
        self.app.sign_up(name).await;
        // The time to set up a second factor starts with the first login.
        self.app.try_log_in(name, PASSWORD).await.assert(200);
        self.sign_in(name).await;
        self.page("home-new", "", "Apps").await;
        self.page("security-off", "/security", "Two-factor authentication off").await;
        self.page("recovery-codes-none", "/security/recovery-codes", "Recovery codes").await;
        self.page("authenticator", "/security/authenticator", "Authenticator app").await;
        self.visit.press("Show QR code").await;
        self.shown("authenticator-setup", "Set up authenticator app").await;
        self.visit.press("No camera? Enter the key instead").await;
        let totp = Totp::new(&self.visit.read("input[name=secret]").await);
        self.shown("authenticator-setup-key", "Set up authenticator app").await;
        self.visit.fill("code", "12").await;
        self.refused("authenticator-refused", "Confirm", "The app is not set up yet.", "Set up authenticator app").await;
        self.visit.fill("code", &totp.code(self.app.clock.now())).await;
        self.visit.press("Confirm").await;
        self.shown("recovery-codes", "Your recovery codes").await;
        self.page("keys-none", "/keys", "Keys").await;
        self.page("sessions-one", "/sessions", "Sessions and devices").await;
    }

    /// A user who has one of everything.
    pub(super) async fn populate(&mut self) -> Holder {
        let words = self.words;
        self.app.sign_up(&words.account).await;
        let mut holder = self.app.holder(&words.account).await;
        holder.authenticator = Authenticator::new(self.visit.address("/").trim_end_matches('/'));
        holder.session.patch("/v1/account", json!({ "name": words.name })).await.assert(200);
        holder.enrol_passkey(Some(&words.passkey)).await.assert(200);
        holder.enrol_totp().await.assert(200);
        self.app.named_key(&words.account, &words.other_key).await;
        holder.session.post("/v1/api-keys", json!({ "name": words.api_key, "scopes": ["read"] })).await.assert(201);
        let device = Device {
            id: None,
            name: Some(words.device_name.clone()),
            client_name: Some("updraft".to_owned()),
            client_version: Some("1.2.3".to_owned()),
            client_platform: Some("linux x64".to_owned()),
        };
        self.app.open_session_of(&words.account, SessionOrigin::CliBrowser, "198.51.100.7", &device).await;
        self.app.open_session_of(&words.account, SessionOrigin::Dashboard, "2001:db8::17", &Device::default()).await;
        holder
    }

    pub(super) async fn account(&mut self, holder: &Holder) {
        self.page("home", "", "Apps").await;
        self.page("account", "/account", "Account").await;
        self.visit.press("Save name").await;
        self.visit.sees("Your name was updated.").await;
        self.shown("account-changed", "Account").await;
        self.page("account-password", "/account/password", "Change password").await;
        self.visit.fill("currentPassword", "wrong").await;
        self.visit.fill("password", "another long passphrase nobody knows").await;
        self.visit.fill("stepUpCode", &holder.wrong_code()).await;
        self.refused("account-password-refused", "Change password", "No changes were made", "Change password").await;
        self.visit.fill("currentPassword", PASSWORD).await;
        self.visit.fill("password", "short").await;
        self.visit.fill("stepUpCode", &holder.code()).await;
        self.refused("account-password-short", "Change password", "password must be", "Change password").await;
        self.page("account-delete", "/account/delete", "Delete account").await;
        self.visit.fill("password", "wrong").await;
        self.visit.fill("stepUpCode", &holder.wrong_code()).await;
        self.refused("account-delete-refused", "Delete account", "No changes were made", "Delete account").await;
        holder.session.create_app(&self.words.app).await;
        self.page("account-delete-owner", "/account/delete", "Delete account").await;
        holder.session.delete(&format!("/v1/apps/{}", self.words.app)).await.assert_status(204);
        self.page("sessions", "/sessions", "Sessions and devices").await;
    }

    /// Apps that another account shares and transfers.
    pub(super) async fn shared_apps(&mut self) {
        let (words, with) = (self.words, format!("{}@example.com", self.words.account));
        let other = self.app.open_session(&words.newcomer, SessionOrigin::Dashboard).await;
        for (name, how) in [(words.app.as_str(), "collaborators"), ("given", "transfer")] {
            other.post("/v1/apps", json!({ "name": name, "manuallyProvisionDeployments": true })).await.assert(201);
            other.post(&format!("/v1/apps/{name}/{how}/{with}"), json!({})).await.assert(201);
        }
        self.page("account-shared", "/account", "Account").await;
        let mut leave = String::new();
        for (state, name) in [("app-accept", words.app.as_str()), ("app-accept-transferred", "given")] {
            let id = self.app.texts("SELECT id FROM apps WHERE name = $1", &[name]).await.remove(0);
            leave = format!("/account/apps/{id}/leave");
            self.page(state, &format!("/account/apps/{id}/accept"), "Accept app").await;
        }
        self.visit.fill("name", "a/b").await;
        self.refused("app-accept-refused", "Accept app", "must not contain", "Accept app").await;
        self.page("app-leave", &leave, &format!("Leave the app {}@example.com:given?", words.newcomer)).await;
        self.visit.press("Leave app").await;
        self.visit.sees("You left the app").await;
        other.delete(&format!("/v1/apps/{}", words.app)).await.assert_status(204);
    }

    pub(super) async fn factors(&mut self, holder: &Holder) {
        let passkey = holder.passkeys().await[0]["id"].as_str().unwrap().to_owned();
        self.page("security", "/security", "Two-factor authentication on").await;
        self.visit.press("Create new codes").await;
        self.visit.sees("Your current codes").await;
        self.shown("security-dialog", "Two-factor authentication on").await;
        self.page("passkey-new", "/security/passkeys/new", "Add a passkey").await;
        self.page("passkey", &format!("/security/passkeys/{passkey}"), "Rename passkey").await;
        let heading = format!("Remove the passkey {}?", self.words.passkey);
        self.page("passkey-remove", &format!("/security/passkeys/{passkey}/remove"), &heading).await;
        self.page("authenticator-again", "/security/authenticator", "Authenticator app").await;
        self.page("authenticator-remove", "/security/authenticator/remove", "Remove authenticator app").await;
        self.visit.fill("stepUpCode", &holder.wrong_code()).await;
        self.refused("authenticator-remove-refused", "Remove app", "No changes were made", "Remove authenticator app").await;
        self.page("recovery-codes-ask", "/security/recovery-codes", "New recovery codes").await;
    }

    pub(super) async fn keys(&mut self, holder: &Holder) {
        let words = self.words;
        let keys = holder.session.get("/v1/api-keys").await.assert(200);
        let api_key = format!("/keys/api/{}", keys["apiKeys"][0]["id"].as_str().unwrap());
        let key = format!("/keys/access/{}", words.key);
        self.page("key-new", "/keys/new", "New access key").await;
        self.visit.fill("friendlyName", &words.key).await;
        self.set("ttl", "2020-01-01").await;
        self.refused("key-new-refused", "Create key", "Choose a date in the future.", "New access key").await;
        self.open("/keys/new", "New access key").await;
        self.visit.fill("friendlyName", &words.key).await;
        self.visit.press("Create key").await;
        self.shown("key-created", "Your new key").await;
        self.page("key", &key, "Edit access key").await;
        self.set("ttl", "2020-01-01").await;
        self.refused("key-refused", "Save changes", "Choose a date in the future.", "Edit access key").await;
        self.page("key-delete", &format!("{key}/delete"), &format!("Delete the key {}?", words.key)).await;
        self.page("api-key-new", "/keys/api/new", "New API key").await;
        self.visit.fill("name", "build").await;
        self.refused("api-key-refused", "Create key", "Choose at least one scope", "New API key").await;
        self.visit.tick("scopeDeploy").await;
        self.visit.press("Create key").await;
        self.shown("api-key-created", "Your new key").await;
        self.page("api-key", &api_key, "Edit API key").await;
        self.page("api-key-revoke", &format!("{api_key}/revoke"), &format!("Revoke the API key {}?", words.api_key)).await;
        self.visit.press("Revoke key").await;
        self.visit.sees("was revoked.").await;
        self.page("keys", "/keys", "Keys").await;
        self.visit.press(&format!("Delete {}", words.key)).await;
        self.visit.sees(&format!("Delete the key {}?", words.key)).await;
        self.shown("keys-dialog", "Keys").await;
    }

    /// A user whose only second factor is a passkey.
    pub(super) async fn passkey_alone(&mut self) {
        self.app.sign_up("eve").await;
        let mut eve = self.app.holder("eve").await;
        eve.authenticator = Authenticator::new(self.visit.address("/").trim_end_matches('/'));
        eve.enrol_passkey(None).await.assert(200);
        self.sign_in("eve").await;
        self.page("recovery-codes-ask-passkey", "/security/recovery-codes", "New recovery codes").await;
        self.page("passkey-new-another", "/security/passkeys/new", "Add a passkey").await;
        self.page("account-delete-passkey", "/account/delete", "Delete account").await;
        self.first_step("eve").await;
        self.shown("second-factor-passkey", "Two-factor authentication").await;
    }
}
