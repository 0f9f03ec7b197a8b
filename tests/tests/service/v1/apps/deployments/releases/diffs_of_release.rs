//! GET …/releases/{label}/diffs: what devices with earlier packages download, and why there is no diff.

use serde_json::{Value, json};
use tests::{Bundle, Client, Options, TestApp};

use crate::v1::apps::deployments::{below, patch_of, prepared, prepared_with, release};

async fn upload(ada: &Client, content: &str, range: &str) -> Value {
    ada.upload("demo", "Production", &Bundle::script(content).0, json!({ "appVersion": range })).await.assert(201)["package"].take()
}

async fn diffs(ada: &Client, label: &str) -> Value {
    ada.get(&below("Production", &format!("releases/{label}/diffs"))).await.assert(200)["diffs"].take()
}

/// v1 and v3 have one package, v2 another, and v4 the newest. v5 is for other binaries.
async fn five_releases() -> (TestApp, Client, Vec<Value>) {
    let (app, ada) = prepared().await;
    let mut releases = Vec::new();
    for content in ["one", "two", "one", "four"] {
        releases.push(upload(&ada, content, "1.0.0").await);
    }
    releases.push(upload(&ada, "five", "2.0.0").await);
    (app, ada, releases)
}

fn pending(release: &Value, labels: &[&str]) -> Value {
    json!({ "sourceHash": release["packageHash"], "labels": labels, "status": "pending", "size": null, "problem": null, "message": null, "isFault": false, "advice": null })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_earlier_package_has_a_diff_that_is_ready_or_pending_or_says_why_not() {
    let (app, ada, releases) = five_releases().await;
    let mut expected = json!({
        "fullSize": releases[3]["size"], "isOffered": true, "isSingleFile": false, "isMaking": false,
        "sources": [pending(&releases[0], &["v3", "v1"]), pending(&releases[1], &["v2"])],
    });
    assert_eq!(diffs(&ada, "v4").await, expected);
    assert_eq!(diffs(&ada, "v5").await["sources"], json!([]), "no device can be offered it that has one of the others");
    assert_eq!(diffs(&ada, "v1").await["isOffered"], false, "v3 replaced it");

    app.attach_diff("Production", (2, 4), 120).await;
    expected["sources"][1]["status"] = json!("ready");
    expected["sources"][1]["size"] = json!(120);
    assert_eq!(diffs(&ada, "v4").await, expected);

    app.refuse_diff("Production", (3, 4), "too_large").await;
    let found = diffs(&ada, "v4").await["sources"][0].take();
    let parts = [&found["status"], &found["size"], &found["problem"], &found["isFault"], &found["advice"]];
    assert_eq!(parts, [&json!("none"), &Value::Null, &json!("too_large"), &json!(false), &Value::Null]);
    assert_eq!(found["message"], "the diff would be larger than 80 % of the bundle");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_has_a_name_and_words_and_faults_say_what_to_do() {
    let (app, ada, _) = five_releases().await;
    for (problem, is_fault) in [
        ("same_files", false),
        ("single_file", false),
        ("too_large", false),
        ("unsafe_names", false),
        ("other_hash", false),
        ("too_many_files", false),
        ("target_damaged", true),
        ("base_damaged", true),
        ("not_applicable", true),
        ("unfinished", true),
    ] {
        app.refuse_diff("Production", (3, 4), problem).await;
        let found = diffs(&ada, "v4").await["sources"].take();
        assert_eq!((&found[0]["problem"], &found[0]["isFault"]), (&json!(problem), &json!(is_fault)), "{found}");
        assert!(found[0]["message"].as_str().is_some_and(|text| text.len() > 10), "{found}");
        assert_eq!(found[0]["advice"].as_str().is_some(), is_fault, "{found}");
        // What is wrong with the release itself stops all its diffs.
        let is_of_release = ["target_damaged", "other_hash"].contains(&problem);
        assert_eq!(found[1]["status"], if is_of_release { "none" } else { "pending" }, "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_is_not_offered_keeps_its_diffs_for_a_while_and_gets_no_others() {
    let (app, ada, releases) = five_releases().await;
    app.attach_diff("Production", (2, 4), 120).await;
    patch_of(&ada, "Production", "v4", json!({ "isDisabled": true })).await.assert(200);
    let found = diffs(&ada, "v4").await;
    assert_eq!((&found["isOffered"], found["sources"].as_array().unwrap().len()), (&json!(false), 1), "{found}");
    assert_eq!(found["sources"][0]["sourceHash"], releases[1]["packageHash"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_file_has_no_diffs_and_what_is_not_there_is_not_found() {
    let (app, ada) = prepared_with(Options::default().with("DIFFS", "on")).await;
    release(&ada, "Production", "a single file", json!({})).await;
    let expected = json!({ "fullSize": 13, "isOffered": true, "isSingleFile": true, "isMaking": true, "sources": [] });
    assert_eq!(diffs(&ada, "v1").await, expected);
    for (deployment, rest, what) in [("Production", "releases/v2/diffs", "release"), ("Absent", "releases/v1/diffs", "deployment")] {
        let text = ada.get(&below(deployment, rest)).await.refused(404);
        assert!(text.contains(what), "{text}");
    }
    let bob = app.sign_up("bob").await;
    bob.get(&below("Production", "releases/v1/diffs")).await.refused(404);
}
