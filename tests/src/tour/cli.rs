//! Pages that authorize CLIs.

use serde_json::{Value, json};

use super::Tour;
use crate::browser::silent_page;
use crate::{Client, Visit};

/// The example of RFC 7636, appendix B.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const REQUEST: &str = "Authorize Updraft CLI?";

/// A minute, in milliseconds.
const MINUTE: i64 = 60_000;

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    pub(super) async fn cli(&mut self) {
        let cli = self.app.anonymous();
        self.by_code(&cli).await;
        self.by_browser(&cli).await;
        self.key_to_paste().await;
        self.too_late(&cli).await;
    }

    /// Starts a request with a code.
    pub(super) async fn ask(&self, cli: &Client) -> Value {
        let said = json!({
            "deviceName": self.words.device_name, "clientName": "updraft", "clientVersion": "1.2.3", "clientPlatform": "linux x64",
        });
        cli.post("/v1/auth/cli/device", said).await.assert(201)
    }

    /// Opens a request with its code.
    pub(super) async fn open_request(&self, request: &Value) {
        self.visit.open(request["verificationUriComplete"].as_str().unwrap()).await;
        self.visit.press("Continue").await;
        self.visit.is_at(REQUEST).await;
    }

    async fn by_code(&mut self, cli: &Client) {
        let request = self.ask(cli).await;
        self.page("activate", "/activate", "Enter your code").await;
        self.visit.fill("userCode", "BCDF-GHJK").await;
        self.refused("activate-refused", "Continue", "No CLI is waiting for this code", "Enter your code").await;
        self.visit.open(request["verificationUriComplete"].as_str().unwrap()).await;
        self.shown("activate-link", "Enter your code").await;
        self.visit.press("Continue").await;
        self.shown("cli-request", REQUEST).await;
        let page = page_of(&request);
        self.page("cli-request-by-id", &page, REQUEST).await;
        self.open_request(&request).await;
        self.visit.press("Approve").await;
        self.shown("cli-approved", "CLI authorized").await;
        let request = self.ask(cli).await;
        self.open_request(&request).await;
        self.visit.press("Deny").await;
        self.shown("cli-denied", "Request denied").await;
        self.page("cli-unknown", "/cli/authorize/0189abcd-0000-7000-8000-000000000000", "Request not found").await;
    }

    async fn by_browser(&mut self, cli: &Client) {
        // The page stays only if the redirect target never answers.
        let terminal = silent_page().await;
        for (decision, name, heading) in
            [("Approve", "cli-browser-approved", "CLI authorized"), ("Deny", "cli-browser-denied", "Request denied")]
        {
            let said = json!({
                "codeChallenge": CHALLENGE, "codeChallengeMethod": "S256", "redirectUri": format!("{terminal}/callback"), "state": "x",
                "deviceName": self.words.device_name, "clientName": "updraft", "clientVersion": "1.2.3", "clientPlatform": "linux x64",
            });
            let request = cli.post("/v1/auth/cli/authorizations", said).await.assert(201);
            self.page("cli-request-browser", &page_of(&request), REQUEST).await;
            self.visit.press(decision).await;
            self.visit.sees("Back to your terminal").await;
            self.shown(name, heading).await;
            self.page(&format!("{name}-again"), &page_of(&request), heading).await;
        }
    }

    async fn key_to_paste(&mut self) {
        let path = format!("/cli/key?hostname={}", self.words.hostname.replace(' ', "%20"));
        self.page("cli-key", &path, "Access key for older CLIs").await;
        self.set("friendlyName", "").await;
        self.refused("cli-key-refused", "Create key", "Key name must", "Access key for older CLIs").await;
        self.open(&path, "Access key for older CLIs").await;
        self.visit.press("Create key").await;
        self.shown("cli-key-created", "Your access key").await;
    }

    /// An expired request, and one that needs a newer sign-in.
    async fn too_late(&mut self, cli: &Client) {
        let request = self.ask(cli).await;
        self.app.clock.advance(10 * MINUTE + 1);
        self.page("cli-expired", &page_of(&request), "Request expired").await;
        self.app.clock.advance(5 * MINUTE);
        let request = self.ask(cli).await;
        self.open_request(&request).await;
        self.visit.sees("Sign in again").await;
        self.shown("cli-request-sign-in-again", REQUEST).await;
    }
}

/// The page of a request.
fn page_of(request: &Value) -> String {
    format!("/cli/authorize/{}", request["authorizationId"].as_str().unwrap())
}
