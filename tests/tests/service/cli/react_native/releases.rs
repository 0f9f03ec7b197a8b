//! Both platforms of a React Native and of an Expo project, each released by one command.

use std::path::Path;

use serde_json::json;
use tests::TestApp;
use tokio::process::Command;
use xtask::paths;

use super::{MAGIC, files, project, user};

/// Releases both platforms of a project, and checks what devices get.
async fn both_platforms(command: &str, project_name: &str, version_sources: [&str; 2], has_sdk: bool) {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["demo-ios", "demo-android"] {
        ada.create_app(name).await;
    }
    let (cli, folder) = (user(&app, &ada), project(project_name));
    let place = folder.to_str().unwrap();
    cli.write("updraft.toml", "[ios]\napp = \"demo-ios\"\n\n[android]\napp = \"demo-android\"\n");
    let released = cli
        .json(&["release", command, "--project-dir", place, "--platform", "all", "--source-map-output", "maps/", "--description", "one"])
        .await;
    for (platform, bundle, assets, source) in [
        ("ios", "main.jsbundle", vec!["CodePush/assets/assets/dot.png"], version_sources[0]),
        ("android", "index.android.bundle", vec!["CodePush/drawable-mdpi/assets_dot.png", "CodePush/raw/keep.xml"], version_sources[1]),
    ] {
        let document = &released[platform];
        assert_eq!((&document["platform"], &document["targetVersion"]), (&json!(platform), &json!("1.2.3")));
        assert_eq!((&document["targetVersionSource"], &document["isSigned"]), (&json!(source), &json!(false)));
        assert_eq!((&document["app"], &document["deployment"]), (&json!(format!("demo-{platform}")), &json!("Production")));
        // What is about both platforms is printed once, and is in the JSON of each.
        let warnings = document["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        let (of_sdk, rest): (Vec<_>, Vec<_>) = warnings.partition(|text| text.starts_with("package.json has no CodePush SDK"));
        assert_eq!(of_sdk.len(), usize::from(!has_sdk), "{document}");
        // The project for React Native has no settings of the SDK.
        assert_eq!(rest.len(), if has_sdk { 2 } else { 0 }, "{document}");
        let title = if platform == "ios" { "iOS" } else { "Android" };
        assert!(rest.iter().all(|text| text.starts_with(&format!("the {title} app has no "))), "{document}");
        let release = &document["package"];
        assert_eq!((&release["label"], &release["appVersion"], &release["description"]), (&json!("v1"), &json!("1.2.3"), &json!("one")));
        let files = files(&app, release).await;
        let mut expected = assets.clone();
        expected.push(if platform == "ios" { "CodePush/main.jsbundle" } else { "CodePush/index.android.bundle" });
        expected.sort_unstable();
        assert_eq!(files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expected);
        let (_, bytecode) = files.iter().find(|(name, _)| name.ends_with(bundle)).unwrap();
        assert!(bytecode.starts_with(&MAGIC), "Hermes bytecode");
        // The map that was kept reads stack traces of what was released.
        let map = cli.project().join("maps").join(format!("{bundle}.map"));
        assert_eq!(document["sourceMap"], json!(format!("maps/{bundle}.map")));
        cli.write(bundle, bytecode);
        let trace = symbolicated(&project("react-native"), &cli.project().join(bundle), &map).await;
        assert!(trace.lines().count() > 0 && trace.lines().all(|line| line.contains("App.js:5")), "{trace}");
    }
    let left = std::fs::read_dir(cli.home().join("tmp")).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let left: Vec<_> = left.filter(|name| name.starts_with("updraft-")).collect();
    assert_eq!(left, Vec::<String>::new(), "work folders are deleted");
}

/// A stack trace of the place in the project's App.js that throws.
async fn symbolicated(project: &Path, bundle: &Path, map: &Path) -> String {
    let root = paths::root();
    let mut command = Command::new(paths::node(&root).unwrap());
    command.arg(root.join("tests/node/symbolicate.mjs")).args([project, bundle, map]).args(["App.js", "5"]).env_remove("NODE_OPTIONS");
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn react_native_in_one_command() {
    let ios = "MARKETING_VERSION of the target Sample in ios/Sample.xcodeproj/project.pbxproj";
    both_platforms("react-native", "react-native", [ios, "versionName in android/app/build.gradle"], true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expo_in_one_command() {
    both_platforms("expo", "expo", ["expo.version in app.json"; 2], false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_in_a_monorepo_has_its_modules_above_it() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let (cli, folder) = (user(&app, &ada), project("react-native").join("packages/app"));
    // What the app's own folder does not have is given.
    let place = ["--project-dir", folder.to_str().unwrap()];
    let missing = cli.run(&[&["release", "react-native", "--platform", "android", "-a", "demo"], &place[..]].concat()).await;
    let (what, next) = missing.error(2);
    assert!(what.contains("cannot determine the target version for Android") && next.contains("--target-version"), "{what} {next}");
    let command = ["release", "react-native", "--platform", "android", "-a", "demo", "-t", "^1.0.0", "--mandatory", "--output-dir", "out"];
    let released = cli.json(&[&command[..], &place].concat()).await;
    assert_eq!((&released["targetVersion"], &released["targetVersionSource"]), (&json!("^1.0.0"), &json!("--target-version")));
    assert_eq!(released["package"]["isMandatory"], true);
    let out = cli.project().join("out");
    assert!(std::fs::read(out.join("CodePush/index.android.bundle")).unwrap().starts_with(&MAGIC));
    assert!(out.join("index.android.bundle.map").is_file());
    // The same sources give the same package, which devices have already.
    let again = cli.json(&[&command[..8], &["--no-duplicate-release-error"], &place].concat()).await;
    assert!(again["package"].is_null() && again["warnings"][0].as_str().is_some_and(|text| text.contains("v1")), "{again}");
    // Another bundle of the whole app, compiled against the one that devices have. Its map reads its own stack traces.
    let minified = ["--base", "auto", "--extra-bundler-option=--minify=true", "--output-dir", "minified", "-t", "^1.0.0"];
    let second = cli.json(&[&command[..6], &minified, &place].concat()).await;
    assert_eq!((&second["base"], &second["package"]["label"]), (&json!({ "name": "v1", "isUsed": true, "reason": null }), &json!("v2")));
    let (bundle, map) = ("minified/CodePush/index.android.bundle", "minified/index.android.bundle.map");
    let trace = symbolicated(&project("react-native"), &cli.project().join(bundle), &cli.project().join(map)).await;
    assert!(trace.lines().count() > 0 && trace.lines().all(|line| line.contains("App.js:5")), "{trace}");
}
