//! Pages about command lines that ask to be let in.

use serde_json::{Value, json};

use super::Tour;
use crate::browser::silent_page;
use crate::{Client, Visit};

/// The example of RFC 7636, appendix B.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const REQUEST: &str = "Let this command line in?";

/// A minute, in milliseconds.
const MINUTE: i64 = 60_000;

impl<L: AsyncFnMut(&Visit, &str)> Tour<'_, L> {
    pub(super) async fn command_lines(&mut self) {
        let cli = self.app.anonymous();
        self.by_code(&cli).await;
        self.by_browser(&cli).await;
        self.key_to_paste().await;
        self.too_late(&cli).await;
    }

    /// Asks with a code.
    pub(super) async fn ask(&self, cli: &Client) -> Value {
        let said = json!({
            "deviceName": self.words.machine, "clientName": "updraft", "clientVersion": "1.2.3", "clientPlatform": "linux x64",
        });
        cli.post("/v1/auth/cli/device", said).await.assert(201)
    }

    /// Opens a request by its code.
    pub(super) async fn open_request(&self, request: &Value) {
        self.visit.open(request["verificationUriComplete"].as_str().unwrap()).await;
        self.visit.press("Go on").await;
        self.visit.is_at(REQUEST).await;
    }

    async fn by_code(&mut self, cli: &Client) {
        let request = self.ask(cli).await;
        self.page("activate", "/activate", "Code of a command line").await;
        self.visit.fill("userCode", "BCDF-GHJK").await;
        self.refused("activate-refused", "Go on", "No command line waits for this code", "Code of a command line").await;
        self.visit.open(request["verificationUriComplete"].as_str().unwrap()).await;
        self.shown("activate-link", "Code of a command line").await;
        self.visit.press("Go on").await;
        self.shown("cli-request", REQUEST).await;
        let page = page_of(&request);
        self.page("cli-request-by-id", &page, REQUEST).await;
        self.open_request(&request).await;
        self.visit.press("Let it in").await;
        self.shown("cli-approved", "You have let it in").await;
        let request = self.ask(cli).await;
        self.open_request(&request).await;
        self.visit.press("Deny").await;
        self.shown("cli-denied", "You have denied it").await;
        self.page("cli-unknown", "/cli/authorize/0189abcd-0000-7000-8000-000000000000", "There is no such request").await;
    }

    async fn by_browser(&mut self, cli: &Client) {
        // A page is seen only where the browser does not get away from it.
        let terminal = silent_page().await;
        for (decision, name, heading) in
            [("Let it in", "cli-browser-approved", "You have let it in"), ("Deny", "cli-browser-denied", "You have denied it")]
        {
            let said = json!({
                "codeChallenge": CHALLENGE, "codeChallengeMethod": "S256", "redirectUri": format!("{terminal}/callback"), "state": "x",
                "deviceName": self.words.machine, "clientName": "updraft", "clientVersion": "1.2.3", "clientPlatform": "linux x64",
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
        self.page("cli-key", &path, "A key for a command line").await;
        self.set("friendlyName", "").await;
        self.refused("cli-key-refused", "Make the key", "Name of the key must", "A key for a command line").await;
        self.open(&path, "A key for a command line").await;
        self.visit.press("Make the key").await;
        self.shown("cli-key-made", "Your key").await;
    }

    /// A request that has waited too long, and one for which the sign-in is too old.
    async fn too_late(&mut self, cli: &Client) {
        let request = self.ask(cli).await;
        self.app.clock.advance(10 * MINUTE + 1);
        self.page("cli-expired", &page_of(&request), "Its time has run out").await;
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
