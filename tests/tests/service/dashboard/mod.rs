//! The dashboard's pages over HTTP, as a browser without JavaScript uses them.

mod account;
mod activity;
mod after_sign_in;
mod app_settings;
mod apps;
mod authorized_devices;
mod base_address;
mod binary_versions;
mod contents;
mod cookie_and_bearer;
mod cookies;
mod diffs;
mod escaping;
mod factors;
mod files;
mod first_steps;
mod forged;
mod headers;
mod keys;
mod navigation;
mod outlook;
mod overview;
mod passkeys;
mod passwords;
mod prefilled;
mod reauthenticate;
mod second_step;
mod sessions;
mod shared_apps;
mod sign_in;
mod sign_up;
mod uploads;

use tests::{Options, TestApp};

/// Who may open a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// Everyone.
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
const PAGES: &[(&str, Audience)] = &[
    ("/", Audience::SignedIn),
    ("/design", Audience::All),
    ("/sign-up", Audience::All),
    ("/sign-up/sent", Audience::All),
    ("/verify-email", Audience::All),
    ("/sign-in", Audience::All),
    ("/sign-in/second-factor", Audience::Pending),
    ("/sign-in/recovery-code", Audience::Pending),
    ("/sign-in/passkey", Audience::Onward),
    ("/sign-in/passkey/options", Audience::Sent),
    ("/sign-in/second-factor/passkey", Audience::Onward),
    ("/sign-in/second-factor/options", Audience::Sent),
    ("/sign-out", Audience::Sent),
    ("/forgot-password", Audience::All),
    ("/reset-password", Audience::All),
    ("/security", Audience::SignedIn),
    ("/security/step-up/options", Audience::Sent),
    ("/security/authenticator", Audience::SignedIn),
    ("/security/authenticator/remove", Audience::SignedIn),
    ("/security/passkeys/new", Audience::SignedIn),
    ("/security/passkeys/options", Audience::Sent),
    ("/security/passkeys/{passkey}", Audience::SignedIn),
    ("/security/passkeys/{passkey}/remove", Audience::SignedIn),
    ("/security/recovery-codes", Audience::SignedIn),
    ("/security/recovery-codes/download", Audience::Sent),
    ("/account", Audience::SignedIn),
    ("/usage", Audience::SignedIn),
    ("/account/password", Audience::SignedIn),
    ("/account/delete", Audience::SignedIn),
    ("/account/apps/{app_id}/accept", Audience::SignedIn),
    ("/account/apps/{app_id}/leave", Audience::SignedIn),
    ("/sessions", Audience::SignedIn),
    ("/sessions/{credential}/end", Audience::Sent),
    ("/sessions/end-others", Audience::Sent),
    ("/keys", Audience::SignedIn),
    ("/keys/new", Audience::SignedIn),
    ("/keys/access/{key}", Audience::SignedIn),
    ("/keys/access/{key}/delete", Audience::SignedIn),
    ("/keys/api/new", Audience::SignedIn),
    ("/keys/api/{key}", Audience::SignedIn),
    ("/keys/api/{key}/revoke", Audience::SignedIn),
    ("/activate", Audience::SignedIn),
    ("/cli/authorize/{authorization}", Audience::SignedIn),
    ("/cli/key", Audience::SignedIn),
    ("/new-app", Audience::SignedIn),
    ("/switch-app", Audience::SignedIn),
    ("/apps/{app}", Audience::SignedIn),
    ("/apps/{app}/collaborators", Audience::SignedIn),
    ("/apps/{app}/collaborators/{email}", Audience::SignedIn),
    ("/apps/{app}/collaborators/{email}/remove", Audience::SignedIn),
    ("/apps/{app}/settings", Audience::SignedIn),
    ("/apps/{app}/transfer", Audience::SignedIn),
    ("/apps/{app}/delete", Audience::SignedIn),
    ("/apps/{app}/activity", Audience::SignedIn),
    ("/apps/{app}/new-deployment", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/settings", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/upload", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/first-steps", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/check", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/releases/{label}/promote", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/releases/{label}", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/releases/{label}/contents", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/releases/{label}/edit", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/rollback", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/metrics", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/metrics/live", Audience::SignedIn),
    ("/apps/{app}/deployments/{deployment}/metrics/days.csv", Audience::SignedIn),
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
