//! A second import takes over what was changed at the other server, keeps what was changed here, and fetches nothing twice.

use serde_json::{Value, json};
use tests::cli::Cli;
use tests::old_server::OldServer;
use tests::{Answer, Client};

use super::{apps, deployments, entry, history, import, imported, target};

const KEY: &str = "AbC-old_key0123456789xyz";
/// Changes a release here.
async fn change(client: &Client, label: &str, info: Value) -> Answer {
    client.patch("/v1/apps/Weather/deployments/Production/release", json!({ "label": label, "packageInfo": info })).await
}

fn put(old: &OldServer, people: &[&str], releases: &[Value]) {
    let people: serde_json::Map<_, _> =
        people.iter().map(|name| (format!("{name}@example.com"), json!({ "permission": "Collaborator" }))).collect();
    old.put_apps(&[("Weather", json!(people), &[("Production", KEY, json!(releases))])]);
}

async fn told(client: &Client, name: &str) -> Vec<Value> {
    history(client, "Weather", "Production").await.iter().map(|release| release[name].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_here_stays_and_is_named() {
    let (app, ada) = target().await;
    for name in ["bob", "carol"] {
        app.sign_up(name).await;
    }
    let old = OldServer::start().await;
    let mut releases: Vec<_> = (1..5).map(|number| entry(&old, &format!("v{number}"), &format!("content {number}"))).collect();
    put(&old, &["bob"], &releases);
    let report = imported(&app, &old.base, "key", &[]).await;
    assert!(report.contains("new packages 4 (36 bytes)") && report.contains("Collaborators with access: bob@example.com."), "{report}");
    assert_eq!(old.downloads(), 4);
    // A broken release is disabled here, while something else about it is changed there. Another one is changed in both places.
    change(&ada, "v2", json!({ "isDisabled": true })).await.assert(200);
    change(&ada, "v3", json!({ "description": "ours" })).await.assert(200);
    releases[0]["isMandatory"] = json!(true);
    releases[1]["description"] = json!("for everybody");
    releases[2]["description"] = json!("theirs");
    releases[3]["isDisabled"] = json!(true);
    releases.push(entry(&old, "v5", "content 5"));
    put(&old, &["bob", "carol"], &releases);
    let report = imported(&app, &old.base, "key", &["--dry-run"]).await;
    let expected = "Weather / Production: 5 releases, v1 to v5; new: 1; taken over as far as it was not changed here: v1, v2, v3, v4\n\n";
    assert!(report.contains(expected), "{report}");
    let report = imported(&app, &old.base, "key", &[]).await;
    for part in [
        "new packages 1 (9 bytes)",
        "Weather / Production: 5 releases, v1 to v5; new: 1, changed: 3",
        "Changed both here and on the other server, so they keep what they have here: v3.",
        "Collaborators with access: bob@example.com.",
        "Collaborators who have no access, because only the first import of an app adds them: carol@example.com.",
    ] {
        assert!(report.contains(part), "{part} in\n{report}");
    }
    assert_eq!(old.downloads(), 5, "what is here is not downloaded again");
    assert_eq!(told(&ada, "isDisabled").await, [false, true, false, true, false].map(Value::from));
    assert_eq!(told(&ada, "isMandatory").await, [true, false, false, false, false].map(Value::from));
    assert_eq!(told(&ada, "description").await[1..3], ["for everybody", "ours"].map(Value::from));
    // Enabled again there, after somebody has enabled it here: this is noted, so that disabling it here later stays.
    releases[3]["isDisabled"] = json!(false);
    put(&old, &["bob"], &releases);
    change(&ada, "v4", json!({ "isDisabled": false })).await.assert(200);
    assert!(imported(&app, &old.base, "key", &[]).await.contains("; nothing new"));
    change(&ada, "v4", json!({ "isDisabled": true })).await.assert(200);
    assert!(imported(&app, &old.base, "key", &[]).await.contains("; nothing new"));
    assert_eq!(told(&ada, "isDisabled").await[3], true);
    // The same through the CLI, which has no package of what is here. What is disabled there is disabled here in any case.
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    let again = ["import", "codepush", "--from", &old.base, "--key-file", "old-key"];
    assert!(cli.expect(0, &again).await.out.contains("; nothing new"));
    releases[2]["isDisabled"] = json!(true);
    put(&old, &["bob"], &releases);
    let ended = cli.expect(0, &again).await;
    assert!(ended.out.contains("new: 0, changed: 1"), "{ended:?}");
    assert_eq!(told(&ada, "isDisabled").await, [false, true, true, true, false].map(Value::from));
    assert_eq!(old.downloads(), 5);
    // Of releases that were imported before this was noted, nobody knows who has changed what: what is here stays.
    app.change("DELETE FROM imported_releases", &[]).await;
    change(&ada, "v1", json!({ "isMandatory": false })).await.assert(200);
    assert!(imported(&app, &old.base, "key", &[]).await.contains("what they have here: v1, v2, v3, v4."));
    assert_eq!(told(&ada, "isMandatory").await[0], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_that_stands_for_another_package_changes_nothing() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    put(&old, &[], &[entry(&old, "v1", "one"), entry(&old, "v2", "two")]);
    imported(&app, &old.base, "key", &[]).await;
    let before = history(&ada, "Weather", "Production").await;
    // Cleared there, and begun again.
    let mut restarted = [entry(&old, "v1", "another"), entry(&old, "v2", "two"), entry(&old, "v3", "three")];
    restarted[0]["appVersion"] = json!("9.0.0");
    restarted[0]["isMandatory"] = json!(true);
    let without_hash = {
        let mut releases = restarted.clone();
        releases[0]["packageHash"] = Value::Null;
        releases
    };
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    for releases in [restarted, without_hash] {
        put(&old, &[], &releases);
        let ended = import(&app, &old.base, "key", &[]).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.out.contains("Weather / Production / v1: is a different package there than here"), "{ended:?}");
        let ended = cli.expect(5, &["import", "codepush", "--from", &old.base, "--key-file", "old-key"]).await;
        assert!(ended.out.contains("v1: is a different package there than here"), "{ended:?}");
        assert_eq!(history(&ada, "Weather", "Production").await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_renamed_there_or_here_is_found_by_its_key() {
    const STAGING: &str = "Def-old_key0123456789xyz";
    const OTHER: &str = "Ghi-old_key0123456789xyz";
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let (one, two, three) = (entry(&old, "v1", "one"), entry(&old, "v2", "two"), entry(&old, "v3", "three"));
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!([one])), ("Staging", STAGING, json!([one]))])]);
    imported(&app, &old.base, "key", &[]).await;

    // The app is called Sky there now, and its deployments have changed their names around.
    let renamed: &[_] = &[("Staging", KEY, json!([one, two])), ("Production", STAGING, json!([one]))];
    old.put_apps(&[("Sky", json!({}), renamed)]);
    let report = imported(&app, &old.base, "key", &["--dry-run"]).await;
    assert!(report.contains("Sky / Staging (here Weather / Production): 2 releases, v1 to v2; new: 1"), "{report}");
    let report = imported(&app, &old.base, "key", &[]).await;
    assert!(report.contains("Weather / Production: 2 releases, v1 to v2; new: 1"), "{report}");
    assert!(report.contains("Weather / Staging: 1 release, v1; nothing new"), "{report}");
    assert_eq!((apps(&ada).await, history(&ada, "Weather", "Production").await.len()), (vec!["Weather".to_owned()], 2));

    // Another app has its old name there: it needs another one here, until the one here is renamed, too.
    let both = [("Weather", json!({}), &[("Production", OTHER, json!([three]))] as &[_]), ("Sky", json!({}), renamed)];
    old.put_apps(&both);
    let ended = import(&app, &old.base, "key", &[]).await;
    let expected = "Weather: the account has an app of this name that was imported from another app there. Rename it here";
    assert!(ended.code == Some(1) && ended.out.contains(expected) && !ended.out.contains("another key"), "{ended:?}");
    // Also alone: by its name, it would be the one that is called Sky there.
    let ended = import(&app, &old.base, "key", &["--app", "Weather"]).await;
    assert!(ended.code == Some(1) && ended.out.contains(expected) && !ended.out.contains("another key"), "{ended:?}");
    ada.patch("/v1/apps/Weather", json!({ "name": "Clouds" })).await.assert(200);
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    let ended = cli.expect(0, &["import", "codepush", "--from", &old.base, "--key-file", "old-key"]).await;
    for line in ["Clouds / Production: 2 releases, v1 to v2; nothing new", "Weather / Production: 1 release, v3; new: 1"] {
        assert!(ended.out.contains(line), "{line} in {ended:?}");
    }
    let keys = |all: Vec<(String, String)>| all.into_iter().map(|(_, key)| key).collect::<Vec<_>>();
    assert_eq!(keys(deployments(&ada, "Clouds").await), [KEY, STAGING]);
    assert_eq!(keys(deployments(&ada, "Weather").await), [OTHER]);

    // A deployment that was created here with the name of one there.
    ada.post("/v1/apps/Weather/deployments", json!({ "name": "Beta" })).await.assert(201);
    let with_beta: &[_] = &[("Production", OTHER, json!([three])), ("Beta", "Jkl-old_key0123456789xyz", json!([]))];
    old.put_apps(&[("Weather", json!({}), with_beta)]);
    let ended = import(&app, &old.base, "key", &[]).await;
    let expected = "Weather / Beta: the app Weather here has another deployment of this name. Rename that one";
    assert!(ended.code == Some(1) && ended.out.contains(expected), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_taken_over_is_named() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let mut releases: Vec<_> = (1..4).map(|number| entry(&old, &format!("v{number}"), &format!("content {number}"))).collect();
    put(&old, &[], &releases);
    imported(&app, &old.base, "key", &[]).await;
    // Cleared there.
    put(&old, &[], &[]);
    let cleared = "no releases; left alone, because its history was cleared on the other server. Devices that ask here still get v1 to v3";
    let would = cleared.replace("left alone", "would be left alone");
    let report = imported(&app, &old.base, "key", &["--dry-run"]).await;
    assert!(report.contains(&format!("Weather / Production: {would}")), "{report}");
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    let again = ["import", "codepush", "--from", &old.base, "--key-file", "old-key"];
    let ended = cli.expect(0, &again).await;
    assert!(ended.out.contains(&format!("Weather / Production: on the other server {cleared}")), "{ended:?}");
    assert!(ended.out.contains("`updraft deployment delete Production --app Weather`"), "{ended:?}");
    assert!(ended.err.contains("Imported, except what was left alone"), "{ended:?}");
    assert_eq!(history(&ada, "Weather", "Production").await.len(), 3);
    // Cleared there, and released again.
    put(&old, &[], &[entry(&old, "v5", "after that")]);
    let report = imported(&app, &old.base, "key", &["--dry-run"]).await;
    let gone = "v5; new: 1; no longer there, but devices that ask here still get v1, v2, v3";
    assert!(report.contains(gone), "{report}");
    let ended = cli.expect(0, &[&again[..], &["--dry-run", "-o", "json"]].concat()).await;
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["planned"][0]["deployments"][0]["differences"]["gone"], json!(["v1", "v2", "v3"]));

    // Released here, while one is disabled and another one released there.
    ada.upload("Weather", "Production", b"ours", json!({ "appVersion": "1.0.0" })).await.assert(201);
    releases[1]["isDisabled"] = json!(true);
    releases.push(entry(&old, "v4", "theirs"));
    // What is rolled back there has a package that is here, and yet devices here do not get it.
    let mut rollback = entry(&old, "v5", "content 1");
    rollback["releaseMethod"] = json!("Rollback");
    releases.push(rollback);
    put(&old, &[], &releases);
    let left = "left alone, because somebody has released here, or cleared its history here. Not taken over, by their labels there: v4, v5. Disabled there, but not here, by their labels here: v2";
    let report = imported(&app, &old.base, "key", &["--dry-run"]).await;
    assert!(report.contains(&format!("Weather / Production: 5 releases, v1 to v5; would be {left}")), "{report}");
    let ended = cli.expect(0, &again).await;
    assert!(ended.out.contains(&format!("Weather / Production: on the other server 5 releases, v1 to v5; {left}")), "{ended:?}");
    assert!(ended.err.contains("Imported, except what was left alone"), "{ended:?}");
    let command = "updraft release disable v2 --app Weather --deployment Production";
    assert!(ended.out.contains(&format!("`{command}`")), "{ended:?}");
    cli.expect(0, &command.split(' ').skip(1).collect::<Vec<_>>()).await;
    let report = imported(&app, &old.base, "key", &[]).await;
    assert!(report.contains("Not taken over, by their labels there: v4, v5\n"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_anymore_is_named_and_stays() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let mut releases: Vec<_> = (1..4).map(|number| entry(&old, &format!("v{number}"), &format!("content {number}"))).collect();
    releases[1]["isMandatory"] = json!("yes");
    put(&old, &[], &releases);
    imported(&app, &old.base, "key", &["--leave-out-refused"]).await;
    assert_eq!(told(&ada, "label").await, ["v1", "v3"].map(Value::from));
    // Perhaps it was disabled there. What was left out before is not named again.
    releases[2]["isDisabled"] = json!(1);
    put(&old, &[], &releases);
    let kept = "\nKept as they are here, because what the other server says about them now cannot be taken over:\n  \
        Weather / Production / v3: its isDisabled is neither true nor false\n";
    for more in [&["--dry-run"][..], &[]] {
        let report = imported(&app, &old.base, "key", more).await;
        assert!(report.contains(kept) && !report.contains("isMandatory"), "{report}");
    }
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    let ended = cli.expect(0, &["import", "codepush", "--from", &old.base, "--key-file", "old-key"]).await;
    assert!(ended.out.contains(kept), "{ended:?}");
    assert_eq!(told(&ada, "isDisabled").await, [false, false].map(Value::from));
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_that_are_not_told_anymore_stay() {
    const METRICS: &str = "/apps/Weather/deployments/Production/metrics";
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let mut releases = vec![entry(&old, "v1", "one")];
    put(&old, &[], &releases);
    old.put(METRICS, json!({ "metrics": { "v1": { "active": 4 } } }).to_string());
    imported(&app, &old.base, "key", &[]).await;
    let level = async || ada.get("/v1/apps/Weather/deployments/Production/metrics/imported").await.assert(200);
    let before = level().await;
    assert_eq!(before["metrics"]["v1"]["active"], 4, "{before}");
    old.put(METRICS, "<html>");
    assert!(imported(&app, &old.base, "key", &[]).await.contains("; nothing new"));
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    for (label, content) in [("v2", "two"), ("v3", "three")] {
        releases.push(entry(&old, label, content));
        put(&old, &[], &releases);
        old.put(METRICS, "<html>");
        if label == "v2" {
            assert!(imported(&app, &old.base, "key", &[]).await.contains("new: 1"));
        } else {
            let ended = cli.expect(0, &["import", "codepush", "--from", &old.base, "--key-file", "old-key", "--yes"]).await;
            assert!(ended.out.contains("new: 1"), "{ended:?}");
        }
        let now = level().await;
        assert_eq!((&now["metrics"], &now["importedTime"]), (&before["metrics"], &before["importedTime"]), "{label}");
    }
}
