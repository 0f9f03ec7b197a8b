//! From an empty account to releases that are widened, promoted, rolled back and disabled: with a mouse, with the keyboard alone, and without JavaScript.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tests::{Client, InputMethod, TestApp, Visit};

/// Where a new release is uploaded.
const STAGING: &str = "/dashboard/apps/demo/deployments/Staging";

/// Sends what an SDK sends.
async fn report(device: &Client, key: &str, path: &str, more: Value) {
    let mut report = json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "phone" });
    report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    device.post(&format!("/v1/public/svc/report_status/{path}"), report).await.assert(200);
}

/// Drops a file onto the page, as from a file manager.
async fn drop_file(visit: &Visit, path: &Path) {
    let data = json!({ "items": [], "files": [path], "dragOperationsMask": 1 });
    for kind in ["dragEnter", "dragOver", "drop"] {
        let event = json!({ "type": kind, "x": 300, "y": 300, "data": data });
        visit.browser.chromium("Input.dispatchDragEvent", event).await;
    }
    visit.until("document.getElementById('package').files.length === 1").await;
}

/// Waits until the page shows a text: without a reload where scripts run.
async fn notices(visit: &Visit, text: &str) {
    if visit.input_method == InputMethod::NoScripts {
        visit.open(STAGING).await;
    }
    visit.sees(text).await;
}

async fn upload(visit: &Visit, path: &Path, rollout: &str, is_dropped: bool) {
    visit.open(&format!("{STAGING}/upload")).await;
    visit.is_at("Upload a release to Staging").await;
    if is_dropped {
        drop_file(visit, path).await;
    } else {
        visit.choose_file("package", path).await;
    }
    assert_eq!(visit.read("#appVersion").await, "^1.0.0");
    visit.fill("rollout", rollout).await;
    visit.press("Release").await;
}

async fn journey(input_method: InputMethod) {
    let app = TestApp::spawn_for_browsers().await;
    app.register("ada").await;
    let folder = tempfile::TempDir::new().unwrap();
    let bundle = |name: &str| {
        let path = folder.path().join(format!("{name}.jsbundle"));
        fs::write(&path, name.repeat(10_000)).unwrap();
        path
    };
    let has_scripts = input_method != InputMethod::NoScripts;
    let visit = Visit::start(&app, input_method).await;
    visit.open("/dashboard").await;
    visit.type_password("ada").await;
    visit.is_at("Apps").await;
    visit.press("Create app").await;
    visit.is_at("Create app").await;
    visit.fill("name", "demo").await;
    visit.press("Create app").await;
    visit.is_at("demo").await;
    visit.press("First steps to your first release").await;
    visit.is_at("Staging").await;
    visit.sees("The app's first start with the SDK").await;
    visit.press("Show the deployment key").await;
    let (key, device) = (visit.read("#key").await, app.anonymous());
    report(&device, &key, "deploy", json!({})).await;
    notices(&visit, "The app started: version 1.0.0").await;

    upload(&visit, &bundle("one"), "100", input_method == InputMethod::Mouse).await;
    visit.is_at("v1").await;
    visit.open(STAGING).await;
    visit.sees("v1 is published").await;
    report(&device, &key, "download", json!({ "label": "v1" })).await;
    notices(&visit, "A device downloaded the update").await;
    report(&device, &key, "deploy", json!({ "label": "v1", "status": "DeploymentSucceeded" })).await;
    if has_scripts {
        visit.sees("Your first update works.").await;
    }

    // A release for few, then for more: by the slider where there is one.
    upload(&visit, &bundle("two"), "5", false).await;
    visit.is_at("v2").await;
    visit.sees("v2 is a single file, which has no diffs").await;
    visit.press("Edit release").await;
    visit.is_at("Edit v2").await;
    if has_scripts {
        let slide = "const slider = document.getElementById('rollout-steps');
            slider.value = 3;
            slider.dispatchEvent(new Event('input', { bubbles: true }));";
        visit.browser.run(slide, &[]).await;
        assert_eq!(visit.read("#rollout").await, "25");
    } else {
        visit.fill("rollout", "25").await;
    }
    visit.press("Save changes").await;
    visit.is_at("v2").await;
    visit.sees("v2 goes to 25% of the devices").await;
    // A bundle while the rollout is not finished.
    upload(&visit, &bundle("three"), "100", false).await;
    visit.sees("rollout").await;
    assert!(visit.text().await.contains("v2"), "{}", visit.text().await);

    visit.open(&format!("{STAGING}/releases/v1/promote")).await;
    visit.is_at("Promote v1").await;
    visit.press("Promote").await;
    visit.is_at("Production").await;
    visit.sees("Promoted v1 of Staging.").await;

    visit.open(&format!("{STAGING}/rollback")).await;
    visit.is_at("Roll back Staging").await;
    visit.choose("targetRelease", "v1").await;
    visit.press("Roll back").await;
    visit.is_at("Staging").await;
    visit.sees("Rolled back to v1. The new release is v3.").await;

    visit.open(&format!("{STAGING}/releases/v3/edit")).await;
    visit.is_at("Edit v3").await;
    visit.tick("isDisabled").await;
    visit.press("Save changes").await;
    visit.is_at("v3 Disabled").await;
    visit.sees("v3 is disabled: no device gets it.").await;

    visit.open(STAGING).await;
    visit.is_at("Staging").await;
    visit.fill("search", "v2").await;
    visit.press("Search").await;
    visit.until("document.querySelectorAll('main tbody th[scope=row] a').length === 1").await;
    visit.press("v2").await;
    visit.is_at("v2").await;

    visit.open(&format!("{STAGING}/metrics")).await;
    visit.is_at("Metrics of Staging").await;
    visit.press("7 days").await;
    visit
        .until("[...document.querySelectorAll('.ranges a')].some((link) => link.ariaCurrent === 'true' && link.textContent === '7 days')")
        .await;
    // Browsers log a refusal that a script gets.
    let complaints = visit.complaints().await;
    let others: Vec<_> = complaints.iter().filter(|text| !text.contains("/dashboard/uploads - Failed to load resource")).collect();
    assert!(others.is_empty(), "{input_method:?}: {others:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_with_a_mouse() {
    journey(InputMethod::Mouse).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_with_the_keyboard_alone() {
    journey(InputMethod::Keyboard).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_without_javascript() {
    journey(InputMethod::NoScripts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_upload_keeps_the_form_and_says_why() {
    let app = TestApp::spawn_for_browsers().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("main.jsbundle");
    fs::write(&path, "PK\u{3}\u{4} not an archive").unwrap();
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    visit.open(&format!("{STAGING}/upload")).await;
    visit.type_password("ada").await;
    visit.is_at("Upload a release to Staging").await;
    visit.choose_file("package", &path).await;
    visit.fill("appVersion", "one").await;
    visit.press("Release").await;
    visit.until("document.activeElement.id === 'upload-problem'").await;
    visit.sees("Target version").await;
    assert_eq!(visit.read("#appVersion").await, "one");
    visit.fill("appVersion", "1.0.0").await;
    visit.press("Release").await;
    visit.until("document.querySelector('#upload-problem a')?.getAttribute('href') === '#package'").await;
    fs::write(&path, "a bundle").unwrap();
    visit.choose_file("package", &path).await;
    visit.press("Release").await;
    visit.is_at("v1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_sees_no_key_and_no_buttons() {
    let app = TestApp::spawn_for_browsers().await;
    let ada = app.sign_up("ada").await;
    app.register("bob").await;
    let (key, _) = ada.create_app("demo").await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    let production = "/dashboard/apps/ada@example.com:demo/deployments/Production";
    visit.open(production).await;
    visit.type_password("bob").await;
    visit.is_at("Production").await;
    for page in [production.to_owned(), format!("{production}/releases/v1"), "/dashboard/apps/ada@example.com:demo".to_owned()] {
        visit.open(&page).await;
        visit.until("document.readyState === 'complete'").await;
        assert!(!visit.browser.run("return document.documentElement.outerHTML;", &[]).await.as_str().unwrap().contains(&key));
        let verbs = visit.read_all("main a, main button").await;
        for verb in ["Upload a release", "Edit release", "Promote", "Roll back", "Deployment settings", "Create deployment"] {
            assert!(!verbs.iter().any(|text| text == verb), "{page}: {verb}");
        }
    }
}
