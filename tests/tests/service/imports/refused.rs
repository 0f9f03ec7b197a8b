//! What breaks a rule here is named before anything is written.

use serde_json::json;
use tests::old_server::{OldServer, Trouble};
use tests::{TestApp, program};

use super::{apps, deployments, entry, history, import, imported, target};

const KEY: &str = "AbC-old_key0123456789xyz";

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_a_rule_is_named_and_nothing_is_written() {
    let (app, ada) = target().await;
    let bob = app.sign_up("bob").await;
    bob.post("/v1/apps", json!({ "name": "Other" })).await.assert(201);
    bob.post("/v1/apps/Other/deployments", json!({ "name": "Beta", "key": KEY })).await.assert(201);
    ada.post("/v1/apps", json!({ "name": "Mine" })).await.assert(201);
    let old = OldServer::start().await;
    let mut releases: Vec<_> = (1..9).map(|number| entry(&old, &format!("v{number}"), &format!("content {number}"))).collect();
    releases[1]["appVersion"] = json!("1.2.3.4");
    releases[2]["rollout"] = json!(101);
    old.put("/blobs/v4", b"PK\x03\x04 is no archive".as_slice());
    releases[4]["packageHash"] = json!("0".repeat(64));
    releases[5]["description"] = json!("x".repeat(10_001));
    releases[6]["blobUrl"] = json!(format!("{}/blobs/gone", old.base));
    let many = json!(
        (0..201)
            .map(|number| (format!("c{number}@example.com"), json!({ "permission": "Collaborator" })))
            .collect::<serde_json::Map<_, _>>()
    );
    old.put_apps(&[
        ("Weather", many, &[("Production", KEY, json!(releases)), ("Hidden", "(hidden)", json!([]))]),
        ("Mine", json!({}), &[]),
    ]);
    let ended = import(&app, &old.base, "key", &["--dry-run"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for line in [
        "Weather / Production / v2: its app version",
        "Weather / Production / v3: its rollout is more than 100 %",
        "Weather / Production / v4: its package is refused here",
        "Weather / Production / v5: its package does not have the contents",
        "Weather / Production / v6: its description has more than 10000",
        "Weather / Production / v7: the package cannot be downloaded",
        "Weather / Production: its key belongs to a deployment of another account here. If no device asks here with it, `updraft-control deployment-key release --key KEY` frees it",
        "Weather / Hidden: the source does not show its key",
        "Weather: it would have 202 collaborators, the owner included; the quota is 200",
        "Mine: the account has an app of this name",
        "Nothing was imported.",
        "--leave-out-refused imports the rest",
    ] {
        assert!(ended.out.contains(line), "{line} in\n{}", ended.out);
    }
    assert_eq!(apps(&ada).await, ["Mine"]);
    assert_eq!(deployments(&bob, "Other").await.iter().filter(|(_, key)| key == KEY).count(), 1);
    assert_eq!(blobs(&app), 0, "nothing is stored");

    // The rest can be imported without the refused releases, once nothing else stands against it.
    let other = "Another-key_0123456789abc";
    old.put_apps(&[("Weather", json!({}), &[("Production", other, json!(releases))])]);
    let report = imported(&app, &old.base, "key", &["--leave-out-refused"]).await;
    assert!(report.contains("Left out, because an upload here would be refused:"), "{report}");
    let labels: Vec<_> = history(&ada, "Weather", "Production").await.iter().map(|release| release["label"].clone()).collect();
    assert_eq!(labels, [json!("v1"), json!("v8")]);
    // Once v6 can be imported, it comes too late, and the next import says so. The packages of the others are not looked at any more.
    releases[5]["description"] = json!("short");
    old.put_apps(&[("Weather", json!({}), &[("Production", other, json!(releases))])]);
    let report = imported(&app, &old.base, "key", &["--leave-out-refused"]).await;
    assert!(report.contains("Not here, because an earlier import left them out: v4, v5, v6, v7."), "{report}");
}

/// The packages in a control plane's storage.
fn blobs(app: &TestApp) -> usize {
    let count = |folder: &std::path::Path| std::fs::read_dir(folder).map_or(0, Iterator::count);
    let apps = std::fs::read_dir(app.folder().join("blobs")).unwrap().map(|entry| entry.unwrap().path());
    apps.filter(|path| path.is_dir() && !path.ends_with("tmp")).map(|path| count(&path)).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_imported_under_another_address_is_recognized() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!([entry(&old, "v1", "content")]))])]);
    imported(&app, &old.base, "key", &[]).await;
    // As under localhost, or with /v1 at its end.
    let address = app.texts("SELECT source FROM imported_apps", &[]).await.remove(0);
    app.change("UPDATE imported_apps SET source = $1", &["http://old.example/"]).await;
    let ended = import(&app, &old.base, "key", &[]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for line in [
        "Weather: the account has an app of this name that was imported from http://old.example/. If that is the same server, import from that address",
        "Weather / Production: its key is that of Weather / Production here, which was imported from http://old.example/. If that is the same server",
    ] {
        assert!(ended.out.contains(line), "{line} in\n{}", ended.out);
    }
    assert!(!ended.out.contains("deployment-key release"), "devices ask with it: {}", ended.out);

    // Somebody freed the key all the same: the next import says that devices get nothing.
    app.change("UPDATE imported_apps SET source = $1", &[&address]).await;
    let released = program::run(&app.settings(), &["deployment-key", "release", "--key", KEY]).await;
    assert_eq!(released.code, Some(0), "{released:?}");
    let ended = import(&app, &old.base, "key", &["--dry-run"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("Weather / Production: the deployment here has another key than there"), "{}", ended.out);
    let command = format!("`updraft-control deployment-key assign --key {KEY} --app ada@example.com:Weather --deployment Production`");
    assert!(ended.out.contains(&command), "{}", ended.out);
    assert_eq!(apps(&ada).await, ["Weather"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_accounts_own_limit_of_packages_holds_for_operators() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!([entry(&old, "v1", "more than nine bytes")]))])]);
    app.change("UPDATE accounts SET max_upload_bytes = 9", &[]).await;
    let ended = import(&app, &old.base, "key", &[]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("Weather / Production / v1") && ended.out.contains("larger than 9 bytes"), "{}", ended.out);
    assert_eq!(apps(&ada).await, Vec::<String>::new());
    imported(&app, &old.base, "key", &["--ignore-quotas"]).await;
    assert_eq!(apps(&ada).await, ["Weather"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_hold_unless_they_are_ignored() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let many: Vec<_> = (0..60).map(|number| (format!("D{number}"), format!("key-of-deployment-{number:04}"), json!([]))).collect();
    let many: Vec<_> = many.iter().map(|(name, key, history)| (name.as_str(), key.as_str(), history.clone())).collect();
    old.put_apps(&[("Weather", json!({}), &many)]);
    let ended = import(&app, &old.base, "key", &[]).await;
    assert!(
        ended.code == Some(1)
            && ended.out.contains(
                "Weather: it has 60 deployments; the quota is 50. UPDRAFT_LIMIT_DEPLOYMENTS raises it for all accounts, --ignore-quotas"
            ),
        "{ended:?}"
    );
    assert_eq!(apps(&ada).await, Vec::<String>::new());
    imported(&app, &old.base, "key", &["--ignore-quotas"]).await;
    assert_eq!(deployments(&ada, "Weather").await.len(), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_that_is_not_there_now_is_not_left_out() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let release = entry(&old, "v1", "content");
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!([release]))])]);
    old.trouble("/blobs/v1", &[Trouble::Busy; 6]);
    let ended = import(&app, &old.base, "key", &["--leave-out-refused"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("Weather / Production / v1: its package cannot be downloaded now"), "{ended:?}");
    assert!(!ended.out.contains("--leave-out-refused"), "{ended:?}");
    imported(&app, &old.base, "key", &[]).await;
    assert_eq!(history(&ada, "Weather", "Production").await.len(), 1);
}
