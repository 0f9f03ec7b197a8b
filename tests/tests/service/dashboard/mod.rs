//! The dashboard's pages over HTTP, as a browser without JavaScript uses them.

mod account;
mod after_sign_in;
mod authorized_devices;
mod base_address;
mod cookie_and_bearer;
mod cookies;
mod escaping;
mod factors;
mod files;
mod forged;
mod headers;
mod keys;
mod passkeys;
mod passwords;
mod reauthenticate;
mod second_step;
mod sessions;
mod shared_apps;
mod sign_in;
mod sign_up;

use tests::{Options, TestApp};

/// Who may open a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// Everybody.
    All,
    /// Signed-in users; others are redirected to the sign-in page.
    SignedIn,
    /// Users with a pending login, after the right password; others are redirected to the sign-in page.
    Pending,
    /// Nobody: it only takes forms.
    Sent,
    /// Nobody: it only takes forms, and redirects to the page with its form.
    Onward,
}

/// Every page, and who may open it. A page that is missing here fails a test.
const PAGES: &[(&str, For)] = &[
    ("/", For::SignedIn),
    ("/design", For::All),
    ("/sign-up", For::All),
    ("/sign-up/sent", For::All),
    ("/verify-email", For::All),
    ("/sign-in", For::All),
    ("/sign-in/second-factor", For::Pending),
    ("/sign-in/recovery-code", For::Pending),
    ("/sign-in/passkey", For::Onward),
    ("/sign-in/passkey/options", For::Sent),
    ("/sign-in/second-factor/passkey", For::Onward),
    ("/sign-in/second-factor/options", For::Sent),
    ("/sign-out", For::Sent),
    ("/forgot-password", For::All),
    ("/reset-password", For::All),
    ("/security", For::SignedIn),
    ("/security/step-up/options", For::Sent),
    ("/security/authenticator", For::SignedIn),
    ("/security/authenticator/remove", For::SignedIn),
    ("/security/passkeys/new", For::SignedIn),
    ("/security/passkeys/options", For::Sent),
    ("/security/passkeys/{passkey}", For::SignedIn),
    ("/security/passkeys/{passkey}/remove", For::SignedIn),
    ("/security/recovery-codes", For::SignedIn),
    ("/security/recovery-codes/download", For::Sent),
    ("/account", For::SignedIn),
    ("/account/password", For::SignedIn),
    ("/account/delete", For::SignedIn),
    ("/account/apps/{app_id}/accept", For::SignedIn),
    ("/account/apps/{app_id}/leave", For::SignedIn),
    ("/sessions", For::SignedIn),
    ("/sessions/{credential}/end", For::Sent),
    ("/sessions/end-others", For::Sent),
    ("/keys", For::SignedIn),
    ("/keys/new", For::SignedIn),
    ("/keys/access/{key}", For::SignedIn),
    ("/keys/access/{key}/delete", For::SignedIn),
    ("/keys/api/new", For::SignedIn),
    ("/keys/api/{key}", For::SignedIn),
    ("/keys/api/{key}/revoke", For::SignedIn),
    ("/activate", For::SignedIn),
    ("/cli/authorize/{authorization}", For::SignedIn),
    ("/cli/key", For::SignedIn),
];

/// The path of a page, with values for its parameters.
fn address(page: &str) -> String {
    let page = page.replace("{authorization}", "0189abcd-0000-7000-8000-000000000000");
    let path: Vec<&str> =
        page.split('/').map(|part| if part.starts_with('{') { "0189abcd-0000-7000-8000-000000000000" } else { part }).collect();
    format!("/dashboard{}", path.join("/")).trim_end_matches('/').to_owned()
}

#[test]
fn every_page_is_in_the_list() {
    let mut listed: Vec<&str> = PAGES.iter().map(|(page, _)| *page).collect();
    let mut served = control::testing::server::pages().paths;
    listed.sort_unstable();
    served.sort_unstable();
    assert_eq!(listed, served);
}

/// A server whose pages have https addresses, as behind a proxy.
async fn behind_tls() -> TestApp {
    TestApp::spawn_with(Options::default().with("BASE_URL", "https://updraft.example")).await
}
