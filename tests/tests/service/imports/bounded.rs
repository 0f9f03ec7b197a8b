//! The other server can send anything. It costs a bounded amount, and nothing is guessed.

use serde_json::{Value, json};
use tests::old_server::OldServer;
use tests::{Options, TestApp};

use super::{apps, entry, history, import, imported, target};

const KEY: &str = "AbC-old_key0123456789xyz";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_understood_is_named_and_not_guessed() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let faults = [
        ("isDisabled", json!("true"), "its isDisabled is neither true nor false"),
        ("isDisabled", json!(1), "its isDisabled is neither true nor false"),
        ("isMandatory", json!("yes"), "its isMandatory is neither true nor false"),
        ("rollout", json!(-5), "its rollout is not a whole number from 0 to 100"),
        ("rollout", json!("25%"), "its rollout is not a whole number from 0 to 100"),
        ("rollout", json!(0.9), "its rollout is not a whole number from 0 to 100"),
        ("rollout", json!(25.9), "its rollout is not a whole number from 0 to 100"),
        ("rollout", json!([]), "its rollout is not a whole number from 0 to 100"),
        ("packageHash", json!(5), "its package hash is not text"),
        ("description", json!({}), "its description is not text"),
    ];
    let mut releases = vec![entry(&old, "v1", "good")];
    for (number, (member, value, _)) in faults.iter().enumerate() {
        let mut release = entry(&old, &format!("v{}", number + 2), "odd");
        release[*member] = value.clone();
        releases.push(release);
    }
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!(releases))])]);
    let ended = import(&app, &old.base, "key", &[]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for (number, (_, _, why)) in faults.iter().enumerate() {
        let line = format!("Weather / Production / v{}: {why}", number + 2);
        assert!(ended.out.contains(&line), "{line} in\n{}", ended.out);
    }
    imported(&app, &old.base, "key", &["--leave-out-refused"]).await;
    assert_eq!(history(&ada, "Weather", "Production").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_that_only_the_query_tells_apart_are_not_mixed_up() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let release = |number: usize| {
        let path = format!("/blobs/get?id={number}");
        old.put(&path, format!("content {number}"));
        json!({ "label": format!("v{number}"), "appVersion": "1.0.0", "blobUrl": format!("{}{path}", old.base) })
    };
    let releases: Vec<_> = (1..4).map(release).collect();
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!(releases))])]);
    imported(&app, &old.base, "key", &[]).await;
    let here = history(&ada, "Weather", "Production").await;
    for (number, release) in (1..4).zip(&here) {
        let hash = shared::hash::Sha256Hex::of(format!("content {number}").as_bytes()).to_string();
        assert_eq!(release["packageHash"], hash, "v{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_steer_a_terminal_are_refused_and_not_printed() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    old.put_apps(&[("\u{1b}[31mred@example.com:Weather", json!({}), &[]), ("nul\u{0}@example.com:Climate", json!({}), &[])]);
    let ended = import(&app, &old.base, "key", &[]).await;
    // The paths of these names are not there.
    assert!(ended.code == Some(1) && !ended.err.contains('\u{1b}') && !ended.out.contains('\u{1b}'), "{ended:?}");
    for name in ["%1B[31mred@example.com:Weather", "nul%00@example.com:Climate"] {
        old.put(&format!("/apps/{name}/deployments"), json!({ "deployments": [] }).to_string());
    }
    let ended = import(&app, &old.base, "key", &[]).await;
    assert!(ended.code == Some(1) && !ended.out.contains('\u{1b}') && !ended.out.contains('\u{0}'), "{ended:?}");
    assert_eq!(ended.out.matches("the app's name must not contain control characters").count(), 2, "{ended:?}");
    assert_eq!(apps(&ada).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_end_somewhere() {
    let (app, _ada) = target().await;
    let old = OldServer::start().await;
    let many: Vec<_> = (0..1_001).map(|number| json!({ "name": format!("D{number}"), "key": format!("key-of-{number:010}") })).collect();
    old.put_apps(&[("Weather", json!({}), &[])]);
    old.put("/apps/Weather/deployments", json!({ "deployments": many }).to_string());
    let ended = import(&app, &old.base, "key", &[]).await;
    assert!(ended.code == Some(1) && ended.err.contains("the other server has more than 1000 deployments"), "{ended:?}");
    assert_eq!(old.asked().len(), 2, "no history was read");
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!([]))])]);
    for (history, why) in [
        (format!("[{}{{}}]", "{},".repeat(200_000)), "the other server has more than 20000 releases of a deployment"),
        (format!("[{}0]", "0,".repeat(30)), "the answer is not in the form that was expected, at line 1, column 15"),
        (r#"[{ "label": "v1" }, "v2"]"#.to_owned(), "the answer is not in the form that was expected"),
    ] {
        old.put("/apps/Weather/deployments/Production/history", format!("{{ \"history\": {history} }}"));
        let ended = import(&app, &old.base, "key", &[]).await;
        assert!(ended.code == Some(1) && ended.err.contains(why), "{why} in {ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_downloaded_that_has_no_room() {
    let app = TestApp::spawn_with(Options { has_machine_clock: true, ..Options::default() }.with("LIMIT_STORED_BYTES", "100")).await;
    let ada = app.sign_up("ada").await;
    let old = OldServer::start().await;
    let mut releases: Vec<Value> = (1..31).map(|number| entry(&old, &format!("v{number}"), &format!("content {number:02}"))).collect();
    let put = |releases: &[Value]| old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!(releases))])]);
    put(&releases);
    let ended = import(&app, &old.base, "key", &[]).await;
    for part in [
        "the account: there is no room for all packages, so not all of them were downloaded and checked",
        "the account: would have 300 bytes of packages; the quota is 100",
        "Nothing was imported.",
    ] {
        assert!(ended.code == Some(1) && ended.out.contains(part), "{part} in {ended:?}");
    }
    assert_eq!(old.downloads(), 0, "the other server tells the sizes");
    // It tells them wrong.
    for release in &mut releases {
        release["size"] = json!(0);
    }
    put(&releases);
    let ended = import(&app, &old.base, "key", &[]).await;
    assert!(ended.code == Some(1) && ended.out.contains("; the quota is 100"), "{ended:?}");
    assert!(ended.out.contains("Downloaded packages are kept for the next run in "), "{ended:?}");
    assert!(old.downloads() <= 15, "{}", old.downloads());
    assert_eq!(apps(&ada).await, Vec::<String>::new());
    // What fits is imported, and counts once.
    put(&releases[..10]);
    imported(&app, &old.base, "key", &[]).await;
    imported(&app, &old.base, "key", &[]).await;
    assert_eq!(history(&ada, "Weather", "Production").await.len(), 10);
    // Diffs do not count against the quota, so none of their bytes are there to be used again.
    let diff = "INSERT INTO blobs (app_id, sha256, size, last_used_time, deleting, account_id, is_diff) \
        SELECT id, $1, 1000, 0, FALSE, owner_id, TRUE FROM apps";
    app.change(diff, &["f".repeat(64).as_str()]).await;
    put(&releases[..11]);
    let ended = import(&app, &old.base, "key", &[]).await;
    assert!(ended.code == Some(1) && ended.out.contains("would have 110 bytes of packages; the quota is 100"), "{ended:?}");
}
