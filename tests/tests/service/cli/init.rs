//! `updraft init`: each kind of project, and projects that it must leave alone. Its questions are tested in the test binary `browser`, in a terminal.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use tests::{Cli, Client, TestApp};

const PLIST: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>CFBundlePackageType</key>
	<string>APPL</string>
	<!-- a remark -->
	<key>CodePushServerURL</key>
	<string>https://old.example/</string>
</dict>
</plist>
"#;
const STRINGS: &str = "<resources>\n    <string name=\"app_name\">Demo</string>\n</resources>\n";
const STRINGS_FILE: &str = "android/app/src/main/res/values/strings.xml";
const INIT: &[&str] = &["init", "--app", "demo", "--deployment", "Production", "--yes"];

/// A server with the app `demo`, a terminal of its owner, and the key of its deployment `Production`.
struct Place {
    app: TestApp,
    ada: Client,
    cli: Cli,
    key: String,
}

impl Place {
    async fn new() -> Self {
        let app = TestApp::spawn().await;
        let ada = app.sign_up("ada").await;
        ada.create_app("demo").await;
        let cli = Cli::with_token(&app.base, ada.token());
        let key = ada.deployment_key("demo", "Production").await;
        Self { app, ada, cli, key }
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.cli.project().join(path)).unwrap()
    }

    /// Sets the project up, and expects that a second run finds nothing to change.
    async fn sets_up(&self, kind: &str, files: &[&str]) {
        let before: Vec<String> = files.iter().map(|file| self.read(file)).collect();
        let dry = self.cli.json(&[INIT, &["--dry-run"]].concat()).await;
        assert_eq!((&dry["project"], &dry["made"]), (&json!(kind), &json!(false)));
        assert_eq!(before, files.iter().map(|file| self.read(file)).collect::<Vec<_>>(), "--dry-run changes nothing");
        assert!(!self.cli.project().join("updraft.toml").exists());

        let made = self.cli.json(INIT).await;
        assert_eq!((&made["project"], &made["made"], &made["byHand"]), (&json!(kind), &json!(true), &json!([])));
        let changed: Vec<&str> = made["changes"].as_array().unwrap().iter().map(|change| change["path"].as_str().unwrap()).collect();
        assert_eq!(changed, [&["updraft.toml"], files].concat());
        assert_eq!(made["changes"], dry["changes"]);
        let project = format!("server = \"{}\"\napp = \"demo\"\ndeployment = \"Production\"\n", self.app.base);
        assert_eq!(self.read("updraft.toml"), project);
        let after: Vec<String> = files.iter().map(|file| self.read(file)).collect();
        for (file, text) in files.iter().zip(&after) {
            assert!(text.contains(&self.key) && text.contains(&format!("{}/", self.app.base)), "{file}: {text}");
        }

        let again = self.cli.json(INIT).await;
        assert_eq!((&again["changes"], &again["made"]), (&json!([]), &json!(true)));
        assert_eq!(after, files.iter().map(|file| self.read(file)).collect::<Vec<_>>(), "a second run changes nothing");
    }
}

/// `package.json` with one dependency.
fn package(dependency: &str) -> String {
    json!({ "name": "@acme/demo", "dependencies": { "react": "19.0.0", dependency: "1.0.0" } }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_react_native_project() {
    let place = Place::new().await;
    place.cli.write("package.json", package("react-native"));
    place.cli.write("ios/Demo/Info.plist", PLIST);
    // Not the app's own.
    place.cli.write("ios/DemoTests/Info.plist", PLIST);
    place.cli.write("ios/Pods/Other/Info.plist", PLIST);
    place.cli.write("android/app/src/main/res/values/strings.xml", STRINGS);
    place.sets_up("react-native", &["ios/Demo/Info.plist", "android/app/src/main/res/values/strings.xml"]).await;
    let plist = place.read("ios/Demo/Info.plist");
    assert!(plist.contains("<!-- a remark -->") && !plist.contains("old.example"), "{plist}");
    assert!(place.read("ios/Pods/Other/Info.plist").contains("old.example"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installed_react_native_project_gets_a_fingerprint() {
    let place = Place::new().await;
    place.cli.write("package.json", package("react-native"));
    place.cli.write("node_modules/react-native/package.json", r#"{ "version": "0.87.1" }"#);
    place.cli.write("android/app/src/main/res/values/strings.xml", STRINGS);
    place.cli.write("android/app/build.gradle", "android { defaultConfig { versionName \"1.2.3\" } }");
    place.cli.write("ios/Demo/Info.plist", PLIST);
    let said = place.cli.expect(0, INIT).await.err;
    assert!(!said.contains("updraft-fingerprint.json"), "a binary without the SDK gets no updates: {said}");
    assert!(said.contains("warning: An update is for one platform"), "{said}");
    place.cli.write("package.json", r#"{ "dependencies": { "react-native": "*", "react-native-code-push": "*" } }"#);
    let said = place.cli.expect(0, INIT).await.err;
    assert!(said.contains("Wrote updraft-fingerprint.json."), "{said}");
    assert!(said.contains("updraft-fingerprint.json gets no entry for iOS: cannot determine the app version: "), "{said}");
    let file: Value = serde_json::from_str(&place.read("updraft-fingerprint.json")).unwrap();
    let entry = json!({ "engine": "hermes", "modules": {}, "reactNative": "0.87.1" });
    assert_eq!(file, json!({ "version": 1, "android": { "1.2.3": entry } }));

    // A recorded binary can be in a store.
    place.cli.write("node_modules/react-native/package.json", r#"{ "version": "0.88.0" }"#);
    assert_eq!(place.cli.json(INIT).await["changes"], json!([]));
    place.cli.expect(1, &["fingerprint", "check", "--platform", "android"]).await;
    place.cli.expect(0, &["fingerprint", "write", "--platform", "android"]).await;
    place.cli.expect(0, &["fingerprint", "check", "--platform", "android"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_of_its_own_for_each_platform() {
    let place = Place::new().await;
    place.ada.create_app("demo-android").await;
    let android = place.ada.deployment_key("demo-android", "Production").await;
    let strings = "android/app/src/main/res/values/strings.xml";
    place.cli.write("package.json", package("react-native"));
    place.cli.write("ios/Demo/Info.plist", PLIST);
    place.cli.write(strings, STRINGS);
    place.cli.expect(0, &[INIT, &["--platform", "ios"]].concat()).await;
    assert!(place.read("ios/Demo/Info.plist").contains(&place.key));
    assert_eq!(place.read(strings), STRINGS);
    assert!(place.read("updraft.toml").ends_with("\n[ios]\napp = \"demo\"\n"));
    // Without the platform, its key would replace that of the other one.
    let (what, next) = place.cli.run(&["init", "--app", "demo-android", "--deployment", "Production", "--yes"]).await.error(2);
    assert!(what.starts_with("updraft.toml has an app for iOS") && next.contains("--platform android"), "{what} {next}");
    assert!(place.read("ios/Demo/Info.plist").contains(&place.key));
    assert_eq!(place.read(strings), STRINGS);
    let second = ["init", "--app", "demo-android", "--deployment", "Production", "--platform", "android", "--yes"];
    let said = place.cli.expect(0, &second).await.err;
    assert!(!said.contains("keeps the app"), "{said}");
    assert!(place.read(strings).contains(&android) && place.read("ios/Demo/Info.plist").contains(&place.key));
    let file = place.read("updraft.toml");
    assert!(file.starts_with("server = ") && file.contains("\ndeployment = ") && file.matches("\napp = ").count() == 2, "{file}");
    assert!(file.ends_with("\n[ios]\napp = \"demo\"\n\n[android]\napp = \"demo-android\"\n"), "{file}");
    // It stays so, and no app gets both platforms.
    let by_table = file;
    place.cli.expect(0, &second).await;
    assert_eq!(place.read("updraft.toml"), by_table);
    let same = ["init", "--app", "demo", "--deployment", "Production", "--platform", "android", "--yes"];
    let (what, next) = place.cli.run(&same).await.error(2);
    assert!(what.contains("demo is the app of iOS already") && next.contains("for Android"), "{what} {next}");
    assert_eq!(place.read("updraft.toml"), by_table);
    let (what, next) = place.cli.run(&["release", "list"]).await.error(2);
    assert_eq!(what, "no app is given");
    assert!(next.contains("--app demo or --app demo-android"), "{next}");
    // The app of a whole project, from before there were tables, changes nothing for the platforms.
    place.cli.write("updraft.toml", format!("app = \"demo\"\n{by_table}"));
    let made = place.cli.json(&["init", "--yes"]).await;
    assert_eq!((&made["ios"]["app"], &made["android"]["app"]), (&json!("demo"), &json!("demo-android")));
    assert!(place.read(strings).contains(&android) && place.read("ios/Demo/Info.plist").contains(&place.key));
    place.cli.write("updraft.toml", &by_table);

    // Both tables are known now: each platform gets what its own app has.
    let (plist, strings_text) = (place.read("ios/Demo/Info.plist"), place.read(strings));
    let found = checks(&place.cli, 0, "deployment").await;
    let texts: Vec<_> = found.iter().map(|check| check["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Production (iOS)", "Production (Android)"]);
    assert!(checks(&place.cli, 0, "sdk").await.iter().all(|check| check["status"] != "failed" && check["next"] != "updraft init"));
    place.cli.write("ios/Demo/Info.plist", plist.replace(&place.key, &android));
    place.cli.write(strings, STRINGS);
    let found = checks(&place.cli, 1, "sdk").await;
    let said: Vec<_> = found.iter().map(|check| check["text"].as_str().unwrap()).collect();
    assert!(said.iter().any(|text| text.contains("Info.plist has another deployment key than that of Production of demo")), "{said:?}");
    assert!(said.iter().any(|text| text.contains("lacks the deployment key of Production of demo-android")), "{said:?}");
    let made = place.cli.json(&["init", "--yes"]).await;
    assert_eq!((&made["ios"]["app"], &made["android"]["app"]), (&json!("demo"), &json!("demo-android")));
    assert_eq!((place.read("ios/Demo/Info.plist"), place.read(strings)), (plist, strings_text));
    assert_eq!(place.read("updraft.toml"), by_table);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expo_project() {
    let place = Place::new().await;
    place.cli.write("package.json", package("expo"));
    place.cli.write("app.json", "{\n  \"expo\": {\n    \"plugins\": [\"@revopush/expo-code-push-plugin\"]\n  }\n}\n");
    place.sets_up("expo", &["app.json"]).await;
    let config: Value = serde_json::from_str(&place.read("app.json")).unwrap();
    assert_eq!(config["expo"]["plugins"][0][1]["ios"]["CodePushDeploymentKey"], place.key.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cordova_project() {
    let place = Place::new().await;
    let config = "<?xml version='1.0' encoding='utf-8'?>\n<widget id=\"com.acme.demo\">\n    <platform name=\"ios\">\n    </platform>\n    <platform name=\"android\" />\n</widget>\n";
    place.cli.write("config.xml", config);
    place.sets_up("cordova", &["config.xml"]).await;
    assert_eq!(place.read("config.xml").matches(&place.key).count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capacitor_project() {
    let place = Place::new().await;
    place.cli.write("package.json", package("@capacitor/core"));
    place.cli.write("capacitor.config.json", "{ \"appId\": \"com.acme.demo\" }");
    place.sets_up("capacitor", &["capacitor.config.json"]).await;
    let config: Value = serde_json::from_str(&place.read("capacitor.config.json")).unwrap();
    assert_eq!(config["plugins"]["CodePush"]["ANDROID_DEPLOY_KEY"], place.key.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_left_alone_and_named() {
    let place = Place::new().await;
    for (kind, files) in [
        (
            "react-native",
            &[("ios/Demo/Info.plist", "<plist><dict>"), ("android/app/src/main/res/values/strings.xml", "<resources><string")][..],
        ),
        ("@capacitor/core", &[("capacitor.config.json", "{ \"appId\": ")]),
    ] {
        place.cli.write("package.json", package(kind));
        for (file, text) in files {
            place.cli.write(file, text);
        }
        let made = place.cli.json(INIT).await;
        let by_hand: Vec<&str> = made["byHand"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
        assert_eq!(by_hand, files.iter().map(|(file, _)| *file).collect::<Vec<_>>());
        for (file, text) in files {
            assert_eq!(place.read(file), *text);
        }
    }
    let printed = place.cli.expect(0, INIT).await;
    assert!(
        printed.err.contains("capacitor.config.json was left alone") && printed.err.contains("updraft deployment show"),
        "{}",
        printed.err
    );
    let left = "The Capacitor project is not set up for Production of demo before you have done what is left.";
    assert!(printed.err.contains(left) && !printed.err.contains("✓ "), "{}", printed.err);

    // A project file that is no TOML is the user's to mend, for every command.
    place.cli.write("updraft.toml", "server = \n");
    let (what, _) = place.cli.run(INIT).await.error(2);
    assert!(what.contains("updraft.toml, line 1"), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn links_do_not_lead_out_of_the_project() {
    let place = Place::new().await;
    let outside = place.cli.home().join("outside");
    fs::create_dir(&outside).unwrap();
    let config = "{ \"appId\": \"com.acme.demo\" }";
    fs::write(outside.join("capacitor.config.json"), config).unwrap();
    place.cli.write("package.json", package("@capacitor/core"));
    symlink(outside.join("capacitor.config.json"), place.cli.project().join("capacitor.config.json")).unwrap();
    let made = place.cli.json(INIT).await;
    assert!(made["byHand"][0]["text"].as_str().unwrap().contains("outside of this folder"), "{made}");
    assert_eq!(fs::read_to_string(outside.join("capacitor.config.json")).unwrap(), config);

    // A link to a file that does not exist yet.
    fs::remove_file(place.cli.project().join("updraft.toml")).unwrap();
    symlink(outside.join("new.toml"), place.cli.project().join("updraft.toml")).unwrap();
    place.cli.run(INIT).await.error(1);
    assert!(!outside.join("new.toml").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_created_only_on_request() {
    let place = Place::new().await;
    let other = |flags: &[&'static str]| [&["init", "--app", "other", "--deployment", "Canary", "--yes"], flags].concat();
    let (what, next) = place.cli.run(&other(&[])).await.error(4);
    assert_eq!(what, "app other was not found");
    assert!(next.contains("--create"), "{next}");
    let (_, next) = place.cli.run(&other(&["--dry-run"])).await.error(4);
    assert!(next.contains("Or add --create to see what it would create."), "{next}");
    let dry = place.cli.json(&other(&["--create", "--dry-run"])).await;
    assert_eq!((&dry["wouldCreate"], &dry["made"]), (&json!(["the app other", "the deployment Canary"]), &json!(false)));
    let printed = place.cli.expect(0, &other(&["--create", "--dry-run"])).await;
    assert!(
        printed.err.contains("Would create the app other.") && printed.err.contains("Would create the deployment Canary."),
        "{}",
        printed.err
    );
    let in_app = ["init", "--app", "demo", "--deployment", "Canary", "--create", "--dry-run"];
    assert_eq!(place.cli.json(&in_app).await["wouldCreate"], json!(["the deployment Canary"]));
    // A new app has this one.
    let with_app = ["init", "--app", "other", "--deployment", "Staging", "--create", "--dry-run"];
    assert_eq!(place.cli.json(&with_app).await["wouldCreate"], json!(["the app other"]));
    assert!(!place.cli.project().join("updraft.toml").exists());
    place.ada.get("/v1/apps/demo/deployments/Canary").await.refused(404);
    place.ada.get("/v1/apps/other").await.refused(404);

    let made = place.cli.json(&other(&["--create"])).await;
    assert_eq!((&made["app"], &made["deployment"]), (&json!("other"), &json!("Canary")));
    let deployment = place.ada.get("/v1/apps/other/deployments/Canary").await.assert(200);
    assert_eq!(deployment["deployment"]["name"], "Canary");
    // A folder that has no project still gets its project file, and says so.
    assert_eq!(made["project"], Value::Null);
    let printed = place.cli.expect(0, &["init", "--yes"]).await;
    assert!(printed.err.contains("only updraft.toml"), "{}", printed.err);
    assert!(place.read("updraft.toml").contains("app = \"other\""));
}

/// The checks of `updraft doctor` with this name.
async fn checks(cli: &Cli, code: i32, name: &str) -> Vec<Value> {
    let printed: Value = serde_json::from_str(&cli.expect(code, &["doctor", "--output", "json"]).await.out).unwrap();
    let checks = printed["checks"].as_array().unwrap();
    checks.iter().filter(|check| check["check"] == name).cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_checks_what_init_writes() {
    let place = Place::new().await;
    place.cli.write("config.xml", "<widget id=\"x\">\n</widget>\n");
    place.cli.write("updraft.toml", format!("server = \"{}\"\napp = \"demo\"\ndeployment = \"Production\"\n", place.app.base));
    let found = checks(&place.cli, 1, "sdk").await;
    assert_eq!(found[0]["status"], "failed");
    let text = found[0]["text"].as_str().unwrap();
    assert!(
        text.contains("config.xml lacks the server address") && text.contains("lacks the deployment key of Production of demo"),
        "{text}"
    );
    let advice = |what: &str| {
        format!("Run `updraft init`: it writes {what}. If the project uses another server or deployment, correct updraft.toml.")
    };
    assert_eq!(found[0]["next"], advice("both"));

    place.cli.expect(0, INIT).await;
    assert_eq!(checks(&place.cli, 0, "sdk").await[0]["status"], "ok");
    // From a folder below as well.
    let right = place.read("config.xml");
    for (part, other, said, missing) in [
        (
            place.key.as_str(),
            "$(CODEPUSH_KEY)",
            "has another deployment key than that of Production of demo".to_owned(),
            "the deployment key",
        ),
        (
            place.app.base.as_str(),
            "https://old.example",
            format!(
                "has another server address (https://old.example/) than {}/: devices of that build ask that server, and do not get the \
                 releases of this one",
                place.app.base
            ),
            "the server address",
        ),
    ] {
        place.cli.write("config.xml", right.replace(part, other));
        let found = checks(&place.cli, 0, "sdk").await;
        assert_eq!(found[0]["status"], "warning");
        assert_eq!(found[0]["text"], format!("config.xml {said}"));
        assert_eq!(found[0]["next"], advice(missing));
    }
    // Another spelling of the same address.
    for same in [place.app.base.clone(), format!("{}/v1/", place.app.base), place.app.base.replace("127.0.0.1", "localhost")] {
        place.cli.write("config.xml", right.replace(&format!("{}/", place.app.base), &same));
        assert_eq!(checks(&place.cli, 0, "sdk").await[0]["status"], "ok", "{same}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_fails_where_devices_get_nothing() {
    let place = Place::new().await;
    place.ada.create_app("other").await;
    let (other, staging) = (place.ada.deployment_key("other", "Staging").await, place.ada.deployment_key("demo", "Staging").await);
    place.cli.write("config.xml", "<widget id=\"x\">\n</widget>\n");
    place.cli.expect(0, INIT).await;
    let right = place.read("config.xml");
    let (key, base) = (place.key.clone(), format!("{}/", place.app.base));
    for (part, value, code, said) in [
        (&key, other.as_str(), 1, "it is that of Staging of other, and its devices get no updates of demo"),
        (&key, "YOUR_DEPLOYMENT_KEY", 1, "has the placeholder YOUR_DEPLOYMENT_KEY instead of the deployment key of Production of demo"),
        (&key, "", 1, "has an empty deployment key instead of that of Production of demo"),
        (&key, staging.as_str(), 0, "than that of Production of demo: it is that of Staging"),
        (&key, "a-key-of-nobody", 1, "it belongs to no deployment of your apps on "),
        (&base, "YOUR_SERVER_URL", 1, "has the placeholder YOUR_SERVER_URL as the server address instead of"),
        (&base, "https://codepush.appcenter.ms/", 1, "has the address of App Center, which was shut down, instead of"),
    ] {
        place.cli.write("config.xml", right.replace(part.as_str(), value));
        let found = checks(&place.cli, code, "sdk").await;
        assert_eq!(found[0]["status"], if code == 0 { "warning" } else { "failed" }, "{found:?}");
        assert!(found[0]["text"].as_str().unwrap().contains(said), "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_checks_native_files_before_init() {
    let place = Place::new().await;
    place.cli.write("package.json", package("react-native"));
    let strings = |server: &str, key: &str| {
        let values = format!("<string name=\"CodePushServerUrl\">{server}</string><string name=\"CodePushDeploymentKey\">{key}</string>");
        place.cli.write(STRINGS_FILE, format!("<resources>{values}</resources>"));
    };
    let plist = |server: &str, key: &str| {
        let values = format!("<key>CodePushServerURL</key><string>{server}</string>{key}");
        place.cli.write("ios/Demo/Info.plist", format!("<plist><dict><key>LSRequiresIPhoneOS</key><true/>{values}</dict></plist>"));
    };
    let base = format!("{}/", place.app.base);
    strings("YOUR_SERVER_URL", "YOUR_DEPLOYMENT_KEY");
    plist(&base, "");
    let found = checks(&place.cli, 1, "sdk").await;
    let said = |index: usize| (found[index]["status"].as_str().unwrap(), found[index]["text"].as_str().unwrap());
    assert_eq!(said(0), ("failed", "ios/Demo/Info.plist lacks a deployment key"));
    assert_eq!(found[0]["next"], "Run `updraft init`: it writes the deployment key.");
    let placeholders = format!(
        "{STRINGS_FILE} has the placeholder YOUR_SERVER_URL as the server address instead of {base}, and has the placeholder \
         YOUR_DEPLOYMENT_KEY instead of a deployment key"
    );
    assert_eq!(said(1), ("failed", placeholders.as_str()));
    // The app is not chosen yet, and a key that no app has cannot be right.
    strings(&base, "a-key-of-nobody");
    plist(&base, &format!("<key>CodePushDeploymentKey</key><string>{}</string>", place.key));
    let found = checks(&place.cli, 0, "sdk").await;
    let said = |index: usize| (found[index]["status"].as_str().unwrap(), found[index]["text"].as_str().unwrap());
    assert_eq!(said(0), ("ok", "ios/Demo/Info.plist has a server address and the deployment key of Production of demo"));
    let nobody = format!("{STRINGS_FILE} has a deployment key that belongs to no deployment of your apps on {}", place.app.base);
    assert_eq!(said(1), ("warning", nobody.as_str()));
    let next = "Run `updraft init`: it writes the deployment key. Or ask the owner of the app with this key to share it with you.";
    assert_eq!(found[1]["next"], next);
    assert_eq!(found[2]["status"], "skipped");
    plist("https://old.example/", "");
    let text = checks(&place.cli, 1, "sdk").await[0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("ios/Demo/Info.plist lacks a deployment key, and has another server address (https://old"), "{text}");
    strings("https://codepush.appcenter.ms/", "");
    let text = checks(&place.cli, 1, "sdk").await[1]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("has the address of App Center") && text.contains("has an empty deployment key"), "{text}");
    // Without a credential, it is not known who has a key.
    strings(&base, "a-key-of-nobody");
    let printed = place.cli.without("UPDRAFT_TOKEN").run(&["doctor", "--output", "json"]).await;
    assert!(!printed.out.contains("belongs to no deployment"), "{}", printed.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_a_platform_without_an_app() {
    let place = Place::new().await;
    place.cli.write("package.json", package("react-native"));
    place.cli.write("ios/Demo/Info.plist", PLIST);
    place.cli.write(STRINGS_FILE, STRINGS);
    place.cli.expect(0, &[INIT, &["--platform", "ios"]].concat()).await;
    let found = checks(&place.cli, 1, "app").await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((&found[0]["status"], &found[1]["status"]), (&json!("ok"), &json!("warning")));
    let text = "Android has no app: the table [android] in updraft.toml is missing, so no command releases to it";
    assert_eq!((&found[1]["text"], &found[1]["next"]), (&json!(text), &json!("Run `updraft init --platform android`.")));
    // Its files are checked as before `updraft init`.
    let base = &place.app.base;
    for (strings, said) in [
        (STRINGS.to_owned(), format!("lacks the server address {base}/, and lacks a deployment key")),
        (
            "<resources><string name=\"CodePushServerUrl\">https://codepush.appcenter.ms/</string></resources>".to_owned(),
            format!("has the address of App Center, which was shut down, instead of {base}/, and lacks a deployment key"),
        ),
    ] {
        place.cli.write(STRINGS_FILE, strings);
        let found = checks(&place.cli, 1, "sdk").await;
        let found: Vec<&Value> = found.iter().filter(|check| check["text"].as_str().unwrap().starts_with(STRINGS_FILE)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&found[0]["status"], &found[0]["text"]), (&json!("failed"), &json!(format!("{STRINGS_FILE} {said}"))));
        assert_eq!(found[0]["next"], "Run `updraft init --platform android`: it writes both.");
    }
    fs::remove_dir_all(place.cli.project().join("android")).unwrap();
    assert_eq!(checks(&place.cli, 0, "app").await.len(), 1, "the project is for iOS");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_fails_if_the_next_update_has_no_sdk() {
    const SDK: &str = "node_modules/react-native-code-push";
    let place = Place::new().await;
    let dependencies = json!({ "react-native": "1", "react-native-code-push": "1" });
    place.cli.write("package.json", json!({ "dependencies": dependencies }).to_string());
    place.cli.write("node_modules/react-native/package.json", r#"{ "version": "0.87.1" }"#);
    for (file, text) in [("package.json", "{ \"version\": \"9.0.1\" }"), ("android/build.gradle", ""), ("x.podspec", "")] {
        place.cli.write(&format!("{SDK}/{file}"), text);
    }
    place.cli.write("android/app/src/main/res/values/strings.xml", STRINGS);
    place.cli.write("ios/Demo/Info.plist", PLIST);
    place.cli.expect(0, &["fingerprint", "write", "--platform", "all", "--app-version", "1.2.3"]).await;
    place.ada.create_app("demo-android").await;
    place.cli.expect(0, &[INIT, &["--platform", "ios"]].concat()).await;
    place.cli.expect(0, &["init", "--app", "demo-android", "--platform", "android", "--yes"]).await;
    let about = async |code: i32| {
        let found = checks(&place.cli, code, "sdk").await;
        let found = found.into_iter().filter(|check| check["text"].as_str().unwrap().to_lowercase().contains("push"));
        found.collect::<Vec<_>>()
    };
    assert_eq!(about(0).await, Vec::<Value>::new());
    fs::remove_dir_all(place.cli.project().join(SDK)).unwrap();
    let found = about(0).await;
    assert_eq!(found.len(), 1, "once, not for each platform: {found:?}");
    assert_eq!((&found[0]["status"], &found[0]["next"]), (&json!("warning"), &json!("Run `npm install` in the project.")));
    assert_eq!(found[0]["text"], "react-native-code-push is in package.json, and not installed");
    place.cli.write("package.json", package("react-native"));
    let found = about(1).await;
    assert_eq!(found.len(), 1, "{found:?}");
    let text = "updraft-fingerprint.json has binaries with a CodePush SDK (iOS 1.2.3, Android 1.2.3), which the project no longer has: a \
                device that gets an update without the SDK takes no further updates";
    assert_eq!((&found[0]["status"], &found[0]["text"]), (&json!("failed"), &json!(text)));
    // As for a release, one that is only installed counts.
    place.cli.write(&format!("{SDK}/package.json"), "{ \"version\": \"9.0.1\" }");
    assert_eq!(about(0).await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_android_project_without_a_file_of_strings_lacks_both_settings() {
    let place = Place::new().await;
    place.cli.write("package.json", package("react-native"));
    place.cli.write("android/app/build.gradle", "");
    let base = format!("{}/", place.app.base);
    let found = checks(&place.cli, 1, "sdk").await;
    let text = format!("{STRINGS_FILE} lacks the server address {base}, and lacks a deployment key");
    assert_eq!((&found[0]["status"], &found[0]["text"]), (&json!("failed"), &json!(text)));
    assert_eq!(found[0]["next"], "Run `updraft init`: it says what to write there.");
    // Then it gives what to copy.
    let lines = format!(
        "`<resources><string moduleConfig=\"true\" name=\"CodePushServerUrl\">{base}</string> \
         <string moduleConfig=\"true\" name=\"CodePushDeploymentKey\" translatable=\"false\">{}</string></resources>`",
        place.key
    );
    let made = place.cli.json(INIT).await;
    assert_eq!(made["byHand"][0]["path"], STRINGS_FILE);
    assert!(made["byHand"][0]["text"].as_str().unwrap().ends_with(&lines), "{made}");
    let found = checks(&place.cli, 1, "sdk").await;
    assert!(found[0]["next"].as_str().unwrap().contains(&lines), "{found:?}");
    // Another file can have the strings.
    let other = "android/app/src/main/res/values/codepush.xml";
    place.cli.write(other, lines.trim_matches('`').replace(&place.key, "another-key"));
    assert_eq!(place.cli.json(INIT).await["byHand"], json!([]));
    assert!(place.read(other).contains(&place.key));
    assert_eq!(checks(&place.cli, 0, "sdk").await[0]["status"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_fails_for_a_public_key_that_devices_cannot_read() {
    const PLIST_FILE: &str = "ios/demo/Info.plist";
    let place = Place::new().await;
    super::signing::write_keys(&place.cli).await;
    place.cli.write("package.json", package("react-native"));
    place.cli.write("node_modules/react-native/package.json", r#"{ "version": "0.87.1" }"#);
    place.cli.write("android/app/build.gradle", "");
    let pem = place.read("public.pem");
    let write = |file: &str, before: &str, setting: String, after: &str| place.cli.write(file, [before, &setting, after].concat());
    let strings = |key: &str| {
        write(STRINGS_FILE, "<resources>", format!("<string name=\"CodePushPublicKey\">{key}</string>"), "</resources>");
    };
    let plist = |key: &str| {
        let setting = format!("<key>CodePushPublicKey</key><string>{key}</string>");
        write("ios/demo/Info.plist", "<plist version=\"1.0\"><dict><key>LSRequiresIPhoneOS</key><true/>", setting, "</dict></plist>");
    };
    let joined = pem.replace('\n', "");
    let refused = |platform: &str, file: &str, why: &str| {
        format!("the public key of the {platform} app ({file}) {why}: devices refuse every release")
    };
    let private = place.read("private.pem");
    for (of_ios, of_android, expected) in [
        (pem.as_str(), joined.as_str(), None),
        (
            joined.as_str(),
            pem.as_str(),
            Some(refused("iOS", PLIST_FILE, "is not a public key with the line ends of its PEM file, which the SDK needs on iOS")),
        ),
        (
            pem.as_str(),
            "-----BEGIN PUBLIC KEY-----AAAA-----END PUBLIC KEY-----",
            Some(refused("Android", STRINGS_FILE, "cannot be used: it is damaged")),
        ),
        ("", "", Some(refused("iOS", PLIST_FILE, "is empty, which the SDK on iOS takes for a key"))),
        (
            pem.as_str(),
            private.as_str(),
            Some(refused("Android", STRINGS_FILE, "is a private key, which everybody who has the app can read")),
        ),
        ("YOUR_PUBLIC_KEY", joined.as_str(), Some(refused("iOS", PLIST_FILE, "is only a placeholder"))),
    ] {
        plist(of_ios);
        strings(of_android);
        place.cli.expect(0, INIT).await;
        let found = checks(&place.cli, i32::from(expected.is_some()), "sdk").await;
        let found: Vec<&Value> = found.iter().filter(|check| check["text"].as_str().unwrap().contains("public key")).collect();
        let failed: Vec<&&Value> = found.iter().filter(|check| check["status"] == "failed").collect();
        let texts: Vec<&str> = failed.iter().map(|check| check["text"].as_str().unwrap()).collect();
        assert_eq!(texts, expected.iter().map(String::as_str).collect::<Vec<_>>());
        for check in failed {
            let next = check["next"].as_str().unwrap();
            assert!(next.contains("openssl rsa -in private.pem -pubout") && next.contains("docs/signing.md"), "{next}");
            assert!(next.ends_with("Then ship a new build."), "{next}");
        }
        let is_good = |text: &str, platform: &str, file: &str| {
            let named = format!("the {platform} app has a public key ({file}): signed releases only");
            assert_eq!(
                found.iter().any(|check| check["text"] == named && check["status"] == "ok"),
                text == pem || text == joined && platform == "Android"
            );
        };
        is_good(of_ios, "iOS", PLIST_FILE);
        is_good(of_android, "Android", STRINGS_FILE);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_other_android_files_have_are_not_written_again() {
    const CODEPUSH: &str = "android/app/src/main/res/values/codepush.xml";
    const RELEASE: &str = "android/app/src/release/res/values/keys.xml";
    const GRADLE: &str = "android/app/build.gradle";
    let place = Place::new().await;
    place.cli.write("package.json", package("react-native"));
    let server = format!("<string name=\"CodePushServerUrl\">{}/</string>", place.app.base);
    let key = |key: &str| format!("<string name=\"CodePushDeploymentKey\">{key}</string>");
    let resources = |strings: &[&str]| format!("<resources>{}</resources>", strings.concat());
    let gradle = |key: &str| {
        let value = |name: &str, value: &str| format!("    resValue 'string', \"{name}\", '\"{value}\"'\n");
        let values = [value("CodePushServerUrl", &format!("{}/", place.app.base)), value("CodePushDeploymentKey", key)].concat();
        format!("android {{\n  buildTypes {{\n  release {{\n{values}  }}\n}}\n}}\n")
    };
    let other = "another-key-1234";
    let place = &place;
    let sdk = async |code: i32| {
        let found = checks(&place.cli, code, "sdk").await;
        let of_android = found.into_iter().filter(|check| check["text"].as_str().unwrap().starts_with("android/"));
        of_android.collect::<Vec<_>>()
    };
    let is_ok = |found: &[Value]| !found.is_empty() && found.iter().all(|check| check["status"] == "ok");
    // Another file of the main source set: it is edited, and strings.xml stays.
    place.cli.write(STRINGS_FILE, STRINGS);
    place.cli.write(CODEPUSH, resources(&[&server, &key(other)]));
    place.cli.expect(0, INIT).await;
    assert_eq!((place.read(STRINGS_FILE).as_str(), place.read(CODEPUSH).contains(&place.key)), (STRINGS, true));
    assert!(is_ok(&sdk(0).await));
    fs::remove_file(place.cli.project().join(CODEPUSH)).unwrap();
    // Another source set, or the build file: nothing is to be done.
    for (file, text) in [(RELEASE, resources(&[&server, &key(&place.key)])), (GRADLE, gradle(&place.key))] {
        place.cli.write(file, text);
        let said = place.cli.expect(0, INIT).await.err;
        assert!(said.contains("The React Native project needs no changes") && !said.contains("is not set up"), "{said}");
        assert_eq!(place.read(STRINGS_FILE), STRINGS);
        let found = sdk(0).await;
        assert!(is_ok(&found) && found.iter().any(|check| check["text"].as_str().unwrap().starts_with(file)), "{found:?}");
        fs::remove_file(place.cli.project().join(file)).unwrap();
    }
    // With another key there, it says where and what, and writes no second one.
    for (file, text) in [(RELEASE, resources(&[&server, &key(other)])), (GRADLE, gradle(other))] {
        place.cli.write(file, text);
        let made = place.cli.json(INIT).await;
        let text = format!(
            "it has the deployment key anot…, and a second value in strings.xml would break the build. Set there: CodePushDeploymentKey {}",
            place.key
        );
        assert_eq!(made["byHand"], json!([{ "path": file, "text": text }]));
        assert_eq!(place.read(STRINGS_FILE), STRINGS);
        let found = sdk(1).await;
        assert_eq!(found.iter().filter(|check| check["status"] != "ok").count(), 1, "{found:?}");
        let said = format!("{file} has another deployment key than that of Production of demo: it belongs to no deployment of your apps");
        assert!(found.iter().any(|check| check["text"].as_str().unwrap().starts_with(&said)), "{found:?}");
        fs::remove_file(place.cli.project().join(file)).unwrap();
    }
    // Half of it elsewhere: the other half is written.
    place.cli.write(RELEASE, resources(&[&key(&place.key)]));
    place.cli.expect(0, INIT).await;
    let strings = place.read(STRINGS_FILE);
    assert!(strings.contains("CodePushServerUrl") && !strings.contains("CodePushDeploymentKey"), "{strings}");
    assert!(is_ok(&sdk(0).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_warns_of_one_key_for_both_platforms_before_init() {
    let place = Place::new().await;
    place.cli.write("package.json", package("react-native"));
    let base = &place.app.base;
    let write = |of_ios: &str, of_android: &str| {
        let values =
            format!("<key>CodePushServerURL</key><string>{base}/</string><key>CodePushDeploymentKey</key><string>{of_ios}</string>");
        place.cli.write("ios/Demo/Info.plist", format!("<plist><dict><key>LSRequiresIPhoneOS</key><true/>{values}</dict></plist>"));
        let key = format!("<string name=\"CodePushDeploymentKey\">{of_android}</string>");
        place.cli.write(STRINGS_FILE, format!("<resources><string name=\"CodePushServerUrl\">{base}/</string>{key}</resources>"));
    };
    let shared = async || {
        let found = checks(&place.cli, 0, "sdk").await;
        found.into_iter().filter(|check| check["text"].as_str().unwrap().contains("have the same")).collect::<Vec<_>>()
    };
    write(&place.key, &place.ada.deployment_key("demo", "Staging").await);
    assert_eq!(shared().await, Vec::<Value>::new());
    write(&place.key, &place.key);
    let found = shared().await;
    let text = format!(
        "iOS and Android have the same deployment key (ios/Demo/Info.plist and {STRINGS_FILE}), and an update is for one platform: devices of \
         both get each release of its app"
    );
    assert_eq!((found.len(), &found[0]["status"], &found[0]["text"]), (1, &json!("warning"), &json!(text)));
    assert!(found[0]["next"].as_str().unwrap().contains("`updraft init --platform ios --app NAME`"), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_sdk_that_is_only_installed_is_recorded() {
    let place = Place::new().await;
    place.cli.write("package.json", package("react-native"));
    place.cli.write("node_modules/react-native/package.json", r#"{ "version": "0.87.1" }"#);
    place.cli.write("node_modules/@acme/react-native-code-push/package.json", r#"{ "version": "9.0.1" }"#);
    place.cli.write("node_modules/@acme/react-native-code-push/android/build.gradle", "");
    place.cli.write(STRINGS_FILE, STRINGS);
    place.cli.write("android/app/build.gradle", "android { defaultConfig { versionName \"1.2.3\" } }");
    let said = place.cli.expect(0, INIT).await.err;
    assert!(said.contains("Wrote updraft-fingerprint.json."), "{said}");
    let file: Value = serde_json::from_str(&place.read("updraft-fingerprint.json")).unwrap();
    assert_eq!(file["android"]["1.2.3"]["modules"], json!({ "@acme/react-native-code-push": "9.0.1" }));
    place.cli.expect(0, &["fingerprint", "check", "--platform", "android"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_the_deployments_that_it_cannot_check_without_a_sign_in() {
    let place = Place::new().await;
    place.ada.create_app("demo-android").await;
    place.cli.write("package.json", package("react-native"));
    place.cli.write("ios/Demo/Info.plist", PLIST);
    place.cli.write(STRINGS_FILE, STRINGS);
    place.cli.expect(0, &[INIT, &["--platform", "ios"]].concat()).await;
    place.cli.expect(0, &["init", "--app", "demo-android", "--platform", "android", "--yes"]).await;
    let cli = place.cli.without("UPDRAFT_TOKEN");
    for name in ["demo (iOS)", "Production of demo (iOS)", "demo-android (Android)", "Production of demo-android (Android)"] {
        let (check, text) = match name.split_once(" of ") {
            None => ("app", format!("{name}: you are not signed in")),
            Some(_) => ("sdk", format!("you are not signed in, so it was not checked that the project has the key of {name}")),
        };
        let printed = cli.run(&["doctor", "--output", "json"]).await;
        let document: Value = serde_json::from_str(&printed.out).unwrap();
        let found = document["checks"].as_array().unwrap().iter().filter(|found| found["check"] == check);
        assert_eq!(found.filter(|found| found["text"] == text).count(), 1, "{text} in {document}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_counts_what_it_could_not_check_yet() {
    let place = Place::new().await;
    let said = place.cli.expect(0, &["doctor"]).await;
    assert!(said.err.contains("3 checks could not be made yet."), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_without_an_sdk_and_a_server_of_this_machine_are_said_to() {
    let place = Place::new().await;
    place.cli.write("package.json", package("react-native"));
    place.cli.write("android/app/src/main/res/values/strings.xml", STRINGS);
    let without = "warning: package.json has no CodePush SDK, so the app never asks for updates. Install one";
    let port = place.app.base.rsplit(':').next().unwrap();
    let local = format!(
        "warning: {} is this machine, and phones do not reach it by this name. For tests on Android, run `adb reverse tcp:{port} tcp:{port}`",
        place.app.base
    );
    let printed = place.cli.expect(0, INIT).await.err;
    assert!(printed.contains(without) && printed.contains(&local), "{printed}");
    let warnings = async || {
        let found = checks(&place.cli, 0, "sdk").await;
        let found = found.iter().filter(|check| check["status"] == "warning");
        found.map(|check| check["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let found = warnings().await;
    assert!(found.len() == 2 && found[0].contains("has no CodePush SDK") && found[1].contains("is this machine"), "{found:?}");
    let summary = place.cli.expect(0, &["doctor"]).await.err;
    let missing = "The project's packages are not installed. Run `npm install` in the project. Then run `updraft doctor` again.";
    assert!(summary.contains(missing) && !summary.contains("Nothing failed"), "{summary}");

    let dependencies = json!({ "react-native": "0.79.0", "@code-push-next/react-native-code-push": "10.1.0" });
    place.cli.write("package.json", json!({ "dependencies": dependencies }).to_string());
    assert_eq!(warnings().await.len(), 1);
    let printed = place.cli.expect(0, INIT).await.err;
    assert!(!printed.contains(without) && printed.contains(&local), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_checks_files_that_init_cannot_write() {
    let place = Place::new().await;
    place.cli.write("package.json", package("@capacitor/core"));
    place.cli.write("updraft.toml", "app = \"demo\"\ndeployment = \"Production\"\n");
    place.cli.write("capacitor.config.ts", "export default {};");
    let found = checks(&place.cli, 1, "sdk").await;
    assert!(found[0]["next"].as_str().unwrap().contains("it is a program"), "{found:?}");
    place.cli.write("capacitor.config.ts", format!("export default {{ server: '{}/', key: '{}' }};", place.app.base, place.key));
    assert_eq!(checks(&place.cli, 0, "sdk").await[0]["status"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_that_contradict_the_project_file_are_said_to() {
    let place = Place::new().await;
    place.ada.create_app("other").await;
    place.cli.expect(0, INIT).await;
    let cli = Cli::with_token(&format!("{}/", place.app.base), place.ada.token()).with("UPDRAFT_APP", "other");
    cli.write("updraft.toml", place.read("updraft.toml"));
    let found = checks(&cli, 0, "environment").await;
    assert_eq!(found.len(), 1, "the URL with a slash is the same: {found:?}");
    assert_eq!(found[0]["text"], "UPDRAFT_APP is other, and updraft.toml has app = demo: commands here use other");
    let printed = cli.expect(0, &["init", "--yes"]).await;
    assert!(printed.err.contains("UPDRAFT_APP is other, and updraft.toml has app = demo: updraft.toml gets other."), "{}", printed.err);
    cli.write("updraft.toml", place.read("updraft.toml"));
    let printed = cli.expect(0, &["init", "--app", "demo", "--yes"]).await;
    assert!(printed.err.contains("other commands in this shell use other: unset UPDRAFT_APP"), "{}", printed.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_info_plist_that_does_not_say_whose_it_is() {
    let place = Place::new().await;
    place.cli.write("package.json", package("react-native"));
    let silent = "<plist version=\"1.0\">\n<dict>\n\t<key>UIAppFonts</key>\n\t<array/>\n</dict>\n</plist>\n";
    let extension = silent.replace("UIAppFonts", "NSExtension");
    place.cli.write("ios/Demo/Info.plist", silent);
    place.cli.write("ios/Widget/Info.plist", &extension);
    place.cli.expect(0, INIT).await;
    assert!(place.read("ios/Demo/Info.plist").contains(&place.key));
    assert_eq!(place.read("ios/Widget/Info.plist"), extension);
    // Two of them: one has to be chosen by hand.
    place.cli.write("ios/Demo/Info.plist", silent);
    place.cli.write("ios/Other/Info.plist", silent);
    let made = place.cli.json(INIT).await;
    let text = made["byHand"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("several files can be the Info.plist of your app: ios/Demo/Info.plist, ios/Other/Info.plist."), "{text}");
    assert!(text.contains(&format!("CodePushDeploymentKey = {}", place.key)), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_hidden_is_said_to_be_so() {
    let place = Place::new().await;
    let bob = place.app.sign_up("bob").await;
    place.ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    place.cli.write("package.json", package("react-native"));
    let cli = Cli::with_token(&place.app.base, bob.token());
    let (what, next) = cli.run(INIT).await.error(1);
    assert!(what.contains("cannot read the key"), "{what}");
    assert!(next.contains("Developer"), "{next}");
    assert!(!cli.project().join("updraft.toml").exists());
}
