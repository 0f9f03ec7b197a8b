//! `updraft metrics`: tables and comma-separated values.

use serde_json::json;
use tests::{Cli, TestApp};

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_the_old_server_are_shown_apart() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let deployment = json!({ "sourceName": "Production", "name": "Production", "key": "key-of-weather-0123" });
    let planned = json!({ "sourceName": "Weather", "name": "Weather", "deployments": [deployment] });
    ada.post("/v1/imports/apps", json!({ "source": "https://old.example", "app": planned })).await.assert(200);
    let counts = json!({ "v1": { "active": 70, "downloaded": 80, "installed": 90, "failed": 10 } });
    let path = "/v1/apps/Weather/deployments/Production/imports";
    ada.post(path, json!({ "releases": [], "counts": counts })).await.assert(200);
    let cli = Cli::with_token(&app.base, ada.token()).with("UPDRAFT_DEPLOYMENT", "Production");
    let today = app.clock.now().utc_date();

    let imported = cli.expect(0, &["metrics", "--imported", "-a", "Weather"]).await;
    assert!(imported.out.starts_with("v1\t70\t100%\t80\t90\t10\t"), "{imported:?}");
    let said = format!("Counted by https://old.example when this deployment was imported on {today}, not here.");
    assert!(imported.err.contains(&said), "{imported:?}");
    let csv = cli.expect(0, &["metrics", "--imported", "--csv", "-a", "Weather"]).await.out;
    assert_eq!(csv, "release,active,downloaded,installed,failed\r\nv1,70,80,90,10\r\n");
    assert_eq!(cli.json(&["metrics", "--imported", "-a", "Weather"]).await["importedFrom"], "https://old.example");

    let here = cli.expect(0, &["metrics", "-a", "Weather"]).await;
    assert!(here.out.is_empty(), "it is in no table of what is counted here: {here:?}");
    assert!(here.err.contains("Imported from https://old.example: `updraft metrics --imported --app Weather"), "{here:?}");
    assert_eq!(cli.json(&["metrics", "-a", "Weather"]).await["metrics"], json!({}));
    let other = cli.expect(0, &["metrics", "--imported", "-a", "demo"]).await;
    assert!(other.out.is_empty() && other.err.contains("Production was not imported from another server."), "{other:?}");
    assert!(!cli.expect(0, &["metrics", "-a", "demo"]).await.err.contains("--imported"));
    cli.expect(2, &["metrics", "--imported", "--days", "7", "-a", "Weather"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_printed_for_spreadsheets() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let key = ada.deployment_key("demo", "Production").await;
    let cli = Cli::with_token(&app.base, ada.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    cli.write("bundle.js", "x");
    cli.expect(0, &["release", "create", "bundle.js", "--target-version", "*"]).await;
    let header = "release,active,downloaded,installed,failed\r\n";
    assert_eq!(cli.expect(0, &["metrics", "--csv"]).await.out, header);
    for (arguments, said) in [(&["metrics"][..], "No device has reported yet."), (&["metrics", "--days", "7"], "There is no history yet.")]
    {
        let printed = cli.expect(0, arguments).await;
        assert!(printed.out.is_empty() && printed.err.contains(said), "{}", printed.err);
        assert_eq!(cli.expect(0, &[arguments, &["--quiet"]].concat()).await.err, "");
    }

    let report = |device: &str, rest: serde_json::Value| {
        let mut report = json!({ "deployment_key": key, "app_version": "2,3", "client_unique_id": device });
        report.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        report
    };
    let anonymous = app.anonymous();
    anonymous.post("/v1/public/svc/report_status/download", report("a", json!({ "label": "v1" }))).await.assert(200);
    let succeeded = report("a", json!({ "label": "v1", "status": "DeploymentSucceeded" }));
    anonymous.post("/v1/public/svc/report_status/deploy", succeeded).await.assert(200);
    anonymous.post("/v1/public/svc/report_status/deploy", report("b", json!({}))).await.assert(200);
    assert_eq!(cli.expect(0, &["metrics", "--csv"]).await.out, format!("{header}v1,1,1,1,0\r\n\"2,3\",1,0,0,0\r\n"));
    let table = cli.expect(0, &["metrics"]).await.out;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows[0][..3], ["v1", "1", "50%"], "{table}");

    let days = cli.expect(0, &["metrics", "--days", "7", "--csv"]).await.out;
    assert!(days.starts_with("date,release,active,downloaded,installed,failed,downloadedDelta,installedDelta,failedDelta\r\n"), "{days}");
    let (_, next) = cli.run(&["metrics", "--csv", "--output", "json"]).await.error(2);
    assert!(next.contains("Leave one of them out"), "{next}");
    cli.expect(2, &["metrics", "--watch", "--csv"]).await;
    cli.expect(2, &["metrics", "--interval", "5"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_diffs_have_saved_is_told_as_an_estimate() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (key, _) = ada.create_app("demo").await;
    for contents in ["one", "two"] {
        ada.upload("demo", "Production", contents.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    app.change("UPDATE releases SET size = 1300000000", &[]).await;
    app.add_diff(&key, ("v1", "v2"), 50_000_000).await;
    let cli = Cli::with_token(&app.base, ada.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    let report =
        json!({ "deployment_key": key, "app_version": "1.0.0", "client_unique_id": "a", "label": "v1", "status": "DeploymentSucceeded" });
    app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.assert(200);
    assert!(!cli.expect(0, &["metrics"]).await.err.contains("diffs"));
    assert!(!cli.expect(0, &["release", "show", "v2"]).await.out.contains("Saved"));
    let shown = cli.json(&["release", "show", "v2"]).await;
    let counts = json!({ "active": 0, "downloaded": 0, "installed": 0, "failed": 0 });
    assert_eq!((&shown["metrics"], &shown["estimatedBytesSaved"]), (&counts, &json!(0)), "nobody has reported it");

    let report = json!({ "deployment_key": key, "client_unique_id": "a", "label": "v2" });
    app.anonymous().post("/v1/public/svc/report_status/download", report).await.assert(200);
    let shown = cli.expect(0, &["metrics"]).await;
    assert!(shown.err.contains("Saved by diffs (estimate): about 1.2 GB (v2: 1.2 GB)"), "{shown:?}");
    assert_eq!(shown.out, "v2\t0\t0%\t1\t0\t0\t-\nv1\t1\t100%\t0\t1\t0\t0%\n", "the columns are the same");
    let saved = json!({ "total": 1_250_000_000, "labels": { "v2": 1_250_000_000 } });
    assert_eq!(cli.json(&["metrics"]).await["estimatedBytesSaved"], saved);
    let release = cli.expect(0, &["release", "show", "v2"]).await.out;
    let shown = cli.json(&["release", "show", "v2"]).await;
    let counts = json!({ "active": 0, "downloaded": 1, "installed": 0, "failed": 0 });
    assert_eq!((&shown["metrics"], &shown["estimatedBytesSaved"]), (&counts, &json!(1_250_000_000)));
    assert!(release.contains("Saved by diffs:\tabout 1.2 GB (estimate)\n"), "{release}");
}
