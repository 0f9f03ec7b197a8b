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
    assert!(listed.out.contains("ada@example.com\tapp.create\tdemo\t"), "{}", listed.out);

    app.sign_up("bob").await;
    cli.write("bundle.jsbundle", "x");
    for command in [
        "release create bundle.jsbundle -a demo -d Staging -t 1.0.0",
        "release promote -a demo -d Staging --to Production --rollout 20",
        "rollout set 100 -a demo -d Production",
        "release edit v1 --mandatory -a demo -d Production",
        "collaborator add bob@example.com --role Viewer -a demo",
        "collaborator edit bob@example.com --role Developer -a demo",
        "deployment rename Staging Beta -a demo",
        "app rename demo example",
    ] {
        cli.expect(0, &command.split(' ').collect::<Vec<_>>()).await;
    }
    let listed = cli.expect(0, &["app", "activity", "--app", "example"]).await.out;
    let about: Vec<Vec<&str>> = listed.lines().map(|line| line.split('\t').skip(2).take(2).collect()).collect();
    assert_eq!(
        about,
        [
            ["app.rename", "demo, now example"],
            ["deployment.rename", "Staging, now Beta"],
            ["collaborator.update", "bob@example.com, Developer, before Viewer"],
            ["collaborator.add", "bob@example.com, Viewer"],
            ["release.update", "v1 of Production: mandatory"],
            ["release.update", "v1 of Production: rollout 100%"],
            ["release.promote", "v1 of Production, from v1 of Staging"],
            ["release.upload", "v1 of Staging, for 1.0.0"],
            ["app.create", "demo"],
        ]
    );
    cli.expect(0, &["app", "rename", "example", "demo"]).await;
    assert!(cli.json(&["app", "activity", "--app", "demo"]).await["events"].as_array().is_some_and(|events| !events.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_collaborator_has_to_accept_and_the_owner_is_told_how() {
    let app = TestApp::spawn().await;
    let cli = Cli::with_token(&app.base, app.sign_up("ada").await.token());
    let bob = Cli::with_token(&app.base, app.sign_up("bob").await.token());
    cli.expect(0, &["app", "create", "demo"]).await;
    let added = cli.expect(0, &["collaborator", "add", "bob@example.com", "-a", "demo"]).await;
    let command = "updraft collaborator accept ada@example.com:demo";
    assert!(added.err.contains("They see it as ada@example.com:demo until they accept it") && added.err.contains(command), "{}", added.err);
    let seen = async || bob.json(&["app", "list"]).await["apps"][0]["name"].take();
    assert_eq!(seen().await, "ada@example.com:demo");
    bob.expect(0, &["collaborator", "accept", "ada@example.com:demo"]).await;
    assert_eq!(seen().await, "demo");
    // Nothing waits any more, and for the owner nothing ever did: nothing is recorded.
    let events = async || cli.json(&["app", "activity", "-a", "demo"]).await["events"].as_array().unwrap().len();
    let before = events().await;
    for who in [&bob, &cli] {
        let again = who.expect(0, &["collaborator", "accept", "demo"]).await;
        assert!(again.err.contains("Nothing to accept: demo is among your apps already."), "{}", again.err);
    }
    assert_eq!(events().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_is_also_taken_as_an_option() {
    let app = TestApp::spawn().await;
    let cli = Cli::with_token(&app.base, app.sign_up("ada").await.token()).with("UPDRAFT_APP", "demo");
    cli.expect(0, &["app", "create", "demo"]).await;
    cli.expect(0, &["app", "create", "other"]).await;
    assert_eq!(cli.json(&["app", "show", "-a", "other"]).await["app"]["name"], "other");
    cli.expect(0, &["app", "rename", "-a", "other", "another"]).await;
    let (what, _) = cli.run(&["app", "rename", "-a", "demo", "another", "third"]).await.error(2);
    assert!(what.contains("named twice"), "{what}");
    // A variable is not enough to delete something.
    cli.run(&["app", "delete", "--yes"]).await.error(2);
    cli.expect(0, &["app", "delete", "-a", "another", "--yes"]).await;
    let cli = cli.with("UPDRAFT_DEPLOYMENT", "Production");
    assert_eq!(cli.json(&["deployment", "show", "-d", "Staging"]).await["deployment"]["name"], "Staging");
    assert_eq!(cli.json(&["deployment", "show"]).await["deployment"]["name"], "Production");
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
