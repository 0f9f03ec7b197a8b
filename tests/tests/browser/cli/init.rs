//! `updraft init` in a terminal: its questions, and the changes that a person declines or accepts.

use std::fs;

use serde_json::json;
use tests::{Cli, TestApp};

use super::open;

const CONFIG: &str = "{ \"appId\": \"com.acme.demo\" }\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_new_app_is_created_and_the_change_is_declined_then_made() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("other").await;
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("package.json", json!({ "name": "@acme/weather", "dependencies": { "@capacitor/core": "7.0.0" } }).to_string());
    cli.write("capacitor.config.json", CONFIG);
    let config = || fs::read_to_string(cli.project().join("capacitor.config.json")).unwrap();
    let terminal = open(&cli, 100).await;

    terminal.enter("updraft init");
    // No app has the project's name: Enter must not choose that of another project.
    terminal.wait_for("the apps", |screen| screen.contains("Which app?") && screen.contains("❯ Create a new app")).await;
    terminal.press("Enter");
    // The name of the package is suggested.
    terminal.wait_for("the name", |screen| screen.contains("Name of the new app") && screen.contains("weather")).await;
    terminal.press("Enter");
    terminal.wait_for("the deployments", |screen| screen.contains("Which deployment?") && screen.contains("Staging")).await;
    terminal.press("Enter");
    let screen = terminal.wait_for("the change", |screen| screen.contains("Make this change?")).await;
    assert!(screen.contains("Created the app weather.") && screen.contains("+++ b/capacitor.config.json"), "{screen}");
    terminal.press("n");
    let screen = terminal.prompt().await;
    assert!(screen.contains("left alone"), "{screen}");
    assert_eq!(config(), CONFIG);
    assert!(fs::read_to_string(cli.project().join("updraft.toml")).unwrap().contains("app = \"weather\""));

    // App and deployment are known now: only the change is asked about.
    terminal.clear().await;
    terminal.enter("updraft init");
    let screen = terminal.wait_for("the change", |screen| screen.contains("Make this change?")).await;
    assert!(!screen.contains("Which app?"), "{screen}");
    terminal.press("y");
    let screen = terminal.prompt().await;
    assert!(screen.contains("is set up") && screen.contains("npx cap sync"), "{screen}");
    assert!(config().contains(&ada.deployment_key("weather", "Production").await));
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_whose_key_the_project_has_is_offered_first_and_a_wrong_name_is_asked_for_again() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["first", "weather", "theirs"] {
        ada.create_app(name).await;
    }
    let key = ada.deployment_key("theirs", "Staging").await;
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("package.json", json!({ "name": "weather", "dependencies": { "@capacitor/core": "7.0.0" } }).to_string());
    cli.write("capacitor.config.json", format!("{{ \"plugins\": {{ \"CodePush\": {{ \"IOS_DEPLOY_KEY\": \"{key}\" }} }} }}"));
    let terminal = open(&cli, 100).await;
    terminal.enter("updraft init; echo \"code $?\"");
    terminal.wait_for("the apps", |screen| screen.contains("Which app?") && screen.contains("❯ theirs")).await;
    terminal.press("Enter");
    terminal.wait_for("the deployments", |screen| screen.contains("Which deployment?") && screen.contains("❯ Staging")).await;
    terminal.press("Up");
    terminal.press("Enter");
    let screen = terminal.wait_for("the name", |screen| screen.contains("Name of the new deployment")).await;
    assert!(!screen.contains("(Production)") && !screen.contains("(Staging)"), "both exist: {screen}");
    for (name, said) in [("Production", "Production"), ("a/b", "name: must not")] {
        terminal.enter(name);
        let is_asked_again = |screen: &str| {
            let warned = screen.rsplit_once("warning: ").is_some_and(|(_, rest)| rest.contains(said));
            warned && screen.trim_end().lines().last().is_some_and(|line| line.contains("Name of the new deployment"))
        };
        let screen = terminal.wait_for("the question again", is_asked_again).await;
        assert!(!screen.contains("--deployment"), "{screen}");
    }
    terminal.enter("QA");
    terminal.wait_for("the change", |screen| screen.contains("Make this change?")).await;
    terminal.press("C-c");
    let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    assert!(screen.replace('\n', "").contains("interrupted: the deployment QA of theirs is created;"), "{screen}");
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_at_the_question_changes_nothing() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("capacitor.config.json", CONFIG);
    let terminal = open(&cli, 100).await;
    terminal.enter("updraft init --app demo --deployment Production; echo \"code $?\"");
    terminal.wait_for("the change", |screen| screen.contains("Make this change?")).await;
    terminal.press("C-c");
    let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    assert!(screen.contains("interrupted: updraft.toml is written, and no other file was changed"), "{screen}");
    assert_eq!(fs::read_to_string(cli.project().join("capacitor.config.json")).unwrap(), CONFIG);
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_platform_of_a_react_native_project_gets_its_app() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["demo-android", "demo-ios"] {
        ada.create_app(name).await;
    }
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("package.json", json!({ "name": "demo", "dependencies": { "react-native": "0.87.1" } }).to_string());
    cli.write("ios/Demo/Info.plist", "<plist version=\"1.0\">\n<dict>\n</dict>\n</plist>\n");
    cli.write("android/app/src/main/res/values/strings.xml", "<resources>\n</resources>\n");
    let terminal = open(&cli, 100).await;
    terminal.enter("updraft init; echo \"code $?\"");
    terminal.wait_for("the platforms", |screen| screen.contains("An update is for one platform")).await;
    terminal.press("Enter");
    // Each platform's own app is the one that Enter chooses.
    for platform in ["iOS", "Android"] {
        let asked = |screen: &str| screen.contains(&format!("Setting up {platform}")) && screen.contains("Which app?");
        terminal.wait_for("the apps", asked).await;
        terminal.press("Enter");
        if platform == "iOS" {
            terminal.wait_for("the deployments", |screen| screen.contains("Which deployment?")).await;
            terminal.press("Enter");
        }
        terminal.wait_for("the change", |screen| screen.contains("Make this change?")).await;
        terminal.press("y");
        terminal.wait_for("the end", |screen| screen.contains(&format!("of demo-{}.", platform.to_lowercase()))).await;
    }
    terminal.wait_for("the exit code", |screen| screen.contains("code 0")).await;
    let read = |path: &str| fs::read_to_string(cli.project().join(path)).unwrap();
    let expected = format!(
        "server = \"{}\"\ndeployment = \"Production\"\n\n[ios]\napp = \"demo-ios\"\n\n[android]\napp = \"demo-android\"\n",
        app.base
    );
    assert_eq!(read("updraft.toml"), expected);
    assert!(read("ios/Demo/Info.plist").contains(&ada.deployment_key("demo-ios", "Production").await));
    let strings = read("android/app/src/main/res/values/strings.xml");
    assert!(strings.contains(&ada.deployment_key("demo-android", "Production").await), "{strings}");
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn enter_never_takes_an_app_whose_key_the_other_platform_has() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["mobile", "sideline", "mobile-android", "mobile-ios"] {
        ada.create_app(name).await;
    }
    let cli = Cli::with_token(&app.base, ada.token());
    let strings = |key: &str| {
        let text = format!("<resources>\n<string name=\"CodePushDeploymentKey\">{key}</string>\n</resources>\n");
        cli.write("android/app/src/main/res/values/strings.xml", text);
    };
    let plist = |key: &str| {
        let entry = format!("<key>CodePushDeploymentKey</key>\n<string>{key}</string>\n");
        cli.write("ios/Mobile/Info.plist", format!("<plist version=\"1.0\">\n<dict>\n{entry}</dict>\n</plist>\n"));
    };
    let key = |name: &'static str| ada.deployment_key(name, "Staging");
    let terminal = open(&cli, 100).await;
    for (package, in_plist, in_strings, of_ios, of_android) in [
        // The key of each platform's own file.
        ("mobile", key("sideline").await, key("mobile").await, "sideline", "mobile"),
        // A key of the app for Android is in both files, and in that of iOS only.
        ("mobile", key("mobile-android").await, key("mobile-android").await, "mobile-ios", "mobile-android"),
        ("mobile", key("mobile-android").await, key("mobile").await, "mobile-ios", "mobile"),
        ("mobile", key("sideline").await, key("sideline").await, "mobile-ios", "mobile-android"),
        // Without a key for iOS, the app with the project's name is only that of Android.
        ("sideline", String::new(), key("sideline").await, "Create a new app…", "sideline"),
    ] {
        cli.write("package.json", json!({ "name": package, "dependencies": { "react-native": "0.87.1" } }).to_string());
        plist(&in_plist);
        strings(&in_strings);
        for (platform, name) in [("ios", of_ios), ("android", of_android)] {
            terminal.enter(&format!("updraft init --platform {platform}; echo \"code $?\""));
            let asked = |screen: &str| screen.contains("Which app?") && screen.contains("❯ ");
            let screen = terminal.wait_for("the apps", asked).await;
            assert!(screen.contains(&format!("❯ {name}\n")), "{name} for {platform}: {screen}");
            terminal.press("C-c");
            let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
            assert!(screen.contains("interrupted: nothing was changed"), "{screen}");
            terminal.clear().await;
        }
    }
    terminal.assert_restored().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_at_the_second_platform_says_what_the_first_one_has() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["Sample-android", "Sample-ios"] {
        ada.create_app(name).await;
    }
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("package.json", json!({ "name": "fresh", "dependencies": { "react-native": "0.87.1" } }).to_string());
    cli.write("ios/Fresh/Info.plist", "<plist version=\"1.0\">\n<dict>\n</dict>\n</plist>\n");
    cli.write("android/app/src/main/res/values/strings.xml", "<resources>\n</resources>\n");
    let terminal = open(&cli, 200).await;
    terminal.enter("updraft init; echo \"code $?\"");
    terminal.wait_for("the platforms", |screen| screen.contains("An update is for one platform")).await;
    terminal.press("C-c");
    let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    assert!(screen.contains("interrupted: nothing was changed") && screen.contains("next: Run the command again."), "{screen}");
    terminal.clear().await;
    terminal.enter("updraft init; echo \"code $?\"");
    terminal.wait_for("the platforms", |screen| screen.contains("An update is for one platform")).await;
    terminal.press("Enter");
    terminal.wait_for("the apps", |screen| screen.contains("❯ Create a new app")).await;
    terminal.press("Enter");
    terminal.wait_for("the name", |screen| screen.contains("Name of the new app") && screen.contains("fresh-ios")).await;
    terminal.press("Enter");
    terminal.wait_for("the deployments", |screen| screen.contains("Which deployment?")).await;
    terminal.press("Enter");
    terminal.wait_for("the change", |screen| screen.contains("Make this change?")).await;
    terminal.press("y");
    let asked = |screen: &str| screen.contains("Setting up Android") && screen.contains("❯ Create a new app");
    terminal.wait_for("the apps for Android", asked).await;
    terminal.press("C-c");
    let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    let said =
        "interrupted: the app fresh-ios is created; updraft.toml and ios/Fresh/Info.plist are written, and no other file was changed";
    assert!(screen.contains(said) && screen.contains("next: Run the command again."), "{screen}");

    // A run says only what it did itself.
    terminal.clear().await;
    terminal.enter("updraft init --platform android --app Sample-android; echo \"code $?\"");
    terminal.wait_for("the change", |screen| screen.contains("Make this change?")).await;
    terminal.press("C-c");
    let screen = terminal.wait_for("the exit code", |screen| screen.contains("code 130")).await;
    assert!(screen.contains("interrupted: updraft.toml is written, and no other file was changed"), "{screen}");
    terminal.assert_restored().await;
}
