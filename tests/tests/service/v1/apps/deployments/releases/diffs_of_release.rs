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
    json!({
        "sourceHash": release["packageHash"], "labels": labels, "status": "pending", "size": null, "problem": null, "message": null, "file": null,
        "foundTime": null, "retryTime": null, "isFault": false, "advice": null,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_earlier_package_has_a_diff_that_is_ready_or_pending_or_says_why_not() {
    let (app, ada, releases) = five_releases().await;
    let mut expected = json!({
        "fullSize": releases[3]["size"], "isOffered": true, "isSingleFile": false, "isMaking": false, "reason": null, "message": null,
        "sources": [pending(&releases[0], &["v3", "v1"]), pending(&releases[1], &["v2"])],
    });
    assert_eq!(diffs(&ada, "v4").await, expected);
    for (label, is_offered, reason, text) in [
        ("v5", true, "no_other_package", "No earlier release for the same app versions has other contents, so v5 needs no diffs."),
        ("v2", false, "replaced", "v2 was replaced by v4: no device can be offered it, so no diffs are made for it."),
        ("v1", false, "replaced", "v1 was replaced by v4: no device can be offered it, so no diffs are made for it."),
    ] {
        let found = diffs(&ada, label).await;
        assert_eq!((&found["sources"], &found["isOffered"]), (&json!([]), &json!(is_offered)), "{label}");
        assert_eq!((&found["reason"], &found["message"]), (&json!(reason), &json!(text)));
    }

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
        ("no_room", false),
        ("disk_full", false),
        ("unfinished", true),
    ] {
        app.refuse_diff("Production", (3, 4), problem).await;
        let found = diffs(&ada, "v4").await["sources"].take();
        assert_eq!((&found[0]["problem"], &found[0]["isFault"]), (&json!(problem), &json!(is_fault)), "{found}");
        assert!(found[0]["message"].as_str().is_some_and(|text| text.len() > 10), "{found}");
        assert_eq!(found[0]["advice"].as_str().is_some(), is_fault, "{found}");
        let now = app.clock.now().0;
        assert_eq!(found[0]["foundTime"], json!(now));
        let tried_again = match problem {
            "target_damaged" | "base_damaged" | "too_many_files" | "no_room" => json!(now + 6 * 60 * 60 * 1_000),
            "disk_full" => json!(now + 20 * 60 * 1_000),
            "unfinished" => json!(now + 7 * 24 * 60 * 60 * 1_000),
            _ => Value::Null,
        };
        assert_eq!(found[0]["retryTime"], tried_again, "{problem}");
        // What is wrong with the release itself stops all its diffs.
        let is_of_release = ["target_damaged", "other_hash"].contains(&problem);
        assert_eq!(found[1]["status"], if is_of_release { "none" } else { "pending" }, "{problem}");
    }
}

/// Releases a package with a script, and files of these names.
async fn upload_names(ada: &Client, script: &str, names: &[&str]) {
    let script = [("CodePush/main.jsbundle", script.as_bytes())];
    let files: Vec<_> = script.into_iter().chain(names.iter().map(|name| (*name, &b"x"[..]))).collect();
    ada.upload("demo", "Production", &Bundle::of(&files).0, json!({ "appVersion": "1.0.0" })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsafe_name_is_told_in_a_form_that_can_be_read() {
    let (app, ada) = prepared().await;
    upload_names(&ada, "one", &["CodePush/a.png"]).await;
    upload_names(&ada, "two", &["CodePush/größe.png", "CodePush/zone:1"]).await;
    upload_names(&ada, "three", &["CodePush/A.png"]).await;
    for pair in [(1, 3), (2, 3)] {
        app.refuse_diff("Production", pair, "unsafe_names").await;
    }
    let found = diffs(&ada, "v3").await["sources"].take();
    let start = "some devices could not apply a diff, because of the name of a file in one of the packages";
    let of_base = format!(
        "{start}: in the earlier one, CodePush/größe.png has a character in its name that is not printable ASCII, or is one of : % # ? ;"
    );
    assert_eq!(
        (&found[0]["labels"][0], &found[0]["file"], &found[0]["message"]),
        (&json!("v2"), &json!("CodePush/größe.png"), &json!(of_base))
    );
    let of_both =
        format!("{start}: in this release, CodePush/A.png differs from another name only in its spelling, or is a file where a folder is");
    assert_eq!(
        (&found[1]["labels"][0], &found[1]["file"], &found[1]["message"]),
        (&json!("v1"), &json!("CodePush/A.png"), &json!(of_both))
    );

    // Bounded, and nothing of it is a control character.
    let long = format!("CodePush/{}\u{1b}[2J\u{202e}{}.png", "a".repeat(100), "b".repeat(100));
    upload_names(&ada, "four", &[&long]).await;
    app.refuse_diff("Production", (3, 4), "unsafe_names").await;
    let found = diffs(&ada, "v4").await["sources"][0].take();
    assert_eq!(found["labels"], json!(["v3"]));
    let shown = format!("CodePush/{}…{}.png", "a".repeat(31), "b".repeat(56));
    assert_eq!(found["file"], json!(shown));
    upload_names(&ada, "five", &["CodePush/\u{1b}[2J\u{202e}.png"]).await;
    app.refuse_diff("Production", (4, 5), "unsafe_names").await;
    let found = diffs(&ada, "v5").await["sources"][0].take();
    assert_eq!(found["file"], "CodePush/\\u{1b}[2J\\u{202e}.png");
    assert!(
        found["message"].as_str().is_some_and(|text| text.contains("in this release, CodePush/\\u{1b}[2J\\u{202e}.png has")),
        "{found}"
    );

    // Without the stored list of files, the problem stays.
    app.lose_objects();
    let found = diffs(&ada, "v5").await["sources"][0].take();
    assert_eq!((&found["file"], &found["message"]), (&Value::Null, &json!(start)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_is_not_offered_keeps_its_diffs_for_a_while_and_gets_no_others() {
    let (app, ada, releases) = five_releases().await;
    app.attach_diff("Production", (2, 4), 120).await;
    patch_of(&ada, "Production", "v4", json!({ "isDisabled": true })).await.assert(200);
    let found = diffs(&ada, "v4").await;
    assert_eq!((&found["isOffered"], found["sources"].as_array().unwrap().len()), (&json!(false), 1), "{found}");
    assert_eq!(found["sources"][0]["sourceHash"], releases[1]["packageHash"]);
    assert_eq!(
        (&found["reason"], &found["message"]),
        (&json!("disabled"), &json!("v4 is disabled: no device can be offered it, so no diffs are made for it."))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_file_has_no_diffs_and_what_is_not_there_is_not_found() {
    let (app, ada) = prepared_with(Options::default().with("DIFFS", "on")).await;
    release(&ada, "Production", "a single file", json!({})).await;
    let expected = json!({ "fullSize": 13, "isOffered": true, "isSingleFile": true, "isMaking": true, "reason": "single_file",
        "message": "v1 is a single file, which has no diffs: devices download all of it.", "sources": [] });
    assert_eq!(diffs(&ada, "v1").await, expected);
    for (deployment, rest, what) in [("Production", "releases/v2/diffs", "release"), ("Absent", "releases/v1/diffs", "deployment")] {
        let text = ada.get(&below(deployment, rest)).await.refused(404);
        assert!(text.contains(what), "{text}");
    }
    let bob = app.sign_up("bob").await;
    bob.get(&below("Production", "releases/v1/diffs")).await.refused(404);
}
