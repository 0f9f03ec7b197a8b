//! The deployment key in the native project, compared with those of the app that gets the release.

use serde_json::json;
use tests::TestApp;

use super::errors::with_packages;

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_app_is_warned_about_and_never_shown() {
    const STRINGS: &str = "android/app/src/main/res/values/strings.xml";
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["demo", "other"] {
        ada.create_app(name).await;
    }
    let (own, other) = (ada.deployment_key("demo", "Staging").await, ada.deployment_key("other", "Production").await);
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    let cli = cli.with("UPDRAFT_URL", &app.base).with("UPDRAFT_TOKEN", ada.token()).with("UPDRAFT_APP", "demo");
    let cli = cli.with("UPDRAFT_DEPLOYMENT", "Production");
    cli.write("android/gradle.properties", "hermesEnabled=false\n");
    cli.write("android/app/build.gradle", "");
    cli.write("ios/Podfile", ":hermes_enabled => false\n");
    let release = async |platform: &str, options: &[&str]| {
        let document = cli.json(&[&["release", "react-native", "--platform", platform, "-t", "1.0.0"], options].concat()).await;
        assert!(!document.to_string().contains(&other), "the whole key is shown");
        document["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let server = format!("<resources><string name=\"CodePushServerUrl\">{}</string></resources>", app.base);
    cli.write("android/app/src/main/res/values/server.xml", server);
    let strings = |key: &str| format!("<resources>\n  <string name=\"CodePushDeploymentKey\">{key}</string>\n</resources>\n");
    let plist = |key: &str| {
        format!(
            "<plist version=\"1.0\"><dict><key>CodePushServerURL</key><string>{}/</string>\
             <key>CodePushDeploymentKey</key><string>{key}</string></dict></plist>",
            app.base
        )
    };
    for (key, is_foreign) in [(other.as_str(), true), (own.as_str(), false), ("$(CODEPUSH_KEY)", false)] {
        cli.write(STRINGS, strings(key));
        cli.write("ios/sample/Info.plist", plist(key));
        for (platform, title, file) in [("android", "Android", STRINGS), ("ios", "iOS", "ios/sample/Info.plist")] {
            let found = release(platform, &["--dry-run"]).await;
            let expected = format!("the {title} app has another deployment key ({}… in {file}) than those of demo", &other[..4]);
            assert_eq!(found.len(), usize::from(is_foreign), "{found:?}");
            assert!(found.iter().all(|text| text.starts_with(&expected)), "{found:?}");
            assert!(found.iter().all(|text| text.contains(": it is that of Production of other, and its devices")), "{found:?}");
        }
    }
    // A key of the build file, of another source set, and of the release itself.
    let resource =
        |key: &str| format!("android {{\n  defaultConfig {{\n    resValue 'string', \"CodePushDeploymentKey\", '\"{key}\"'\n  }}\n}}\n");
    cli.write(STRINGS, strings(&other));
    cli.write("android/app/build.gradle", resource(&own));
    assert_eq!(release("android", &["--dry-run"]).await, Vec::<String>::new());
    cli.write("android/app/build.gradle", resource(&other));
    cli.write("android/app/src/release/res/values/keys.xml", strings(&own));
    assert_eq!(release("android", &["--dry-run"]).await, Vec::<String>::new());
    cli.write("android/app/src/release/res/values/keys.xml", "<resources/>");
    std::fs::remove_file(cli.project().join(STRINGS)).unwrap();
    let found = release("android", &[]).await;
    assert!(found.len() == 1 && found[0].contains("android/app/build.gradle"), "{found:?}");
    // The other app has that key, and who may not see keys is not warned.
    assert_eq!(release("android", &["--dry-run", "--app", "other"]).await, Vec::<String>::new());
    let bob = app.sign_up("bob").await;
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let cli = cli.with("UPDRAFT_TOKEN", bob.token());
    let document = cli.json(&["release", "react-native", "--platform", "android", "-t", "1.0.0", "--dry-run", "--app", "demo"]).await;
    assert_eq!(document["warnings"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_app_is_warned_about_with_its_deployment() {
    const STRINGS: &str = "android/app/src/main/res/values/strings.xml";
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["demo", "other", "third"] {
        ada.create_app(name).await;
    }
    let (other, third) = (ada.deployment_key("other", "Staging").await, ada.deployment_key("third", "Production").await);
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    let cli = cli.with("UPDRAFT_URL", &app.base).with("UPDRAFT_TOKEN", ada.token());
    let cli = cli.with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    cli.write("android/gradle.properties", "hermesEnabled=false\n");
    let nobody = "9x7k2m5q8w3e-nobody";
    let by_hand = "or by hand: `updraft deployment show -a demo -d Production` shows it. Then ship a new build";
    for (in_strings, in_gradle, expected) in [
        (
            &*other,
            None,
            format!(
                "another deployment key ({}… in {STRINGS}) than those of demo: it is that of Staging of other, and its devices do not get \
                 this release. Release to other, or write the key of demo with `updraft init` and ship a new build",
                &other[..4]
            ),
        ),
        (
            nobody,
            None,
            format!(
                "another deployment key (9x7k… in {STRINGS}) than those of demo: it belongs to no deployment of your apps on {}, and its \
                 devices do not get this release. Write the key of demo with `updraft init`, {by_hand}",
                app.base
            ),
        ),
        (
            nobody,
            Some(&*third),
            format!(
                "other deployment keys (9x7k… in {STRINGS}, {third}… in android/app/build.gradle) than those of demo: 9x7k… belongs to no \
                 deployment of your apps on {}, {third}… is that of Production of third, and its devices do not get this release. Release \
                 to the app of its key, or write the key of demo with `updraft init` and ship a new build",
                app.base,
                third = &third[..4]
            ),
        ),
    ] {
        let server = format!("<string name=\"CodePushServerUrl\">{}</string>", app.base);
        cli.write(STRINGS, format!("<resources>{server}<string name=\"CodePushDeploymentKey\">{in_strings}</string></resources>"));
        let resource =
            |key: &str| format!("android {{ defaultConfig {{\n resValue 'string', \"CodePushDeploymentKey\", '\"{key}\"'\n}} }}\n");
        cli.write("android/app/build.gradle", in_gradle.map(resource).unwrap_or_default());
        let document = cli.json(&["release", "react-native", "--platform", "android", "-t", "1.0.0", "--dry-run"]).await;
        assert_eq!(document["warnings"], json!([format!("the Android app has {expected}")]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_other_platform_is_never_a_reason_to_release_to_its_app() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["demo-ios", "demo-android", "mobile", "shop"] {
        ada.create_app(name).await;
    }
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    let cli = cli.with("UPDRAFT_URL", &app.base).with("UPDRAFT_TOKEN", ada.token()).with("UPDRAFT_DEPLOYMENT", "Production");
    cli.write("ios/Podfile", ":hermes_enabled => false\n");
    cli.write("android/app/build.gradle", "");
    let key = |app: &'static str, deployment: &'static str| ada.deployment_key(app, deployment);
    let by_table = "[ios]\napp = \"shop\"\n\n[android]\napp = \"mobile\"\n";
    for (toml, to, in_plist, in_strings, owner, is_of_other) in [
        (by_table, "shop", key("mobile", "Staging").await, String::new(), "Staging of mobile", true),
        ("", "demo-ios", key("demo-android", "Staging").await, String::new(), "Staging of demo-android", true),
        ("", "shop", key("mobile", "Staging").await, key("mobile", "Production").await, "Staging of mobile", true),
        ("", "shop", key("mobile", "Staging").await, key("shop", "Production").await, "Staging of mobile", false),
    ] {
        cli.write("updraft.toml", toml);
        let server = &app.base;
        let plist =
            format!("<key>CodePushServerURL</key><string>{server}</string><key>CodePushDeploymentKey</key><string>{in_plist}</string>");
        cli.write("ios/sample/Info.plist", format!("<plist version=\"1.0\"><dict>{plist}</dict></plist>"));
        let strings = format!("<resources><string name=\"CodePushDeploymentKey\">{in_strings}</string></resources>");
        cli.write("android/app/src/main/res/values/strings.xml", strings);
        let document = cli.json(&["release", "react-native", "--platform", "ios", "-t", "1.0.0", "--dry-run", "-a", to]).await;
        let what = format!(
            "the iOS app has another deployment key ({}… in ios/sample/Info.plist) than those of {to}: it is that of {owner}, and its \
             devices do not get this release. ",
            &in_plist[..4]
        );
        let other = owner.split_once(" of ").unwrap().1;
        let next = if is_of_other {
            format!(
                "{other} is the app of Android, so the iOS app has the key of the other platform. Write the key of {to} with `updraft init \
                 --platform ios`, or by hand: `updraft deployment show -a {to} -d Production` shows it. Then ship a new build"
            )
        } else {
            format!("Release to {other}, or write the key of {to} with `updraft init` and ship a new build")
        };
        assert_eq!(document["warnings"], json!([what + &next]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_with_which_devices_get_nothing_are_warned_about() {
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    cli.write("android/gradle.properties", "hermesEnabled=false\n");
    cli.write("android/app/build.gradle", "");
    cli.write("ios/Podfile", ":hermes_enabled => false\n");
    let warnings = async |platform: &str| {
        let document = cli.json(&["release", "react-native", "--platform", platform, "-t", "1.0.0", "--dry-run"]).await;
        document["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let without_strings = warnings("android").await;
    assert_eq!(without_strings.len(), 2, "an Android project without any file of strings lacks both: {without_strings:?}");
    assert!(without_strings[0].starts_with("the Android app has no deployment key (CodePushDeploymentKey)"), "{without_strings:?}");
    assert!(without_strings[1].starts_with("the Android app has no server address (CodePushServerUrl)"), "{without_strings:?}");
    // `updraft init` does not create the file.
    let told = ". Create android/app/src/main/res/values/strings.xml with what `updraft deployment show` prints, and ship a new build";
    assert!(without_strings.iter().all(|text| text.ends_with(told)), "{without_strings:?}");
    let (key, server) = (Some("a-real-1234567890"), Some("https://u.example/"));
    for (key, server, expected) in [
        (key, server, None),
        (Some("$(CODEPUSH_KEY)"), Some("$(SERVER)"), None),
        (None, server, Some("has no deployment key (CodePushDeploymentKey)")),
        (Some(""), server, Some("has an empty deployment key in")),
        (Some("DEPLOYMENT_KEY"), server, Some("has the placeholder DEPLOYMENT_KEY in")),
        (Some("YOUR_DEPLOYMENT_KEY"), server, Some("has the placeholder YOUR_DEPLOYMENT_KEY in")),
        (key, None, Some("has no server address (CodePushServer")),
        (key, Some("https://codepush.appcenter.ms/"), Some("has the address of App Center")),
        (key, Some("YOUR_SERVER_URL"), Some("has the placeholder YOUR_SERVER_URL as the server address in")),
    ] {
        let resource =
            |name: &str, value: Option<&str>| value.map(|value| format!("<string name=\"{name}\">{value}</string>")).unwrap_or_default();
        let entry =
            |name: &str, value: Option<&str>| value.map(|value| format!("<key>{name}</key><string>{value}</string>")).unwrap_or_default();
        let strings = [resource("CodePushDeploymentKey", key), resource("CodePushServerUrl", server)].concat();
        let plist = [entry("CodePushDeploymentKey", key), entry("CodePushServerURL", server)].concat();
        cli.write("android/app/src/main/res/values/strings.xml", format!("<resources>{strings}</resources>"));
        cli.write("ios/sample/Info.plist", format!("<plist version=\"1.0\"><dict>{plist}</dict></plist>"));
        for (platform, title) in [("android", "Android"), ("ios", "iOS")] {
            let found = warnings(platform).await;
            assert_eq!(found.len(), usize::from(expected.is_some()), "{key:?} {server:?}: {found:?}");
            if let Some(expected) = expected {
                assert!(found[0].starts_with(&format!("the {title} app {expected}")), "{found:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_another_server_is_warned_about() {
    const STRINGS: &str = "android/app/src/main/res/values/strings.xml";
    const PLIST: &str = "ios/sample/Info.plist";
    let cli = with_packages(&["react-native", "@react-native-community/cli"]).with("UPDRAFT_URL", "https://u.example");
    cli.write("android/gradle.properties", "hermesEnabled=false\n");
    cli.write("android/app/build.gradle", "");
    cli.write("ios/Podfile", ":hermes_enabled => false\n");
    for (server, is_other) in [
        ("https://old.example/", true),
        ("https://u.example:8443/", true),
        ("https://u.example/", false),
        ("https://u.example", false),
        ("https://u.example/v1/", false),
        ("$(SERVER)", false),
    ] {
        let key = "a-real-1234567890";
        let strings = format!("<string name=\"CodePushServerUrl\">{server}</string><string name=\"CodePushDeploymentKey\">{key}</string>");
        cli.write(STRINGS, format!("<resources>{strings}</resources>"));
        let plist = format!("<key>CodePushServerURL</key><string>{server}</string><key>CodePushDeploymentKey</key><string>{key}</string>");
        cli.write(PLIST, format!("<plist version=\"1.0\"><dict>{plist}</dict></plist>"));
        for (platform, title, file) in [("android", "Android", STRINGS), ("ios", "iOS", PLIST)] {
            let document = cli.json(&["release", "react-native", "--platform", platform, "-t", "1.0.0", "--dry-run"]).await;
            let found: Vec<&str> = document["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
            let expected = format!(
                "the {title} app has another server address ({server} in {file}) than https://u.example/: devices of that build ask that \
                 server, and do not get this release."
            );
            assert_eq!(found.len(), usize::from(is_other), "{server}: {found:?}");
            assert!(found.iter().all(|text| text.starts_with(&expected)), "{found:?}");
        }
    }
}
