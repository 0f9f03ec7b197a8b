//! Whole apps with the JavaScript of every CodePush SDK: they synchronize through the Worker, on every family of paths that an SDK can produce.

use serde_json::{Map, Value, json};
use shared::keys::Label;
use shared::rollout::is_selected;
use tests::edge::{EdgeApp, EdgeOptions, until_counted};
use tests::node::Sdks;
use tests::{Bundle, Client};

/// An SDK package, and how apps with it differ.
#[derive(Clone, Copy)]
struct Sdk {
    package: &'static str,
    version: &'static str,
    /// The file of a bundle that the app starts.
    file: &'static str,
    paths: Paths,
    /// The final status of a sync that ignores a failed release.
    ignored: &'static str,
    /// The server addresses of apps, after the base URL.
    addresses: &'static [&'static str],
}

/// Paths after the server address: update check, deploy report, download report.
type Paths = [&'static str; 3];

const SNAKE: Paths =
    ["/v0.1/public/codepush/update_check", "/v0.1/public/codepush/report_status/deploy", "/v0.1/public/codepush/report_status/download"];
const CAMEL: Paths = ["/updateCheck", "/reportStatus/deploy", "/reportStatus/download"];

const NEW: Sdk = Sdk {
    package: "code-push",
    version: "4.2.3",
    file: "CodePush/main.jsbundle",
    paths: SNAKE,
    ignored: "UP_TO_DATE",
    addresses: &["", "/v1"],
};

const SDKS: [Sdk; 7] = [
    NEW,
    Sdk { package: "code-push-2", version: "2.0.7", paths: CAMEL, addresses: &["", "/v1", "/v0.1/legacy", "/v1/v0.1/legacy"], ..NEW },
    Sdk { package: "react-native-code-push", version: "9.0.1", ..NEW },
    Sdk { package: "@code-push-next/react-native-code-push", version: "10.4.2", ..NEW },
    Sdk { package: "@revopush/react-native-code-push", version: "1.6.0", ..NEW },
    Sdk { package: "cap-codepush", version: "3.0.0", file: "public/index.html", ignored: "UPDATE_IGNORED", ..NEW },
    Sdk { package: "cordova-plugin-code-push", version: "2.0.0", file: "www/index.html", ..NEW },
];

const DOWNLOADS: &str = "GET /v1/public/svc/bundles/";
const ROLLOUT: u8 = 50;

/// A device, with one app of each scene.
struct Device {
    client_id: String,
    app_version: &'static str,
}

impl Device {
    /// The first device that is, or is not, among the percentage that gets the release v6.
    fn find(is_inside: bool, app_version: &'static str) -> Self {
        let label = Label::new(6).unwrap();
        let mut ids = (0..100).map(|number| format!("device-{number}"));
        let client_id = ids.find(|id| is_selected(id, &label, ROLLOUT) == is_inside).unwrap();
        Self { client_id, app_version }
    }
}

/// Apps with one SDK and server address, on two devices.
struct Scene<'a> {
    edge: &'a EdgeApp,
    owner: Client,
    sdk: Sdk,
    address: &'static str,
    app: String,
    key: String,
    /// Releases and the sizes of their files, v1 first.
    releases: Vec<(Value, usize)>,
    /// Expected counters.
    counters: Map<String, Value>,
}

impl<'a> Scene<'a> {
    async fn set_up(edge: &'a EdgeApp, sdk: Sdk, address: &'static str) -> Self {
        let app = format!("{}{address}", sdk.package).replace(['/', '@'], "-");
        // An account for each app: uploads are rate limited.
        let owner = edge.sign_up(&format!("owner-of-{app}")).await;
        let (key, _) = owner.create_app(&app).await;
        Self { edge, owner, sdk, address, app, key, releases: Vec::new(), counters: Map::new() }
    }

    /// The driver's name for the app on this device.
    fn name(&self, device: &Device) -> String {
        format!("{} on {}", self.app, device.client_id)
    }

    /// A new installation starts for the first time.
    async fn install_app(&self, sdks: &mut Sdks, device: &Device) {
        let server = format!("{}{}", self.edge.edge.base, self.address);
        let configuration = json!({
            "appVersion": device.app_version, "clientUniqueId": device.client_id, "deploymentKey": self.key, "serverUrl": server,
        });
        let command = json!({ "do": "new", "device": self.name(device), "sdk": self.sdk.package, "configuration": configuration });
        assert_eq!(sdks.run(command).await, self.sdk.version);
        self.starts(sdks, device, Value::Null).await;
    }

    /// The app starts and runs the release of this label.
    async fn starts(&self, sdks: &mut Sdks, device: &Device, running: Value) {
        let command = json!({ "do": "start", "device": self.name(device) });
        assert_eq!(sdks.run(command).await, running, "{}", self.app);
    }

    /// The SDK is offered a release, by number, and describes it exactly.
    async fn offered(&self, sdks: &mut Sdks, device: &Device, number: usize, has_failed: bool, is_mandatory: bool) {
        let found = sdks.run(json!({ "do": "check", "device": self.name(device) })).await;
        let (release, size) = &self.releases[number - 1];
        let expected = json!({
            // Exactly as sent: a device discards a release for another text.
            "appVersion": device.app_version,
            "deploymentKey": self.key,
            "description": release["description"],
            "downloadUrl": found["downloadUrl"],
            "failedInstall": has_failed,
            "isMandatory": is_mandatory,
            "label": format!("v{number}"),
            "packageHash": release["packageHash"],
            "packageSize": size,
        });
        let fields: Map<String, Value> = expected.as_object().unwrap().keys().map(|name| (name.clone(), found[name].clone())).collect();
        assert_eq!(Value::Object(fields), expected, "{}", self.app);
        let url = found["downloadUrl"].as_str().unwrap();
        assert!(url.starts_with(&format!("{}/v1/public/svc/bundles/", self.edge.edge.base)), "{}: {url}", self.app);
    }

    /// The SDK is offered nothing.
    async fn not_offered(&self, sdks: &mut Sdks, device: &Device) {
        assert_eq!(sdks.run(json!({ "do": "check", "device": self.name(device) })).await, Value::Null, "{}", self.app);
    }

    async fn sync(&self, sdks: &mut Sdks, device: &Device, expected: Value) {
        assert_eq!(sdks.run(json!({ "do": "sync", "device": self.name(device) })).await, expected, "{}", self.app);
    }

    /// A sync that installs nothing and ends with this status.
    async fn stays(&self, sdks: &mut Sdks, device: &Device, status: &str, running: Value) {
        let expected = json!({ "statuses": ["CHECKING_FOR_UPDATE", status], "restarted": false, "running": running });
        self.sync(sdks, device, expected).await;
    }

    /// A sync that installs a release; a mandatory one is started at once.
    async fn installs(&self, sdks: &mut Sdks, device: &Device, is_mandatory: bool, running: Value) {
        let statuses = ["CHECKING_FOR_UPDATE", "DOWNLOADING_PACKAGE", "INSTALLING_UPDATE", "UPDATE_INSTALLED"];
        self.sync(sdks, device, json!({ "statuses": statuses, "restarted": is_mandatory, "running": running })).await;
    }

    /// The next start of the app runs the release, which then says that it works.
    async fn starts_and_confirms(&self, sdks: &mut Sdks, device: &Device, label: &str) {
        self.starts(sdks, device, json!(label)).await;
        self.stays(sdks, device, "UP_TO_DATE", json!(label)).await;
    }

    async fn upload(&mut self, info: Value) {
        let number = self.releases.len() + 1;
        let content = format!("{} release {number}", self.app);
        let bytes = Bundle::of(&[(self.sdk.file, content.as_bytes())]).0;
        let mut info = info;
        info["appVersion"] = json!("1.0.0");
        info["description"] = json!(format!("release {number}"));
        let release = self.owner.upload(&self.app, "Production", &bytes, info).await.assert(201)["package"].take();
        assert_eq!(release["label"], format!("v{number}"));
        self.releases.push((release, bytes.len()));
    }

    /// Sets the expected counters of a label, or of the binary: active, downloaded, installed, failed.
    fn expect(&mut self, label: &str, [active, downloaded, installed, failed]: [u8; 4]) {
        let counters = json!({ "active": active, "downloaded": downloaded, "installed": installed, "failed": failed });
        self.counters.insert(label.to_owned(), counters);
    }

    async fn counted(&self) {
        until_counted(&self.owner, &self.app, "Production", &Value::Object(self.counters.clone())).await;
    }

    /// The device sent requests only on the paths of its address, and all of them were answered with 200.
    async fn used_its_paths(&self, sdks: &mut Sdks, device: &Device) {
        let sent = sdks.run(json!({ "do": "sent", "device": self.name(device) })).await;
        let mut sent: Vec<&str> = sent.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        sent.retain(|line| !(line.starts_with(DOWNLOADS) && line.ends_with(" 200")));
        sent.sort_unstable();
        sent.dedup();
        let [check, deploy, download] = self.sdk.paths.map(|path| format!("{}{path} 200", self.address));
        assert_eq!(sent, [format!("GET {check}"), format!("POST {deploy}"), format!("POST {download}")], "{}", self.app);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_sdk_syncs_on_every_family_of_paths() {
    // Short TTLs: a device that has just installed a release must not be offered it again by a cached response.
    let edge = EdgeApp::spawn_with(EdgeOptions::default().without_memory()).await;
    let mut sdks = Sdks::with_apps();
    let (device, newcomer) = (Device::find(false, "1.0.0"), Device::find(true, "1.0"));
    let mut scenes = Vec::new();
    for sdk in SDKS {
        for address in sdk.addresses {
            scenes.push(Scene::set_up(&edge, sdk, address).await);
        }
    }
    // Each step is taken for all apps before the next one, so that they wait for the edge and the counters together.
    none_then_optional_then_mandatory(&mut scenes, &mut sdks, &device).await;
    failed_then_rolled_back(&mut scenes, &mut sdks, &device).await;
    disabled(&mut scenes, &mut sdks, &device).await;
    rolled_out_to_some(&mut scenes, &mut sdks, &device, &newcomer).await;
    for scene in &scenes {
        scene.used_its_paths(&mut sdks, &device).await;
        scene.used_its_paths(&mut sdks, &newcomer).await;
    }
}

/// The releases v1 and v2; then v3 is uploaded.
async fn none_then_optional_then_mandatory(scenes: &mut [Scene<'_>], sdks: &mut Sdks, device: &Device) {
    for scene in scenes.iter_mut() {
        scene.edge.until_pushed(&scene.key).await;
        scene.install_app(sdks, device).await;
        scene.not_offered(sdks, device).await;
        scene.stays(sdks, device, "UP_TO_DATE", Value::Null).await;
        scene.expect("1.0.0", [1, 0, 0, 0]);
    }
    for scene in scenes.iter_mut() {
        scene.counted().await;
        scene.upload(json!({})).await;
    }

    // Optional: installed by the next start.
    for scene in scenes.iter_mut() {
        scene.edge.until_offered(&scene.key, "v1").await;
        scene.offered(sdks, device, 1, false, false).await;
        scene.installs(sdks, device, false, Value::Null).await;
        scene.starts_and_confirms(sdks, device, "v1").await;
        scene.expect("1.0.0", [0, 0, 0, 0]);
        scene.expect("v1", [1, 1, 1, 0]);
    }
    for scene in scenes.iter_mut() {
        scene.counted().await;
        scene.upload(json!({ "isMandatory": true })).await;
    }

    // Mandatory: installed at once.
    for scene in scenes.iter_mut() {
        scene.edge.until_offered(&scene.key, "v2").await;
        scene.offered(sdks, device, 2, false, true).await;
        scene.installs(sdks, device, true, json!("v2")).await;
        scene.stays(sdks, device, "UP_TO_DATE", json!("v2")).await;
        scene.expect("v1", [0, 1, 1, 0]);
        scene.expect("v2", [1, 1, 1, 0]);
    }
    for scene in scenes.iter_mut() {
        scene.counted().await;
        scene.upload(json!({})).await;
    }
}

/// The releases v3 and v4; then v5 is uploaded.
async fn failed_then_rolled_back(scenes: &mut [Scene<'_>], sdks: &mut Sdks, device: &Device) {
    // A release that does not work: the device returns to the one before, reports the failure and does not install the release again.
    for scene in scenes.iter_mut() {
        scene.edge.until_offered(&scene.key, "v3").await;
        scene.offered(sdks, device, 3, false, false).await;
        scene.installs(sdks, device, false, json!("v2")).await;
        scene.starts(sdks, device, json!("v3")).await;
        scene.starts(sdks, device, json!("v2")).await;
        for _ in 0..2 {
            scene.stays(sdks, device, scene.sdk.ignored, json!("v2")).await;
        }
        scene.offered(sdks, device, 3, true, false).await;
        scene.expect("v3", [0, 1, 0, 1]);
    }
    for scene in scenes.iter_mut() {
        scene.counted().await;
        let path = format!("/v1/apps/{}/deployments/Production/rollbacks", scene.app);
        let rollback = scene.owner.post(&path, json!({ "targetRelease": "v1" })).await.assert(201)["package"].take();
        assert_eq!(rollback["packageHash"], scene.releases[0].0["packageHash"]);
        let size = scene.releases[0].1;
        scene.releases.push((rollback, size));
    }

    // The owner returns to the first release.
    for scene in scenes.iter_mut() {
        scene.edge.until_offered(&scene.key, "v4").await;
        scene.offered(sdks, device, 4, false, false).await;
        scene.installs(sdks, device, false, json!("v2")).await;
        scene.starts_and_confirms(sdks, device, "v4").await;
        scene.expect("v2", [0, 1, 1, 0]);
        scene.expect("v4", [1, 1, 1, 0]);
    }
    for scene in scenes.iter_mut() {
        scene.counted().await;
        scene.upload(json!({})).await;
    }
}

/// The release v5; then v6 is uploaded.
async fn disabled(scenes: &mut [Scene<'_>], sdks: &mut Sdks, device: &Device) {
    // A release that is disabled afterwards: its device returns to the one before, and it is not offered any more.
    for scene in scenes.iter_mut() {
        scene.edge.until_offered(&scene.key, "v5").await;
        scene.offered(sdks, device, 5, false, false).await;
        scene.installs(sdks, device, false, json!("v4")).await;
        scene.starts_and_confirms(sdks, device, "v5").await;
        scene.expect("v4", [0, 1, 1, 0]);
        scene.expect("v5", [1, 1, 1, 0]);
    }
    for scene in scenes.iter_mut() {
        scene.counted().await;
        let path = format!("/v1/apps/{}/deployments/Production/release", scene.app);
        scene.owner.patch(&path, json!({ "packageInfo": { "isDisabled": true } })).await.assert(200);
    }
    for scene in scenes.iter_mut() {
        scene.edge.until_offered(&scene.key, "v4").await;
        scene.offered(sdks, device, 4, false, false).await;
        scene.installs(sdks, device, false, json!("v5")).await;
        scene.starts_and_confirms(sdks, device, "v4").await;
        scene.not_offered(sdks, device).await;
        scene.expect("v4", [1, 1, 1, 0]);
        scene.expect("v5", [0, 1, 1, 0]);
    }
    for scene in scenes.iter_mut() {
        scene.counted().await;
        scene.upload(json!({ "rollout": ROLLOUT })).await;
    }
}

/// The release v6.
async fn rolled_out_to_some(scenes: &mut [Scene<'_>], sdks: &mut Sdks, device: &Device, newcomer: &Device) {
    // A rollout: only for the device inside its percentage. For a new device it is mandatory, because v2 was.
    for scene in scenes.iter_mut() {
        scene.edge.until_offered_to(&newcomer.client_id, &scene.key, "v6").await;
        scene.not_offered(sdks, device).await;
        scene.stays(sdks, device, "UP_TO_DATE", json!("v4")).await;
        scene.install_app(sdks, newcomer).await;
        scene.offered(sdks, newcomer, 6, false, true).await;
        scene.installs(sdks, newcomer, true, json!("v6")).await;
        scene.stays(sdks, newcomer, "UP_TO_DATE", json!("v6")).await;
        // Another start: the release is not discarded.
        scene.starts_and_confirms(sdks, newcomer, "v6").await;
        scene.expect("1.0", [0, 0, 0, 0]);
        scene.expect("v6", [1, 1, 1, 0]);
    }
    for scene in scenes.iter() {
        scene.counted().await;
    }
}
