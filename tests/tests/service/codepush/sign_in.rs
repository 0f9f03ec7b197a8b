//! Signing in and out with the unmodified CLI: by its browser page, with a session, and after a key is gone.

use serde_json::json;
use tests::codepush_cli::CodePushCli;
use tests::program::Ended;
use tests::{Device, SessionOrigin, TestApp};

async fn list(cli: &CodePushCli) -> Ended {
    cli.execute("sessionList", &json!({ "format": "table" })).await
}

async fn end(cli: &CodePushCli, machine: &str) -> Ended {
    cli.execute("sessionRemove", &json!({ "machineName": machine })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_by_the_browser_ends_at_the_page_that_creates_a_key_and_can_be_undone() {
    let app = TestApp::spawn().await;
    let key = app.sign_up("ada").await;
    for path in ["", "/v1"] {
        let cli = CodePushCli::new();
        let address = format!("{}{path}", app.base);
        cli.program("xdg-open", "#!/bin/sh\nprintf '%s' \"$1\" > \"$HOME/opened.new\" && mv \"$HOME/opened.new\" \"$HOME/opened\"\n");
        let ended = cli.run_with(&["login", &address], &format!("{}\n", key.token())).await;
        ended.assert(0);
        assert!(ended.out.contains("Successfully logged-in."), "{}", ended.out);
        let opened =
            tests::wait::until("the CLI opens the browser", async || std::fs::read_to_string(cli.home().join("opened")).ok()).await;
        let page = opened.strip_prefix(app.base.as_str()).unwrap();
        assert!(page.starts_with(&format!("{path}/auth/login?hostname=")), "{page}");
        let redirected = app.anonymous().get(page).await;
        redirected.assert_status(303);
        assert!(redirected.header("location").starts_with(&format!("{}/dashboard/cli/key?hostname=", app.base)));
        // The key is no session of this machine. Signing out forgets it all the same.
        cli.run(&["logout"]).await.assert(0);
        assert!(!cli.session().exists());
    }
    key.get("/v1/authenticated").await.assert(200);
    // The same with an API key at the prompt.
    let cli = CodePushCli::new();
    cli.program("xdg-open", "#!/bin/sh\n");
    let key = app.api_key("ada", &["deploy"]).await;
    cli.run_with(&["login", &app.base], &format!("{}\n", key.token())).await.assert(0);
    cli.run(&["logout"]).await.assert(0);
    assert!(!cli.session().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_by_machine_and_ended() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let device = |name: &str| Device { name: Some(name.to_owned()), ..Device::default() };
    let here = app.open_session_of("ada", SessionOrigin::CliBrowser, "192.0.2.1", &device("workstation")).await;
    let other = app.open_session_of("ada", SessionOrigin::CliDevice, "192.0.2.2", &device("laptop")).await;
    let cli = CodePushCli::signed_in(&app.base, here.token()).await;
    let listed = list(&cli).await;
    listed.assert(0);
    assert!(listed.out.contains("workstation") && listed.out.contains("laptop"), "{}", listed.out);
    end(&cli, "laptop").await.assert(0);
    other.get("/v1/authenticated").await.refused(401);
    here.get("/v1/authenticated").await.assert(200);
    let again = end(&cli, "laptop").await;
    again.assert(1);
    assert_eq!(again.err.trim(), "[Error]  There are no sessions associated with \"laptop.\"");
    // A key sees no sessions, and ends none.
    let key = CodePushCli::signed_in(&app.base, app.named_key("ada", "of the build").await.token()).await;
    let listed = list(&key).await;
    listed.assert(0);
    assert!(!listed.out.contains("workstation"), "{}", listed.out);
    end(&key, "workstation").await.assert(1);
    here.get("/v1/authenticated").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_signs_the_cli_out() {
    let app = TestApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let key = app.named_key("ada", "of the build").await;
    let cli = CodePushCli::signed_in(&app.base, key.token()).await;
    owner.delete("/v1/access-keys/of%20the%20build").await.assert(204);
    let refused = cli.run(&["app", "ls"]).await;
    refused.assert(1);
    let told = "The session or access key being used is invalid, please run \"code-push login\" again.";
    assert!(refused.err.contains(told), "{}{}", refused.out, refused.err);
    assert!(!cli.session().exists());
}
