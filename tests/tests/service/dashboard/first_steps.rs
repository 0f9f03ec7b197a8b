//! The page that leads to a first release notices what happens.

use serde_json::{Value, json};
use tests::reader::unescape;
use tests::wait::until;
use tests::{TestApp, encode_segment};

const PRODUCTION: &str = "/dashboard/apps/demo/deployments/Production";

/// Sends a device's report.
async fn report(app: &TestApp, key: &str, path: &str, more: Value) {
    let mut report = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "phone" });
    report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    app.anonymous().post(&format!("/v1/public/svc/report_status/{path}"), report).await.assert(200);
}

/// The steps as they are shown: the state, then the text.
fn waiting(text: &str) -> String {
    format!("Waiting</span> <bdi>{text}")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_download_and_install_are_noticed() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let (key, _) = ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    reader.open("/dashboard/apps/demo").await.shows("First steps to your first release");
    let steps = format!("{PRODUCTION}/first-steps");
    reader.open(PRODUCTION).await.shows("updraft init --app demo --deployment Production").shows(&waiting("The app&#39;s first"));
    // Only one step is next.
    assert_eq!(reader.open(&steps).await.html().matches("Waiting</span>").count(), 1);
    report(&app, &key, "deploy", json!({})).await;
    reader.open(&steps).await.shows("The app started: version 1.0.0").shows(&waiting("The first release"));
    // The page that shows no release is loaded again once there is one.
    let unreleased = format!("{steps}?release=none");
    assert!(reader.open(PRODUCTION).await.html().contains(&unreleased));
    assert!(reader.open(&unreleased).await.answer.optional_header("hx-refresh").is_none());
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let published =
        reader.open(&steps).await.shows("v1 is published: devices get it within a minute").shows(&waiting("The first download"));
    assert!(published.answer.optional_header("hx-refresh").is_none());
    assert_eq!(reader.open(&unreleased).await.answer.header("hx-refresh"), "true");
    assert!(reader.open(&format!("{steps}?release=v1")).await.answer.optional_header("hx-refresh").is_none());
    let released = reader.open(PRODUCTION).await.shows("/check?appVersion=1.0.0\">See what a device gets");
    assert!(!released.html().contains("notice bad"), "{}", released.html());
    reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows("devices get it within a minute");
    report(&app, &key, "download", json!({ "label": "v1" })).await;
    reader.open(&steps).await.shows("A device downloaded the update").shows(&waiting("The first install"));
    report(&app, &key, "deploy", json!({ "label": "v1", "status": "DeploymentSucceeded" })).await;
    let done = reader.open(&steps).await.shows("Your first update works.");
    assert!(!done.html().contains("every 3s"), "nothing is left to wait for: {}", done.html());
    let next = done.answer.header("hx-redirect");
    assert_eq!(next, format!("{PRODUCTION}?first-update"));
    let page =
        reader.open(&next).await.shows("Your first update works.").shows("/releases/v1/promote\">promote it to another deployment</a>");
    assert!(!page.html().contains("First steps"), "{}", page.html());
    let page = reader.open(PRODUCTION).await.html();
    assert!(!page.contains("First steps") && !page.contains("Your first update works."), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_for_other_versions_and_one_that_fails_are_named() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let (key, _) = ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    report(&app, &key, "deploy", json!({})).await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "^2.0.0" })).await.assert(201);
    let page = reader.open(PRODUCTION).await.shows("v1 is for app version ^2.0.0, but your device runs 1.0.0: it does not get v1.");
    // The command suggests the version that started.
    let page = page.shows(&format!("<a href=\"{PRODUCTION}/releases/v1/edit\">Change the target version</a>"));
    assert!(unescape(&page.html()).contains("--target-version '^1.0.0'"));
    ada.patch("/v1/apps/demo/deployments/Production/release", json!({ "packageInfo": { "appVersion": "*" } })).await.assert(200);
    let html = reader.open(PRODUCTION).await.html();
    assert!(!html.contains("but your device runs"), "{html}");
    report(&app, &key, "deploy", json!({ "label": "v1", "status": "DeploymentFailed" })).await;
    let page = reader.open(PRODUCTION).await.shows("A device could not run v1, and went back to what it ran before.");
    page.shows(&format!("<a href=\"{PRODUCTION}/releases/v1\">See v1</a>"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_first_release_is_not_called_published() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (key, _) = ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    report(&app, &key, "deploy", json!({})).await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0", "isDisabled": true })).await.assert(201);
    let page =
        reader.open(PRODUCTION).await.shows(&waiting("The first release: enable v1")).shows("v1 is disabled: no device gets it.").html();
    assert!(!page.contains("is published"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_deployment_of_an_app_with_the_sdk_needs_only_its_key() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    // The server's address is of this machine.
    let page = reader.open(PRODUCTION).await.shows("Add the SDK to your app").shows("Make a release build.").shows("adb reverse tcp:");
    page.shows("Build and publish a bundle");
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    report(&app, &staging, "deploy", json!({})).await;
    let page = reader.open(PRODUCTION).await.shows("Your app has the SDK already").shows("Build and publish a bundle").html();
    assert!(!page.contains("Add the SDK to your app") && !page.contains("Install the CLI"), "{page}");
    ada.post("/v1/apps/demo/deployments/Staging/promotions", json!({ "destination": "Production" })).await.assert(201);
    let page = reader.open(PRODUCTION).await.shows("updraft init --app demo --deployment Production").shows("Make a release build.").html();
    assert!(!page.contains("Build and publish a bundle"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_in_commands_are_quoted_for_a_shell() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let name = "it's $(id); x";
    ada.post("/v1/apps", json!({ "name": name })).await.assert(201);
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open(&format!("/dashboard/apps/{}/deployments/Staging", encode_segment(name))).await;
    let page = unescape(&page.html());
    for command in ["updraft init", "updraft release create ./build/ios/CodePush", "updraft release create ./build/android/CodePush"] {
        let line = format!(r"{command} --app 'it'\''s $(id); x' --deployment Staging");
        assert!(page.contains(&line), "{line} in\n{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_this_server_answers_shows_that_the_app_started() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob"] {
        app.register(name).await;
    }
    let ada = app.log_in("ada").await;
    let (key, staging) = ada.create_app("demo").await;
    let check = async |key: &str| {
        app.anonymous().get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")).await.assert(200);
    };
    // Nobody waits for it: it writes nothing.
    check(&key).await;
    let mut reader = app.signed_in_reader("ada").await;
    let steps = format!("{PRODUCTION}/first-steps");
    reader.open(&steps).await.shows(&waiting("The app&#39;s first"));
    check(&staging).await;
    check(&key).await;
    until("the check is noticed", async || reader.clone().open(&steps).await.html().contains("The app started").then_some(())).await;
    assert_eq!(app.texts("SELECT name FROM deployments WHERE first_check_time IS NOT NULL", &[]).await, ["Production"]);
    // Who may not see the key cannot set up an app, and sees no steps.
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let mut bob = app.signed_in_reader("bob").await;
    let page = bob.open(&PRODUCTION.replace("demo", "ada@example.com:demo")).await.html();
    assert!(!page.contains("First steps"), "{page}");
    bob.open(&steps.replace("demo", "ada@example.com:demo")).await.is_at("/dashboard/apps/ada%40example.com%3Ademo/deployments/Production");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stranger_reports_is_no_message_and_no_advice() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let (key, _) = ada.create_app("demo").await;
    // The key is in the app: anyone can report anything with it.
    for (client, version) in
        [("a", "1.2.3"), ("b", "1.2.3"), ("c", "0.0.1"), ("d", "!! Call +1 555 0100"), ("e", "1.0.0-CALL.1.555.0100.TO.KEEP.YOUR.APP")]
    {
        report(&app, &key, "deploy", json!({ "client_unique_id": client, "app_version": version })).await;
    }
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open(PRODUCTION).await.shows("The app started: version 1.2.3").shows("--target-version '^1.2.3'").html();
    // The whole number: a port or a token of the page may well contain 555.
    assert!(!page.contains("555 0100") && !page.contains("555.0100") && !page.contains("^0.0.1"), "{page}");
}
