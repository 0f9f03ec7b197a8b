//! Moves that are tried again: what was deleted here or there since, and what was done on both servers.

use reqwest::Method;
use serde_json::{Value, json};
use tests::Client;
use tests::cli::Cli;
use tests::old_server::OldServer;

use super::{apps, deployments, entry, history, import, imported, target};

const KEY: &str = "AbC-old_key0123456789xyz";
const STAGING: &str = "Def-old_key0123456789xyz";
const OTHER: &str = "Ghi-old_key0123456789xyz";

async fn delete(client: &Client, deployment: &str) {
    client.delete(&format!("/v1/apps/Weather/deployments/{deployment}")).await.assert_status(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_deployment_comes_back_into_its_app() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let one = entry(&old, "v1", "one");
    let both = [("Production", KEY, json!([one])), ("Staging", STAGING, json!([one]))];
    old.put_apps(&[("Weather", json!({}), &both)]);
    imported(&app, &old.base, "key", &[]).await;

    // Staging is deleted there, Production here: no key of the app there is in use here.
    old.put_apps(&[("Weather", json!({}), &both[..1])]);
    delete(&ada, "Production").await;
    let gone = "  Weather / Staging: no longer on the other server, so devices that ask there get status 404. Devices that ask here still get its releases\n";
    let report = imported(&app, &old.base, "key", &["--dry-run"]).await;
    assert!(report.contains(gone.trim_end()) && report.contains("Weather / Production: 1 release, v1; new: 1"), "{report}");
    let report = imported(&app, &old.base, "key", &[]).await;
    for part in [gone.trim_end(), "Weather / Production: 1 release, v1; new: 1", "`updraft deployment delete Staging --app Weather`"] {
        assert!(report.contains(part), "{part} in\n{report}");
    }
    assert_eq!(apps(&ada).await, ["Weather"]);
    let there = |all: &[(&str, &str)]| all.iter().map(|(name, key)| ((*name).to_owned(), (*key).to_owned())).collect::<Vec<_>>();
    assert_eq!(deployments(&ada, "Weather").await, there(&[("Production", KEY), ("Staging", STAGING)]));
    for key in [KEY, STAGING] {
        let check = format!("/v0.1/public/codepush/update_check?deployment_key={key}&app_version=1.0.0&client_unique_id=a");
        assert_eq!(app.anonymous().get(&check).await.assert(200)["update_info"]["label"], "v1", "{key}");
    }
    // The app has no deployments there any more.
    old.put_apps(&[("Weather", json!({}), &[])]);
    let none = "  Weather: the other server has no deployments of this app\n";
    for more in [&["--dry-run"] as &[&str], &[]] {
        let report = imported(&app, &old.base, "key", more).await;
        assert!(report.contains(none) && report.contains("Weather / Production: no longer on the other server"), "{report}");
    }
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    let again = ["import", "codepush", "--from", &old.base, "--key-file", "old-key"];
    let ended = cli.expect(0, &again).await;
    assert!(ended.out.contains(none) && ended.err.contains("Nothing was imported: the other server has no deployments."), "{ended:?}");
    // Through the API, also if the app was renamed on both servers.
    delete(&ada, "Production").await;
    ada.patch("/v1/apps/Weather", json!({ "name": "Clouds" })).await.assert(200);
    old.put_apps(&[("Sky", json!({}), &both[..1])]);
    let document = cli.json(&again).await;
    assert_eq!((&document["imported"][0]["name"], &document["imported"][0]["gone"]), (&json!("Clouds"), &json!(["Staging"])), "{document}");
    assert_eq!(deployments(&ada, "Clouds").await, there(&[("Production", KEY), ("Staging", STAGING)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_that_was_deleted_on_both_servers_gets_its_key_back() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let one = entry(&old, "v1", "one");
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!([one])), ("Staging", STAGING, json!([one]))])]);
    imported(&app, &old.base, "key", &[]).await;
    delete(&ada, "Production").await;
    old.put_apps(&[("Weather", json!({}), &[("Staging", STAGING, json!([one]))])]);
    assert!(!imported(&app, &old.base, "key", &[]).await.contains("Production"), "it is gone on both servers");
    let check = format!("/v0.1/public/codepush/update_check?deployment_key={KEY}&app_version=1.0.0&client_unique_id=a");
    app.anonymous().get(&check).await.refused(404);

    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("bundle.zip", tests::Bundle::script("saved").0);
    cli.expect(0, &["deployment", "create", "Production", "--app", "Weather", "--key", KEY]).await;
    let release = ["release", "create", "bundle.zip", "--app", "Weather", "--deployment", "Production", "--target-version", "1.0.0"];
    cli.expect(0, &release).await;
    assert_eq!(app.anonymous().get(&check).await.assert(200)["update_info"]["is_available"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_alone_is_never_the_same_app() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let one = entry(&old, "v1", "one");
    let both = [("Production", KEY, json!([one])), ("Staging", STAGING, json!([one]))];
    old.put_apps(&[("Weather", json!({}), &both)]);
    imported(&app, &old.base, "key", &[]).await;
    // An app of this name with a key that was never here: it may be another one.
    old.put_apps(&[("Weather", json!({}), &[("Beta", OTHER, json!([one]))])]);
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    let again = ["import", "codepush", "--from", &old.base, "--key-file", "old-key"];
    let ended = cli.expect(5, &again).await;
    let why = "Weather: the account has an app of this name that was imported from there, and none of its deployments is one of these: Production, \
               Staging. If it is another app, rename it here. If it is this app, and they were deleted there, import no more and go on here. Or \
               delete them here, too, and import again: devices with their keys then get no updates";
    assert!(ended.out.contains(why), "{ended:?}");
    // Sky has the key of a deployment that is here, and Weather that of one that was deleted here: both would be the same app.
    delete(&ada, "Staging").await;
    let apart = [("Sky", json!({}), &both[..1]), ("Weather", json!({}), &both[1..])];
    old.put_apps(&apart);
    let ended = import(&app, &old.base, "key", &[]).await;
    assert!(ended.code == Some(1) && ended.out.contains("has deployment keys of this app and of another one there"), "{ended:?}");
    assert_eq!((apps(&ada).await, deployments(&ada, "Weather").await.len()), (vec!["Weather".to_owned()], 1));
    // The key of an app that was deleted here is in no app.
    ada.delete("/v1/apps/Weather").await.assert_status(204);
    imported(&app, &old.base, "key", &[]).await;
    assert_eq!(apps(&ada).await, ["Sky", "Weather"]);
    // Another import of this account, with a key that sees one of them only.
    old.put_apps(&apart[..1]);
    let unseen = "Imported earlier, but this key does not see them on the other server now: Weather. They stay as they are.";
    for more in [&["--dry-run"] as &[&str], &[]] {
        let report = imported(&app, &old.base, "key", more).await;
        assert!(report.contains(unseen), "{report}");
    }
    assert!(cli.expect(0, &again).await.out.contains(unseen));
    assert!(!imported(&app, &old.base, "key", &["--app", "Sky"]).await.contains("Imported earlier"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_on_both_servers_is_not_named_as_missing() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let mut releases = vec![entry(&old, "v1", "one"), entry(&old, "v2", "two")];
    let put = |releases: &[Value]| old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!(releases))])]);
    put(&releases);
    let report = imported(&app, &old.base, "key", &[]).await;
    assert!(report.ends_with("Run the import again to take over what is released there until your devices ask here.\n"), "{report}");

    let upload = async |content: &str| {
        ada.upload("Weather", "Production", content.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201);
    };
    let roll_back_here =
        async || ada.post("/v1/apps/Weather/deployments/Production/rollbacks", json!({ "targetRelease": "v1" })).await.assert(201);
    let rolled_back_there = |label: &str| {
        let mut release = entry(&old, label, "one");
        release["releaseMethod"] = json!("Rollback");
        release
    };
    // Released on both, and rolled back on both.
    upload("three").await;
    roll_back_here().await;
    releases.extend([entry(&old, "v3", "three"), rolled_back_there("v4")]);
    put(&releases);
    let report = imported(&app, &old.base, "key", &[]).await;
    assert!(report.contains("left alone, because somebody has released here, or cleared its history here\n"), "{report}");
    assert!(report.ends_with("Imports take over nothing more here: release here, too, what is released there.\n"), "{report}");
    // Released on both, and rolled back on the old server only: that one is missing.
    upload("five").await;
    releases.extend([entry(&old, "v5", "five"), rolled_back_there("v6")]);
    put(&releases);
    let report = imported(&app, &old.base, "key", &["--dry-run"]).await;
    assert!(report.contains("or cleared its history here. Not taken over, by their labels there: v6\n"), "{report}");
    // From then on, labels differ. Rolled back on both again, and the earlier one is still the missing one.
    upload("seven").await;
    roll_back_here().await;
    releases.extend([entry(&old, "v7", "seven"), rolled_back_there("v8")]);
    put(&releases);
    let report = imported(&app, &old.base, "key", &[]).await;
    assert!(report.contains("or cleared its history here. Not taken over, by their labels there: v6\n"), "{report}");
    assert_eq!(history(&ada, "Weather", "Production").await.len(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bundle_of_a_release_can_be_downloaded_again() {
    let (app, ada) = target().await;
    ada.create_app("Weather").await;
    let bundle = tests::Bundle::script("one").0;
    ada.upload("Weather", "Production", &bundle, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let cli = Cli::with_token(&app.base, ada.token());
    let shown = cli.json(&["release", "show", "v1", "--app", "Weather", "--deployment", "Production"]).await;
    let url = shown["package"]["blobUrl"].as_str().unwrap();
    let request = app.anonymous().request(Method::GET, url.trim_start_matches(&app.base));
    assert_eq!(app.anonymous().send(request).await.body, bundle);
}
