//! The same project and options through `release-react` of code-push-cli 2.1.9.

use std::path::Path;

use serde_json::Value;
use tests::TestApp;
use tests::codepush_cli::CodePushCli;

use super::{MAGIC, files, project, user};

/// What `release-react` runs, where it expects it: 2.1.9 looks for a file that React Native has no longer.
fn bundler(project: &Path) -> String {
    let project = project.display().to_string();
    let project = Value::from(project);
    format!("process.chdir({project});\nrequire({project} + '/node_modules/react-native/cli.js').run();\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn release_react_gives_a_package_with_the_same_files() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["ours", "theirs"] {
        ada.create_app(name).await;
    }
    let folder = project("react-native");
    let reference = CodePushCli::signed_in(&app.base, ada.token()).await;
    for name in ["package.json", "index.js", "android/app/build.gradle"] {
        reference.write(name, std::fs::read(folder.join(name)).unwrap());
    }
    reference.write("node_modules/react-native/local-cli/cli.js", bundler(&folder));
    let map = reference.home().join("index.android.bundle.map").display().to_string();
    let command = ["release-react", "theirs", "android", "-d", "Production", "--development", "--sourcemapOutput", &map, "--des", "one"];
    reference.run(&command).await.assert(0);
    let (_, theirs) = newest(&app, &ada, "theirs").await;

    let cli = user(&app, &ada);
    let place = folder.to_str().unwrap();
    let command =
        ["release", "react-native", "--platform", "android", "-a", "ours", "--project-dir", place, "--development", "--description", "one"];
    cli.expect(0, &command).await;
    let (release, ours) = newest(&app, &ada, "ours").await;
    assert_eq!((release["appVersion"].as_str(), release["description"].as_str()), (Some("1.2.3"), Some("one")));
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs));
    for ((name, ours), (_, theirs)) in ours.iter().zip(&theirs) {
        if name.ends_with(".bundle") {
            // The only difference: 2.1.9 knows no Hermes, so devices compile its bundle at each start.
            assert!(ours.starts_with(&MAGIC) && !theirs.starts_with(&MAGIC));
        } else {
            assert_eq!(ours, theirs, "{name}");
        }
    }
    // Without Hermes, the bundle is the same, too. Devices are warned about.
    let ended = cli.run(&[&command[..], &["--no-hermes", "--output", "json"]].concat()).await.json();
    let warnings = ended["warnings"].as_array().unwrap();
    let is_plain = |text: &serde_json::Value| text.as_str().is_some_and(|text| text.starts_with("the bundle is plain JavaScript, but"));
    assert!(warnings.iter().any(is_plain), "{ended}");
    let (_, plain) = newest(&app, &ada, "ours").await;
    assert_eq!(plain, theirs);
}

/// The newest release of an app, and the files of its package.
async fn newest(app: &TestApp, client: &tests::Client, name: &str) -> (Value, Vec<(String, Vec<u8>)>) {
    let history = client.get(&format!("/v1/apps/{name}/deployments/Production/history")).await.assert(200);
    let release = history["history"].as_array().unwrap().last().unwrap().clone();
    let files = files(app, &release).await;
    (release, files)
}
