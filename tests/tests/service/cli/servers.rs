//! `updraft login --token`, `server` and where credentials are kept. The ceremonies in a browser are tested in the test binary `browser`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use tests::cli::{Browser, end};
use tests::cut::{BrokenNetwork, Cut};
use tests::people::PASSWORD;
use tests::wait::until;
use tests::{Cli, TestApp};
use tokio::io::AsyncWriteExt;

/// Without a keyring, as on a server.
fn cli() -> Cli {
    Cli::new().with("UPDRAFT_CREDENTIAL_STORE", "file")
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_are_used_side_by_side() {
    let (first, second) = (TestApp::spawn().await, TestApp::spawn().await);
    let (ada, bob) = (first.sign_up("ada").await, second.sign_up("bob").await);
    ada.create_app("first-app").await;
    bob.create_app("second-app").await;
    let cli = cli();
    for (name, app, client) in [("one", &first, &ada), ("two", &second, &bob)] {
        let arguments = ["login", "--server", &app.base, "--name", name, "--token", "-"];
        cli.run_with(&arguments, format!("{}\n", client.token()).as_bytes()).await.assert(0);
    }
    for (name, app) in [("one", "first-app"), ("two", "second-app")] {
        assert_eq!(cli.json(&["app", "list", "--server", name]).await["apps"][0]["name"], app);
    }
    cli.expect(0, &["server", "use", "two"]).await;
    assert_eq!(cli.json(&["whoami"]).await["account"]["email"], "bob@example.com");
    // The project's server is stronger than the default, and weaker than the option.
    cli.write("updraft.toml", "server = \"one\"\n");
    assert_eq!(cli.json(&["app", "list"]).await["apps"][0]["name"], "first-app");
    let chosen = cli.expect(0, &["server", "use", "two"]).await;
    assert!(chosen.err.contains("warning: here, the updraft.toml of this folder names"), "{}", chosen.err);
    assert_eq!(cli.json(&["app", "list", "--server", &second.base]).await["apps"][0]["name"], "second-app");
    cli.write("updraft.toml", "");

    let listed = cli.expect(0, &["server", "list"]).await;
    assert!(listed.out.contains(&first.base) && listed.out.contains(&second.base), "{}", listed.out);
    let removed = cli.expect(0, &["server", "remove", "two", "--yes"]).await;
    assert!(removed.err.contains("Commands use one now"), "{}", removed.err);
    assert!(!cli.expect(0, &["server", "list"]).await.out.contains(&second.base));
    cli.run(&["server", "use", "two"]).await.error(4);
    cli.run(&["app", "list", "--server", &second.base]).await.error(3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_verified_before_it_is_stored_and_only_its_owner_can_read_it() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let cli = cli();
    cli.run_with(&["login", "--server", &app.base, "--token", "-"], b"svc_ak_wrong\n").await.error(3);
    let file = cli.home().join(".config/updraft/credentials.toml");
    assert!(!file.exists());
    cli.run_with(&["login", "--server", &app.base, "--token", "-"], ada.token().as_bytes()).await.assert(0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let whoami = cli.json(&["whoami"]).await;
    assert_eq!(whoami["account"]["email"], "ada@example.com");
    assert_eq!(whoami["server"]["url"], app.base);
    assert_eq!(whoami["credential"], json!({ "kind": "access_key", "source": "updraft login", "expires": null }));
    let shown = cli.expect(0, &["whoami", "--verbose"]).await;
    assert!(!format!("{}{}", shown.out, shown.err).contains(ada.token()));
    cli.expect(0, &["logout"]).await;
    cli.run(&["whoami"]).await.error(3);
    // A key that was given by hand belongs to the user, not to the CLI.
    ada.get("/v1/account").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sign_ins_at_once_lose_neither_credential() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let cli = cli();
    let folder = cli.home().join(".config/updraft");
    fs::create_dir_all(&folder).unwrap();
    // The other command holds the lock while this one has its answer and would write.
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let mut command = cli.command(&["login", "--server", &app.base, "--token", "-"]);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(ada.token().as_bytes()).await.unwrap();
    until("the CLI waits for the lock", async || locks(child.id()?).contains("-> FLOCK").then_some(())).await;
    fs::write(folder.join("credentials.toml"), "[credentials]\n\"https://other.example\" = \"svc_ak_other\"\n").unwrap();
    drop(lock);
    end(child).await.assert(0);
    let stored = fs::read_to_string(folder.join("credentials.toml")).unwrap();
    assert!(stored.contains("svc_ak_other") && stored.contains(ada.token()));
}

/// The locks that a process holds or waits for (Linux).
fn locks(process: u32) -> String {
    let all = fs::read_to_string("/proc/locks").unwrap();
    all.lines().filter(|line| line.contains(&format!(" {process} "))).map(|line| line.to_owned() + "\n").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_out_that_the_server_does_not_hear_of_is_said_to_be_incomplete() {
    let network = BrokenNetwork::listen().await;
    let app = TestApp::spawn().await;
    network.lead_to(&app.base);
    app.sign_up("ada").await;
    let cli = cli();
    let browser = Browser::of(&cli);
    let cli = cli.with("UPDRAFT_BROWSER", &browser.program.display().to_string());
    let child = cli.command(&["login", "--server", &network.base]).spawn().unwrap();
    browser.approve(&app.anonymous(), "ada@example.com", PASSWORD).await;
    end(child).await.assert(0);

    network.cut_next("DELETE /v1/cli/devices/current", Cut::Answer);
    let (what, next) = cli.run(&["logout"]).await.error(6);
    assert!(what.contains("signed out here") && what.contains("still valid"), "{what}");
    assert!(next.contains("Sessions and devices"), "{next}");
    // Here it is forgotten in any case.
    cli.run(&["whoami"]).await.error(3);
    assert!(!fs::read_to_string(cli.home().join(".config/updraft/credentials.toml")).unwrap().contains("svc_"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_that_cannot_be_written_names_the_variable_to_use_instead() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let cli = cli();
    let file = cli.home().join("a-file");
    fs::write(&file, "").unwrap();
    let cli = cli.with("HOME", &file.display().to_string()).with("XDG_CONFIG_HOME", &file.join("config").display().to_string());
    let (what, next) = cli.run_with(&["login", "--server", &app.base, "--token", "-"], ada.token().as_bytes()).await.error(1);
    assert!(what.contains("cannot write"), "{what}");
    assert!(next.contains("UPDRAFT_TOKEN"), "{next}");
    // In CI, nothing is written.
    let cli = cli.with("UPDRAFT_URL", &app.base).with("UPDRAFT_TOKEN", ada.token());
    assert_eq!(cli.json(&["app", "list"]).await, json!({ "apps": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_a_sign_in_says_how_to_go_on() {
    let (_, next) = cli().run(&["login"]).await.error(2);
    assert!(next.contains("--server"), "{next}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_says_what_is_wrong() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let good = Cli::with_token(&app.base, ada.token());
    let printed = good.json(&["doctor"]).await;
    assert_eq!(printed["isOk"], true);
    let checks = &printed["checks"];
    assert!(checks.as_array().unwrap().iter().all(|check| check["status"] != "failed"), "{checks}");
    let bad = Cli::with_token(&app.base, "svc_ak_wrong").expect(3, &["doctor"]).await;
    assert!(bad.out.contains("credential") || bad.err.contains("credential"), "{}{}", bad.out, bad.err);
    Cli::with_token("http://127.0.0.1:9", "svc_ak_wrong").expect(6, &["doctor"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_created_on_the_dashboard() {
    let app = TestApp::spawn().await;
    let session = app.sign_up("ada").await;
    let cli = Cli::with_token(&app.base, session.token());
    for noun in ["access-key", "api-key"] {
        let ended = cli.run(&[noun, "create", "ci"]).await;
        ended.assert(1);
        assert!(format!("{}{}", ended.out, ended.err).contains(&format!("{}/dashboard/keys", app.base)), "{}{}", ended.out, ended.err);
    }
}
