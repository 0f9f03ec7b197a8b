//! What a first import stumbles over: it is refused early, says what to do, and keeps what it does not import.

use std::path::{Path, PathBuf};

use serde_json::json;
use tests::cli::Cli;
use tests::old_server::OldServer;
use tests::{TestApp, program};

use super::{apps, entry, import, imported, key_file, target};

const KEY: &str = "AbC-old_key0123456789xyz";
const OTHER: &str = "Another-key_0123456789abc";

/// An old server with two apps, each with a release.
async fn two_apps() -> OldServer {
    let old = OldServer::start().await;
    let (one, two) = (json!([entry(&old, "v1", "content one")]), json!([entry(&old, "v2", "content two")]));
    old.put_apps(&[("One", json!({}), &[("Production", KEY, one)]), ("Two", json!({}), &[("Production", OTHER, two)])]);
    old
}

/// The files of packages that wait for an import.
fn waiting_files(app: &TestApp) -> Vec<PathBuf> {
    let files = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().map(|file| file.unwrap().path()).collect::<Vec<_>>();
    let folders = std::fs::read_dir(app.folder().join("import")).into_iter().flatten();
    folders.flat_map(|folder| files(&folder.unwrap().path())).collect()
}

fn waiting(app: &TestApp) -> usize {
    waiting_files(app).len()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_anyway_is_refused_before_packages_are_downloaded() {
    let (app, ada) = target().await;
    ada.create_app("One").await;
    let old = two_apps().await;
    let ended = import(&app, &old.base, "key", &[]).await;
    assert_eq!((ended.code, old.downloads()), (Some(1), 0), "{ended:?}");
    for part in ["One: the account has an app of this name", "The packages were not downloaded. --dry-run downloads and checks them, too."]
    {
        assert!(ended.out.contains(part), "{part} in {ended:?}");
    }
    let ended = import(&app, &old.base, "key", &["--dry-run"]).await;
    assert_eq!((ended.code, old.downloads()), (Some(1), 2), "{ended:?}");
    assert!(!ended.out.contains("were not downloaded"), "{ended:?}");
    assert_eq!(apps(&ada).await, ["One"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_operators_commands_say_what_to_do() {
    let (app, _ada) = target().await;
    let old = two_apps().await;
    let key = key_file(&app, "key").display().to_string();
    let page = format!("{}/dashboard", old.base);
    let run = async |arguments: &[&str]| {
        let ended = program::run(&app.settings(), &[&["import"], arguments].concat()).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        ended.err
    };
    let from = old.base.as_str();
    let text = run(&["codepush", "--from", from, "--key-file", &key, "--owner", "nobody@example.com"]).await;
    assert!(text.contains("not found\nGive --owner the address of an account here"), "{text}");
    assert!(old.asked().is_empty(), "nothing was read");
    let text = run(&["codepush", "--from", from, "--key-file", &key, "--owner", "nobody"]).await;
    assert!(text.contains("\nGive --owner the email address"), "{text}");
    let text = run(&["codepush", "--from", from, "--key-file", "absent", "--owner", "ada@example.com"]).await;
    assert!(text.contains("\nGive a file with an access key of the other server."), "{text}");
    let text = run(&["codepush", "--from", &page, "--key-file", &key, "--owner", "ada@example.com"]).await;
    assert!(text.contains("status 404") && text.contains("\nGive the address as the other server's own CLI uses it"), "{text}");
    let text = run(&["codepush", "--from", from, "--key-file", &key, "--owner", "ada@example.com", "--app", "Tree"]).await;
    assert!(text.contains("It sees: One, Two\nGive --app a name from that list."), "{text}");

    imported(&app, from, "key", &[]).await;
    let text = run(&["compare", "--from", from, "--deployment", "ada@example.com:Tree/Production"]).await;
    assert!(text.contains("\nGive --deployment OWNER:APP/DEPLOYMENT"), "{text}");
    let text = run(&["compare", "--from", from, "--deployment", "ada@example.com:One/Production", "--log", "absent"]).await;
    assert_eq!(text.matches("No such file").count(), 1, "{text}");
    assert!(text.contains("\nGive --log an access log"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_of_other_apps_wait_for_their_import() {
    let (app, ada) = target().await;
    let old = two_apps().await;
    imported(&app, &old.base, "key", &["--dry-run"]).await;
    assert_eq!((old.downloads(), waiting(&app)), (2, 2));
    imported(&app, &old.base, "key", &["--app", "One"]).await;
    assert_eq!((old.downloads(), waiting(&app)), (2, 1));
    imported(&app, &old.base, "key", &["--app", "Two"]).await;
    assert_eq!((old.downloads(), waiting(&app)), (2, 0), "what was downloaded is not downloaded again");
    assert_eq!(apps(&ada).await, ["One", "Two"]);
}

/// An import that is killed between the link that it gives to the storage and the move of it leaves the link.
#[tokio::test(flavor = "multi_thread")]
async fn packages_are_whole_although_a_killed_import_left_its_links() {
    let (app, ada) = target().await;
    let old = two_apps().await;
    imported(&app, &old.base, "key", &["--dry-run"]).await;
    for file in waiting_files(&app) {
        std::fs::hard_link(&file, file.with_extension("put")).unwrap();
    }
    imported(&app, &old.base, "key", &[]).await;
    assert_eq!((old.downloads(), waiting(&app)), (2, 0), "nothing is left");
    for (name, label, content) in [("One", "v1", "content one"), ("Two", "v2", "content two")] {
        let release = ada.get(&format!("/v1/apps/{name}/deployments/Production/releases/{label}")).await.assert(200);
        let url = release["package"]["blobUrl"].as_str().unwrap();
        let bundle = app.anonymous().get(url.trim_start_matches(&app.base)).await;
        bundle.assert_status(200);
        assert_eq!(bundle.text(), content);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_of_which_everything_was_left_out_fails() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let mut release = entry(&old, "v1", "content");
    release["rollout"] = json!(101);
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!([release]))])]);
    let ended = import(&app, &old.base, "key", &["--leave-out-refused"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    let by_cli = ["import", "codepush", "--from", &old.base, "--key-file", "old-key", "--leave-out-refused"];
    let by_cli = cli.expect(5, &by_cli).await;
    for ended in [ended, by_cli] {
        assert!(ended.out.contains("the account: nothing is left to import: all releases were left out"), "{ended:?}");
        assert!(ended.out.contains("Weather / Production / v1: its rollout is more than 100 %"), "{ended:?}");
        assert!(!ended.out.contains("Imported into") && !ended.err.contains("Imported."), "{ended:?}");
    }
    assert_eq!(apps(&ada).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_the_account_is_named_with_what_raises_it() {
    let (app, ada) = target().await;
    let old = two_apps().await;
    app.change("UPDATE accounts SET max_upload_bytes = 9", &[]).await;
    let ended = import(&app, &old.base, "key", &[]).await;
    for part in [
        "One / Production / v1: the package is larger than 9 bytes, the limit of the account; the other server says that it has ",
        "`updraft-control account set-limits --email ada@example.com --max-upload-bytes SIZE` raises the account's limit, --ignore-quotas",
    ] {
        assert!(ended.code == Some(1) && ended.out.contains(part), "{part} in {ended:?}");
    }
    assert_eq!(ended.out.matches("set-limits").count(), 1, "{ended:?}");
    let cli = Cli::with_token(&app.base, ada.token());
    cli.write("old-key", "key");
    let ended = cli.expect(5, &["import", "codepush", "--from", &old.base, "--key-file", "old-key"]).await;
    assert!(ended.out.contains("Your administrator can raise the account's limit: `updraft-control account set-limits"), "{ended:?}");
}
