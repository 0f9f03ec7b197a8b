//! An app with React Native's unmodified SDK gets what `updraft release react-native` has built and released, through the Worker.

use serde_json::{Value, json};
use tests::Cli;
use tests::edge::{EdgeApp, EdgeOptions};
use tests::node::Sdks;
use xtask::paths;

const SDK: &str = "@code-push-next/react-native-code-push";

#[tokio::test(flavor = "multi_thread")]
async fn a_built_release_is_installed_by_the_sdk() {
    let edge = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
    let ada = edge.sign_up("ada").await;
    let (key, _) = ada.create_app("demo").await;
    edge.until_pushed(&key).await;

    let (root, mut sdks) = (paths::root(), Sdks::with_apps());
    let node = paths::path_with(&paths::node(&root).unwrap()).unwrap().into_string().unwrap();
    let cli = Cli::with_token(&edge.control.base, ada.token()).with("PATH", &node).with("CI", "1");
    let cli = cli.with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    let project = paths::project(&root, "react-native").unwrap();
    // The entry file is elsewhere.
    let command = ["release", "react-native", "--platform", "ios", "-e", "src/main.js", "--project-dir", project.to_str().unwrap()];
    let released = cli.json(&command).await;
    edge.until_pushed(&key).await;

    let configuration = json!({ "appVersion": "1.2.3", "clientUniqueId": "a phone", "deploymentKey": key, "serverUrl": edge.edge.base });
    let run = async |sdks: &mut Sdks, mut command: Value| {
        command["device"] = json!("phone");
        sdks.run(command).await
    };
    run(&mut sdks, json!({ "do": "new", "sdk": SDK, "configuration": configuration })).await;
    assert_eq!(run(&mut sdks, json!({ "do": "start" })).await, Value::Null);
    let found = run(&mut sdks, json!({ "do": "check" })).await;
    assert_eq!((&found["label"], &found["packageHash"]), (&json!("v1"), &released["package"]["packageHash"]));
    let synced = run(&mut sdks, json!({ "do": "sync" })).await;
    assert_eq!(synced["statuses"].as_array().unwrap().last(), Some(&json!("UPDATE_INSTALLED")), "{synced}");
    // The phone has checked the contents against the hash, and runs the release from now on.
    assert_eq!(run(&mut sdks, json!({ "do": "start" })).await, "v1");
    assert_eq!(run(&mut sdks, json!({ "do": "sync" })).await["statuses"], json!(["CHECKING_FOR_UPDATE", "UP_TO_DATE"]));
}
