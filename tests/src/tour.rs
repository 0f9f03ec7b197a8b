//! Every page of the dashboard in a browser, in each state that looks different: for what is to be true of them all.

use control::auth::session::{Device, SessionOrigin};
use serde_json::json;

use crate::people::PASSWORD;
use crate::totp::STEP;
use crate::{Authenticator, Client, Holder, TestApp, Visit};

/// Where a tour is, and who watches.
struct Tour<'t, L> {
    app: &'t TestApp,
    visit: &'t Visit,
    look: L,
    /// The paths that were opened.
    opened: Vec<String>,
}

/// Opens every page, and calls `look` with a name for each as it is there. Gives the paths.
pub async fn all(app: &TestApp, visit: &Visit, look: impl AsyncFnMut(&str)) -> Vec<String> {
    let mut tour = Tour { app, visit, look, opened: Vec::new() };
    tour.strangers().await;
    tour.newcomer().await;
    let holder = tour.populate().await;
    tour.second_step().await;
    tour.account(&holder).await;
    tour.factors(&holder).await;
    tour.keys(&holder).await;
    tour.command_lines().await;
    tour.opened
}

impl<L: AsyncFnMut(&str)> Tour<'_, L> {
    /// Opens a page, which has this heading, and looks at it.
    async fn page(&mut self, name: &str, path: &str, heading: &str) {
        let path = format!("/dashboard{path}");
        self.visit.open(&path).await;
        self.opened.push(path);
        self.shown(name, heading).await;
    }

    /// Looks at the page that came of what was done.
    async fn shown(&mut self, name: &str, heading: &str) {
        self.visit.is_at(heading).await;
        // As it is once a button that waits may be pressed.
        self.visit.until("!document.querySelector('[data-considered]:disabled')").await;
        (self.look)(name).await;
    }

    async fn strangers(&mut self) {
        self.page("sign-in", "/sign-in", "Sign in").await;
        self.visit.fill("email", "nobody@example.com").await;
        self.visit.fill("password", "wrong").await;
        self.visit.press("Sign in").await;
        self.visit.sees("wrong").await;
        self.shown("sign-in-refused", "Sign in").await;
        self.page("sign-up", "/sign-up", "Sign up").await;
        self.visit.fill("email", "carol@example.com").await;
        self.visit.fill("password", "short").await;
        self.visit.press("Sign up").await;
        self.visit.sees("Password must be").await;
        self.shown("sign-up-refused", "Sign up").await;
        self.page("sign-up-sent", "/sign-up/sent", "Look into your mail").await;
        self.page("verify-email", "/verify-email", "Confirm your e-mail address").await;
        self.page("verify-email-link", "/verify-email?x#token=from-a-mail", "Confirm your e-mail address").await;
        self.page("forgot-password", "/forgot-password", "Forgotten password").await;
        self.page("reset-password", "/reset-password", "Choose a new password").await;
        self.page("design", "/design", "Design system").await;
        self.page("not-found", "/nowhere", "There is no such page").await;
    }

    /// Whoever has just signed up.
    async fn newcomer(&mut self) {
        self.app.sign_up("bob").await;
        self.sign_in("bob").await;
        self.page("home-new", "", "Hello, bob@example.com").await;
        self.page("security-off", "/security", "Second factors off").await;
        self.page("recovery-codes-none", "/security/recovery-codes", "Recovery codes").await;
        self.page("authenticator", "/security/authenticator", "Authenticator app").await;
        self.visit.press("Show the QR code").await;
        self.shown("authenticator-setup", "Set up an authenticator app").await;
        self.visit.press("No camera? Type the key instead").await;
        let totp = crate::Totp::new(&self.visit.read("input[name=secret]").await);
        self.visit.fill("code", "12").await;
        self.visit.press("Confirm").await;
        self.visit.sees("The app is not set up yet.").await;
        self.shown("authenticator-refused", "Set up an authenticator app").await;
        self.visit.fill("code", &totp.code(self.app.clock.now())).await;
        self.visit.press("Confirm").await;
        self.shown("recovery-codes", "Your recovery codes").await;
        self.page("keys-none", "/keys", "Keys").await;
        self.page("sessions-one", "/sessions", "Sessions and machines").await;
    }

    /// Gives the browser a session of this account's.
    async fn sign_in(&mut self, name: &str) {
        let session = self.app.open_session(name, SessionOrigin::Dashboard).await;
        self.visit.put_cookie("updraft", session.token()).await;
    }

    /// Somebody who has everything.
    async fn populate(&mut self) -> Holder {
        self.app.sign_up("ada").await;
        let mut ada = self.app.holder("ada").await;
        ada.authenticator = Authenticator::new(self.visit.address("/").trim_end_matches('/'));
        ada.session.patch("/v1/account", json!({ "name": "Ada Lovelace" })).await.assert(200);
        ada.enrol_passkey(Some("Laptop")).await.assert(200);
        ada.enrol_totp().await.assert(200);
        self.app.named_key("ada", "build / server").await;
        ada.session.post("/v1/api-keys", json!({ "name": "old pipeline", "scopes": ["read"] })).await.assert(201);
        let of = |name: &str, version: &str| Device {
            id: None,
            name: Some(name.to_owned()),
            client_name: Some("updraft".to_owned()),
            client_version: Some(version.to_owned()),
            client_platform: Some("linux x64".to_owned()),
        };
        self.app.open_session_of("ada", SessionOrigin::CliBrowser, "198.51.100.7", &of("Ada's laptop", "1.2.3")).await;
        self.app.open_session_of("ada", SessionOrigin::Dashboard, "2001:db8::17", &Device::default()).await;
        ada
    }

    async fn second_step(&mut self) {
        self.visit.browser.window.delete_all_cookies().await.unwrap();
        self.visit.open("/dashboard/sign-in").await;
        self.visit.fill("email", "ada@example.com").await;
        self.visit.fill("password", PASSWORD).await;
        self.visit.press("Sign in").await;
        self.opened.push("/dashboard/sign-in/second-factor".to_owned());
        self.shown("second-factor", "Second step").await;
        self.page("recovery-code", "/sign-in/recovery-code", "Recovery code").await;
        self.sign_in("ada").await;
        self.page("sign-in-again", "/sign-in?again", "Sign in again").await;
    }

    async fn account(&mut self, ada: &Holder) {
        self.page("home", "", "Hello, Ada Lovelace").await;
        self.page("account", "/account", "Account").await;
        self.visit.press("Change the name").await;
        self.visit.sees("Your name is changed.").await;
        self.shown("account-changed", "Account").await;
        self.page("account-password", "/account/password", "Change the password").await;
        self.visit.fill("currentPassword", "wrong").await;
        self.visit.fill("password", "another long passphrase nobody knows").await;
        self.visit.fill("stepUpCode", &ada.wrong_code()).await;
        self.visit.press("Change the password").await;
        self.visit.sees("Nothing was changed").await;
        self.shown("account-password-refused", "Change the password").await;
        self.page("account-delete", "/account/delete", "Delete the account").await;
        self.page("sessions", "/sessions", "Sessions and machines").await;
    }

    async fn factors(&mut self, ada: &Holder) {
        let passkey = ada.passkeys().await[0]["id"].as_str().unwrap().to_owned();
        self.page("security", "/security", "Second factors on").await;
        self.visit.press("Make new codes").await;
        self.visit.sees("The codes that you have now").await;
        self.shown("security-dialog", "Second factors on").await;
        self.page("passkey-new", "/security/passkeys/new", "Add a passkey").await;
        self.page("passkey", &format!("/security/passkeys/{passkey}"), "Rename a passkey").await;
        self.page("passkey-remove", &format!("/security/passkeys/{passkey}/remove"), "Remove the passkey Laptop").await;
        self.page("authenticator-again", "/security/authenticator", "Authenticator app").await;
        self.page("authenticator-remove", "/security/authenticator/remove", "Remove the authenticator app").await;
        self.page("recovery-codes-ask", "/security/recovery-codes", "New recovery codes").await;
    }

    async fn keys(&mut self, ada: &Holder) {
        let keys = ada.session.get("/v1/api-keys").await.assert(200);
        let key = format!("/keys/api/{}", keys["apiKeys"][0]["id"].as_str().unwrap());
        self.page("key-new", "/keys/new", "Make an access key").await;
        self.visit.fill("friendlyName", "Laptop").await;
        self.visit.press("Make the key").await;
        self.shown("key-made", "Your new key").await;
        self.page("key", "/keys/access/Laptop", "Change a key").await;
        self.page("key-delete", "/keys/access/Laptop/delete", "Delete the key Laptop?").await;
        self.page("api-key-new", "/keys/api/new", "Make an API key").await;
        self.visit.fill("name", "build").await;
        self.visit.press("Make the key").await;
        self.visit.sees("Choose what it may do").await;
        self.shown("api-key-refused", "Make an API key").await;
        self.visit.tick("scopeDeploy").await;
        self.visit.press("Make the key").await;
        self.shown("api-key-made", "Your new key").await;
        self.page("api-key", &key, "Change an API key").await;
        self.page("api-key-revoke", &format!("{key}/revoke"), "Revoke the API key old pipeline?").await;
        self.visit.press("Revoke it").await;
        self.visit.sees("is revoked.").await;
        self.page("keys", "/keys", "Keys").await;
        self.visit.press("Delete Laptop").await;
        self.visit.sees("Delete the key Laptop?").await;
        self.shown("keys-dialog", "Keys").await;
    }

    async fn command_lines(&mut self) {
        let cli: Client = self.app.anonymous();
        let said =
            json!({ "deviceName": "Ada's laptop", "clientName": "updraft", "clientVersion": "1.2.3", "clientPlatform": "linux x64" });
        let request = cli.post("/v1/auth/cli/device", said).await.assert(201);
        self.page("activate", "/activate", "Code of a command line").await;
        self.visit.fill("userCode", "BCDF-GHJK").await;
        self.visit.press("Go on").await;
        self.visit.sees("leads to no command line").await;
        self.shown("activate-refused", "Code of a command line").await;
        let page = format!("/cli/authorize/{}", request["authorizationId"].as_str().unwrap_or("x"));
        self.visit.fill("userCode", request["userCode"].as_str().unwrap()).await;
        self.visit.press("Go on").await;
        self.shown("cli-request", "Let this command line in?").await;
        self.page("cli-request-by-id", &page, "Let this command line in?").await;
        // The sign-in is as old as it may be.
        self.app.clock.advance(15 * 60_000 - STEP);
        self.page("cli-unknown", "/cli/authorize/0189abcd-0000-7000-8000-000000000000", "There is no such request").await;
        self.page("cli-key", "/cli/key?hostname=old%20laptop", "A key for a command line").await;
        self.visit.press("Make the key").await;
        self.shown("cli-key-made", "Your key").await;
        let request = cli.post("/v1/auth/cli/device", json!({})).await.assert(201);
        self.visit.open(request["verificationUriComplete"].as_str().unwrap()).await;
        self.visit.press("Go on").await;
        self.visit.is_at("Let this command line in?").await;
        self.visit.press("Deny").await;
        self.shown("cli-denied", "You have denied it").await;
    }
}
