//! What is missing or wrong in a project: one line what, one line what to do.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use tests::{Cli, TestApp};
use tokio::process::Command;
use xtask::paths;

use super::super::signing::with_keys;
use super::{project, with_tools};

/// A bundler that writes a plain bundle.
const BUNDLER: &str = "const fs = require('node:fs');\n\
    const option = (name) => process.argv[process.argv.indexOf(name) + 1];\n\
    fs.writeFileSync(option('--bundle-output'), 'console.log(1);\\n');\n\
    fs.writeFileSync(option('--sourcemap-output'), '{}');\n";

/// A user in a project that has these packages, and names an SDK.
pub(super) fn with_packages(packages: &[&str]) -> Cli {
    let cli = with_tools(Cli::new());
    let named = packages.iter().chain(&["react-native-code-push"]);
    let dependencies: serde_json::Map<_, _> = named.map(|name| ((*name).to_owned(), json!("1.0.0"))).collect();
    cli.write("package.json", json!({ "name": "sample", "dependencies": dependencies }).to_string());
    cli.write("index.js", "");
    for name in packages {
        let version = json!({ "name": name, "version": "0.87.1", "engines": { "node": ">= 22.11.0" } });
        cli.write(&format!("node_modules/{name}/package.json"), version.to_string());
    }
    cli.write("node_modules/react-native/cli.js", BUNDLER);
    cli
}

const RELEASE: [&str; 7] = ["release", "react-native", "--platform", "android", "-t", "1.0.0", "--dry-run"];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_named_with_what_to_do() {
    let complete = ["react-native", "@react-native-community/cli"];
    let (what, next) = with_tools(Cli::new()).run(&RELEASE).await.error(2);
    assert!(what.contains("package.json") && next.contains("--project-dir"), "{what} {next}");
    let cli = with_packages(&complete);
    std::fs::remove_dir_all(cli.project().join("node_modules/react-native")).unwrap();
    let (what, next) = cli.run(&RELEASE).await.error(1);
    assert!(what.contains("react-native is not installed") && next.contains("npm"), "{what} {next}");
    let (what, next) = with_packages(&complete[..1]).run(&RELEASE).await.error(1);
    assert!(what.contains("@react-native-community/cli is not installed") && next.contains("npm install"), "{what} {next}");
    let (what, next) = with_packages(&["react-native", "expo"]).run(&RELEASE).await.error(1);
    assert!(what.contains("has no bundler") && next.contains("updraft release expo"), "{what} {next}");
    let (what, next) = with_packages(&complete).run(&RELEASE).await.error(1);
    assert!(what.contains("the Hermes compiler of react-native 0.87.1 was not found") && next.contains("--no-hermes"), "{what} {next}");
    let cli = with_packages(&complete);
    std::fs::remove_file(cli.project().join("index.js")).unwrap();
    let (what, next) = cli.run(&[&RELEASE[..], &["--no-hermes"]].concat()).await.error(2);
    assert!(what.contains("index.android.js") && next.contains("--entry-file"), "{what} {next}");
    let (what, next) = cli.run(&[&RELEASE[..], &["--no-hermes", "-e", "src/none.js"]].concat()).await.error(2);
    assert!(what.contains("src/none.js") && next.contains("--entry-file"), "{what} {next}");
    let (what, next) = with_packages(&complete).run(&["release", "react-native", "--platform", "ios", "--dry-run"]).await.error(2);
    assert!(what.contains("cannot determine the target version for iOS") && next.contains("--target-version"), "{what} {next}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_of_the_other_platform_is_refused() {
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    cli.write("updraft.toml", "[ios]\napp = \"demo-ios\"\n\n[android]\napp = \"demo-android\"\n");
    let (what, next) = cli.run(&[&RELEASE[..], &["--app", "demo-ios"]].concat()).await.error(2);
    assert_eq!(what, "demo-ios is the app of the table [ios] in updraft.toml, and would get the bundle for Android");
    assert!(next.contains("--app"), "{next}");
    // A project that is named by its folder has its own file.
    cli.write("other/updraft.toml", "[ios]\napp = \"other-ios\"\n");
    let of_other = [&RELEASE[..], &["--project-dir", "other", "--app", "other-ios"]].concat();
    assert!(cli.run(&of_other).await.error(2).0.starts_with("other-ios is the app of the table [ios]"));
    let cli = cli.with("UPDRAFT_APP", "demo-ios");
    assert!(cli.run(&RELEASE).await.error(2).0.starts_with("demo-ios is the app of the table [ios]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_too_old_is_named() {
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    cli.write("bin/node", "#!/bin/sh\necho v18.9.1\n");
    let program = cli.project().join("bin/node");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let (what, next) = cli.with("PATH", &path).run(&RELEASE).await.error(1);
    assert_eq!(what, "Node.js v18.9.1 is too old: react-native 0.87.1 needs >= 22.11.0");
    assert!(next.contains("PATH"), "{next}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_that_is_not_for_hermes_is_warned_about() {
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    let document = cli.json(&[&RELEASE[..], &["--no-hermes"]].concat()).await;
    let warning = document["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("the bundle is plain JavaScript, but the app's builds use Hermes"), "{document}");
    cli.write("android/gradle.properties", "hermesEnabled=false\n");
    assert_eq!(cli.json(&RELEASE).await["warnings"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_the_apps_public_key_does_not_verify_is_warned_about() {
    let cli = with_keys(with_packages(&["react-native", "@react-native-community/cli"])).await;
    cli.write("android/gradle.properties", "hermesEnabled=false\n");
    cli.write("android/app/build.gradle", "");
    cli.write("ios/Podfile", ":hermes_enabled => false\n");
    let warnings = async |platform: &str, key: &[&str]| {
        let release = ["release", "react-native", "--platform", platform, "-t", "1.0.0", "--dry-run"];
        let document = cli.json(&[&release[..], key].concat()).await;
        let texts = document["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
        texts.filter(|text| text.contains("public key")).collect::<Vec<_>>()
    };
    let (own, other) = (["--sign-key", "private.pem"], ["--sign-key", "old-private.pem"]);
    // Signed before there is a key in the app: that is the order of the documentation.
    assert_eq!(warnings("android", &own).await, Vec::<String>::new());
    let pem = std::fs::read_to_string(cli.project().join("public.pem")).unwrap();
    let strings =
        |key: &str| format!("<resources>\n  <string moduleConfig=\"true\" name=\"CodePushPublicKey\">{key}</string>\n</resources>\n");
    let plist = |key: &str| format!("<plist version=\"1.0\"><dict><key>CodePushPublicKey</key><string>{key}</string></dict></plist>");
    // Android joins the lines, and people write them in both ways.
    for key in [pem.clone(), pem.replace('\n', "\\n")] {
        cli.write("android/app/src/main/res/values/strings.xml", strings(&key));
        assert_eq!(warnings("android", &own).await, Vec::<String>::new(), "{key}");
    }
    // The SDK for iOS does not.
    cli.write("ios/sample/Info.plist", plist(&pem.replace('\n', "")));
    let joined = warnings("ios", &own).await;
    assert!(joined.iter().any(|text| text.contains("with the line ends of its PEM file")), "{joined:?}");
    cli.write("ios/sample/Info.plist", plist(&pem));
    for (platform, title, file) in
        [("android", "Android", "android/app/src/main/res/values/strings.xml"), ("ios", "iOS", "ios/sample/Info.plist")]
    {
        let of_key = |found: Vec<String>| found.into_iter().filter(|text| text.contains("public key")).collect::<Vec<_>>();
        assert_eq!(of_key(warnings(platform, &own).await), Vec::<String>::new());
        let unsigned =
            format!("the {title} app has a public key ({file}), and this release is not signed: devices refuse it. Add --sign-key");
        assert_eq!(of_key(warnings(platform, &[]).await), [unsigned]);
        let found = of_key(warnings(platform, &other).await);
        assert!(found[0].starts_with(&format!("the {title} app has another public key ({file})")), "{found:?}");
    }
    cli.write("android/app/src/main/res/values/strings.xml", strings("-----BEGIN PUBLIC KEY-----AAAA-----END PUBLIC KEY-----"));
    for key in [&own[..], &[]] {
        assert!(warnings("android", key).await[0].contains("devices refuse every release"), "{key:?}");
    }
    // What is no public key at all is called what it is.
    let private = std::fs::read_to_string(cli.project().join("private.pem")).unwrap();
    for (key, said, told) in [
        (private.as_str(), "is a private key", "it has leaked: make new keys (docs/signing.md)"),
        ("-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----", "is in the old format of RSA keys (PKCS#1)", ""),
        ("YOUR_PUBLIC_KEY", "is only a placeholder", ""),
        ("", "is empty, which the SDK on iOS takes for a key", ""),
    ] {
        cli.write("android/app/src/main/res/values/strings.xml", strings(key));
        cli.write("ios/sample/Info.plist", plist(key));
        for (platform, title) in [("android", "Android"), ("ios", "iOS")] {
            let found = warnings(platform, &own).await;
            // The SDK for Android ignores an empty one.
            assert_eq!(found.len(), usize::from(platform == "ios" || !key.is_empty()), "{found:?}");
            for text in found {
                assert!(text.starts_with(&format!("the public key of the {title} app (")) && text.contains(&format!(") {said}")), "{text}");
                assert!(text.contains("openssl rsa -in private.pem -pubout") && text.contains("docs/signing.md"), "{text}");
                assert!(text.contains(told) && !text.contains("AAAA"), "{text}");
            }
        }
    }
    // What Gradle inserts is not known here.
    cli.write("android/app/src/main/res/values/strings.xml", strings("@string/key"));
    assert_eq!(warnings("android", &[]).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_without_an_sdk_is_warned_about() {
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    cli.write("android/gradle.properties", "hermesEnabled=false\n");
    assert_eq!(cli.json(&RELEASE).await["warnings"], json!([]));
    cli.write("package.json", json!({ "name": "sample", "dependencies": { "react-native": "1", "code-push-cli": "1" } }).to_string());
    let printed = cli.expect(0, &RELEASE).await;
    assert!(printed.err.contains("warning: package.json has no CodePush SDK"), "{}", printed.err);
    let document = cli.json(&RELEASE).await;
    let warnings = document["warnings"].as_array().unwrap();
    assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().contains("no device gets this release"), "{document}");
    // In a monorepo, another package can name it.
    cli.write("../node_modules/@acme/react-native-code-push/package.json", "{}");
    assert_eq!(cli.json(&RELEASE).await["warnings"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_that_is_no_bytecode_is_refused_before_the_build() {
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    cli.write("node_modules/react-native/cli.js", "require('node:fs').writeFileSync('it-was-built', '');\n");
    cli.write("package.zip", "PK\u{3}\u{4}");
    cli.write("text", "text");
    for (file, said, told) in
        [("package.zip", "a ZIP archive, not Hermes bytecode", "Unpack it"), ("text", "not Hermes bytecode", "the bundle itself")]
    {
        let (what, next) = cli.run(&[&RELEASE[..], &["--base", file]].concat()).await.error(2);
        assert_eq!(what, format!("{file} is {said}"));
        assert!(next.contains(told) && next.contains("CodePush/index.android.bundle"), "{next}");
    }
    for (file, said) in [("nowhere", "nowhere does not exist"), ("node_modules", "node_modules is not a file")] {
        assert_eq!(cli.run(&[&RELEASE[..], &["--base", file]].concat()).await.error(2).0, said);
    }
    assert!(!cli.project().join("it-was-built").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_app_for_a_project_with_both_platforms_is_warned_about() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    let cli = cli.with("UPDRAFT_URL", &app.base).with("UPDRAFT_TOKEN", ada.token());
    cli.write("updraft.toml", "app = \"demo\"\n");
    // A dry run without a deployment fails before the build, as the release.
    for options in [&RELEASE[..], &RELEASE[..6]] {
        assert_eq!(cli.run(options).await.error(2).0, "no deployment is given");
    }
    let cli = cli.with("UPDRAFT_DEPLOYMENT", "Production");
    cli.write("android/gradle.properties", "hermesEnabled=false\n");
    let shared = |document: &serde_json::Value| document["warnings"].to_string().contains("one app for iOS and Android");
    assert!(!shared(&cli.json(&RELEASE).await), "there is one platform");
    cli.write("ios/Podfile", "");
    assert!(shared(&cli.json(&RELEASE).await));
    cli.write("updraft.toml", "[android]\napp = \"demo\"\n");
    assert!(!shared(&cli.json(&RELEASE).await));
    // Both platforms, named one by one, are both.
    cli.write("updraft.toml", "app = \"demo\"\n");
    let (what, _) = cli.run(&["release", "react-native", "--platform", "ios,android", "-t", "1.0.0", "--dry-run"]).await.error(2);
    assert!(what.starts_with("both platforms would be released to demo"), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn native_modules_that_the_binaries_lack_are_warned_about() {
    let cli = with_packages(&["react-native", "@react-native-community/cli", "react-native-svg"]);
    let module = |name: &str, version: &str| {
        cli.write(&format!("node_modules/{name}/android/build.gradle"), "");
        cli.write(&format!("node_modules/{name}/package.json"), json!({ "name": name, "version": version }).to_string());
    };
    module("react-native-svg", "15.1.0");
    let (what, next) = cli.run(&["fingerprint", "check", "--platform", "android", "--app-version", "1.0.0"]).await.error(2);
    assert!(what.contains("updraft-fingerprint.json") && next.contains("updraft fingerprint write"), "{what} {next}");
    cli.expect(0, &["fingerprint", "write", "--platform", "android", "--app-version", "1.0.0"]).await;
    let release = [&RELEASE[..], &["--no-hermes"]].concat();
    let of_binaries = |document: &serde_json::Value| {
        let warnings = document["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
        warnings.filter(|text| text.contains("binaries")).collect::<Vec<_>>()
    };
    assert_eq!(of_binaries(&cli.json(&release).await), Vec::<String>::new());
    cli.expect(0, &["fingerprint", "check", "--platform", "android", "--app-version", "1.0.0"]).await;
    // The project goes on, the binaries stay.
    module("react-native-svg", "15.2.0");
    module("react-native-camera", "4.0.0");
    let dependencies =
        json!({ "react-native": "1", "@react-native-community/cli": "1", "react-native-svg": "1", "react-native-camera": "1" });
    cli.write("package.json", json!({ "name": "sample", "dependencies": dependencies }).to_string());
    let warnings = of_binaries(&cli.json(&release).await);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in ["the Android binaries of 1.0.0 were built with", "react-native-svg 15.1.0, now 15.2.0", "without react-native-camera"] {
        assert!(warnings[0].contains(part), "{part} in {warnings:?}");
    }
    let ended = cli.expect(1, &["fingerprint", "check", "--platform", "android", "--app-version", "1.0.0"]).await;
    assert!(ended.out.contains("react-native-svg") && ended.out.contains("react-native-camera"), "{ended:?}");
    // Another target: nothing is known about its binaries.
    let other = ["release", "react-native", "--platform", "android", "-t", "2.0.0", "--dry-run", "--no-hermes"];
    assert_eq!(of_binaries(&cli.json(&other).await), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_sdk_that_the_binaries_have_and_the_project_lacks_is_warned_about_once() {
    const SDK: &str = "react-native-code-push";
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    cli.write("ios/Podfile", "");
    cli.write("android/app/build.gradle", "");
    for (file, text) in
        [("package.json", "{ \"version\": \"9.0.1\" }"), ("android/build.gradle", ""), ("react-native-code-push.podspec", "")]
    {
        cli.write(&format!("node_modules/{SDK}/{file}"), text);
    }
    cli.expect(0, &["fingerprint", "write", "--platform", "all", "--app-version", "1.0.0"]).await;
    std::fs::remove_dir_all(cli.project().join("node_modules").join(SDK)).unwrap();
    let release = ["release", "react-native", "--platform", "all", "-t", "1.0.0", "--dry-run", "--no-hermes"];
    let lines = async || {
        let printed = cli.expect(0, &release).await.err;
        let about = |line: &&str| line.contains("SDK") || line.contains(SDK);
        printed.lines().filter(about).map(str::to_owned).collect::<Vec<_>>()
    };
    // It is in package.json, and nothing else is known.
    let expected = "warning: react-native-code-push is in package.json, and not installed, so the binaries were not compared with it. Run \
                    `npm install` in the project.";
    assert_eq!(lines().await, [expected]);
    let document = cli.json(&release).await;
    assert!(["ios", "android"].iter().all(|platform| document[platform]["warnings"].to_string().contains("not installed")), "{document}");

    // Removed: the app in the hands of people still asks, so that nobody gets the release is wrong.
    let dependencies = json!({ "react-native": "1", "@react-native-community/cli": "1" });
    cli.write("package.json", json!({ "name": "sample", "dependencies": dependencies }).to_string());
    let found = lines().await;
    assert_eq!(found.len(), 2, "{found:?}");
    for (line, title) in found.iter().zip(["iOS", "Android"]) {
        let expected = format!(
            "warning: the {title} binaries of 1.0.0 were built with react-native-code-push 9.0.1, which the project no longer has: a device \
             that gets an update without the SDK takes no further updates. Install the SDK again before you release"
        );
        assert_eq!(line, &expected);
    }
    // As for `updraft doctor`, one that is only installed counts.
    let installed = cli.project().join("node_modules").join(SDK);
    for (file, text) in [("package.json", "{ \"version\": \"9.0.1\" }"), ("android/build.gradle", "")] {
        cli.write(&format!("node_modules/{SDK}/{file}"), text);
    }
    assert_eq!(lines().await, Vec::<String>::new());
    let check = ["fingerprint", "check", "--platform", "android", "--app-version", "1.0.0"];
    let said = cli.expect(0, &check).await.err;
    assert!(
        said.contains("react-native-code-push is not in package.json, and still installed: it counts as part of the project."),
        "{said}"
    );
    assert_eq!(cli.json(&check).await["isEqual"], true);
    // It is recorded as it is checked.
    let written = cli.json(&["fingerprint", "write", "--platform", "android", "--app-version", "1.0.0"]).await;
    assert_eq!(written["platforms"]["android"]["modules"], json!({ SDK: "9.0.1" }));
    assert_eq!((&written["isChanged"], &written["warnings"]), (&json!(false), &json!([])));
    std::fs::remove_dir_all(installed).unwrap();
    let ended = cli.expect(1, &check).await;
    assert_eq!(ended.out, "Android\t1.0.0\tremoved\treact-native-code-push\t9.0.1\t-\n");
    std::fs::remove_file(cli.project().join("updraft-fingerprint.json")).unwrap();
    let found = lines().await;
    assert!(found.len() == 1 && found[0].contains("no device gets this release"), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_without_an_app_is_named() {
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    cli.write("android/gradle.properties", "hermesEnabled=false\n");
    cli.write("ios/Podfile", ":hermes_enabled => false\n");
    let both = ["release", "react-native", "--platform", "all", "-t", "1.0.0"];
    let (what, next) = cli.run(&both).await.error(2);
    assert_eq!(what, "no app is given for iOS and Android");
    assert_eq!(next, "Run `updraft init`, or add --app-ios NAME --app-android NAME.");
    cli.write("updraft.toml", "deployment = \"Production\"\n\n[ios]\napp = \"demo-ios\"\n");
    let said = "no app is given for Android: the table [android] in updraft.toml is missing";
    for platform in ["all", "android"] {
        let (what, next) = cli.run(&["release", "react-native", "--platform", platform, "-t", "1.0.0"]).await.error(2);
        assert_eq!(what, said);
        assert_eq!(next, "Run `updraft init --platform android`, or add --app-android NAME.");
    }
    // A dry run fails as the release would: the other platform is set up.
    let (what, next) = cli.run(&[&both[..], &["--dry-run"]].concat()).await.error(2);
    assert_eq!(what, format!("Android would not be released: {said}"));
    assert_eq!(next, "Run `updraft init --platform android`, or add --app-android NAME.");
    let printed = cli.expect(0, &RELEASE).await.err;
    assert!(printed.contains("No app is given for Android: the table [android] in updraft.toml is missing. Run `updraft"), "{printed}");
    // Without any, a run for one platform takes every app.
    cli.write("updraft.toml", "deployment = \"Production\"\n");
    assert_eq!(cli.run(&["release", "react-native", "--platform", "ios", "-t", "1.0.0"]).await.error(2).0, "no app is given");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_code_of_packages_gets_neither_credential_nor_key() {
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    let script = "const { privateKey } = require('node:crypto').generateKeyPairSync('rsa', { modulusLength: 2048 });\
        process.stdout.write(privateKey.export({ type: 'pkcs8', format: 'pem' }));";
    let key = Command::new(paths::node(&paths::root()).unwrap()).args(["-e", script]).output().await.unwrap();
    assert!(key.status.success());
    let cli = cli.with("UPDRAFT_TOKEN", "a-credential").with("SIGN_KEY", &String::from_utf8(key.stdout).unwrap());
    cli.write("node_modules/react-native/cli.js", format!("{BUNDLER}fs.writeFileSync('environment', JSON.stringify(process.env));\n"));
    let ended = cli.expect(0, &[&RELEASE[..], &["--no-hermes", "--sign-key", "env:SIGN_KEY"]].concat()).await;
    assert!(ended.out.contains("Signed:\tyes\n"), "{}", ended.out);
    let seen: serde_json::Value = serde_json::from_slice(&std::fs::read(cli.project().join("environment")).unwrap()).unwrap();
    assert!(
        seen["UPDRAFT_TOKEN"].is_null() && seen["SIGN_KEY"].is_null() && seen["PATH"].is_string(),
        "the names of what it gets: {:?}",
        names(&seen)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_source_map_is_lost() {
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    let both = ["release", "react-native", "--platform", "all", "-t", "1.0.0", "--no-hermes", "--dry-run"];
    let document = cli.json(&[&both[..], &["-b", "app.bundle", "--source-map-output", "maps/"]].concat()).await;
    for platform in ["ios", "android"] {
        let place = format!("maps/{platform}/app.bundle.map");
        assert_eq!(document[platform]["sourceMap"], place);
        assert!(cli.project().join(place).is_file());
    }
    let alone = [&RELEASE[..], &["--no-hermes"]].concat();
    for (release, place, package) in
        [(&alone[..], "build/CodePush/", "build/CodePush"), (&both, "build/ios/CodePush", "build/ios/CodePush")]
    {
        let ended = cli.run(&[release, &["--output-dir", "build", "--source-map-output", place]].concat()).await;
        let (what, next) = ended.error(2);
        assert_eq!(what, format!("{package} is the folder of a package, which never has a source map"));
        assert!(next.contains("--source-map-output") && !cli.project().join("build").exists(), "{next}");
    }
    let document = cli.json(&[&alone[..], &["--output-dir", "build", "--source-map-output", "build/"]].concat()).await;
    assert!(cli.project().join(document["sourceMap"].as_str().unwrap()).is_file(), "{document}");
}

fn names(environment: &serde_json::Value) -> Vec<&String> {
    environment.as_object().unwrap().keys().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bundler_is_told_to_use_no_cache_and_no_development_code() {
    let script = format!("{BUNDLER}fs.writeFileSync('arguments', JSON.stringify(process.argv.slice(2)));\n");
    for (framework, command, program, packages) in [
        ("react-native", "bundle", "node_modules/react-native/cli.js", &["react-native", "@react-native-community/cli"]),
        ("expo", "export:embed", "node_modules/expo/bin/cli", &["react-native", "expo"]),
    ] {
        let cli = with_packages(packages);
        cli.write(program, &script);
        cli.write("app.json", "{ \"expo\": { \"name\": \"sample\" } }");
        cli.json(&["release", framework, "--platform", "android", "-t", "1.0.0", "--dry-run", "--no-hermes"]).await;
        let told: Vec<String> = serde_json::from_slice(&std::fs::read(cli.project().join("arguments")).unwrap()).unwrap();
        assert_eq!(told[0], command);
        assert_eq!(told.iter().filter(|option| *option == "--reset-cache").count(), 1, "{told:?}");
        let pairs = [["--platform", "android"], ["--dev", "false"], ["--entry-file", "index.js"]];
        assert!(pairs.iter().all(|pair| told.windows(2).any(|words| words == pair)), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_of_the_whole_project_is_that_of_the_platform_without_a_table() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    for name in ["demo", "demo-ios"] {
        ada.create_app(name).await;
    }
    let cli = with_packages(&["react-native", "@react-native-community/cli"]);
    let cli = cli.with("UPDRAFT_URL", &app.base).with("UPDRAFT_TOKEN", ada.token());
    let strings = |key: &str| {
        let server = format!("<string name=\"CodePushServerUrl\">{}/</string>", app.base);
        let text = format!("<resources>{server}<string name=\"CodePushDeploymentKey\">{key}</string></resources>");
        cli.write("android/app/src/main/res/values/strings.xml", text);
    };
    let plist = format!(
        "<plist version=\"1.0\"><dict><key>LSRequiresIPhoneOS</key><true/><key>CodePushServerURL</key><string>{}/</string>\
         <key>CodePushDeploymentKey</key><string>{}</string></dict></plist>",
        app.base,
        ada.deployment_key("demo-ios", "Production").await
    );
    cli.write("ios/sample/Info.plist", plist);
    cli.write("android/gradle.properties", "hermesEnabled=false\n");
    cli.write("android/app/build.gradle", "");
    let checks = async |code: i32, name: &str| {
        let printed: serde_json::Value = serde_json::from_str(&cli.expect(code, &["doctor", "--output", "json"]).await.out).unwrap();
        let found = printed["checks"].as_array().unwrap().iter().filter(|check| check["check"] == name);
        found.map(|check| format!("{}: {}", check["status"].as_str().unwrap(), check["text"].as_str().unwrap())).collect::<Vec<_>>()
    };
    let release = [&RELEASE[..], &["--no-hermes"]].concat();
    let toml =
        |app: &str| cli.write("updraft.toml", format!("app = \"{app}\"\ndeployment = \"Production\"\n\n[ios]\napp = \"demo-ios\"\n"));
    toml("demo");
    strings(&ada.deployment_key("demo", "Production").await);
    let document = cli.json(&release).await;
    assert_eq!((&document["app"], &document["warnings"]), (&json!("demo"), &json!([])));
    assert_eq!(checks(0, "app").await, ["ok: demo-ios (iOS)", "ok: demo (Android)"]);
    strings(&ada.deployment_key("demo-ios", "Production").await);
    assert_eq!(cli.json(&release).await["warnings"].as_array().unwrap().len(), 1);
    let found = checks(1, "sdk").await.concat();
    assert!(found.contains("than that of Production of demo: it is that of Production of demo-ios"), "{found}");

    // The app of iOS is refused for Android.
    toml("demo-ios");
    let (what, _) = cli.run(&release).await.error(2);
    assert_eq!(what, "demo-ios is the app of the table [ios] in updraft.toml, and would get the bundle for Android");
    let both = ["release", "react-native", "--platform", "all", "-t", "1.0.0", "--dry-run"];
    let (_, next) = cli.run(&both).await.error(2);
    assert_eq!(next, "Give the app for Android, with --app-android NAME or in the table [android] of updraft.toml.");
    let found = checks(0, "app").await;
    let said = "warning: Android has no app of its own: updraft.toml has demo-ios for the whole project, and it is the app of iOS, so no \
                command releases to Android";
    assert_eq!(found, ["ok: demo-ios (iOS)", said]);
    std::fs::remove_dir_all(cli.project().join("android")).unwrap();
    assert_eq!(checks(0, "app").await, ["ok: demo-ios (iOS)"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_that_fails_is_told_with_its_reason() {
    let cli = with_tools(Cli::new());
    let folder = project("react-native");
    let place = ["--project-dir", folder.to_str().unwrap(), "-e", "broken.js"];
    let ended = cli.run(&[&RELEASE[..], &place].concat()).await;
    let (what, next) = ended.error(1);
    assert!(what.starts_with("the bundler failed with exit code 1: ") && what.contains("broken.js: Unexpected token (2:6)"), "{what}");
    assert!(next.contains("Correct what it names"), "{next}");
}
