//! `updraft app`.

use serde_json::json;
use tests::{Cli, TestApp};

#[tokio::test(flavor = "multi_thread")]
async fn apps_are_created_listed_renamed_and_deleted() {
    let app = TestApp::spawn().await;
    let cli = Cli::with_token(&app.base, app.sign_up("ada").await.token());

    assert_eq!(cli.json(&["app", "list"]).await, json!({ "apps": [] }));
    let created = cli.json(&["app", "create", "demo"]).await;
    assert_eq!(created["app"]["deployments"], json!(["Production", "Staging"]));
    let bare = cli.json(&["app", "create", "bare", "--no-deployments"]).await;
    assert_eq!(bare["app"]["deployments"], json!([]));
    let listed = cli.expect(0, &["app", "ls"]).await;
    let rows: Vec<&str> = listed.out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(rows, ["bare", "demo"]);

    cli.expect(0, &["app", "rename", "bare", "plain"]).await;
    assert_eq!(cli.json(&["app", "show", "plain"]).await["app"]["name"], "plain");
    let (what, next) = cli.run(&["app", "delete", "plain"]).await.error(2);
    assert!(what.contains("no terminal"), "{what}");
    assert!(next.contains("--yes"), "{next}");
    let deleted = cli.expect(0, &["app", "delete", "plain", "--yes"]).await;
    assert!(deleted.err.contains("Deleted the app plain."), "{}", deleted.err);
    assert_eq!(cli.json(&["app", "list"]).await["apps"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_app_is_reported_with_the_nearest_names() {
    let app = TestApp::spawn().await;
    let cli = Cli::with_token(&app.base, app.sign_up("ada").await.token());
    cli.expect(0, &["app", "create", "weather"]).await;
    let (what, next) = cli.run(&["app", "show", "wether"]).await.error(4);
    assert_eq!(what, "app wether was not found");
    assert!(next.starts_with("Did you mean weather?"), "{next}");
    let (_, next) = cli.run(&["app", "show", "qqq"]).await.error(4);
    assert!(next.contains("updraft app list"), "{next}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_name_is_a_conflict() {
    let app = TestApp::spawn().await;
    let cli = Cli::with_token(&app.base, app.sign_up("ada").await.token());
    cli.expect(0, &["app", "create", "demo"]).await;
    let (what, next) = cli.run(&["app", "create", "demo"]).await.error(5);
    assert!(what.contains("demo"), "{what}");
    assert!(next.contains("another name"), "{next}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_project_file_and_the_environment_name_the_app() {
    let app = TestApp::spawn().await;
    let cli = Cli::with_token(&app.base, app.sign_up("ada").await.token());
    for name in ["flag", "variable", "file"] {
        cli.expect(0, &["app", "create", name]).await;
    }
    let (_, next) = cli.run(&["app", "activity"]).await.error(2);
    assert!(next.contains("--app"), "{next}");
    cli.write("../updraft.toml", "app = \"file\"\n");
    assert_eq!(cli.json(&["app", "show"]).await["app"]["name"], "file");
    let cli = cli.with("UPDRAFT_APP", "variable");
    assert_eq!(cli.json(&["app", "show"]).await["app"]["name"], "variable");
    assert_eq!(cli.json(&["app", "show", "flag"]).await["app"]["name"], "flag");

    cli.write("updraft.toml", "app = \"file\"\nbase = 3\n");
    let (what, _) = cli.run(&["app", "show"]).await.error(2);
    assert!(what.contains("updraft.toml, line 2") && what.contains("base"), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_activity_says_who_changed_what() {
    let app = TestApp::spawn().await;
    let cli = Cli::with_token(&app.base, app.sign_up("ada").await.token());
    cli.expect(0, &["app", "create", "demo"]).await;
    let listed = cli.expect(0, &["app", "activity", "--app", "demo"]).await;
    assert!(listed.out.contains("ada@example.com\tapp.create"), "{}", listed.out);
    assert!(cli.json(&["app", "activity", "--app", "demo"]).await["events"].as_array().is_some_and(|events| !events.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_the_dashboard_are_opened_by_name() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let cli = Cli::with_token(&app.base, ada.token());
    let dashboard = app.state().settings.dashboard_url.clone();
    ada.create_app("my app").await;
    ada.upload("my%20app", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    for (arguments, page) in [
        (&["app", "my app"][..], "/apps/my%20app"),
        (&["deployment", "Staging", "-a", "my app"], "/apps/my%20app/deployments/Staging"),
        (&["release", "v7", "-a", "my app", "-d", "Staging"], "/apps/my%20app/deployments/Staging/releases/v7"),
        (&["release", "-a", "my app", "-d", "Staging"], "/apps/my%20app/deployments/Staging/releases/v1"),
        (&["keys"], "/keys"),
        (&[], ""),
    ] {
        let arguments: Vec<&str> = ["open", "--print"].into_iter().chain(arguments.iter().copied()).collect();
        assert_eq!(cli.expect(0, &arguments).await.out, format!("{dashboard}{page}\n"), "{arguments:?}");
    }
    cli.run(&["open", "deployment", "Staging"]).await.error(2);
}
