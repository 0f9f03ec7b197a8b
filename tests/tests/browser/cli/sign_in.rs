//! `updraft login` in a terminal, with the dashboard's side in a real browser.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tests::cli::Browser;
use tests::{Cli, InputMethod, TestApp, Visit};

use super::open;

/// A user with the stand-in browser; the test opens its address in the real one.
fn with_browser() -> (Cli, Browser) {
    let cli = Cli::new().with("UPDRAFT_CREDENTIAL_STORE", "file");
    let browser = Browser::of(&cli);
    let program = browser.program.display().to_string();
    (cli.with("UPDRAFT_BROWSER", &program), browser)
}

/// The server's URL with a hostname, as the browser sees it.
fn base(app: &TestApp) -> String {
    app.settings()["UPDRAFT_BASE_URL"].clone()
}

/// Opens a page in the browser, and signs in where it asks for that.
async fn arrive(visit: &Visit, address: &str, heading: &str) {
    visit.open(address).await;
    visit.type_password("ada").await;
    visit.is_at(heading).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_through_the_browser() {
    let app = TestApp::spawn_for_browsers().await;
    app.sign_up("ada").await;
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    let (cli, browser) = with_browser();
    let terminal = open(&cli, 100).await;
    terminal.enter(&format!("updraft login --server {}", base(&app)));
    arrive(&visit, &browser.opened().await, "Authorize Updraft CLI?").await;
    visit.press("Approve").await;
    visit.sees("You are signed in").await;
    let screen = terminal.wait_for("the CLI is signed in", |screen| screen.contains("Signed in")).await;
    assert!(screen.contains("ada@example.com"), "{screen}");
    terminal.assert_restored().await;

    let mode = fs::metadata(cli.home().join(".config/updraft/credentials.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(cli.json(&["whoami"]).await["account"]["email"], "ada@example.com");
    let devices = cli.json(&["device", "list"]).await;
    assert_eq!(devices["devices"][0]["clientName"], "Updraft CLI");
    assert_eq!(devices["devices"][0]["isCurrent"], true);

    cli.expect(0, &["logout"]).await;
    cli.run(&["whoami"]).await.error(3);
    assert!(!fs::read_to_string(cli.home().join(".config/updraft/credentials.toml")).unwrap().contains("svc_"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_denied() {
    let app = TestApp::spawn_for_browsers().await;
    app.sign_up("ada").await;
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    let (cli, browser) = with_browser();
    let terminal = open(&cli, 100).await;
    terminal.enter(&format!("updraft login --server {}; echo \"code $?\"", base(&app)));
    arrive(&visit, &browser.opened().await, "Authorize Updraft CLI?").await;
    visit.press("Deny").await;
    let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 1")).await;
    assert!(screen.contains("denied"), "{screen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_by_a_code() {
    let app = TestApp::spawn_for_browsers().await;
    app.sign_up("ada").await;
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    let cli = Cli::new().with("UPDRAFT_CREDENTIAL_STORE", "file");
    let terminal = open(&cli, 100).await;
    terminal.enter(&format!("updraft login --device --server {}", base(&app)));
    let code = |screen: &str| {
        let is_code = |word: &&str| {
            word.len() == 9 && word.as_bytes()[4] == b'-' && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
        };
        screen.split_whitespace().find(is_code).map(str::to_owned)
    };
    let screen = terminal.wait_for("the code", |screen| code(screen).is_some()).await;
    arrive(&visit, "/dashboard/activate", "Enter your code").await;
    visit.fill("userCode", &code(&screen).unwrap()).await;
    visit.press("Continue").await;
    visit.is_at("Authorize Updraft CLI?").await;
    visit.press("Approve").await;
    visit.is_at("CLI authorized").await;
    terminal.wait_for("the CLI is signed in", |screen| screen.contains("Signed in") && screen.contains("ada@example.com")).await;
    assert_eq!(cli.json(&["whoami"]).await["account"]["email"], "ada@example.com");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_while_waiting_for_the_browser() {
    let app = TestApp::spawn_for_browsers().await;
    let (cli, browser) = with_browser();
    let terminal = open(&cli, 100).await;
    terminal.enter(&format!("updraft login --server {}; echo \"code $?\"", app.base));
    browser.opened().await;
    terminal.press("C-c");
    terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    terminal.assert_restored().await;
}
