//! The bundle that the next one is compiled against: compared with what a device without a client ID gets, for generated histories.

use reqwest::Method;
use serde_json::{Value, json};
use tests::random::Random;
use tests::{Bundle, Client, TestApp};

const VERSIONS: [&str; 4] = ["1.0.0", "1.2.0", "2.0.0", "3.1.4"];
const RANGES: [&str; 6] = ["1.0.0", "^1.0.0", "*", "2.0.0", ">=1.2.0 <3.0.0", "~3.1.0"];

async fn base_bundle(client: &Client, deployment: &str, version: &str) -> Value {
    let path = format!("/apps/demo/deployments/{deployment}/basebundle");
    let request = client.request(Method::GET, &path).query(&[("appVersion", version), ("buildNumber", "7")]);
    client.send(request).await.assert(200)["basebundle"].take()
}

#[tokio::test]
async fn twenty_histories_give_the_bundle_that_devices_have() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    // What is promoted.
    ada.upload("demo", "Production", &Bundle::script("promoted").0, json!({ "appVersion": "*" })).await.assert(201);
    let mut random = Random::new(24);
    let (mut found, mut rolled_back, mut promoted) = (0, 0, 0);
    for history in 0..20 {
        let deployment = format!("history {history}");
        let made = ada.post("/v1/apps/demo/deployments", json!({ "name": deployment })).await.assert(201);
        let key = made["deployment"]["key"].as_str().unwrap().to_owned();
        let mut range = random.one_of(&RANGES);
        for release in 0..random.below(6) {
            // A rollback needs an earlier release for the same versions, and a promotion other contents than the newest release's.
            for target in (1..=release).filter(|_| random.chance(50)) {
                let target = json!({ "targetRelease": format!("v{target}") });
                let done = ada.post(&format!("/v1/apps/demo/deployments/{deployment}/rollbacks"), target).await;
                assert!([201, 404, 409].contains(&done.status.as_u16()), "{}", done.text());
                rolled_back += usize::from(done.status == 201);
            }
            if random.chance(20) {
                let promotion = json!({ "destination": deployment, "packageInfo": { "appVersion": random.one_of(&RANGES) } });
                let done = ada.post("/v1/apps/demo/deployments/Production/promotions", promotion).await;
                assert!([201, 409].contains(&done.status.as_u16()), "{}", done.text());
                promoted += usize::from(done.status == 201);
            }
            // Everything before it is gone.
            if history % 5 == 0 && release == 2 {
                ada.delete(&format!("/v1/apps/demo/deployments/{deployment}/history")).await.assert_status(204);
            }
            if random.chance(50) {
                range = random.one_of(&RANGES);
            }
            let mut info = json!({ "appVersion": range, "isDisabled": random.chance(25) });
            let is_staged = random.chance(33);
            if is_staged {
                info["rollout"] = json!(1 + random.below(99));
            }
            let was_disabled = info["isDisabled"] == json!(true);
            let bytes = Bundle::script(&format!("{history} {release}")).0;
            ada.upload("demo", &deployment, &bytes, info).await.assert(201);
            // No release may follow an unfinished rollout, unless it is disabled.
            if is_staged && random.chance(50) {
                ada.patch(&format!("/v1/apps/demo/deployments/{deployment}/release"), json!({ "packageInfo": { "isDisabled": true } }))
                    .await
                    .assert_status(if was_disabled { 204 } else { 200 });
            } else if is_staged {
                break;
            }
        }
        for version in VERSIONS {
            let bundle = base_bundle(&ada, &deployment, version).await;
            let checked = app.anonymous().get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version={version}")).await;
            let update = checked.assert(200)["update_info"].take();
            if update["is_available"] == json!(true) {
                found += 1;
                assert_eq!(bundle["label"], update["label"], "{deployment}, {version}");
                let download = async |url: &Value| {
                    let path = url.as_str().unwrap().strip_prefix(app.base.as_str()).unwrap().to_owned();
                    let bytes = app.anonymous().get(&path).await;
                    bytes.assert_status(200);
                    bytes.body
                };
                let bytes = download(&bundle["bundleBlobUrl"]).await;
                assert!(bytes.starts_with(b"PK"), "an archive");
                assert!(bytes == download(&update["download_url"]).await, "{deployment}, {version}: not what devices get");
            } else {
                assert_eq!(bundle, json!({}), "{deployment}, {version}");
            }
        }
    }
    assert!(found > 10, "the histories have something to find: {found}");
    assert!(rolled_back > 2 && promoted > 2, "{rolled_back} rollbacks and {promoted} promotions");
}

#[tokio::test]
async fn ranges_are_looked_up_as_they_are_and_single_files_are_none() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Staging", &Bundle::script("one").0, json!({ "appVersion": "^1.0.0" })).await.assert(201);
    assert_eq!(base_bundle(&ada, "Staging", "^1.0.0").await["label"], "v1");
    assert_eq!(base_bundle(&ada, "Staging", ">=1.0.0 <2.0.0-0").await["label"], "v1", "the same range in other words");
    assert_eq!(base_bundle(&ada, "Staging", "1.4").await["label"], "v1", "a short version");
    assert_eq!(base_bundle(&ada, "Staging", "*").await, json!({}));
    ada.upload("demo", "Staging", b"a single file", json!({ "appVersion": "^1.0.0" })).await.assert(201);
    assert_eq!(base_bundle(&ada, "Staging", "1.0.0").await, json!({}));

    let path = "/apps/demo/deployments/Staging/basebundle";
    for (query, text) in
        [("", "is required"), ("?appVersion=", "is required"), ("?appVersion=one", "invalid"), ("?appVersion=1&appVersion=2", "once")]
    {
        let refused = ada.get(&format!("{path}{query}")).await;
        refused.assert_status(400);
        assert!(refused.text().contains(text), "{query}: {}", refused.text());
    }
}
