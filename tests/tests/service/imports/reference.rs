//! From a server with the shapes of the reference: a history that has lost its beginning, missing members, faults in plain text, packages that arrive
//! slowly, cut off or wrong.

use serde_json::{Value, json};
use tests::old_server::{OldServer, Trouble};

use super::{deployments, entry, history, imported, target, with_directory};

const KEY: &str = "AbC-old_key0123456789xyz";

/// 50 releases from v12 to v61, as the reference keeps the newest ones.
fn fifty(old: &OldServer) -> Vec<Value> {
    (12..62).map(|number| entry(old, &format!("v{number}"), &format!("content {}", number % 7))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_of_the_reference_is_kept_as_it_is() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let mut releases = fifty(&old);
    // Members that the reference leaves out or sends as null.
    releases[0]
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !["isDisabled", "isMandatory", "releaseMethod", "releasedBy", "size"].contains(&name.as_str()));
    releases[1]["description"] = json!(null);
    releases[1]["packageHash"] = json!(null);
    releases[2]["appVersion"] = json!("");
    releases[3]["rollout"] = json!(100);
    releases[4]["rollout"] = json!("25");
    releases[5]["isDisabled"] = json!(true);
    for (name, value) in [("releaseMethod", "Promote"), ("originalLabel", "v3"), ("originalDeployment", "Staging")] {
        releases[6][name] = json!(value);
    }
    // The reference hashes directory entries, which devices never see.
    old.put("/blobs/v19", with_directory());
    releases[7]["packageHash"] = json!("d5ef8952ee87a0193387b40cd963ec97f5171e2698268e561766b07155941dbc");
    let collaborators = json!({ "ada@example.com": { "permission": "Owner", "isCurrentAccount": true }, "not an address": { "permission": "Collaborator" } });
    old.put_apps(&[("Weather", collaborators, &[("Production", KEY, json!(releases))])]);
    old.put(
        "/apps/Weather/deployments/Production/metrics",
        json!({ "metrics": { "v61": { "active": -3, "installed": 9 }, "1.0.0": { "active": 4 } } }).to_string(),
    );
    old.trouble("/apps", &[Trouble::Fails, Trouble::Busy]);
    old.trouble("/apps/Weather/deployments/Production/history", &[Trouble::Cut]);
    for (label, troubles) in [
        ("v12", vec![Trouble::Slow]),
        ("v13", vec![Trouble::Cut, Trouble::Cut]),
        ("v14", vec![Trouble::Broken, Trouble::Broken]),
        ("v15", vec![Trouble::Expired, Trouble::Fails]),
        ("v19", vec![Trouble::Busy, Trouble::Cut, Trouble::Broken, Trouble::Slow]),
    ] {
        old.trouble(&format!("/blobs/{label}"), &troubles);
    }
    let report = imported(&app, &old.base, "key", &[]).await;
    for line in [
        "Found at ",
        "Weather / Production / v12: the source does not say who released it",
        "Weather / Production / v13: has no package hash at the source: it is computed",
        "Weather / Production / v14: the empty app version becomes *, which means the same",
        "Weather / Production: 50 releases, v12 to v61; new: 50",
        "The package hash of v19 covers the archive's directory entries",
        "Collaborators whose address no account can have: not an address.",
    ] {
        assert!(report.contains(line), "{line} in\n{report}");
    }
    assert!(!report.contains("sig=") && !report.contains("secret"), "{report}");
    assert_eq!(old.left(), [].into(), "every trouble happened");
    assert!(old.asked().iter().all(|(method, _)| method == "GET"));
    assert_eq!(deployments(&ada, "Weather").await, [("Production".to_owned(), KEY.to_owned())]);

    let here = history(&ada, "Weather", "Production").await;
    let told = |name: &str| here.iter().take(8).map(|release| release[name].clone()).collect::<Vec<_>>();
    let all = |values: [Value; 8]| values.to_vec();
    assert_eq!(
        here.iter().map(|release| release["label"].as_str().unwrap().to_owned()).collect::<Vec<_>>(),
        (12..62).map(|number| format!("v{number}")).collect::<Vec<_>>()
    );
    assert_eq!(told("releasedBy")[..2], [json!("unknown"), json!("grace@example.com")]);
    assert_eq!(told("packageHash")[1], entry(&old, "other", "content 6")["packageHash"]);
    assert_eq!(told("appVersion")[1..3], [json!("1.0.0"), json!("*")]);
    assert_eq!(
        told("rollout"),
        all([json!(null), json!(null), json!(null), json!(null), json!(25), json!(null), json!(null), json!(null)])
    );
    assert_eq!(told("isDisabled")[4..6], [json!(false), json!(true)]);
    assert_eq!(told("releaseMethod")[6..], [json!("Promote"), json!("Upload")]);
    assert_eq!((&told("originalLabel")[6], &told("originalDeployment")[6]), (&json!("v3"), &json!("Staging")));
    assert_eq!(told("packageHash")[7], releases[7]["packageHash"]);
    assert!(told("uploadTime").iter().all(|time| *time == json!(1_700_000_000_000_i64)), "{here:?}");
    // What was counted there is kept apart.
    let counted = ada.get("/v1/apps/Weather/deployments/Production/metrics/imported").await.assert(200);
    assert_eq!(counted["importedFrom"], old.base);
    let none = json!({ "active": 4, "downloaded": 0, "installed": 0, "failed": 0 });
    assert_eq!(counted["metrics"], json!({ "v61": { "active": -3, "downloaded": 0, "installed": 9, "failed": 0 }, "1.0.0": none }));
    assert_eq!(ada.metrics("Weather", "Production").await, json!({}));
    let page = app.signed_in_reader("ada").await.open("/dashboard/apps/Weather/deployments/Production/metrics").await;
    page.shows("Counted by the old server").shows(&old.base).shows("v61").shows("-3");
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard/apps/Weather/deployments/Production").await.shows("Bring the devices here");
    let page = page.shows(&format!("updraft import compare --from {} --app Weather --deployment Production", old.base)).html();
    assert!(!page.contains("Install the CLI"), "devices have the SDK: {page}");
    let settings = reader.open("/dashboard/apps/Weather/deployments/Production/settings").await;
    settings.shows("What the old server had counted stays.");
    let activity = reader.open("/dashboard/apps/Weather/activity?action=release.import").await;
    activity.shows("deployment: <bdi>Production</bdi>");
    // The next release here has the next label.
    let next = ada.upload("Weather", "Production", b"ours", json!({ "appVersion": "1.0.0" })).await.assert(201);
    assert_eq!(next["package"]["label"], "v62");
}
