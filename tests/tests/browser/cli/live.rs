//! What changes while a person watches: the progress of an upload, and counts that are shown again and again.

use serde_json::json;
use tests::cut::{BrokenNetwork, Cut};
use tests::old_server::OldServer;
use tests::random::Random;
use tests::tmux::Terminal;
use tests::{Cli, Client, Options, TestApp};
use tokio::net::TcpListener;

use super::open;

/// More than the system keeps in its buffers for a connection.
const BYTES: usize = 30_000_000;
const UPLOAD: &str = "POST /v1/apps/demo/deployments/Production/releases";

/// A terminal in which a release is being uploaded, through a network that stalls in the middle.
struct Uploading {
    ada: Client,
    network: BrokenNetwork,
    terminal: Terminal,
    // Both end when dropped.
    _app: TestApp,
    _cli: Cli,
}

impl Uploading {
    async fn start(command: &str) -> Self {
        let network = BrokenNetwork::listen().await;
        let app = TestApp::spawn_with(Options::default().with("UPLOAD_URL", &network.base)).await;
        network.lead_to(&app.base);
        let ada = app.sign_up("ada").await;
        ada.create_app("demo").await;
        let cli = Cli::with_token(&app.base, ada.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
        let mut random = Random::new(1);
        // Random, so that it does not become smaller.
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.bits().to_le_bytes()).take(BYTES / 8).flatten().collect();
        cli.write("bundle/main.jsbundle", bytes);
        network.cut_next(UPLOAD, Cut::Stall(BYTES / 2));
        let terminal = open(&cli, 100).await;
        terminal.enter(command);
        let screen = terminal.wait_for("the progress", |screen| screen.contains("Uploading [=") && screen.contains("left")).await;
        let line = screen.lines().find(|line| line.contains("Uploading")).unwrap();
        assert!(line.contains("=>") && line.contains(" MB/30.") && line.contains("/s "), "{line}");
        assert!(!terminal.shows_cursor() || line.chars().count() <= 100, "{line}");
        Self { ada, network, terminal, _app: app, _cli: cli }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_shows_its_progress_and_then_its_release() {
    let place = Uploading::start("updraft release create bundle --target-version 1.0.0").await;
    place.network.go_on();
    let screen = place.terminal.prompt().await;
    assert!(screen.contains("v1") && !screen.contains("Uploading") && !screen.contains("Waiting"), "{screen}");
    place.ada.get("/v1/apps/demo/deployments/Production/releases/v1").await.assert(200);
    place.terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_shows_what_it_would_import_before_it_asks() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let old = OldServer::start().await;
    let key = "AbC-old_key0123456789xyz";
    old.put_apps(&[("Weather", json!({ "bob@example.com": { "permission": "Collaborator" } }), &[("Production", key, json!([]))])]);
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    let terminal = open(&cli, 100).await;
    terminal.enter(&format!("updraft import codepush --from {} --key-file old-key", old.base));
    let screen = terminal.wait_for("the question", |screen| screen.contains("Import this into the account")).await;
    for line in
        ["Would be imported into the account ada@example.com:", "  Weather / Production: no releases", "  Weather: collaborators bob"]
    {
        assert!(screen.contains(line), "{line} in\n{screen}");
    }
    terminal.press("n");
    assert!(terminal.prompt().await.contains("not confirmed"));
    assert_eq!(ada.get("/v1/apps").await.assert(200)["apps"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_in_the_middle_of_an_upload_releases_nothing() {
    let place = Uploading::start("updraft release create bundle --target-version 1.0.0; echo \"code $?\"").await;
    place.terminal.press("C-c");
    let screen = place.terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    assert!(screen.contains("error: interrupted: the upload was not complete, so nothing was released"), "{screen}");
    assert!(screen.contains("next: Run the command again"), "{screen}");
    place.network.go_on();
    place.terminal.assert_restored().await;
    let listed = place.ada.get("/v1/apps/demo/deployments/Production/releases").await.assert(200);
    assert_eq!(listed["releases"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_after_an_upload_says_that_it_may_be_released() {
    let network = BrokenNetwork::listen().await;
    let app = TestApp::spawn_with(Options::default().with("UPLOAD_URL", &network.base)).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    // Nothing behind it answers.
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    network.lead_to(&format!("http://{}", silent.local_addr().unwrap()));
    let cli = Cli::with_token(&app.base, ada.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    cli.write("bundle/main.jsbundle", "x");
    let terminal = open(&cli, 100).await;
    terminal.enter("updraft release create bundle --target-version 1.0.0; echo \"code $?\"");
    terminal.wait_for("the upload", |screen| screen.contains("Waiting for the server to check it")).await;
    terminal.press("C-c");
    let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    assert!(screen.contains("interrupted: the package is sent, and the server may release it"), "{screen}");
    assert!(screen.contains("next: Run `updraft release list -a demo -d Production` to see whether it did."), "{screen}");
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_is_said_to_be_waited_for() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base = format!("http://{}", silent.local_addr().unwrap());
    let cli = Cli::with_token(&base, "svc_ak_x");
    let terminal = open(&cli, 100).await;
    terminal.enter("updraft app list; echo \"code $?\"");
    terminal.wait_for("the message", |screen| screen.contains(&format!("Waiting for {base} …"))).await;
    terminal.press("C-c");
    let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    assert!(!screen.contains("interrupted"), "nothing can have changed: {screen}");
    terminal.clear().await;
    terminal.enter("updraft app create demo; echo \"code $?\"");
    terminal.wait_for("the message", |screen| screen.contains("Waiting for")).await;
    terminal.press("C-c");
    let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    assert!(screen.contains("interrupted: the server may have done it"), "{screen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_shown_again_until_ctrl_c() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let key = ada.deployment_key("demo", "Production").await;
    let cli = Cli::with_token(&app.base, ada.token());
    let terminal = open(&cli, 100).await;
    terminal.enter("updraft metrics --watch --interval 1 --app demo --deployment Production; echo \"code $?\"");
    terminal.wait_for("the first table", |screen| screen.contains("No device has reported yet.")).await;
    for (device, active) in [("phone-1", "1"), ("phone-2", "2")] {
        let report = json!({ "deployment_key": key, "app_version": "2.3.1", "client_unique_id": device });
        app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.assert(200);
        let is_counted =
            |screen: &str| screen.lines().any(|line| line.starts_with("2.3.1") && line.split_whitespace().nth(1) == Some(active));
        let screen = terminal.wait_for("the count", is_counted).await;
        // In place: one table on the screen.
        assert_eq!(screen.matches("ACTIVE").count() + screen.matches("active").count(), 1, "{screen}");
        assert!(screen.contains("demo Production · every 1 s"), "{screen}");
    }
    terminal.press("C-c");
    terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    terminal.assert_restored().await;
}
