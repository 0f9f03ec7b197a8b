//! From another Updraft: everything is the same afterwards, and stays in step until somebody releases here.

use serde_json::{Value, json};
use tests::wait::until;
use tests::{Bundle, Client, TestApp};

use super::{apps, deployments, history, import, imported, target};

/// An app with releases of every kind.
pub(super) async fn fill(source: &TestApp, client: &Client) {
    client.create_app("Weather").await;
    client.post("/v1/apps/Weather/deployments", json!({ "name": "Beta", "key": "key-of-beta_0123456789" })).await.assert(201);
    let upload = async |deployment: &str, bytes: &[u8], info: Value| client.upload("Weather", deployment, bytes, info).await.assert(201);
    let script = |text: &str| Bundle::script(text).0;
    upload("Staging", &script("one"), json!({ "appVersion": "^1.0.0", "description": "First\nsteps ☀" })).await;
    upload("Staging", b"a single file", json!({ "appVersion": "1.2.x", "isMandatory": true })).await;
    upload("Staging", &script("three"), json!({ "appVersion": "*", "isDisabled": true })).await;
    client.delete("/v1/apps/Weather/deployments/Production/history").await;
    let promoted = json!({ "destination": "Production", "label": "v1", "packageInfo": { "rollout": 25 } });
    client.post("/v1/apps/Weather/deployments/Staging/promotions", promoted).await.assert(201);
    client.patch("/v1/apps/Weather/deployments/Production/release", json!({ "packageInfo": { "rollout": 100 } })).await.assert(200);
    upload("Production", &script("four"), json!({ "appVersion": "^1.0.0" })).await;
    client.post("/v1/apps/Weather/deployments/Production/rollbacks", json!({ "targetRelease": "v1" })).await.assert(201);
    upload("Production", &script("five"), json!({ "appVersion": "^1.1.0", "rollout": 50 })).await;
    let key = client.deployment_key("Weather", "Production").await;
    let report =
        json!({ "deployment_key": key, "app_version": "1.0.0", "label": "v2", "status": "DeploymentSucceeded", "client_unique_id": "a" });
    source.anonymous().post("/v0.1/public/codepush/report_status/deploy", report).await.assert(200);
    until("it is counted", async || (client.metrics("Weather", "Production").await != json!({})).then_some(())).await;
}

/// The same update checks of both servers have the same answers, apart from addresses.
pub(super) async fn compare(source: &TestApp, app: &TestApp, keys: &[(String, String)]) {
    for (_, key) in keys {
        for version in ["1.0.0", "1.1.0", "1.2.3", "2.0.0"] {
            for client in ["a", "b", "c", "d"] {
                let query = format!("deployment_key={key}&app_version={version}&client_unique_id={client}");
                let path = format!("/v0.1/public/codepush/update_check?{query}");
                let answer = async |server: &TestApp| {
                    let mut answer = server.anonymous().get(&path).await.assert(200);
                    answer["update_info"].as_object_mut().unwrap().remove("download_url");
                    answer
                };
                assert_eq!(answer(source).await, answer(app).await, "{query}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_the_same_and_stays_in_step() {
    let source = TestApp::spawn().await;
    let grace = source.sign_up("grace").await;
    fill(&source, &grace).await;
    grace.create_app("Empty").await;
    for name in ["ada", "bob"] {
        source.sign_up(name).await;
        grace.post(&format!("/v1/apps/Weather/collaborators/{name}@example.com"), json!({})).await.assert(201);
    }
    let (app, ada) = target().await;
    let bob = app.sign_up("bob").await;
    let key = grace.token().to_owned();

    let before = app.audit_rows().await;
    let report = imported(&app, &source.base, &key, &["--dry-run"]).await;
    assert!(report.contains("apps 2, deployments 5, releases 7, new packages 5"), "{report}");
    assert!(report.contains("Nothing was imported: this was a dry run."), "{report}");
    assert_eq!(apps(&ada).await, Vec::<String>::new());

    let report = imported(&app, &source.base, &key, &[]).await;
    for line in [
        "Weather / Production: 4 releases, v1 to v4; new: 4",
        "Weather / Staging: 3 releases, v1 to v3; new: 3",
        "Empty / Staging: no releases; nothing new",
        "Collaborators without an account here: Empty: grace@example.com; Weather: grace@example.com.",
    ] {
        assert!(report.contains(line), "{line} in\n{report}");
    }
    assert_eq!(apps(&ada).await, ["Empty", "Weather"]);
    let keys = deployments(&grace, "Weather").await;
    assert_eq!(deployments(&ada, "Weather").await, keys);
    for deployment in ["Production", "Staging", "Beta"] {
        assert_eq!(history(&ada, "Weather", deployment).await, history(&grace, "Weather", deployment).await, "{deployment}");
    }
    compare(&source, &app, &keys).await;
    // Counts of the other server are never mixed with those of this one.
    assert_eq!(ada.metrics("Weather", "Production").await, json!({}));
    // The package is here, with its manifest.
    let package = ada.get("/v1/apps/Weather/deployments/Staging/history").await.assert(200)["history"][0].take();
    let bytes = app.anonymous().get(package["blobUrl"].as_str().unwrap().trim_start_matches(&app.base)).await;
    assert_eq!(bytes.body, Bundle::script("one").0);
    assert!(package["manifestBlobUrl"].is_string(), "{package}");
    // Bob has the app already, but has not accepted it. Grace gets it when she confirms her address.
    assert_eq!(apps(&bob).await, ["ada@example.com:Weather"]);
    app.register("grace").await;
    let new = app.log_in("grace").await;
    assert_eq!(apps(&new).await, ["ada@example.com:Empty", "ada@example.com:Weather"]);
    let events = app.audit_since(before).await;
    let actions = |wanted: &str| events.iter().filter(|event| event.action == wanted).count();
    assert_eq!((actions("app.import"), actions("release.import")), (2, 2), "{events:?}");
    app.verify_audit().await.unwrap();

    // What is released and changed there comes over; nothing comes twice.
    grace.patch("/v1/apps/Weather/deployments/Production/release", json!({ "packageInfo": { "rollout": 75 } })).await.assert(200);
    grace.upload("Weather", "Staging", b"more", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let report = imported(&app, &source.base, &key, &["--app", "Weather"]).await;
    assert!(report.contains("Weather / Staging: 4 releases, v1 to v4; new: 1"), "{report}");
    assert!(report.contains("Weather / Production: 4 releases, v1 to v4; new: 0, changed: 1"), "{report}");
    assert!(!report.contains("Empty"), "{report}");
    let again = imported(&app, &source.base, &key, &[]).await;
    assert_eq!(again.matches("nothing new").count(), 5, "{again}");
    for deployment in ["Production", "Staging"] {
        assert_eq!(history(&ada, "Weather", deployment).await, history(&grace, "Weather", deployment).await, "{deployment}");
    }

    // Once somebody has released here, the history is theirs.
    ada.upload("Weather", "Staging", b"ours", json!({ "appVersion": "1.0.0" })).await.assert(201);
    grace.upload("Weather", "Staging", b"theirs", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let report = imported(&app, &source.base, &key, &[]).await;
    assert!(
        report.contains("Weather / Staging: on the other server 5 releases, v1 to v5; left alone, because somebody has released here"),
        "{report}"
    );
    let mine = history(&ada, "Weather", "Staging").await;
    assert_eq!((mine.len(), &mine[4]["label"], &mine[4]["releasedBy"]), (5, &json!("v5"), &json!("ada@example.com")));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_get_is_sent_and_faults_are_told() {
    let (app, _) = target().await;
    let old = tests::old_server::OldServer::start().await;
    let wrong = import(&app, &old.base, "key", &[]).await;
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.err.contains("status 404: The specified resource was not found."), "{wrong:?}");
    old.put("/apps", "<html>hello</html>");
    let wrong = import(&app, &old.base, "key", &[]).await;
    assert!(wrong.err.contains("Is this the address of a CodePush server?"), "{wrong:?}");
    let https = old.base.replace("http://", "https://");
    for (address, expected) in [
        (app.base.as_str(), "is the server that the apps would be moved to"),
        ("old.example/api", "must begin with https://"),
        (https.as_str(), "does not speak TLS there"),
    ] {
        let wrong = import(&app, address, "key", &[]).await;
        assert!(wrong.code == Some(1) && wrong.err.contains(expected), "{wrong:?}");
    }
    for (address, expected) in [("ftp://old.example", "must begin with https://"), ("https://me:secret@old.example", "user name")] {
        let wrong = import(&app, address, "key", &[]).await;
        assert!(wrong.code == Some(1) && wrong.err.contains(expected) && !wrong.err.contains("secret"), "{wrong:?}");
    }
    let wrong = import(&app, &old.base, "two words", &[]).await;
    assert!(wrong.err.contains("the key is empty, or has spaces"), "{wrong:?}");
    old.put("/apps", json!({ "apps": [] }).to_string());
    let empty = import(&app, &old.base, "key", &["--dry-run"]).await;
    assert!(empty.code == Some(0) && empty.out.contains("The key sees no apps."), "{empty:?}");
    old.put("/apps", json!({ "apps": [{ "name": "a@example.com:App" }, { "name": "b@example.com:App" }] }).to_string());
    let wrong = import(&app, &old.base, "key", &["--app", "App"]).await;
    let text = "not see exactly one app named App. It sees: a@example.com:App, b@example.com:App";
    assert!(wrong.code == Some(1) && wrong.err.contains(text), "{wrong:?}");
    assert!(old.asked().iter().all(|(method, _)| method == "GET"), "{:?}", old.asked());
}
