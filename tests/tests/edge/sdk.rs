//! The main use case end to end, with existing SDKs, which are unaware that this is another service.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use tests::bucket::TestBucket;
use tests::edge::{BUCKET_KEY, EdgeApp, EdgeOptions, until_counted};
use tests::node::Sdks;
use tests::{Bundle, Client};

/// A device: its SDK, and its client ID.
struct Device {
    name: &'static str,
    sdk: &'static str,
    version: &'static str,
}

const DEVICES: [Device; 2] = [
    Device { name: "device-with-the-new-sdk", sdk: "code-push", version: "4.2.3" },
    Device { name: "device-with-the-old-sdk", sdk: "code-push-2", version: "2.0.7" },
];

/// The expected values of a release, calculated from its files.
struct Built {
    bytes: Vec<u8>,
    /// Names in the archive with the hashes of their contents.
    files: Value,
}

/// The built files of a version of react-dom, packed as the CLI packs a folder.
fn built(package: &str) -> Built {
    let folder = xtask::paths::root().join("node_modules").join(package).join("umd");
    let mut names: Vec<String> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".production.min.js"));
    names.sort();
    assert!(names.len() >= 3, "{package} has production builds: {names:?}");
    let files: Vec<(String, Vec<u8>)> =
        names.into_iter().map(|name| (format!("CodePush/{name}"), fs::read(folder.join(&name)).unwrap())).collect();
    let parts: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let hashes = files.iter().map(|(name, bytes)| (name.clone(), json!(Sha256Hex::of(bytes).as_str()))).collect();
    Built { bytes: Bundle::of(&parts).0, files: Value::Object(hashes) }
}

async fn upload(owner: &Client, built: &Built, description: &str) -> Value {
    let info = json!({ "appVersion": "1.0.0", "description": description });
    owner.upload("app", "Production", &built.bytes, info).await.assert(201)["package"].take()
}

/// The device is offered this release and downloads it. Returns the package.
async fn download(app: &EdgeApp, sdks: &mut Sdks, device: &Device, current: &Value, release: &Value, built: &Built) -> Value {
    let offered = sdks.run(json!({ "do": "check", "client": device.name, "package": current })).await;
    let expected = json!({
        "deploymentKey": offered["deploymentKey"],
        "description": release["description"],
        "label": release["label"],
        "appVersion": "1.0.0",
        "isMandatory": false,
        "packageHash": release["packageHash"],
        "packageSize": built.bytes.len(),
        "downloadUrl": offered["downloadUrl"],
    });
    assert_eq!(offered, expected, "{}", device.name);
    let url = offered["downloadUrl"].as_str().unwrap();
    assert!(url.starts_with(&format!("{}/", app.edge.base)), "{url}");

    let got = sdks.run(json!({ "do": "download", "url": offered["downloadUrl"] })).await;
    let expected = json!({
        "status": 200,
        "contentLength": built.bytes.len().to_string(),
        "contentEncoding": null,
        "size": built.bytes.len(),
        "sha256": Sha256Hex::of(&built.bytes).as_str(),
        "packageHash": release["packageHash"],
        "files": built.files,
    });
    assert_eq!(got, expected, "{}", device.name);
    offered
}

/// The device is offered this release and installs it: check, download, download report. Returns the installed package.
async fn take(app: &EdgeApp, sdks: &mut Sdks, device: &Device, current: &Value, release: &Value, built: &Built) -> Value {
    let offered = download(app, sdks, device, current, release, built).await;
    sdks.run(json!({ "do": "downloaded", "client": device.name, "package": offered })).await;
    offered
}

/// Where bundles are, and what the Worker has of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bundles {
    /// In R2, which the Worker reads. The control plane is down when devices download.
    R2,
    /// In a bucket behind the control plane, which sends the bytes.
    Bucket,
    /// In a bucket, to which the control plane sends the devices.
    Redirect,
}

// The first test has bundles in the control plane's folder, and nothing in R2.
#[tokio::test(flavor = "multi_thread")]
async fn both_sdks_download_from_every_storage() {
    for bundles in [Bundles::R2, Bundles::Bucket, Bundles::Redirect] {
        let bucket = TestBucket::start();
        let mut app = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
        app.control.stop().await;
        if bundles == Bundles::R2 {
            app.control.configure_bucket(&app.edge.bundles(), BUCKET_KEY);
        } else {
            let [storage, id, secret] = bucket.settings().map(|(_, value)| value);
            app.control.configure_bucket(&storage, (&id, &secret));
        }
        if bundles == Bundles::Redirect {
            app.control.configure("VERIFY_BUNDLES", "off");
        }
        app.control.start().await;
        let owner = app.sign_up("ada").await;
        let (key, _) = owner.create_app("app").await;
        let built = built("react-dom-v1");
        let release = upload(&owner, &built, "react-dom 18.2.0").await;
        let offered = app.until_offered(&key, "v1").await.json();
        let url = offered["update_info"]["download_url"].as_str().unwrap().strip_prefix(&app.edge.base).unwrap().to_owned();
        if bundles == Bundles::R2 {
            app.control.stop().await;
        }
        let answer = app.anonymous().get(&url).await;
        answer.assert_status(if bundles == Bundles::Redirect { 302 } else { 200 });
        let mut sdks = Sdks::start();
        let binary = json!({ "appVersion": "1.0.0" });
        for device in &DEVICES {
            let configuration =
                json!({ "appVersion": "1.0.0", "clientUniqueId": device.name, "deploymentKey": key, "serverUrl": app.edge.base });
            assert_eq!(sdks.client(device.name, device.sdk, configuration).await, device.version);
            download(&app, &mut sdks, device, &binary, &release, &built).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sdk_generations_install_two_releases_and_are_counted_exactly() {
    // Short TTLs: a device that has just installed a release must not be offered it again by a cached response.
    let app = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    let mut sdks = Sdks::start();
    let binary = json!({ "appVersion": "1.0.0" });
    app.until_pushed(&key).await;
    for device in &DEVICES {
        let configuration =
            json!({ "appVersion": "1.0.0", "clientUniqueId": device.name, "deploymentKey": key, "serverUrl": app.edge.base });
        assert_eq!(sdks.client(device.name, device.sdk, configuration).await, device.version);
        assert_eq!(sdks.run(json!({ "do": "check", "client": device.name, "package": binary })).await, Value::Null);
        sdks.run(json!({ "do": "deployed", "client": device.name, "package": null })).await;
    }
    let none = json!({ "active": 0, "downloaded": 0, "installed": 0, "failed": 0 });
    until_counted(&owner, "app", "Production", &json!({ "1.0.0": { "active": 2, "downloaded": 0, "installed": 0, "failed": 0 } })).await;

    let first = built("react-dom-v1");
    let release = upload(&owner, &first, "react-dom 18.2.0").await;
    app.until_offered(&key, "v1").await;
    let mut installed = Vec::new();
    for device in &DEVICES {
        let package = take(&app, &mut sdks, device, &binary, &release, &first).await;
        sdks.run(json!({
            "do": "deployed", "client": device.name, "package": package, "status": "DeploymentSucceeded",
            "previous": "1.0.0", "previousKey": key,
        }))
        .await;
        assert_eq!(sdks.run(json!({ "do": "check", "client": device.name, "package": package })).await, Value::Null, "{}", device.name);
        installed.push(package);
    }
    let v1 = json!({ "active": 2, "downloaded": 2, "installed": 2, "failed": 0 });
    until_counted(&owner, "app", "Production", &json!({ "1.0.0": none, "v1": v1 })).await;

    let second = built("react-dom-v2");
    let release = upload(&owner, &second, "react-dom 18.3.1").await;
    app.until_offered(&key, "v2").await;
    for (device, current) in DEVICES.iter().zip(&installed) {
        let package = take(&app, &mut sdks, device, current, &release, &second).await;
        assert_eq!(package["label"], "v2");
        // The new SDK starts and reports it twice, like a device without a response to the first report. The old one rolls back and reports that
        // twice.
        let status = if device.sdk == "code-push" { "DeploymentSucceeded" } else { "DeploymentFailed" };
        for _ in 0..2 {
            sdks.run(json!({
                "do": "deployed", "client": device.name, "package": package, "status": status, "previous": "v1", "previousKey": key,
            }))
            .await;
        }
        if status == "DeploymentSucceeded" {
            assert_eq!(sdks.run(json!({ "do": "check", "client": device.name, "package": package })).await, Value::Null);
        }
    }
    let v1 = json!({ "active": 1, "downloaded": 2, "installed": 2, "failed": 0 });
    let v2 = json!({ "active": 1, "downloaded": 2, "installed": 1, "failed": 1 });
    let mut expected = json!({ "1.0.0": none, "v1": v1, "v2": v2 });
    until_counted(&owner, "app", "Production", &expected).await;

    // Once a later report is counted, the repeated ones were processed.
    let last = json!({ "appVersion": "9.9.9", "clientUniqueId": "last", "deploymentKey": key, "serverUrl": app.edge.base });
    sdks.client("last", "code-push", last).await;
    sdks.run(json!({ "do": "deployed", "client": "last", "package": null })).await;
    expected["9.9.9"] = json!({ "active": 1, "downloaded": 0, "installed": 0, "failed": 0 });
    until_counted(&owner, "app", "Production", &expected).await;
}

/// Headers of SDKs in the field: plugin name, plugin version, SDK version.
const HEADERS: [[Option<&str>; 3]; 8] = [
    // The SDK version is the text of a dependency, with its range operator.
    [Some("react-native-code-push"), Some("9.0.0"), Some("^4.2.2")],
    [Some("react-native-code-push"), Some("5.6.1"), Some("^2.0.7")],
    [Some("@revopush/react-native-code-push"), Some("1.6.0"), Some("4.2.3")],
    [Some("@appzung/react-native-code-push"), Some("11.0.4"), None],
    // A fork for Capacitor, under the name of the Cordova plugin.
    [Some("cordova-plugin-code-push"), Some("1.11.13"), Some("3.1.5")],
    [Some("undefined"), Some("undefined"), Some("undefined")],
    [Some(""), Some(""), Some("")],
    [None, None, None],
];

#[tokio::test(flavor = "multi_thread")]
async fn sdk_headers_of_every_kind_are_accepted_by_the_edge_and_by_control() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
    let owner = app.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    upload(&owner, &Built { bytes: Bundle::script("first").0, files: Value::Null }, "first").await;
    app.until_offered(&key, "v1").await;
    let mut devices = 0;
    for base in [&app.edge.base, &app.control.base] {
        let client = Client::new(base, None);
        for [name, plugin, sdk] in HEADERS {
            devices += 1;
            let device = format!("device-{devices}");
            let send = async |method: Method, path: &str, body: Option<Value>| {
                let mut request = client.request(method, path);
                for (header, value) in
                    [("x-codepush-plugin-name", name), ("x-codepush-plugin-version", plugin), ("x-codepush-sdk-version", sdk)]
                {
                    if let Some(value) = value {
                        request = request.header(header, value);
                    }
                }
                if let Some(body) = body {
                    request = request.json(&body);
                }
                client.send(request).await.assert(200)
            };
            let check = format!("/v0.1/public/codepush/update_check?deployment_key={key}&app_version=1.0.0&client_unique_id={device}");
            assert_eq!(send(Method::GET, &check, None).await["update_info"]["label"], "v1", "{base}: {name:?}");
            let body = json!({ "client_unique_id": device, "deployment_key": key, "label": "v1" });
            send(Method::POST, "/v0.1/public/codepush/report_status/download", Some(body)).await;
            let body = json!({
                "app_version": "1.0.0", "client_unique_id": device, "deployment_key": key, "label": "v1", "status": "DeploymentSucceeded",
            });
            send(Method::POST, "/v0.1/public/codepush/report_status/deploy", Some(body)).await;
        }
    }
    let v1 = json!({ "active": devices, "downloaded": devices, "installed": devices, "failed": 0 });
    until_counted(&owner, "app", "Production", &json!({ "v1": v1 })).await;
}
