//! No diffs are made on a nearly full disk.

use serde_json::{Value, json};
use tests::{Cli, TestApp};

use super::diffs::{Demo, MINUTE, attached, check, demo, download, package, text, upload};

const TEXT: &str = "the server's disk is nearly full";

/// What the API says of the diffs to this release.
async fn sources(app: &TestApp, token: &str, label: &str) -> Vec<Value> {
    let ada = tests::Client::new(&app.base, Some(token.to_owned()));
    let path = format!("/v1/apps/demo/deployments/Staging/releases/{label}/diffs");
    ada.get(&path).await.assert(200)["diffs"]["sources"].as_array().unwrap().clone()
}

async fn problems(app: &TestApp) -> Vec<String> {
    app.texts("SELECT DISTINCT problem FROM package_diffs WHERE problem IS NOT NULL", &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nearly_full_disk_has_no_diffs_made_until_there_is_room_again() {
    let Demo { app, ada, staging: key, .. } = demo().await;
    app.state().storage.disk().fill(true);
    let first = upload(&ada, "Staging", &package("one")).await;
    let newest = package("three");
    for bundle in [&package("two"), &newest] {
        upload(&ada, "Staging", bundle).await;
        app.diffs_settled().await;
    }
    let now = app.clock.now().0;
    let found = sources(&app, ada.token(), "v3").await;
    assert_eq!(found.len(), 2);
    for source in &found {
        let parts = [&source["status"], &source["problem"], &source["message"], &source["isFault"], &source["retryTime"]];
        assert_eq!(parts, [&json!("none"), &json!("disk_full"), &json!(TEXT), &json!(false), &json!(now + 20 * MINUTE)], "{source}");
    }
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard/apps/demo/deployments/Staging/releases/v3").await;
    assert!(page.html().replace("&#39;", "'").contains(TEXT) && !page.html().contains("damaged"), "{}", page.html());
    let cli = Cli::with_token(&app.base, ada.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Staging");
    let out = cli.expect(0, &["release", "show", "v3"]).await.out;
    assert!(out.contains(&format!("Diff:\tfrom v2: none, because {TEXT}")), "{out}");
    // Devices are served.
    let offered = check(&app, &key, Some(text(&first, "packageHash"))).await;
    assert_eq!(download(&app, &offered["download_url"]).await, newest.0);

    // Twenty minutes later, the disk is still full.
    app.clock.advance(20 * MINUTE + 1);
    app.diffs_settled().await;
    let found = sources(&app, ada.token(), "v3").await;
    assert!(
        found.iter().all(|source| source["problem"] == "disk_full" && source["foundTime"] == json!(now + 20 * MINUTE + 1)),
        "{found:?}"
    );
    // Then it is not, and the diffs are made when they are due.
    app.state().storage.disk().fill(false);
    app.clock.advance(4 * MINUTE);
    app.diffs_settled().await;
    assert_eq!((app.number("SELECT COUNT(*) FROM release_diffs").await, problems(&app).await), (0, vec!["disk_full".to_owned()]));
    app.clock.advance(16 * MINUTE);
    attached(&app, 2).await;
    assert!(sources(&app, ada.token(), "v3").await.iter().all(|source| source["status"] == "ready"));
    let offered = check(&app, &key, Some(text(&first, "packageHash"))).await;
    assert!(offered["package_size"].as_u64().unwrap() < 20_000, "{offered}");
    assert_eq!(problems(&app).await, ["disk_full"], "of the release that was replaced meanwhile; nothing was called damaged");
}
