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
    let strings = |key: &str| format!("<resources>\n  <string name=\"CodePushDeploymentKey\">{key}</string>\n</resources>\n");
    let plist = |key: &str| format!("<plist version=\"1.0\"><dict><key>CodePushDeploymentKey</key><string>{key}</string></dict></plist>");
    for (key, is_foreign) in
        [(other.as_str(), true), (own.as_str(), false), ("$(CODEPUSH_KEY)", false), ("YOUR_DEPLOYMENT_KEY", false), ("", false)]
    {
        cli.write(STRINGS, strings(key));
        cli.write("ios/sample/Info.plist", plist(key));
        for (platform, title, file) in [("android", "Android", STRINGS), ("ios", "iOS", "ios/sample/Info.plist")] {
            let found = release(platform, &["--dry-run"]).await;
            let expected = format!("the {title} app has another deployment key ({}… in {file}) than those of demo", &other[..4]);
            assert_eq!(found.len(), usize::from(is_foreign), "{found:?}");
            assert!(found.iter().all(|text| text.starts_with(&expected)), "{found:?}");
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
